"""Sockets that are served by one loop, and the layers on them."""
