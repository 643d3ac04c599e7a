"""From records to the bytes of TCP connections."""
