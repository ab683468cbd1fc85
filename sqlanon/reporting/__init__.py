"""What people look at: the report of a release as one HTML page, the figures in it, and how releases and hierarchies
show themselves in terminals and notebooks. It reads releases and never makes one that is kept.
"""
