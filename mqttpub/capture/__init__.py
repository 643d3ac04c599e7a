"""Captured bytes, from text and from files, as chunks with their place."""
