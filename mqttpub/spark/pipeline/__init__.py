"""Captures to tables on a cluster."""
