"""What every layer needs: words, times, escapes, whole files."""
