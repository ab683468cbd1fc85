"""What somebody could find out: re-identification risk, columns that single people out, and attacks on a release."""
