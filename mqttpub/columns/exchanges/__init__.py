"""PUBLISH, SUBSCRIBE and UNSUBSCRIBE with their acknowledgements as rows, over many connections at once.

Imports `reassemble.frames`, `arrow` and `schema` of columns. The rows are those of `traffic.exchanges`.
"""
