"""The data sources `mqtt_capture` (read and stream) and `mqtt` (write, stream write, subscribe as a stream).

Spark creates readers and writers in several processes and pickles them, so constructors have no side
effects. A subscription writes each message to the `spool` before it acknowledges it; offsets are
positions in the spool, so that Spark can read a range again.
"""
