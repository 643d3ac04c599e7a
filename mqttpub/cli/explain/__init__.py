"""What `explain` does: `terms` finds what a word names, `text` and `records` say what it is. Must not import paho."""
