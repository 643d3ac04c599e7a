"""Records in, the bytes of TCP connections out: link layers, IP with fragments, TCP with reordering.

A Flow is one TCP connection, a TcpSide one direction of it. Bytes that arrive twice are yielded once, the first copy;
bytes that the capture lacks are a Missing as soon as the other side has acknowledged later ones.
"""
