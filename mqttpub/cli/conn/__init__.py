"""The command `conn`, from its request to its exit status.

`run` drives: it connects, shows what `allowed` makes of CONNACK, pings, authenticates again, and stays.
"""
