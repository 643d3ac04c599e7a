"""What the packets of one Network Connection mean together."""
