"""The format `mqtt`: publish rows, from a table or a stream, and subscribe as a stream.

Spark imports this at every look-up of a format, so what is not needed for that is imported later.
"""

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType


class Mqtt(DataSource):
    """MQTT as a source and sink."""

    @classmethod
    def name(cls) -> str:
        """Return what `format` is given."""
        return "mqtt"

    def schema(self) -> StructType:
        """Return what a message is as a row."""
        from .schema import spark_schema
        from .subscribe import MESSAGES

        return spark_schema(MESSAGES)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802
        """Return what reads a subscription."""
        from .subscribe import SubscribeReader

        return SubscribeReader(dict(self.options), schema)

    def reader(self, schema: StructType) -> Any:
        """Say that a broker holds no table."""
        from .errors import OptionError, short_errors

        with short_errors():
            raise OptionError("MQTT messages can only be read as a stream: spark.readStream.format('mqtt')")

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """Return what publishes the rows of a table; raises OptionError in mode overwrite."""
        from .errors import OptionError, short_errors
        from .publish import TableSink

        if overwrite:
            with short_errors():
                raise OptionError("what was published cannot be overwritten: use mode('append')")
        return TableSink(dict(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
        """Return what publishes the rows of a stream."""
        from .publish import StreamSink

        return StreamSink(dict(self.options), schema)
