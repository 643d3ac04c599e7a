"""Rules that break packets on their way."""
