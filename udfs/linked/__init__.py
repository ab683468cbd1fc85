"""People grouped by all of their rows: profiles, the search for groups, and the run of it."""
