"""The records of captures: where they begin and end in a block, and where a file can be cut into parts.

A container without a fast walk here is read record by record by `capture.containers`, so a new one needs nothing here.
Imports only `arrow` of columns.
"""
