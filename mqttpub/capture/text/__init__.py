"""Hex, dumps, transcripts and logs as bytes with their places."""
