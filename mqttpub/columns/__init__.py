"""Captures as Arrow columns, without Spark."""
