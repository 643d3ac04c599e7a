"""The records of captures, in blocks: int64 arrays of places, times and lengths; and the buckets of connections.

A container without a fast walk here is read record by record by `capture.containers`, so a new one needs nothing here.
Imports only `arrow` of columns.
"""
