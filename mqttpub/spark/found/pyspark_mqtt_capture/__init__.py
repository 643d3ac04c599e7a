"""Where Spark looks for the format `mqtt_capture`; the build puts this beside mqttpub, not into it."""

from mqttpub.spark.formats.capture_source import Captures as DefaultSource

__all__ = ["DefaultSource"]
