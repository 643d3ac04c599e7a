"""The command `request`, from its request to its exit status.

`run` drives a Requester of `live` and prints its answers and their latency.
"""
