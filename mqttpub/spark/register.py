"""Making the data sources known to a session by hand."""

from typing import Any


def register(spark: Any) -> None:
    """Make the formats `mqtt` and `mqtt_capture` known to a SparkSession.

    Where mqttpub is installed from its wheel, Spark finds them by itself, unless another package has
    a broken module whose name begins with `pyspark_`: then it finds none at all.
    """
    from .formats.capture_source import Captures
    from .formats.mqtt_source import Mqtt

    for source in (Captures, Mqtt):
        spark.dataSource.register(source)
