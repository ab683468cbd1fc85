"""Methods against each other on the same rows: a grid of methods and k, its tables, charts and page, and how well a
column can still be predicted.
"""
