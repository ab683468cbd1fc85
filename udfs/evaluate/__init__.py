"""What evaluates groups and releases: what no release can lose less than, the divergence from the source, matches of records and
rows, people covered, and the error of a nearest-neighbor classifier.
"""
