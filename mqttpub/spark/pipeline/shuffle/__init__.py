"""What moves between tasks: the counts of records of all sources, and what connections of a client share."""
