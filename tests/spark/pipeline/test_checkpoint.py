"""What is put away between runs goes on as before, and a file that somebody else wrote runs nothing."""

import ast
import io
import os
import pickle
import pickletools
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mqttpub import __version__
from mqttpub.capture.containers.registry import records
from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.exchanges.pair import Pairing
from mqttpub.columns.reassemble.state import State
from mqttpub.lint.registry import TEST_POINTS
from mqttpub.spark.pipeline import checkpoint as saved
from mqttpub.spark.pipeline.checkpoint import StateError, check, dumps, load, loads
from mqttpub.spark.pipeline.reading import SourceReader
from mqttpub.spark.pipeline.sources import examine
from mqttpub.spark.pipeline.tables import TableBuilder
from mqttpub.traffic.events import Event
from tests.build.fleet import capture, rotated
from tests.build.known_captures import truth
from tests.build.pieces import CONNECTS, V5, publish
from tests.build.troubled_captures import troubled
from tests.columns.reassemble.test_state import through_websocket
from tests.paths import CAPTURES

Kept = TypeVar("Kept")


def again(kept: Kept) -> Kept:
    """Put something away, and take it out."""
    return loads(dumps(kept))  # type: ignore[no-any-return]


# it goes on


@settings(max_examples=15)
@given(troubled(), st.integers(1, 5))
def test_a_capture_can_be_put_away_between_any_two_records(data: bytes, often: int) -> None:
    assert _events(data, often) == _events(data, 0)


def _events(data: bytes, often: int) -> list[Event]:
    kept, found = State(), list[Event]()
    for record in records(io.BytesIO(data)):
        if often and not record.number % often:
            kept = again(kept)
        found += kept.feed(record)
    return [*found, *kept.finish()]


@pytest.mark.parametrize("extensions", ["", "permessage-deflate"])
def test_so_can_websocket(extensions: str) -> None:
    packets = [CONNECTS[V5], publish(b"the same again and again" * 40), publish(bytes(5_000)), publish()]
    assert through_websocket(extensions, packets, again) == packets


class Rows:
    """Takes the place of files and of what goes to other tasks: keeps rows."""

    def __init__(self) -> None:
        self.pairing = Pairing()
        self.rows: dict[str, list[Any]] = {}

    def put(self, step: Any, packets: Any, closes: Any = (), **over: bool) -> None:
        rows = packets if isinstance(step, str) else self.pairing.add(packets, closes)
        self.put_continuous(step if isinstance(step, str) else "exchanges", rows, **over)

    def put_continuous(self, table: str, rows: pa.RecordBatch, **over: bool) -> None:
        self.rows.setdefault(table, []).extend(rows.to_pylist())


def _tabled(paths: list[Path], *, put_away: bool) -> Iterator[dict[str, list[Any]]]:
    """Yield what there is in tables after each file."""
    reader, tables, rows = SourceReader(0, 1), TableBuilder(), Rows()
    for path in paths:
        if put_away:
            reader, tables, rows.pairing = again((reader, tables, rows.pairing))
        tables.begin(rows, rows, lint=True)  # type: ignore[arg-type]
        source = examine(str(path), str(path))
        reader.begin(source)
        with path.open("rb") as file:
            for batch in reader.batches(source, file):
                tables.add(batch)
        yield rows.rows


def test_so_can_all_tables(tmp_path: Path) -> None:
    files = rotated(capture(5, clients=4, messages=8), tmp_path, 5)
    for number, data in enumerate(truth(3, connections=4, messages=20, files=5).files):
        files.append(tmp_path / f"truth-{number}")
        files[-1].write_bytes(data)
    files += sorted(CAPTURES.glob("*.pcapng"))
    *_, plain = _tabled(files, put_away=False)
    *_, kept = _tabled(files, put_away=True)
    assert {name: len(rows) > 10 for name, rows in plain.items()} == dict.fromkeys(plain, True)
    assert kept == plain


def test_arrays_and_columns() -> None:
    arrays: list[Any] = [np.arange(5), np.array([], np.uint8), np.array([True]), np.array([1.5])]
    assert [(each.dtype, each.tolist()) for each in again(arrays)] == [(each.dtype, each.tolist()) for each in arrays]
    assert again(arrays)[0].flags.writeable
    columns = [
        pa.array(["a", None, "bc"]), pa.array([["x"], [], None]), pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([1, 2, 3])[1:], pa.array([], pa.string()),
    ]  # fmt: skip
    assert [each.type for each in again(columns)] == [each.type for each in columns]
    assert all(one.equals(other) for one, other in zip(again(columns), columns, strict=True))


def test_an_test_point_is_the_one_that_rules_know() -> None:
    assert all(one is other for one, other in zip(again(TEST_POINTS), TEST_POINTS, strict=True))


# the format number

ELSEWHERE = {
    "mqttpub.capture.types": "BadCapture NoKeys",
    "mqttpub.capture.network.ip": "Packet _Part",
    "mqttpub.capture.network.tcp_side": "Segment",
    "mqttpub.capture.protocol.resync": "FoundPackets",
    "mqttpub.capture.protocol.handler": "Holder Handler",
    "mqttpub.capture.network.tcp": "Reassembler _Shape",
    "mqttpub.capture.protocol.websocket": "WebSocketError _Forgotten",
    "mqttpub.columns.findings": "Found",
    "mqttpub.columns.exchanges.pair": "Close _Exchanges",
    "mqttpub.columns.exchanges.sessions": "Course Moment",
    "mqttpub.lint.fault": "Place",
    "mqttpub.traffic.aliases": "Topic",
    "mqttpub.spark.formats.capture_reader": "CaptureReader FilteringReader Share UnseenError",
    "mqttpub.spark.pipeline.reading": "SourceFrames",
    "mqttpub.spark.pipeline.tables": "TableFiles",
    "mqttpub.spec.declare": "Field Group Packet",
    "mqttpub.spec.constraints": "*",
}
"""Classes of the same modules that no state holds as such."""


def _classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for module in saved.CLASSES:
        if module.startswith("mqttpub.") and module != saved.__name__:
            file = import_module(module).__file__
            assert file
            for node in ast.parse(Path(file).read_text()).body:
                if isinstance(node, ast.ClassDef):
                    yield module, node


def test_every_class_of_these_modules_is_known_to_be_kept_or_not() -> None:
    for module, node in _classes():
        kept, other = saved.CLASSES[module].split(), ELSEWHERE.get(module, "").split()
        assert (node.name in kept) + (node.name in other or other == ["*"]) >= 1, (
            f"{module}.{node.name}: may a state hold it? Then it belongs into saved.CLASSES, or else into ELSEWHERE"
        )
    for module, names in saved.CLASSES.items():
        for name in names.split():
            assert hasattr(import_module(module), name), (module, name)


def _layout() -> str:
    """Return what all classes keep, in short."""
    told = sorted(
        f"{module}.{node.name}: {sorted(_kept(node))}"
        for module, node in _classes()
        if node.name in [*saved.CLASSES[module].split(), "Reassembler", "Packet", "Group"]
    )
    return sha256("\n".join(told).encode()).hexdigest()[:16]


def _kept(node: ast.ClassDef) -> set[str]:
    """Return the attributes that a class sets in its objects, and the fields of a tuple."""
    inner = {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        and isinstance(each.value, ast.Name) and each.value.id == "self"
    }  # fmt: skip
    fields = {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return inner | fields


LAYOUTS = {
    2: "2d996eea8b2c65f4",
    3: "825849be6ec34e82",
    4: "7bde99d4182c705c",
    5: "a7b9d0ebee23f816",
    6: "7e7b0ed27b7cb7d0",
}


def test_the_format_number_changes_with_what_is_kept() -> None:
    assert LAYOUTS.get(saved.FORMAT) == _layout(), (
        f"what a state consists of has changed: raise saved.FORMAT, and add its number and '{_layout()}' to LAYOUTS"
    )


# what is refused


def _written(tmp_path: Path) -> tuple[Path, bytes]:
    path = tmp_path / "state"
    path.write_bytes(dumps((Memory(), Pairing())))
    return path, path.read_bytes()


def test_a_file_is_loaded_as_what_it_should_be(tmp_path: Path) -> None:
    path, _ = _written(tmp_path)
    assert [type(each) for each in load(path, Memory, Pairing)] == [Memory, Pairing]
    for kinds in ((Memory,), (Pairing, Memory), (Memory, Pairing, Pairing)):
        with pytest.raises(StateError, match="it is the state of something else"):
            load(path, *kinds)
    path.write_bytes(dumps(Pairing()))
    assert type(load(path, Pairing)) is Pairing
    with pytest.raises(StateError, match=f"cannot go on from '{path}': it is the state of something else"):
        load(path, Memory)


def test_whatever_happened_to_a_file_is_one_sentence_with_its_name(tmp_path: Path) -> None:
    path, data = _written(tmp_path)
    line, form = data.index(b"\n"), b"state %d " % saved.FORMAT
    wrong = {
        b"": "it is no state of mqttpub",
        pickle.dumps(3): "it is no state of mqttpub",
        data[: line - 3]: "it is no state of mqttpub",
        data[:-1]: "it should have [0-9]+ bytes behind its first line, but has [0-9]+",
        data + b"x": "it should have [0-9]+ bytes behind its first line, but has [0-9]+",
        data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]: "it was changed after it was written",
        data.replace(form, b"state 99 ", 1): f"mqttpub {__version__} wrote it in format 99, and this is mqttpub",
        data.replace(form, b"state \xff ", 1): "it is no state of mqttpub",
        data.replace(b" %s " % __version__.encode(), b" \x1b[2J ", 1): "it is no state of mqttpub",
    }
    check(path)
    for content, sentence in wrong.items():
        path.write_bytes(content)
        for look in (check, lambda path: load(path, Memory, Pairing)):
            with pytest.raises(StateError, match=f"^cannot go on from '{path}': {sentence}"):
                look(path)
    path.unlink()
    with pytest.raises(StateError, match="there is no such file"):
        check(path)
    os.mkfifo(path)
    with pytest.raises(StateError, match="it is no file"):
        check(path)


class Armed:
    """Does when it is loaded what it was made for."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.parts = function, arguments

    def __reduce__(self) -> Any:
        return self.parts


def _sealed(body: bytes) -> bytes:
    """Return a pickle as a state, by somebody who knows how."""
    return b"%s %d 0 %d %s\n%s" % (saved.MAGIC, saved.FORMAT, len(body), sha256(body).hexdigest().encode(), body)


HOSTILE = {
    "system": Armed(os.system, "touch {mark}"),
    "eval": Armed(eval, "open('{mark}', 'w')"),
    "open": Armed(open, "{mark}", "w"),
    "getattr": Armed(getattr, Memory, "__init__"),
    "import": Armed(__import__, "antigravity"),
    "loads": Armed(pickle.loads, b"N."),
    "objects": Armed(np.frombuffer, b"12345678", "O"),
    "_read": Armed(saved._read, Path("/etc/passwd")),
    "import_module": Armed(import_module, "antigravity"),
    "Path": Path("/"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_what_is_no_part_of_a_state_is_not_even_looked_up(name: str, protocol: int, tmp_path: Path) -> None:
    armed: Any = HOSTILE[name]
    if isinstance(armed, Armed):
        words = [each.format(mark=tmp_path / "mark") if isinstance(each, str) else each for each in armed.parts[1]]
        armed = Armed(armed.parts[0], *words)
    with pytest.raises(StateError, match=r"it holds '[\w.]+', which is no part of a state"):
        loads(_sealed(pickle.dumps(([], [armed]), protocol)))
    assert not (tmp_path / "mark").exists()


def test_names_are_shown_as_a_terminal_may_have_them() -> None:
    with pytest.raises(StateError) as caught:
        loads(_sealed(b"c\x1b[2J\n" + b"x" * 500 + b"\n."))
    assert str(caught.value) == f"it holds '\\x1b[2J.{'x' * 75}', which is no part of a state"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (Armed(saved._bound, Memory(), "clients"), "it holds 'Memory.clients'"),
        (Armed(saved._bound, State(), "__class__"), "it holds 'State.__class__'"),
        (Armed(saved._array, "O", b"12345678"), "it holds an array of something else"),
        (Armed(saved._array, "i8", b"123"), r"it is broken \(ValueError\)"),
        (Armed(saved._array, "nonsense", b""), r"it is broken \(TypeError\)"),
        (Armed(saved._column, b"nonsense"), r"it is broken \(ArrowInvalid\)"),
        (Armed(saved._test_point, (), 0), r"it is broken \(IndexError\)"),
        (Armed(Counter, 3), r"it is broken \(TypeError\)"),
    ],
)
def test_parts_are_not_trusted_either(value: Any, sentence: str) -> None:
    with pytest.raises(StateError, match=sentence):
        loads(_sealed(pickle.dumps(value)))


class Watched(NamedTuple):
    """What Python itself reports."""

    events: list[tuple[str, Any]]
    armed: list[bool]


_WATCHED = Watched([], [])
LOUD = ("os.", "open", "exec", "subprocess.", "socket.", "shutil.", "ctypes.", "sys.", "glob.", "marshal.", "mmap.")
"""How those events begin that no state may give rise to."""
HARMLESS = "sys.unraisablehook"
"""What Python says of objects that are half made."""


def _hook(event: str, arguments: Any) -> None:
    if _WATCHED.armed and event.startswith(LOUD) and event != HARMLESS:
        _WATCHED.events.append((event, arguments))


@contextmanager
def watched() -> Iterator[list[tuple[str, Any]]]:
    """Take down what programs are run, what files opened, and so on."""
    _WATCHED.events.clear()
    _WATCHED.armed.append(True)
    hook, sys.unraisablehook = sys.unraisablehook, lambda told: None
    try:
        yield _WATCHED.events
    finally:
        sys.unraisablehook = hook
        _WATCHED.armed.clear()


class Bodies(list[bytes]):
    """Pickles, which nobody wants to see."""

    def __repr__(self) -> str:
        return f"{len(self)} pickles"


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> "Bodies":
    """Return pickles of states in the middle of things."""
    sys.addaudithook(_hook)
    folder = tmp_path_factory.mktemp("states")
    files = rotated(capture(2, clients=2, messages=3), folder, 2)
    reader, tables, rows = SourceReader(0, 1), TableBuilder(), Rows()
    tables.begin(rows, rows, lint=True)  # type: ignore[arg-type]
    source = examine(str(files[0]), str(files[0]))
    reader.begin(source)
    with files[0].open("rb") as file:
        for batch in reader.batches(source, file):
            tables.add(batch)
    made = [dumps(each) for each in ((reader, tables), rows.pairing, MqttDemux())]
    return Bodies(data[data.index(b"\n") + 1 :] for data in made)


GADGETS = (
    b"cos\nsystem\n", b"\x8c\x02os\x8c\x06system\x93", b"\x8c\x08builtins\x8c\x04eval\x93", b"\x8c\x07touch x\x85R",
    b"\x8c\x08builtins\x8c\x03int\x93", b"R", b"b", b"\x81", b"0", b"2", b")", b"}", b"]", b"N", b".", b"\x94", b"(",
)  # fmt: skip


def _mutated(body: bytes, seed: int, count: int) -> bytes:
    random, data = Random(seed), bytearray(body)
    for _ in range(count):
        at = random.randrange(len(data))
        kind = random.randrange(4)
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at:at] = random.choice(GADGETS)
        elif kind == 2:
            del data[at : at + random.randrange(1, 9)]
        else:
            other = random.randrange(len(data))
            data[at:at] = data[other : other + random.randrange(1, 40)]
    return bytes(data)


def _makes_room(body: bytes) -> bool:
    """Tell whether a pickle asks for a place in a table that does not fit into memory, which pickle then makes."""
    try:
        return any(each[0].name.endswith("PUT") and (each[1] or 0) > 1 << 20 for each in pickletools.genops(body))
    except Exception:
        return b"r" in body


@settings(max_examples=200)
@given(st.integers(0, 2), st.integers(0, 2**32), st.integers(1, 4))
def test_a_state_that_somebody_changed_runs_nothing(bodies: "Bodies", which: int, seed: int, count: int) -> None:
    body = _mutated(bodies[which], seed, count)
    assume(not _makes_room(body))
    with watched() as events, suppress(StateError):
        loads(_sealed(body))
    assert events == []


@given(st.binary(max_size=300))
def test_what_is_no_state_at_all(data: bytes) -> None:
    with pytest.raises(StateError):
        loads(data)
