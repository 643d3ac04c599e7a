"""Edge nodes and hosts of Sparkplug B: each rule, one that keeps it and one that breaks it."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.report.payloads import sessions as module
from mqttpub.report.payloads.events import EVENT, events
from mqttpub.report.payloads.sessions import COUNTS, FAULTS, MOST_EXAMPLES, NODE, SparkplugNode, sessions
from mqttpub.report.rows import structured
from tests.build.known_payloads import metric, sparkplug

Step = tuple[str, bytes]
INPUT = pa.schema(
    [("topic", pa.string()), ("payload", pa.binary()), ("direction", pa.string()), ("who", pa.string()),
     ("connects", pa.bool_()), ("dup", pa.bool_()), ("time", pa.int64()), ("capture", pa.string()),
     ("frame", pa.int64()), ("pos", pa.int64())]
)  # fmt: skip
BD = 3


def node(type: str, seq: int | None, *metrics: bytes) -> Step:
    """Return a message of the edge node itself."""
    return f"spBv1.0/g/{type}/n", sparkplug(seq, *metrics)


def device(type: str, seq: int | None, *metrics: bytes, name: str = "d") -> Step:
    """Return a message of a device."""
    return f"spBv1.0/g/{type}/n/{name}", sparkplug(seq, *metrics)


def birth(bd_seq: int | None = BD, seq: int | None = 0) -> Step:
    """Return an NBIRTH with two metrics, one of them with an alias."""
    own = (metric("bdSeq", None, bd_seq),) if bd_seq is not None else ()
    return node("NBIRTH", seq, *own, metric("load", 1, 5), metric("up", None, 5))


def death(bd_seq: int | None = BD, stamp: int = 1) -> Step:
    """Return an NDEATH."""
    own = (metric("bdSeq", None, bd_seq),) if bd_seq is not None else ()
    return "spBv1.0/g/NDEATH/n", sparkplug(None, *own, stamp=stamp)


CONNECT: Step = ("CONNECT", death()[1])
DEVICE = device("DBIRTH", 1, metric("rpm", 10, 5))
DATA = node("NDATA", 1, metric(None, 1, 6))


def rows(steps: Iterable[Step], *, direction: str = "client", dup: bool = False) -> list[dict[str, Any]]:
    """Return rows as the query gives them to `events`, one record and one microsecond apart."""
    return [
        {"topic": "spBv1.0/g/NDEATH/n" if topic == "CONNECT" else topic, "payload": payload, "direction": direction,
         "who": "c", "connects": topic == "CONNECT", "dup": dup, "time": at, "capture": "a.pcap", "frame": at, "pos": 0}
        for at, (topic, payload) in enumerate(steps, 1)
    ]  # fmt: skip


def followed(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is seen of all nodes in rows."""
    found = list(events([pa.RecordBatch.from_pylist(given, INPUT)]))
    keys = ("group", "node", "host", "stream")
    order = [(name, "ascending") for name in (*keys, "time", "frame")]
    ordered = pa.Table.from_batches(found, EVENT).sort_by(order).to_batches(max_chunksize=3)
    return [row for batch in sessions(ordered) for row in batch.to_pylist()]


def seen(*steps: Step) -> dict[str, Any]:
    """Return what is seen of the one node that publishes these messages."""
    (row,) = followed(rows(steps))
    return row


def faults(row: dict[str, Any]) -> dict[str, int]:
    """Return the numbers of faults that are not 0."""
    return {name: row[name] for name in FAULTS if row[name]}


KEPT = [
    [CONNECT, birth(), DEVICE, node("NDATA", 2, metric(None, 1, 6)), device("DDATA", 3, metric(None, 10, 1))],
    [birth(), node("NDATA", 1, metric("up", None, 6)), node("NDATA", 2)],
    [birth(seq=255), node("NDATA", 0), node("NDATA", 1)],
    [birth(), DEVICE, device("DDEATH", 2), device("DBIRTH", 3, metric("rpm", 10, 5)), device("DDATA", 4)],
    [birth(), death(), CONNECT, birth(), DATA],
    [birth(), DATA, birth(), DATA],
    [node("NDATA", 9), node("NDATA", 10), device("DDATA", 11), death(), birth()],
    [birth(), node("NCMD", None), device("DCMD", None), DATA],
]
BROKEN = [
    ("gaps", [birth(), node("NDATA", 2)], "seq 2 after 0: 1 missing"),
    ("gaps", [node("NDATA", 250), node("NDATA", 4)], "seq 4 after 250: 9 missing"),
    ("backwards", [birth(), DATA, DATA], "seq 1 after 1"),
    ("backwards", [node("NDATA", 100), node("NDATA", 0)], "seq 0 after 100"),
    ("without_seq", [birth(), node("NDATA", None)], "NDATA has no seq"),
    ("without_seq", [birth(), node("NDATA", 256)], "NDATA has seq 256"),
    ("without_seq", [birth(seq=None)], "NBIRTH has no seq"),
    ("unborn", [CONNECT, DATA], "NDATA without an NBIRTH"),
    ("unborn", [birth(), death(), DATA], "NDATA without an NBIRTH"),
    ("unborn", [birth(), device("DDATA", 1)], "DDATA of a device without a DBIRTH"),
    ("unborn", [birth(), DEVICE, device("DDEATH", 2), device("DDATA", 3)], "DDATA of a device without a DBIRTH"),
    ("unborn", [birth(), DEVICE, birth(), device("DDATA", 1)], "DDATA of a device without a DBIRTH"),
    ("unknown", [birth(), node("NDATA", 1, metric(None, 9, 5))], "no birth has alias 9"),
    ("unknown", [birth(), node("NDATA", 1, metric("new", None, 5))], "no birth has 'new'"),
    ("unknown", [birth(), node("NDATA", 1, metric(None, None, 5))], "no birth has a metric without a name"),
    ("unknown", [birth(), DEVICE, node("NDATA", 2, metric("rpm", None, 5))], "no birth has 'rpm'"),
    ("doubled", [birth(), device("DBIRTH", 1, metric("rpm", 1, 5))], "alias 1 is given to 'load' and to 'rpm'"),
    ("bd_seq", [birth(None)], "NBIRTH has no bdSeq"),
    ("bd_seq", [birth(), death(None)], "NDEATH has no bdSeq"),
    ("bd_seq", [birth(), death(BD - 1)], "NDEATH has bdSeq 2, but the last NBIRTH 3"),
    ("bd_seq", [CONNECT, birth(4)], "NBIRTH has bdSeq 4, but the will of its CONNECT 3"),
    ("bd_seq", [("CONNECT", sparkplug(None))], "the will has no bdSeq"),
    ("malformed", [birth(), ("spBv1.0/g/NDATA/n", b"\xff"), DATA], "NDATA"),
    ("malformed", [birth(), ("spBv1.0/g/NDEATH/n", b"\xff"), DATA], "NDEATH"),
]  # fmt: skip


@pytest.mark.parametrize("steps", KEPT)
def test_who_keeps_the_rules_has_no_faults(steps: list[Step]) -> None:
    assert faults(seen(*steps)) == {}


@pytest.mark.parametrize(("fault", "steps", "about"), BROKEN)
def test_a_fault_is_counted_and_named_with_its_place(fault: str, steps: list[Step], about: str) -> None:
    row = seen(*steps)
    assert faults(row) == {fault: 1}
    (example,) = row["examples"]
    assert (example["fault"], example["about"], example["capture"]) == (fault, about, "a.pcap")
    assert example["frame"] == example["time"]
    assert 1 <= example["frame"] <= len(steps)


def test_what_is_counted() -> None:
    devices = [DEVICE, device("DDATA", 2), device("DDEATH", 3)]
    row = seen(CONNECT, birth(), *devices, node("NCMD", None), birth(), DATA, death())
    expected = dict.fromkeys((*COUNTS, "faults"), 0) | {
        "messages": 8, "births": 2, "deaths": 1, "device_births": 1, "device_deaths": 1, "data": 2, "commands": 1,
        "rebirths": 1,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["devices"] == [{"device": "d", "births": 1, "deaths": 1, "data": 1}]
    assert row["spans"] == [{"begin": 2, "end": 9, "how": "death"}]
    assert (row["online"], row["published"], row["first"], row["last"]) == (False, True, 1, 9)


def test_times_online() -> None:
    row = seen(node("NDATA", 5), death(), birth(), DATA, CONNECT, death(stamp=2), birth(), DATA)
    assert row["spans"] == [
        {"begin": 1, "end": 2, "how": "death"}, {"begin": 3, "end": 5, "how": "reconnect"},
        {"begin": 7, "end": None, "how": ""},
    ]  # fmt: skip
    assert row["online"] is True
    assert row["before"] == 1
    assert faults(row) == {}


def test_a_late_death_of_an_earlier_session_does_not_end_this_one() -> None:
    row = seen(birth(1), birth(2), death(1), node("NDATA", 1))
    assert faults(row) == {"bd_seq": 1}
    assert row["online"] is True


def test_examples_are_few_and_numbers_are_whole() -> None:
    row = seen(birth(), *[node("NDATA", 1)] * 20)
    assert row["backwards"] == 19
    assert len(row["examples"]) == MOST_EXAMPLES


def test_copies_count_once() -> None:
    published = rows([birth(), DATA])
    forwarded = [
        {**row, "direction": "server", "who": who, "frame": row["frame"] + 10 * at, "time": row["time"] + at}
        for at, who in enumerate(("a", "b"), 1)
        for row in rows([birth(), DATA, death()])
    ]
    found = {row["stream"]: row for row in followed([*published, *forwarded])}
    assert {who: row["messages"] for who, row in found.items()} == {"": 3, "a": 3, "b": 3}
    assert {who: row["deaths"] for who, row in found.items()} == {"": 1, "a": 1, "b": 1}
    assert {who: row["published"] for who, row in found.items()} == {"": True, "a": False, "b": False}


def test_a_message_that_is_delivered_again_counts_once() -> None:
    (row,) = followed([*rows([birth(), DATA]), *({**each, "time": 9} for each in rows([DATA], dup=True))])
    assert row["messages"] == 2
    assert faults(row) == {}


def test_hosts() -> None:
    steps = [
        ("spBv1.0/STATE/scada", b'{"online": true, "timestamp": 1}'),
        ("spBv1.0/STATE/scada", b'{"online": true, "timestamp": 1}'),
        ("spBv1.0/STATE/scada", b'{"online": false, "timestamp": 2}'),
        ("spBv1.0/STATE/scada", b'{"online": 3}'), ("spBv1.0/STATE/scada", b"[" * 10_000),
        ("spBv1.0/STATE/scada", b'{"online": true, "timestamp": 99999999999999999999999}'),
        ("STATE/old", b"ONLINE"), ("STATE/old", b"ONLINE"), ("STATE/old", b"OFFLINE"), ("STATE/old", b"ONLINE"),
    ]  # fmt: skip
    old, scada = followed(rows(steps))
    assert (scada["node"], scada["host"]) == ("scada", True)
    assert (scada["births"], scada["deaths"], scada["malformed"]) == (2, 1, 2)
    assert (old["node"], old["births"], old["deaths"], old["online"]) == ("old", 2, 1, True)
    assert [span["how"] for span in scada["spans"]] == ["death", ""]


def test_topics_of_another_form_are_named() -> None:
    row = seen(("spBv1.0/g/NBIRTH", b""), ("spBv1.0/g/DBIRTH/n", birth()[1]))
    assert (row["group"], row["node"], row["messages"], faults(row)) == ("", "", 2, {"malformed": 2})
    assert [each["device"] for each in row["examples"]] == ["spBv1.0/g/NBIRTH", "spBv1.0/g/DBIRTH/n"]
    assert [each["about"] for each in row["examples"]] == ["the topic has another form"] * 2
    assert structured(SparkplugNode, row).name == "(other topics)"


def test_what_is_remembered_of_a_node_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_DEVICES", 5), ("MOST_ALIASES", 5), ("MOST_SPANS", 5), ("MOST_NAMED", 2)):
        monkeypatch.setattr(module, name, most)
    devices = [device("DBIRTH", 1 + at, metric("m", 50 + at, 1), name=f"d{at}") for at in range(20)]
    lives = [step for at in range(20) for step in (birth(), death(stamp=at))]
    row = seen(birth(), *devices, node("NDATA", 21, metric(None, 99, 1)), *lives)
    assert (row["device_count"], len(row["devices"]), len(row["spans"])) == (5, 2, 5)
    assert row["unknown"] == 0
    assert row["device_births"] == 20


STEPS = [step for steps in (*KEPT, *(steps for _, steps, _ in BROKEN)) for step in steps]


@given(st.lists(st.sampled_from(STEPS), max_size=30))
def test_any_order_of_messages_has_an_answer(steps: list[Step]) -> None:
    found = followed(rows(steps))
    assert len(found) == bool(steps)
    for row in found:
        assert row["faults"] == sum(row[name] for name in FAULTS)
        assert pa.RecordBatch.from_pylist([row], NODE).num_rows == 1


@given(st.text(max_size=20), st.binary(max_size=50))
def test_any_topic_and_payload_has_an_answer(levels: str, payload: bytes) -> None:
    hosts = ("STATE/h", "spBv1.0/STATE/h")
    for topic in (f"spBv1.0/{levels}", f"spBv1.0/g/NBIRTH/{levels}", "spBv1.0/g/DDATA/n/d", *hosts):
        assert len(followed(rows([(topic, payload)]))) == 1
