"""How much remembered texts count for, in characters."""

KEY = 64
"""Characters that a key counts for."""
GAP = 256
"""Characters that a gap of a text counts for; it takes about as many bytes of memory (sys.getsizeof)."""
