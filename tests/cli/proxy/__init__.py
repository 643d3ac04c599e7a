"""Tests of what the command proxy does."""
