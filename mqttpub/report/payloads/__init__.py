"""What is in the payloads: their kinds, how the schema of JSON drifts, and the births and deaths of Sparkplug B.

- `forms` and `events` read payloads in the tasks; what they return are small rows without payloads.
- `sessions` follows an edge node of Sparkplug B from message to message; it knows nothing of Spark.
- `queries` puts them together and returns `PayloadAnswers`, plain values of `answers`.

A message counts once for drift and for sequences, although a capture at a server shows it once from its publisher and
once to each subscriber: what publishers sent is used, or else what the receiver with most of it got.
"""
