"""What a hierarchy is: a tree of labels over the values of a column, read from paths, edges or files, or a rule that
makes one from the values at hand. No database is involved.
"""
