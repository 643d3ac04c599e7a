"""The format `mqtt_capture`: captures as the table of packets, as a batch.

Spark imports this module at every look-up of any format, so everything else is imported late.
"""

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType


class Captures(DataSource):
    """The data source for captures: files, folders and globs."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "mqtt_capture"

    def schema(self) -> StructType:
        """Return all columns of a packet; a schema of the user may have fewer."""
        from ...columns.schema import PACKETS
        from .schema import spark_schema

        return spark_schema(PACKETS)

    def reader(self, schema: StructType) -> Any:
        """Return the reader of a batch."""
        from .capture_reader import reader

        return reader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802
        """Raise OptionError, as four tables grow with their captures, and a stream of Spark has one."""
        from .errors import OptionError, short_errors

        with short_errors():
            raise OptionError("mqtt_capture reads a batch; mqttpub.spark.stream turns growing captures into tables")

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """Raise OptionError, as captures are only read."""
        from .errors import OptionError, short_errors

        with short_errors():
            raise OptionError("captures are read, not written: the format 'mqtt' publishes rows")

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
        """Raise OptionError, as captures are only read."""
        return self.writer(schema, overwrite)
