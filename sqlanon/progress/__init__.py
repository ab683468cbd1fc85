"""How far long work is, and stopping it: a run with its listener, time limit and cancel button, and the bars that show
it in a terminal or a notebook.
"""
