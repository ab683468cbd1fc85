"""The space that groups live in: what boxes are, and what they lose."""
