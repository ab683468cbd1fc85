"""What sqlanon keeps in a database: the tables of schema `anon`. Releases and their versions, who is in a view,
hierarchies and comparisons are read and written here and nowhere else; no other package names a table of that
schema.
"""
