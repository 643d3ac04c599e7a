"""Sparkplug B: what a topic says, and the payload with its metrics.

The payload is a message of Protocol Buffers with the numbers and types that the Sparkplug specification (3.0, section
6.4) publishes. DataSets and Templates are left encoded; metadata and properties of metrics are skipped.
"""

from typing import Any, NamedTuple

from .library import library
from .protobuf_bytes import parsed, remark_unknown_fields
from .values import ReadPayload, Remarks, json_value

NAMESPACE = "spBv1.0"
NODE_TYPES = ("NBIRTH", "NDEATH", "NDATA", "NCMD")
DEVICE_TYPES = ("DBIRTH", "DDEATH", "DDATA", "DCMD")
STATE = "STATE"
BD_SEQ = "bdSeq"
"""The metric of NBIRTH and NDEATH that says which death belongs to which birth."""

_TYPES = {"uint32": 13, "uint64": 4, "float": 2, "double": 1, "bool": 8, "string": 9, "bytes": 12, "Metric": 11}
"""Numbers of types in a descriptor (FieldDescriptorProto.Type)."""
_OPTIONAL, _REPEATED = 1, 3
_PACKAGE = "mqttpub.sparkplug"
_METRIC = (
    ("name", 1, "string"), ("alias", 2, "uint64"), ("timestamp", 3, "uint64"), ("datatype", 4, "uint32"),
    ("is_historical", 5, "bool"), ("is_transient", 6, "bool"), ("is_null", 7, "bool"), ("metadata", 8, "bytes"),
    ("properties", 9, "bytes"),
)  # fmt: skip
_VALUES = (
    ("int_value", 10, "uint32"), ("long_value", 11, "uint64"), ("float_value", 12, "float"),
    ("double_value", 13, "double"), ("boolean_value", 14, "bool"), ("string_value", 15, "string"),
    ("bytes_value", 16, "bytes"), ("dataset_value", 17, "bytes"), ("template_value", 18, "bytes"),
    ("extension_value", 19, "bytes"),
)  # fmt: skip
_PAYLOAD = (
    ("timestamp", 1, "uint64"), ("metrics", 2, "Metric"), ("seq", 3, "uint64"), ("uuid", 4, "string"),
    ("body", 5, "bytes"),
)  # fmt: skip
_SIGNED_BITS = {1: 8, 2: 16, 3: 32, 4: 64}
"""Bits of Int8 to Int64 by their datatype; their values are sent as two's complement in an unsigned field."""


class SparkplugTopic(NamedTuple):
    """The parts of a topic: `spBv1.0/group/type/node` or `.../node/device`, or `spBv1.0/STATE/host`."""

    type: str
    """Empty where the topic is in the namespace, but has another form."""
    group: str = ""
    node: str = ""
    """The edge node; for STATE the host."""
    device: str = ""


def sparkplug_topic(topic: str) -> SparkplugTopic | None:
    """Return the parts of a topic of Sparkplug B, with the STATE of its earlier version 2; None for any other topic."""
    levels = topic.split("/")
    if levels[0] == STATE and len(levels) == 2:
        return SparkplugTopic(STATE, node=levels[1])
    if levels[0] != NAMESPACE:
        return None
    if levels[1:2] == [STATE] and len(levels) == 3:
        return SparkplugTopic(STATE, node=levels[2])
    if all(levels) and len(levels) in (4, 5) and levels[2] in (NODE_TYPES if len(levels) == 4 else DEVICE_TYPES):
        return SparkplugTopic(levels[2], levels[1], levels[3], levels[4] if len(levels) == 5 else "")
    return SparkplugTopic("")


class Metric(NamedTuple):
    """A metric of a payload; what it does not have is None."""

    name: str | None
    alias: int | None
    value: int | float | bool | str | bytes | None
    """None also if `is_null` says so, whatever value is beside it (6.4.16)."""
    datatype: int | None
    timestamp_ms: int | None


class SparkplugPayload(NamedTuple):
    """A payload of Sparkplug B."""

    timestamp_ms: int | None
    seq: int | None
    metrics: tuple[Metric, ...]

    @property
    def bd_seq(self) -> int | None:
        """The value of the metric bdSeq; None without one."""
        values = (each.value for each in self.metrics if each.name == BD_SEQ)
        return next((value for value in values if type(value) is int), None)


class SparkplugDecoder:
    """Decodes payloads; raises MissingLibrary without the package protobuf."""

    def __init__(self) -> None:
        pool = _google("descriptor_pool").DescriptorPool()
        pool.Add(_file(_google("descriptor_pb2")))
        found = pool.FindMessageTypeByName(f"{_PACKAGE}.Payload")
        self._message: Any = _google("message_factory").GetMessageClass(found)
        self._fault: type[Exception] = _google("message").DecodeError

    def decode(self, data: bytes) -> SparkplugPayload | None:
        """Return a payload; None for bytes that are not one."""
        try:
            return _payload(self._message.FromString(data))
        except self._fault:
            return None

    def read(self, data: bytes) -> ReadPayload:
        """Return a payload as JSON; raises ValueError that says why not."""
        remarks = Remarks()
        payload = self.remarked(data, remarks)
        metrics = [json_value(each._asdict()) for each in payload.metrics]
        value = {"timestamp_ms": payload.timestamp_ms, "seq": payload.seq, "metrics": metrics}
        return ReadPayload(value, remarks.all())

    def remarked(self, data: bytes, remarks: Remarks) -> SparkplugPayload:
        """Return a payload, and add remarks on what it has that is not shown; raises ValueError that says why not."""
        found = parsed(self._message, data, "a payload of Sparkplug B")
        remark_unknown_fields(found, remarks)
        for at, each in enumerate(found.metrics):
            if each.is_null and (which := each.WhichOneof("value")):
                remarks.add(f"$.metrics[{at}]: is_null is true, so {which} is not shown")
        return _payload(found)


def _payload(found: Any) -> SparkplugPayload:
    metrics = tuple([_metric(each) for each in found.metrics])
    return SparkplugPayload(_given(found, "timestamp"), _given(found, "seq"), metrics)


def _google(module: str) -> Any:
    return library("Sparkplug B", "protobuf", f"google.protobuf.{module}")


def _file(descriptors: Any) -> Any:
    """Return the descriptor of a .proto file with the messages Payload and Metric."""
    file = descriptors.FileDescriptorProto(name="sparkplug.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in (("Payload", _PAYLOAD), ("Metric", (*_METRIC, *_VALUES))):
        message = file.message_type.add(name=name)
        for field, number, type in fields:
            added = message.field.add(name=field, number=number, type=_TYPES[type], label=_OPTIONAL)
            if type == "Metric":
                added.label, added.type_name = _REPEATED, f".{_PACKAGE}.Metric"
            if (field, number, type) in _VALUES:
                added.oneof_index = 0
    file.message_type[1].oneof_decl.add(name="value")
    return file


def _given(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def _metric(found: Any) -> Metric:
    name, alias, timestamp, datatype = (_given(found, each) for each in ("name", "alias", "timestamp", "datatype"))
    which = None if found.is_null else found.WhichOneof("value")
    value = getattr(found, which) if which else None
    if datatype in _SIGNED_BITS and type(value) is int:
        value = _signed(value, _SIGNED_BITS[datatype])
    if isinstance(name, bytes):
        # The library returns a text that is not UTF-8 as bytes.
        name = name.decode("utf-8", "backslashreplace")
    return Metric(name, alias, value, datatype, timestamp)


def _signed(value: int, bits: int) -> int:
    # Some encoders extend the sign to the whole field, others do not.
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low
