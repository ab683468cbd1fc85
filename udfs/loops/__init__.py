"""Loops that several methods share: filling groups greedily, uniting the closest, and walking full-domain levels."""
