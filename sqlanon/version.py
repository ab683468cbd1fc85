"""The version of sqlanon, and of what it keeps in a database's schema `anon`."""

__version__ = "0.1.0"

SCHEMA_VERSION = 5
