"""A state saved between runs continues as before, and a hostile file runs nothing."""

import ast
import inspect
import io
import json
import os
import pickle
import re
import subprocess
import sys
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub import __version__
from mqttpub.capture.containers.registry import records
from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.exchanges.apart import SharedPackets
from mqttpub.columns.exchanges.pair import Pairing
from mqttpub.columns.reassemble.reassemble import reassemble
from mqttpub.columns.reassemble.state import State
from mqttpub.columns.scan.records import reader
from mqttpub.columns.scan.records import records as blocks
from mqttpub.lint.registry import TEST_POINTS
from mqttpub.spark.pipeline import checkpoint
from mqttpub.spark.pipeline.checkpoint import StateError, check, dumps, loads
from mqttpub.spark.pipeline.state_classes import STATE_CLASSES
from mqttpub.spark.pipeline.tables import TableBuilder
from mqttpub.traffic.events import Event
from tests.build.fleet import capture, rotated
from tests.build.known_captures import truth
from tests.build.pieces import CONNECTS, V5, publish
from tests.build.troubled_captures import troubled
from tests.columns.reassemble.test_state import through_websocket
from tests.paths import CAPTURES

Saved = TypeVar("Saved")


def again(value: Saved) -> Saved:
    """Save a state and load it."""
    return loads(dumps(value))  # type: ignore[no-any-return]


# it continues


@settings(max_examples=15)
@given(troubled(), st.integers(1, 5))
def test_a_capture_can_be_saved_between_any_two_records(data: bytes, often: int) -> None:
    assert _events(data, often) == _events(data, 0)


def _events(data: bytes, often: int) -> list[Event]:
    state, found = State(), list[Event]()
    for record in records(io.BytesIO(data)):
        if often and not record.number % often:
            state = again(state)
        found += state.feed(record)
    return [*found, *state.finish()]


@pytest.mark.parametrize("extensions", ["", "permessage-deflate"])
def test_a_websocket_connection_can_be_saved(extensions: str) -> None:
    packets = [CONNECTS[V5], publish(b"the same again and again" * 40), publish(bytes(5_000)), publish()]
    assert through_websocket(extensions, packets, again) == packets


class KeptRows:
    """Stands in for the files and the shuffle: keeps rows in memory."""

    def __init__(self) -> None:
        self.pairing = Pairing()
        self.rows: dict[str, list[Any]] = {}

    def begin(self, before: Any) -> None:
        """Begin another bucket of connections."""

    def put(self, given: Any, rows: Any = None, **over: bool) -> None:
        """Keep rows of a table, or pair packets that connections share."""
        if isinstance(given, SharedPackets):
            closed = [close for _, close in given.closes]
            given, rows = "exchanges", self.pairing.add_chosen(given.packets, closed, given.events)
        self.rows.setdefault(given, []).extend(rows.to_pylist())


def _add(path: Path, state: State, builder: TableBuilder, rows: KeptRows) -> None:
    builder.begin(rows, rows, np.zeros_like, lint=True)  # type: ignore[arg-type]
    with path.open("rb") as file:
        for found in blocks(reader(file), state.secrets):
            builder.add(reassemble(found, state))


def _tabled(paths: list[Path], *, saved: bool) -> Iterator[dict[str, list[Any]]]:
    """Yield the rows of all tables after each file."""
    state, tables, rows = State(), TableBuilder(), KeptRows()
    for path in paths:
        if saved:
            state, tables, rows.pairing = again((state, tables, rows.pairing))
        _add(path, state, tables, rows)
        yield rows.rows


def test_all_tables_can_be_saved_between_sources(tmp_path: Path) -> None:
    files = rotated(capture(5, clients=4, messages=8), tmp_path, 5)
    for number, data in enumerate(truth(3, connections=4, messages=20, files=5).files):
        files.append(tmp_path / f"truth-{number}")
        files[-1].write_bytes(data)
    files += sorted(CAPTURES.glob("*.pcapng"))
    *_, plain = _tabled(files, saved=False)
    *_, resumed = _tabled(files, saved=True)
    assert {name: len(rows) > 10 for name, rows in plain.items()} == dict.fromkeys(plain, True)
    assert resumed == plain


def test_arrays_and_columns_keep_their_types() -> None:
    arrays: list[Any] = [np.arange(5), np.array([], np.uint8), np.array([True]), np.array([1.5])]
    assert [(each.dtype, each.tolist()) for each in again(arrays)] == [(each.dtype, each.tolist()) for each in arrays]
    assert again(arrays)[0].flags.writeable
    columns = [
        pa.array(["a", None, "bc"]), pa.array([["x"], [], None]), pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([1, 2, 3])[1:], pa.array([], pa.string()),
    ]  # fmt: skip
    assert [each.type for each in again(columns)] == [each.type for each in columns]
    assert all(one.equals(other) for one, other in zip(again(columns), columns, strict=True))


def test_a_test_point_is_the_same_object_that_rules_use() -> None:
    assert all(one is other for one, other in zip(again(TEST_POINTS), TEST_POINTS, strict=True))


def test_shared_objects_circles_and_containers() -> None:
    shared = [1]
    value: Any = {"shared": [shared, shared], (1, b"x"): OrderedDict(a=1.5, b=None), "deque": deque([1, 2, 3], 3)}
    value["self"] = value
    counts: defaultdict[str, int] = defaultdict(int, a=1)
    value["more"] = [
        Counter(a=2),
        counts,
        {1, 2},
        frozenset("a"),
        bytearray(b"ab"),
        "\udcff",
        re.compile(b"a", re.DOTALL),
    ]
    got = again(value)
    assert got["self"] is got
    assert got["shared"][0] is got["shared"][1]
    assert (got["deque"], got["deque"].maxlen) == (value["deque"], 3)
    assert got["more"] == value["more"]
    assert [type(each) for each in got["more"]] == [type(each) for each in value["more"]]
    assert got["more"][1]["new"] == 0


def test_depth_does_not_matter() -> None:
    value: list[Any] = []
    for _ in range(20_000):
        value = [value]
    got, depth = again(value), 0
    while got:
        (got,), depth = got, depth + 1
    assert depth == 20_000


def test_a_state_loads_in_a_process_that_has_imported_nothing_else(bodies: "Bodies", tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(checkpoint.seal(bodies[0]))
    code = "import sys; from mqttpub.spark.pipeline.checkpoint import loads; loads(open(sys.argv[1], 'rb').read())"
    code = f"import mqttpub.spark.pipeline.task; {code}"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "state")], check=True)


# what a state holds


class Unlisted:
    """A class that states do not know."""


class Grown(Memory):
    """A class that keeps more than is listed."""


def test_only_listed_classes_and_attributes_can_be_saved() -> None:
    with pytest.raises(TypeError, match="has its class"):
        dumps([Unlisted()])
    with pytest.raises(TypeError, match="it is not in state_classes"):
        dumps([dumps])
    memory = Memory()
    memory.more = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"Memory keeps \['more'\], which its row in state_classes does not list"):
        dumps(memory)


def _assigned(cls: type) -> set[str]:
    """Return the attributes that a class gives its objects: those it sets, and the defaults in its body."""
    names = set()
    for base in cls.__mro__:
        if base.__module__.startswith("mqttpub."):
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            assert isinstance(node, ast.ClassDef)
            names |= {
                each.attr
                for each in ast.walk(node)
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
                and isinstance(each.value, ast.Name) and each.value.id == "self"
            }  # fmt: skip
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    names.add(each.target.id)
                elif isinstance(each, ast.Assign):
                    names |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return names - {"__slots__"}


@pytest.mark.parametrize("tag", [tag for tag, row in STATE_CLASSES.items() if not row.built_whole])
def test_all_attributes_of_a_class_are_listed(tag: str) -> None:
    row = STATE_CLASSES[tag]
    if "__getstate__" not in row.cls.__dict__ and "__getstate__" not in row.cls.__base__.__dict__:
        assert _assigned(row.cls) <= set(row.attributes)


FORMATS = {12: "c2118caa64fc6612"}


def test_the_format_number_changes_with_the_stored_attributes() -> None:
    kept = sorted((tag, sorted(row.attributes)) for tag, row in STATE_CLASSES.items())
    digest = sha256(json.dumps(kept).encode()).hexdigest()[:16]
    assert FORMATS.get(checkpoint.FORMAT) == digest, (
        f"what a state consists of has changed: raise checkpoint.FORMAT once per release, "
        f"and put its number and '{digest}' here"
    )


# what is refused


def test_a_state_must_hold_the_expected_classes() -> None:
    data = dumps((Memory(), Pairing()))
    assert [type(each) for each in loads(data, Memory, Pairing)] == [Memory, Pairing]
    for kinds in ((Memory,), (Pairing, Memory), (Memory, Pairing, Pairing)):
        with pytest.raises(StateError, match="it is a state of another kind"):
            loads(data, *kinds)
    assert type(loads(dumps(Pairing()), Pairing)) is Pairing
    with pytest.raises(StateError, match=r"^it is a state of another kind"):
        loads(dumps(Pairing()), Memory)


def test_a_damaged_state_gives_one_sentence() -> None:
    data = dumps((Memory(), Pairing()))
    line, form = data.index(b"\n"), b"state %d " % checkpoint.FORMAT
    wrong = {
        b"": "it is not a state of mqttpub",
        pickle.dumps(3): "it is not a state of mqttpub",
        data[: line - 3]: "it is not a state of mqttpub",
        data[:-1]: "it should have [0-9]+ bytes after its first line, but has [0-9]+",
        data + b"x": "it should have [0-9]+ bytes after its first line, but has [0-9]+",
        data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]: "it was changed after it was written",
        data.replace(form, b"state 99 ", 1): f"mqttpub {__version__} wrote it in format 99, and this is mqttpub",
        data.replace(form, b"state 6 ", 1): f"mqttpub {__version__} wrote it in format 6, and this is mqttpub",
        data.replace(form, b"state \xff ", 1): "it is not a state of mqttpub",
        data.replace(b" %s " % __version__.encode(), b" \x1b[2J ", 1): "it is not a state of mqttpub",
    }
    check(data)
    for content, sentence in wrong.items():
        for read in (partial(loads, content, Memory, Pairing), partial(check, content)):
            with pytest.raises(StateError, match=f"^{sentence}"):
                read()


def hostile(*objects: Any, data: bytes = b"") -> bytes:
    """Return a state of these objects, made by somebody who knows the format."""
    return checkpoint.seal(json.dumps(objects).encode() + b"\n" + data)


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "open", "__import__", "mqttpub.cli.main", "Memory"])
def test_unknown_names_are_not_even_looked_up(name: str) -> None:
    for state in ([name], ["function", name], ["method", [1], name]):
        with watched() as events, pytest.raises(StateError):
            loads(hostile(["list", [1]], state, ["dict"]))
        assert events == []


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_pickle_is_not_loaded(protocol: int, tmp_path: Path) -> None:
    class Armed:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'mark'}",)

    for body in (pickle.dumps(Armed(), protocol), b"[]\n" + pickle.dumps(Armed(), protocol)):
        with pytest.raises(StateError):
            loads(checkpoint.seal(body))
    assert not (tmp_path / "mark").exists()


def test_names_are_shown_as_a_terminal_may_have_them() -> None:
    with pytest.raises(StateError) as caught:
        loads(hostile(["\x1b[2J." + "x" * 500]))
    assert str(caught.value) == f"it holds '\\x1b[2J.{'x' * 75}', which is not part of a state"


@pytest.mark.parametrize(
    ("objects", "sentence"),
    [
        ([["method", [1], "client"], ["columns/context"]], "it holds 'Memory.client', which is not part of a state"),
        ([["method", [1], "__class__"], ["columns/context"]], "it holds 'Memory.__class__'"),
        ([["columns/context", "__class__", [1]], ["dict"]], "it holds attributes that Memory does not have"),
        ([["columns/context", "__dict__", [1]], ["dict"]], "it holds attributes that Memory does not have"),
        ([["columns/context", "_clients"]], "it holds attributes that Memory does not have"),
        ([["columns/context", 3, 4]], "it holds attributes that Memory does not have"),
        ([["traffic/remark", "message", ""]], r"it is broken \(KeyError\)"),
        ([["spec/version", "value", 77]], r"it is broken \(ValueError\)"),
        ([["array", "O", [0, 8]]], "it holds an array of something other than numbers"),
        ([["array", "i8,i8", [0, 8]]], "it holds an array of something other than numbers"),
        ([["array", "i8", [0, 3]]], r"it is broken \(ValueError\)"),
        ([["array", "nonsense", [0, 0]]], r"it is broken \(TypeError\)"),
        ([["column", [0, 8]]], r"it is broken \(ArrowInvalid\)"),
        ([["column", [4, 9]]], "it refers to bytes that it does not have"),
        ([["list", [-1, 4]]], "it refers to bytes that it does not have"),
        ([["list", [1, 2, 3]]], r"it is broken \(ValueError\)"),
        ([["list", [7]]], "it refers to an object that it does not have"),
        ([["list", [-1]]], "it refers to an object that it does not have"),
        ([["list", [True]]], "it refers to an object that it does not have"),
        ([["list", {}]], "it holds a value of no known kind"),
        ([["tuple", [0]]], "it holds an immutable object that contains itself"),
        ([["dict", [1], 0], ["list"]], r"it is broken \(TypeError\)"),
        ([["test-point", [1], 0], ["tuple"]], r"it is broken \(IndexError\)"),
        ([["partial", [1], [2], [3]], ["list"], ["tuple"], ["dict"]], "a partial call of something that cannot be"),
        ([["function", "os.system"]], r"it is broken \(KeyError\)"),
        ([[]], "it is not a list of objects"),
        ([], "it refers to an object that it does not have"),
    ],
)  # fmt: skip
def test_values_of_a_hostile_file_are_checked(objects: list[Any], sentence: str) -> None:
    with pytest.raises(StateError, match=sentence):
        loads(hostile(*objects, data=b"12345678"))


class Watched(NamedTuple):
    """Audit events that Python reports."""

    events: list[tuple[str, Any]]
    armed: list[bool]


_WATCHED = Watched([], [])
LOUD = ("os.", "open", "exec", "subprocess.", "socket.", "shutil.", "ctypes.", "sys.", "glob.", "marshal.", "mmap.")
"""Prefixes of the events that loading a state must not cause."""
HARMLESS = "sys.unraisablehook"
"""The event for errors in objects that are only partly made."""


def _hook(event: str, arguments: Any) -> None:
    if _WATCHED.armed and event.startswith(LOUD) and event != HARMLESS:
        _WATCHED.events.append((event, arguments))


@contextmanager
def watched() -> Iterator[list[tuple[str, Any]]]:
    """Record programs run, files opened, and so on."""
    _WATCHED.events.clear()
    _WATCHED.armed.append(True)
    hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        yield _WATCHED.events
    finally:
        sys.unraisablehook = hook
        _WATCHED.armed.clear()


class Bodies(list[bytes]):
    """States without their first lines, with a short repr for reports."""

    def __repr__(self) -> str:
        return f"{len(self)} states"


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> "Bodies":
    """Return states of runs in progress."""
    sys.addaudithook(_hook)
    folder = tmp_path_factory.mktemp("states")
    files = rotated(capture(2, clients=2, messages=3), folder, 2)
    state, tables, rows = State(), TableBuilder(), KeptRows()
    _add(files[0], state, tables, rows)
    made = [dumps(each) for each in ((state, tables), rows.pairing, MqttDemux())]
    return Bodies(data[data.index(b"\n") + 1 :] for data in made)


GADGETS = (
    b'"os.system"', b'["method",[0],"__init__"]', b'["function","eval"]', b'["partial",[0],[0],[0]]', b"[0]",
    b"[[", b"]]", b'["list",', b'["tuple",[0]]', b'["dict",[0],[0]]', b'"__class__"', b"1e999",
    b"-1", b"null", b",", b"[0,1]", b"{}",
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


def _rewired(body: bytes, seed: int, count: int) -> bytes:
    """Return a state that is still JSON, with values of its objects exchanged."""
    random, (text, _, data) = Random(seed), body.partition(b"\n")
    objects = json.loads(text)
    strange: list[Any] = [None, -1, "", "os.system", 1 << 80, 1e300, [0], [0, 1], [len(objects)], True]
    for _ in range(count):
        target, source = random.choice(objects), random.choice(objects)
        value = random.choice(source) if random.randrange(2) else random.choice(strange)
        target[random.randrange(len(target))] = value
    return json.dumps(objects).encode() + b"\n" + data


@settings(max_examples=200)
@given(st.integers(0, 2), st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_a_changed_state_runs_nothing(bodies: "Bodies", which: int, seed: int, count: int, rewire: bool) -> None:
    body = (_rewired if rewire else _mutated)(bodies[which], seed, count)
    with watched() as events, suppress(StateError):
        loads(checkpoint.seal(body))
    assert events == []


@given(st.binary(max_size=300))
def test_other_bytes_are_refused(data: bytes) -> None:
    for each in (data, checkpoint.seal(data)):
        with pytest.raises(StateError):
            loads(each)
