"""SQL statements of our own: parsing them, carrying them out, and the connection that understands them."""
