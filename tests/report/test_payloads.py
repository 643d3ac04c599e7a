"""The report on payloads: its numbers are those of plain Python on a capture of which everything is known."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mqttpub.codec.encode import encode
from mqttpub.payload.kinds import MALFORMED, SPARKPLUG
from mqttpub.report.engines.spark import SparkQueries
from mqttpub.report.page import page
from mqttpub.report.payloads.sessions import FAULTS
from mqttpub.report.question import ReportTables, record
from mqttpub.report.questions import payloads as module
from mqttpub.report.questions.payloads import PAYLOADS, MessagePlace, PayloadAnswers, SchemaVersion
from mqttpub.report.terminal import show_summary
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import SentSegment, pcap_of
from tests.build.known_payloads import KnownMessage, KnownPayloads, known_payloads
from tests.payload.test_json_schema import described
from tests.report.payloads.test_forms import HOSTILE
from tests.report.test_report import NOTHING
from tests.spark.running import alone as alone
from tests.spark.running import piped

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
NAMES = {dict: "JSON object", list: "JSON array", float: "JSON number", int: "JSON number"}


def form(message: KnownMessage) -> tuple[str, dict[str, str]]:
    """Return the kind and the schema of a message, as plain Python finds them."""
    if message.topic.startswith("spBv1.0/"):
        return MALFORMED if message.payload == b"\x0a\xff\xff" else SPARKPLUG, {}
    try:
        value = json.loads(message.payload)
    except ValueError:
        return "text", {}
    types = defaultdict(list)
    for path, name in sorted(described(value)):
        if path:
            types[path].append(name)
    return NAMES[type(value)], {path: "|".join(each) for path, each in types.items()}


@pytest.fixture(scope="module")
def known() -> KnownPayloads:
    """Generate a capture."""
    return known_payloads(5)


def check_kinds(known: KnownPayloads, found: PayloadAnswers, copies: int) -> None:
    messages, sizes, topics = Counter[str](), Counter[str](), defaultdict(set)
    for each in known.messages:
        kind, _ = form(each)
        messages[kind] += 1
        sizes[kind] += len(each.payload) * (1 + copies)
        topics[kind].add(each.topic)
    for row in found.kinds:
        kind = row.kind
        assert row.client_messages == messages[kind]
        assert (row.repeated, row.cut) == (0, 0)
        if kind != SPARKPLUG:
            # Only the server publishes deaths.
            assert row.server_messages == messages[kind] * copies
            assert row.bytes == sizes[kind]
            assert row.topics == len(topics[kind])
    assert {row.kind for row in found.kinds} == set(messages)
    assert sum(row.messages for row in found.kinds) == len(known.messages) + known.copies


def check_drift(known: KnownPayloads, found: PayloadAnswers) -> None:
    by_topic: dict[str, list[KnownMessage]] = defaultdict(list)
    for each in known.messages:
        if not each.topic.startswith("spBv1.0/"):
            by_topic[each.topic].append(each)
    expected = {}
    for topic, messages in by_topic.items():
        forms = [form(each) for each in messages]
        distinct = [each for at, each in enumerate(forms) if each not in forms[:at]]
        if len(distinct) > 1:
            changes = sum(one != other for one, other in pairwise(forms))
            both = list(zip(messages, forms, strict=True))
            places = [[each.record for each, own in both if own == one] for one in distinct]
            expected[topic] = (changes, distinct, places)
    assert len(expected) > 3
    assert found.drifting == len(expected)
    assert [each.topic for each in found.drift] == sorted(
        expected, key=lambda topic: (-expected[topic][0], -len(expected[topic][1]), topic)
    )
    for drift in found.drift:
        changes, distinct, places = expected[drift.topic]
        assert (drift.receiver, drift.changes, drift.forms) == ("", changes, len(distinct))
        assert drift.messages == len(by_topic[drift.topic])
        assert [(version.kind, version.paths) for version in drift.versions] == distinct
        assert [version.messages for version in drift.versions] == list(map(len, places))
        assert [version.first.frame for version in drift.versions] == [own[0] for own in places]
        assert [version.last.frame for version in drift.versions] == [own[-1] for own in places]


def check_nodes(known: KnownPayloads, found: PayloadAnswers) -> None:
    assert found.sparkplug
    rows = {row.node: row for row in found.sparkplug.nodes}
    assert rows.keys() == {each.name for each in known.nodes}
    for each in known.nodes:
        row = rows[each.name]
        for name in (*FAULTS, "messages", "births", "deaths", "device_births", "data", "missing"):
            assert getattr(row, name) == each.counts[name], (each.name, name)
        first: dict[str, list[int]] = defaultdict(list)
        for fault, place in each.places:
            first[fault].append(place)
        assert sorted((example.fault, example.frame) for example in row.examples) == sorted(
            (fault, place) for fault, places in first.items() for place in places[:3]
        )
        times = [[us // 1000 % 1_000_000 for us in (span.begin, span.end) if us] for span in row.spans]
        assert times == each.spans
        assert row.online is False
        assert {device.device for device in row.devices} >= set(each.devices)
    totals = found.sparkplug.totals
    assert (totals.nodes, totals.hosts) == (len(known.nodes), 0)
    assert totals.faults == sum(each.counts[name] for each in known.nodes for name in FAULTS)
    assert totals.missing == sum(each.counts["missing"] for each in known.nodes)


def answers(spark: Any, known: KnownPayloads, folder: Path, **more: Any) -> PayloadAnswers:
    """Return what the report says of a capture."""
    (folder / "known.pcap").write_bytes(known.capture)
    piped(folder / "known.pcap", out=folder / "out", **more)
    read: dict[str, Any] | None = {} if spark is None else None
    return PAYLOADS.ask(ReportTables(SparkQueries(spark), folder / "out", tables=read))


@pytest.mark.long
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_numbers_are_those_of_plain_python(
    form: str, known: KnownPayloads, spark: Any, alone: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answers(spark, known, tmp_path, file_format=form)
    check_kinds(known, found, copies=2)
    check_drift(known, found)
    check_nodes(known, found)
    summary = NOTHING.replaced({PAYLOADS: found})
    text = page("x", summary)
    for words in ("plant/0/state", "gap in seq", "bdSeq does not match", "Times online", "plant/node-1", "now "):
        assert words in text
    show_summary(summary)
    shown = capsys.readouterr().out
    for words in ("Payloads by kind", "plant/0/state", "Edge nodes of Sparkplug B", "plant/node-1", "gap in seq ("):
        assert words in shown
    values = json.loads(json.dumps(record(summary)))["payloads"]
    assert values["drift"][0]["versions"][0]["first"]["time"].startswith("2023-11-14T22:13:20.")
    assert values["sparkplug"]["nodes"][0]["examples"][0]["time"].endswith("Z")


@pytest.mark.long
def test_hostile_payloads_and_what_only_a_receiver_shows(spark: Any, alone: None, tmp_path: Path) -> None:
    steps = [(0, CLIENT, "<script>alert(1)</script>\u202e", each) for each in HOSTILE]
    steps += [(0, CLIENT, "spBv1.0/<b>/NDATA/<i>", each) for each in HOSTILE]
    # Two receivers of one topic: the one with more messages is shown.
    steps += [(at, SERVER, "t", each) for each in (b"1", b"ON", b"2") for at in (1, 1, 2)]
    capture = pcap_of(
        SentSegment(at, side, encode(Publish(topic=topic, payload=payload[:60_000]), Version.V311))
        for at, side, topic, payload in steps
    )
    found = answers(spark, KnownPayloads(capture, [], 0, []), tmp_path)
    attack, received = found.drift
    assert attack.messages == len(HOSTILE)
    assert (received.topic, received.messages, received.changes, received.forms) == ("t", 6, 2, 2)
    assert received.receiver.startswith("10.0.0.")
    assert sum(row.repeated for row in found.kinds) == 1
    assert found.sparkplug
    (node,) = found.sparkplug.nodes
    assert node.messages == len(HOSTILE)
    text = page("x", NOTHING.replaced({PAYLOADS: found}))
    assert "<script>" not in text
    assert "<b>" not in text
    assert "\\u202e" in text


@pytest.mark.long
def test_payloads_that_no_report_can_see(
    spark: Any, alone: None, known: KnownPayloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = known_payloads(1, topics=1, messages=2, nodes=1, sessions=1)
    monkeypatch.setattr(module, "sparkplug_decoder", lambda: None)
    found = answers(spark, small, tmp_path)
    assert (found.sparkplug, found.undecoded) == (None, True)
    assert "decoding Sparkplug B needs protobuf: " in page("x", NOTHING.replaced({PAYLOADS: found}))


@pytest.mark.parametrize(("kept", "words"), [("hash", "the SHA-256 of each payload"), ("drop", "have no payloads")])
def test_tables_without_payloads_say_so(
    kept: str, words: str, alone: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mqttpub.spark.pipeline.row_filter import RowFilter

    small = known_payloads(1, topics=1, messages=2, nodes=0)
    # No session is needed, as there is nothing to ask.
    found = answers(None, small, tmp_path, row_filter=RowFilter(payload=kept))
    assert found == PayloadAnswers(kept)
    text = page("x", NOTHING.replaced({PAYLOADS: found}))
    assert text.count(words) == 2
    show_summary(NOTHING.replaced({PAYLOADS: found}))
    assert words in capsys.readouterr().out


def test_a_page_without_payloads_says_so() -> None:
    text = page("x", NOTHING.replaced({PAYLOADS: PayloadAnswers()}))
    assert "There is no PUBLISH." in text
    assert "No topic of Sparkplug B was seen" in text
    assert record(NOTHING)["payloads"] is None


PLACE = MessagePlace(None, "", 1, 0, "")


def version(kind: str = "JSON object", **paths: str) -> SchemaVersion:
    """Return a form with these paths."""
    return SchemaVersion(kind, paths, 1, PLACE, PLACE)


def test_what_is_said_of_a_form() -> None:
    first = version(a="number", b="string")
    assert first.said(None) == "JSON object with a (number), b (string)"
    assert version("text").said(None) == "text"
    assert version("text").said(first) == "text (was JSON object)"
    assert version(a="null", c="number").said(first) == "new c (number); without b; a now null (was number)"
    assert first.said(first) == "differs in what is left out"
    many = version(**{f"k{number}": "number" for number in range(20)})
    assert many.said(first._replace(paths={})).endswith("k7 (number), 12 more")
