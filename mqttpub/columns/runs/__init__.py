"""Judged packets in runs: most packets of a capture without an object for each."""
