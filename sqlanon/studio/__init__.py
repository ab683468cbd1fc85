"""The studio: a local web page on which a data steward goes from a table to a release.

A face of the Python API. What it shows is computed by sqlanon's public functions, what it stores is a policy file and
stored releases, and nothing else is to lose.
"""
