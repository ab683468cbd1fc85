"""What is asked: one frozen policy, checked when it is made. SQL, statements, policy files, the command line and Python
all build the same object. Nothing here knows a database: importing it loads neither DuckDB nor Arrow.
"""
