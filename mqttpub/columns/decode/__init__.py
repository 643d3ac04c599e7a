"""Control packets to the columns of the table `packets`; irregular ones are decoded by codec, one by one.

Imports `reassemble.frames`, `arrow` and `schema` of columns.
"""
