"""Records to control packets: headers of link, IP and TCP as columns, streams in order, packets in streams.

Imports `scan` and `arrow` of columns. `Frames` is what the other folders read.
"""
