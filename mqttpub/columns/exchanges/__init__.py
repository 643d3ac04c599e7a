"""PUBLISH packets and their acknowledgements as rows."""
