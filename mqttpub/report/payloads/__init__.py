"""What tasks of Spark read of payloads: their forms, and the events and sessions of Sparkplug B.

- `forms` and `events` read payloads; what they return are small rows without payloads.
- `sessions` follows an edge node of Sparkplug B from message to message; it knows nothing of Spark.

A message counts once for drift and for sequences, although a capture at a server shows it once from its publisher and
once to each subscriber: what publishers sent is used, or else what the receiver with most of it got.
"""
