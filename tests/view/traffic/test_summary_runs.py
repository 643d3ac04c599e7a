"""The lines of runs are those of their packets, drawn one by one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.columns.runs import clean
from mqttpub.columns.runs.clean import CleanPackets
from mqttpub.columns.runs.read import in_runs
from mqttpub.common.times import SECOND_NS, Clock
from mqttpub.payload.formats import payload_reader
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import TrafficItem
from mqttpub.traffic.events import Event, PacketSeen
from mqttpub.traffic.runs import PacketRun
from mqttpub.view.packet.dump import plain
from mqttpub.view.packet.formatted import PayloadFormat
from mqttpub.view.traffic.facts import LONGEST, LONGEST_REMEMBERED
from mqttpub.view.traffic.record_lines import RecordLines
from mqttpub.view.traffic.run_lines import RunLines, time_texts
from mqttpub.view.traffic.summary import SummaryLines
from mqttpub.view.traffic.summary_json import JsonLines, with_files
from tests.build.events import CLIENT, MS, SERVER, Dialog, known, linted, talks
from tests.build.runs import with_runs
from tests.columns.packet_rows import batches
from tests.fuzz.mutated import items_of_captures
from tests.paths import CAPTURES
from tests.view.traffic.test_summary import IDS, PAYLOADS, TOPICS

SCREENS: tuple[dict[str, Any], ...] = (
    {"width": 80}, {"width": 60}, {"width": None}, {"width": 133}, {"width": 60, "absolute": True},
    {"width": 76, "absolute": True},
)  # fmt: skip


def check(items: Sequence[TrafficItem], screens: Iterable[dict[str, Any]] = SCREENS, most: int = 4096) -> None:
    """Compare the lines of runs, also when their forms are known, with those of the packets one by one."""
    runs = list(with_runs(items))
    for screen in screens:
        one, many = SummaryLines(**screen), SummaryLines(**screen, most_forms=most)
        drawn = RunLines(many)
        for _ in range(2):
            assert _lines(drawn.texts(runs)) == [plain([one.line(each)]) for each in items]
            assert max(len(drawn.forms), len(many.forms), len(many.heads), len(many.topics)) <= most
    alone, written = JsonLines(most), JsonLines(most)
    for _ in range(2):
        assert _lines(map(written.line, runs)) == list(map(alone.line, items))
        assert max(len(written.heads), len(written.topics)) <= most
    payloads = PayloadFormat("hex", "hex", payload_reader("hex")) if most == 3 else None
    records, by_one = RecordLines(payloads=payloads, most_forms=most), RecordLines(payloads=payloads)
    for _ in range(3):
        assert _lines(chain.from_iterable(map(records.texts, runs))) == list(map(by_one.line, items))
        kept = records.runs
        assert max(len(kept.topics), len(kept.ids), len(kept.forms)) <= most
    assert _lines(with_files(runs, str)) == list(with_files(items, str))
    topics = [*(key[0] for key in many.topics), *written.topics, *records.runs.topics]
    assert all(len(topic) <= LONGEST_REMEMBERED for topic in topics)


def _lines(texts: Iterable[str]) -> list[str]:
    return [line.rstrip() for text in texts for line in text.split("\n")]


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcapng")), ids=lambda path: path.stem)
def test_captures(path: Any) -> None:
    runs = 0
    for number, items in enumerate(items_of_captures(path, 21)):
        check(items, SCREENS[number : number + 1] if number else SCREENS)
        runs += sum(isinstance(each, PacketRun) for each in with_runs(items))
    assert runs > 10


ACKS = st.tuples(
    st.sampled_from((Puback, Pubrec, Pubrel, Pubcomp)), IDS, st.sampled_from((None, 0, 0x10, 0x92)),
)  # fmt: skip
MESSAGES = st.builds(
    lambda qos, packet_id, **given: Publish(qos=qos, packet_id=packet_id if qos else None, **given),
    st.integers(0, 2), IDS, topic=TOPICS, payload=PAYLOADS, retain=st.booleans(),
)  # fmt: skip
TIMES_NS = st.sampled_from((0, 0, MS, 1, 999_999_999, -5 * MS, 20_000 * 1000 * MS, 1 << 70))


def _ack_of(version: Version) -> Callable[[tuple[Any, int, int | None]], Any]:
    return lambda ack: ack[0](packet_id=ack[1], reason_code=ack[2] if version == Version.V5 else None)


@st.composite
def connections(draw: st.DrawFn) -> list[Event]:
    """Return the packets of a connection, most of them in runs, with any times."""
    version = draw(st.sampled_from(Version))
    talk = Dialog(version=version)
    if draw(st.booleans()):
        talk.client(Connect(client_id=draw(st.sampled_from(("c", "\u65e5\u672c\x1b", "d" * 300)))))
    if draw(st.integers(0, 5)) == 0:
        talk.time = None
    for _ in range(draw(st.integers(1, 3))):
        end = draw(st.sampled_from((CLIENT, SERVER)))
        for packet in draw(st.lists(MESSAGES | ACKS.map(_ack_of(version)), min_size=1, max_size=8)):
            talk.says(end, packet, after=draw(TIMES_NS))
    guessed = draw(st.booleans())
    return [each._replace(guessed=guessed) if isinstance(each, PacketSeen) else each for each in talk.events]


@settings(max_examples=40, deadline=None)
@given(connections(), talks(), st.sampled_from(SCREENS), st.sampled_from((1, 3, 4096)))
def test_any_packets(events: list[Event], others: list[Event], screen: dict[str, Any], most: int) -> None:
    check([*known(events), *linted(others)], [screen], most)


def test_forms_are_shared_by_packets_that_differ_in_values_only() -> None:
    talk = Dialog().client(*(Publish(topic="a", qos=1, packet_id=100 + n, payload=b"%020d" % n) for n in range(50)))
    talk.client(*(Puback(packet_id=100 + n) for n in range(50)))
    runs = list(with_runs(known(talk.events)))
    lines, written, records = SummaryLines(), JsonLines(), RecordLines()
    drawn = RunLines(lines)
    assert len(set(_lines(drawn.texts(runs)))) == 100
    assert len({line for run in runs for line in _lines([written.line(run)])}) == 100
    assert len({line for run in runs for line in _lines(records.texts(run))}) == 100
    assert (len(runs), len(drawn.forms), len(written.forms)) == (1, 2, 2)
    assert len(records.runs.forms) == 2
    assert all(records.runs.forms.values())


@pytest.mark.parametrize("odd", [b"\\", b"\0", "\u65e5".encode(), b"\xff"])
def test_a_character_that_does_not_stand_for_itself_is_found_wherever_it_is_shown(odd: bytes) -> None:
    screens: list[dict[str, Any]] = [{"width": None}, {"width": 80}, {"width": 300}]
    for place in (0, 1, 20, *range(LONGEST - 5, LONGEST + 6)):
        plain_text = b"x" * (place + 3)
        payloads = (plain_text, plain_text[:place] + odd, plain_text[:place] + odd + b"xxx", plain_text, b"", odd * 2)
        talk = Dialog().client(*(Publish(topic="a", payload=each) for each in payloads))
        check(list(known(talk.events)), screens)


def test_packets_that_differ_in_topic_identifier_and_reason_only() -> None:
    # Topic Names that are cut, and such that are too long to draw many lines together.
    for count, qos in product((0, 4, 11, 60), range(3)):
        topics = [f"{'/plant' * count}/{end}" for end in ("abc", "a\\c", "a%c", "aéc", "xyz")]
        talk = Dialog()
        for id in (9, 99, 65_000):
            talk.client(
                *(Publish(topic=each, qos=qos, packet_id=id if qos else None, payload=b"4444") for each in topics)
            )
            talk.server(*(Puback(packet_id=id, reason_code=code) for code in (None, 0, 0x10)))
        check(list(known(talk.events)))


def test_records_of_packets_with_one_first_byte_and_size() -> None:
    # They begin their payload at the same place; one payload has the names of a record.
    names = b'{"path":"publish.packet_id","offset":1,"value":2,"text":"2 (0x0002)","hex":"","payload":0}'
    messages = [
        *(Publish(topic=topic, payload=names) for topic in ("plant/7", "plant/8", "\u65e5/777")),
        *(Publish(topic="plant", properties=(Property(0x01, value),), payload=names) for value in (0, 1)),
    ]
    for qos in range(3):
        talk = Dialog()
        for _ in range(3):
            talk.client(*(each.replace(qos=qos, packet_id=9 if qos else None) for each in messages))
        check(list(known(talk.events)))


STARTS_S = st.sampled_from((0, 1, 9, 99, 9_999, 99_998, 99_999, 999_998, 9_999_999, 99_999_999, 1_700_000_000, 1 << 32))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(STARTS_S, st.sampled_from((1, 1000, 1_000_003))), min_size=1, max_size=3),
    st.booleans(), st.sampled_from((1, -1)), st.integers(0, 2 * SECOND_NS),
)  # fmt: skip
def test_times_of_one_second_are_those_of_the_clock(
    seconds: list[tuple[int, int]], absolute: bool, sign: int, zero_ns: int
) -> None:
    base_ns = 1 << 60 if sign < 0 else zero_ns
    times_ns = [base_ns, *(base_ns + sign * (s * SECOND_NS + n * step) for s, step in seconds for n in range(200))]
    expected = list(map(Clock(absolute=absolute).show, times_ns))
    texts = time_texts(np.array(times_ns), Clock(absolute=absolute))
    if texts is None:
        assert len(set(map(len, expected))) > 1 or len(expected[0]) != Clock(absolute=absolute).width
    else:
        assert [row.tobytes().decode() for row in texts] == expected


def test_forms_of_other_columns_have_the_topics_of_those() -> None:
    one, drawn = SummaryLines(), RunLines(SummaryLines())
    for topic in ("first", "other"):
        talk = Dialog().client(*(Publish(topic=topic, payload=b"1") for _ in range(20)))
        items = list(known(talk.events))
        assert _lines(drawn.texts(with_runs(items))) == [plain([one.line(each)]) for each in items]


@pytest.mark.parametrize("most_bytes", [1 << 20, 6000])
@pytest.mark.parametrize("screen", SCREENS[:3])
def test_topic_names_of_later_batches_are_drawn_as_one_by_one(
    screen: dict[str, Any], most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of every length, those that do not stand for themselves among them, so that numbers are lengths too."""
    monkeypatch.setattr(clean, "MOST_HEAD_BYTES", most_bytes)
    names = [f"{'x' * length}{length % 7}" for length in range(1, 30)]
    names += ["\u01c2/x", "\u01c2x\u01c2", *(f"\u00e9{number}" for number in range(30))]
    names += ["a\\b", "y" * 120, "z" * (LONGEST_REMEMBERED + 9)]
    random, talk = Random(7), Dialog()
    for turn in range(12):
        some = random.choices(names[: 4 + 6 * turn], k=40)
        talk.client(*(Publish(topic=topic, qos=1, packet_id=1 + turn, payload=b"12") for topic in some))
        talk.server(*(Puback(packet_id=1 + turn, reason_code=turn % 2 * 0x10) for _ in range(9)))
    found, drawn, one = CleanPackets(), RunLines(SummaryLines(**screen)), SummaryLines(**screen)
    runs: list[Any] = []

    def read() -> Iterator[Any]:
        # The names of later batches are not known while the first are drawn.
        for frames in batches(talk.events, range(0, 600, 49)):
            for run in in_runs(frames, found):
                runs.append(run)
                yield run

    lines = _lines(drawn.texts(read()))
    assert all(isinstance(run, PacketRun) for run in runs)
    assert lines == [plain([one.line(each)]) for run in runs for each in run.items()]
