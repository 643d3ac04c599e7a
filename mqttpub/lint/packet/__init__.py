"""One packet by itself: rules, values, and what they cite."""
