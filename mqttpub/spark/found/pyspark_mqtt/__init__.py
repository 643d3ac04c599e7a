"""Where Spark looks for the format `mqtt`; the build puts this beside mqttpub, not into it."""

from mqttpub.spark.formats.mqtt_source import Mqtt as DefaultSource

__all__ = ["DefaultSource"]
