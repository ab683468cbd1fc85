"""What evaluates groups and releases: lower bounds of the loss, the divergence from the source, matches of records and
rows, people covered, and the error of a nearest-neighbor classifier.
"""
