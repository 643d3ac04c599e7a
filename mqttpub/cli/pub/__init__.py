"""What the command pub does."""
