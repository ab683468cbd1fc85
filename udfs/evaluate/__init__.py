"""What can be said about a clustering beside its groups: how little any release can lose, and how this one compares."""
