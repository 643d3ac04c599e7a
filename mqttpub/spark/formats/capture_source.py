"""The format `mqtt_capture`: captures as the table of packets, read once or as a stream.

Spark imports this at every look-up of a format, so what is not needed for that is imported later.
"""

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType


class Captures(DataSource):
    """Captures of MQTT: files, folders and globs."""

    @classmethod
    def name(cls) -> str:
        """Return what `format` is given."""
        return "mqtt_capture"

    def schema(self) -> StructType:
        """Return all columns of a packet; a user's own schema may have some of them."""
        from ...columns.schema import PACKETS
        from .schema import spark_schema

        return spark_schema(PACKETS)

    def reader(self, schema: StructType) -> Any:
        """Return what reads captures once."""
        from .capture_reader import reader

        return reader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802
        """Return what reads a folder that fills."""
        from .capture_stream import FolderReader

        return FolderReader(dict(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """Say that captures are only read."""
        from .errors import OptionError, short_errors

        with short_errors():
            raise OptionError("captures are read, not written: the format 'mqtt' publishes rows")

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
        """Say that captures are only read."""
        return self.writer(schema, overwrite)
