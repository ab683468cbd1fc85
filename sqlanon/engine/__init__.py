"""Everything that is DuckDB's alone, and the only package that imports it: sessions and transactions, looking up names,
frames and files, the functions that run inside the database, and DuckDB's errors in our words.
"""
