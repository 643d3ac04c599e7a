"""Packets between two ends as a drawing."""
