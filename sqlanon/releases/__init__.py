"""Releases: making, storing and measuring them, bringing views up to their source, what several of them reveal
together, and publishing one as a file.
"""
