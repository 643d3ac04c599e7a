"""A capture as one HTML file that works offline; the script and style are in `assets`."""
