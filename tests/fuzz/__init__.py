"""Fuzzing: targets that take any bytes, seeds to begin with, and ways to mutate and to grow them."""
