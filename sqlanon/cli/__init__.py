"""The command line: a thin skin over the public functions, one file a command, and the shell."""
