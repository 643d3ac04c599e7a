"""The command `conn`, from its request to its exit status.

`run` drives: it connects, shows what `allowed` makes of CONNACK, pings, authenticates again, stays, and tries the
limits of the broker, whose results `probing` shows.
"""
