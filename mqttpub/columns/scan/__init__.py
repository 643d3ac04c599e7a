"""The records of captures, and their parts."""
