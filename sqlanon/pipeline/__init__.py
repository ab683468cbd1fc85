"""SQL text and nothing else: from a policy and what is known of its source to the queries that encode, cluster,
release, verify and measure. No module here sees a connection or a row, so any engine can use what it writes.
"""
