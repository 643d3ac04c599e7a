"""Captures on Spark, and MQTT as a Spark source and sink.

- `pipeline/`: captures to tables, `mqttpub pipeline`; a run hands jobs to tasks and commits their files at once.
- `lake/`: the logs of tables in Delta Lake and Apache Iceberg.
- `formats/`: the data sources `mqtt_capture` and `mqtt`, and the spool of a subscription.
- `session/`: Java, the JVM, and a session on this machine, a cluster or a Spark Connect server.
- `register`, `stream` and `udf`: the functions for users. `found/` is copied to the top level of the wheel, where
  Spark looks.

Tasks may run again at any time, so whatever they write is committed by the driver. pyspark, pyarrow and
numpy are an extra, imported late. Spark must not import view, lab, report or cli. Times in tables are
microseconds since 1970 in UTC, those of records nanoseconds; the names of other units say so.
"""

from .register import register
from .stream import stream

__all__ = ["register", "stream"]
