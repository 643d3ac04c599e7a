"""The format `mqtt`: publish the rows of a table or a stream, and subscribe as a stream.

Spark imports this module at every look-up of any format, so everything else is imported late.
"""

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType


class Mqtt(DataSource):
    """The data source and sink for an MQTT broker."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "mqtt"

    def schema(self) -> StructType:
        """Return the columns of a message."""
        from .schema import spark_schema
        from .subscribe import MESSAGES

        return spark_schema(MESSAGES)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802
        """Return the reader of a subscription."""
        from .subscribe import SubscribeReader

        return SubscribeReader(dict(self.options), schema)

    def reader(self, schema: StructType) -> Any:
        """Raise OptionError, as a broker holds no table."""
        from .errors import OptionError, short_errors

        with short_errors():
            raise OptionError("MQTT messages can only be read as a stream: spark.readStream.format('mqtt')")

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """Return the sink for the rows of a table; raises OptionError in mode overwrite."""
        from .errors import OptionError, short_errors
        from .publish import TableSink

        if overwrite:
            with short_errors():
                raise OptionError("published messages cannot be overwritten: use mode('append')")
        return TableSink(dict(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
        """Return the sink for the rows of a stream."""
        from .publish import StreamSink

        return StreamSink(dict(self.options), schema)
