"""Does it hold? Proofs of releases, checks of any table, the SQL that lets readers check for themselves, and which rows
could be whose.
"""
