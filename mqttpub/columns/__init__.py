"""Captures as Arrow columns, a block of records at a time; needs numpy and pyarrow, not Spark.

A byte becomes a row in four steps, each a folder: `scan` finds the records of a capture file, `reassemble` the control
packets in them (`Frames`), `decode` the columns of these packets, `exchanges` pairs each PUBLISH with its
acknowledgements. `read.read` does the first two; `connections`, `findings` and `files` make the other tables, whose
columns `schema` declares.

All rows are those that the scalar code (`capture`, `codec`, `traffic`) gives, in the same order; tests compare them.
Regular records are read many at once with numpy, irregular ones one by one by the scalar code. The state between blocks
is that of the scalar code (`reassemble.state.State`), so both can take turns within a connection.

Units: times are int64 nanoseconds since 1970 UTC, `arrays.NO_TIME` for unknown; timestamps in tables are microseconds;
places and lengths are int64 bytes; records count from 1. A block stays below 2 GiB, the reach of Arrow's offsets.

Imports nothing of spark, report, view or cli.
"""
