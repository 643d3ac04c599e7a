"""What every command that connects shows and checks.

`gate` judges packets before they are sent; `observers` makes what --inspect and --lint put on a connection: an
Inspector (`inspect`) shows the packets, a Watch (`watch`) checks them.
"""
