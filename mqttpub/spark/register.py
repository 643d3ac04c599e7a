"""Registering the data sources with a session."""

from typing import Any


def register(spark: Any) -> None:
    """Register the formats `mqtt` and `mqtt_capture` with a SparkSession.

    If mqttpub is installed from its wheel, Spark finds them by itself, unless another package has a broken
    module whose name begins with `pyspark_`: then Spark finds no Python data sources at all.
    """
    from .formats.capture_source import Captures
    from .formats.mqtt_source import Mqtt

    for source in (Captures, Mqtt):
        spark.dataSource.register(source)
