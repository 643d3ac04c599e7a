"""One packet: its dump, its outline, its JSON."""
