"""Judging what was decoded: one packet by itself."""
