"""The command line: flags to a request object to one call."""
