"""Flags: their types, their groups, and where their values come from."""
