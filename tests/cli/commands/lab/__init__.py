"""Tests of the commands of the laboratory."""
