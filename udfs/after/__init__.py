"""What happens after clustering: large tables in blocks, groups merged until models hold, rows suppressed where that
pays, and searches for less loss.
"""
