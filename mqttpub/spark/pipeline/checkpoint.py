"""What a later run needs to go on, as bytes: a pickle that can hold only what the state consists of.

A plain pickle may run anything when it is loaded. Here only the classes named below come to life, and
none of them does more than hold values; a file that names another one, is cut short or was changed is refused.
"""

import io
import pickle
import re
from collections.abc import Callable
from copyreg import dispatch_table
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ... import __version__
from ...lint.registry import TEST_POINTS, TestPoint
from ...spec.constraints import Law

FORMAT = 6
"""Changes whenever one of these classes keeps something else than before."""
MAGIC = b"mqttpub-state"
_HEAD = re.compile(MAGIC + rb" ([0-9]{1,9}) ([0-9A-Za-z.+-]{1,40}) ([0-9]{1,18}) ([0-9a-f]{64})\n")
LONGEST_NAME = 80
KINDS = "biuf"
"""Arrays of numbers, as numpy calls their kinds."""

CLASSES = {
    "mqttpub.capture.types": "Chunk End Flow Lost Missing Record",
    "mqttpub.capture.protocol.mqtt_connection": "GuessedConnection MqttConnection",
    "mqttpub.capture.protocol.evidence": "Guess",
    "mqttpub.capture.network.connections": "Flows",
    "mqttpub.capture.network.ip": "Internet _Datagram",
    "mqttpub.capture.protocol.demux": "MqttDemux",
    "mqttpub.capture.protocol.tls_connection": "TlsConnection TlsConnections",
    "mqttpub.capture.protocol.undecided": "UndecidedConnection",
    "mqttpub.capture.network.tcp_side": "Side Waiting",
    "mqttpub.capture.protocol.resync": "KeptBytes PacketChain PacketFinder",
    "mqttpub.capture.protocol.mqtt_sender": "MqttSender StreamGap _ignore_connect",
    "mqttpub.capture.protocol.handler": (
        "DemuxSettings Finished HandlerSlot IgnoredConnection MemoryBudget SkippedConnections"
    ),
    "mqttpub.capture.network.out_of_order": "Stretch Stretches",
    "mqttpub.capture.network.tcp": "_shape",
    "mqttpub.capture.protocol.http_upgrade": "HttpHead HttpUpgrade",
    "mqttpub.capture.protocol.websocket": "Inflater WebSocketConnection WebSocketFrames",
    "mqttpub.columns.scan.buckets": "Bucket",
    "mqttpub.columns.connections": "Connections",
    "mqttpub.columns.findings": "Judging",
    "mqttpub.columns.exchanges.handshakes": "Legs",
    "mqttpub.columns.decode.context": "Memory",
    "mqttpub.columns.exchanges.pair": "Pairing",
    "mqttpub.columns.exchanges.sessions": "Left Sessions",
    "mqttpub.columns.reassemble.state": "State _Part",
    "mqttpub.traffic.aliases": "Aliases",
    "mqttpub.traffic.closings": "Closings",
    "mqttpub.traffic.events": "Closed Endpoints GapSeen PacketSeen Remark",
    "mqttpub.common.lru": "WeightedLru",
    "mqttpub.lint.connection.subscriptions": "Match SubscribedFilter Subscriptions",
    "mqttpub.lint.connection.published": "PublishHistory SentMessage",
    "mqttpub.lint.fault": "Fault",
    "mqttpub.lint.connection.state": "IdentifierInUse Identifiers MustClose Peer SendLimits State",
    "mqttpub.lint.connection.conversation": "Conversation",
    "mqttpub.lint.judge": "Judge",
    "mqttpub.spark.formats.capture_reader": "Capture",
    "mqttpub.spark.pipeline.reading": "SourceOffsets SourceReader",
    "mqttpub.spark.pipeline.tables": "TableBuilder",
    "mqttpub.spec.declare": "Property",
    "mqttpub.spec.constraints": "Law",
    "mqttpub.spec.packets": (
        "Auth Connack Connect Disconnect Pingreq Pingresp Puback Pubcomp Publish Pubrec Pubrel Suback Subscribe "
        "Subscription Unsuback Unsubscribe Will"
    ),
    "mqttpub.spec.versions": "Direction Version",
    "builtins": "int",
    "collections": "Counter OrderedDict defaultdict deque",
    "functools": "partial",
    __name__: "_array _bound _column _test_point _pattern",
}
"""All that a state may name, by modules."""
BOUND = {("MqttConnection", "connect"), ("UndecidedConnection", "_slot"), ("UndecidedConnection", "_ignored")}
"""Methods that objects of the state call later."""


class StateError(ValueError):
    """A state cannot be used; the message is one sentence."""

    status = 2


def dumps(value: Any) -> bytes:
    """Return a state as bytes, behind one line with what it takes to know them again."""
    body = io.BytesIO()
    pickler = pickle.Pickler(body, 5)
    pickler.dispatch_table = _reducers()
    pickler.dump(value)
    data = body.getbuffer()
    head = f"{FORMAT} {__version__} {len(data)} {sha256(data).hexdigest()}"
    return b"%s %s\n%s" % (MAGIC, head.encode(), data)


def loads(data: bytes) -> Any:
    """Return the state that bytes hold; raises StateError."""
    body = _body(data)
    try:
        return _Unpickler(io.BytesIO(body)).load()
    except StateError:
        raise
    except Exception as error:
        # By its nature a pickle that is wrong may raise anything.
        raise StateError(f"it is broken ({type(error).__name__})") from error


def load(path: Path, *kinds: type) -> Any:
    """Return the state in a file, of a class or a tuple of several; raises StateError, with the name of the file."""
    try:
        value = loads(_read(path))
        values = value if len(kinds) > 1 else (value,)
        if type(values) is not tuple or [type(each) for each in values] != list(kinds):
            raise StateError("it is the state of something else")
    except StateError as bad:
        raise StateError(f"cannot go on from '{path}': {bad}") from bad.__cause__
    return value


def check(path: Path) -> None:
    """Raise StateError for a file that is not as it was written, without looking at what it holds."""
    try:
        _body(_read(path))
    except StateError as bad:
        raise StateError(f"cannot go on from '{path}': {bad}") from None


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise StateError("it is no file" if path.exists() else "there is no such file")
        return path.read_bytes()
    except OSError as error:
        raise StateError(error.strerror or str(error)) from None


def _body(data: bytes) -> memoryview:
    """Return the pickle behind the head, whole and unchanged."""
    head = _HEAD.match(data)
    if not head:
        raise StateError("it is no state of mqttpub")
    form, version, length, digest = (word.decode() for word in head.groups())
    if form != str(FORMAT):
        raise StateError(
            f"mqttpub {version} wrote it in format {form}, and this is mqttpub {__version__} with {FORMAT}"
        )
    body = memoryview(data)[head.end() :]
    if int(length) != len(body):
        raise StateError(f"it should have {length} bytes behind its first line, but has {len(body)}")
    if digest != sha256(body).hexdigest():
        raise StateError("it was changed after it was written")
    return body


class _Unpickler(pickle.Unpickler):
    """Knows the classes of a state, and no others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return one of them; raises StateError for everything else."""
        if name not in CLASSES.get(module, "").split():
            raise StateError(f"it holds {_shown(module, name)}, which is no part of a state")
        return getattr(import_module(module), name)


def _shown(*words: Any) -> str:
    """Return what a file names, as it may be shown on a terminal."""
    return ascii(".".join(map(str, words))[:LONGEST_NAME])


# what a plain pickle would need more for than classes


@cache
def _reducers() -> Any:
    """Return how objects are taken apart that a plain pickle would call a function of others for."""
    reducers: dict[Any, Callable[[Any], Any]] = {
        **dispatch_table, np.ndarray: _array_parts, MethodType: _bound_parts, TestPoint: _test_point_parts,
        re.Pattern: lambda pattern: (_pattern, (pattern.pattern, pattern.flags)),
    }  # fmt: skip
    reducers |= dict.fromkeys(_kinds(pa.Array), _column_parts)
    return reducers


def _kinds(kind: Any) -> set[Any]:
    """Return a class and all that are derived of it."""
    return {kind}.union(*(_kinds(each) for each in kind.__subclasses__()))


def _array_parts(array: NDArray[Any]) -> tuple[Any, ...]:
    return _array, (array.dtype.str, array.tobytes())


def _array(kind: str, data: bytes) -> NDArray[Any]:
    dtype = np.dtype(kind)
    if dtype.kind not in KINDS:
        raise StateError("it holds an array of something else than numbers")
    return np.frombuffer(data, dtype).copy()


def _column_parts(column: pa.Array) -> tuple[Any, ...]:
    sink = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_arrays([column], ["column"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return _column, (sink.getvalue().to_pybytes(),)


def _column(data: bytes) -> pa.Array:
    column = pa.ipc.open_stream(data).read_next_batch().column(0)
    column.validate(full=True)
    return column


def _bound_parts(method: MethodType) -> tuple[Any, ...]:
    return _bound, (method.__self__, method.__name__)


def _bound(owner: Any, name: str) -> Any:
    if (type(owner).__name__, name) not in BOUND:
        raise StateError(f"it holds {_shown(type(owner).__name__, name)}, which is no part of a state")
    return getattr(owner, name)


def _test_point_parts(point: TestPoint) -> tuple[Any, ...]:
    return _test_point, (point.laws, _same(point.laws).index(point))


def _test_point(laws: tuple[Law, ...], place: int) -> TestPoint:
    """Return an point that there is, as rules know it by itself and not by what it says."""
    return _same(laws)[place]


def _same(laws: tuple[Law, ...]) -> list[TestPoint]:
    return [each for each in TEST_POINTS if each.laws == laws]


def _pattern(pattern: bytes, flags: int) -> re.Pattern[bytes]:
    return re.compile(pattern, flags)
