"""Frames to columns."""
