"""Many packets: rows, exchanges, statistics, findings."""
