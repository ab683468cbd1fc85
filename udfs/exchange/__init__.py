"""The search with models: rows are exchanged between groups, and every group that changes must keep all models.

`scope` says what it knows; `starts` finds groups to begin with. `memory` is all that compiled code sees: `ground` the
table, `rules` the models and `state` the groups. `split`, `shrink` and `open` are the moves, `place` finds room for
rows, `search` is the run of them, and `deal` the random dealing in the end.
"""
