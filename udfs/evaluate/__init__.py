"""What evaluates groups and releases: the least that any release can lose, the divergence from the source, matches of
records and rows, people covered, and the error of a nearest-neighbor classifier.
"""
