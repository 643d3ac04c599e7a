"""The specification as data: packets, properties, reason codes, statements."""
