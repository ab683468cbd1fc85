"""The search with models: rows are exchanged between groups, and every group that changes must keep all models.

`starts` finds groups to begin with, `rules` are the models, `ground` the table and `state` the groups as compiled code
sees them, `split`, `shrink` and `open` the moves, `search` the run of them, and `deal` the random dealing in the end.
"""
