"""A capture as one HTML page."""
