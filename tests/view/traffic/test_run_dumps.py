"""The dumps of runs are those of their packets, drawn one by one."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.cli.decode.views import ViewOptions, dump
from mqttpub.common.times import Zero
from mqttpub.payload.readers import payload_reader
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.events import Event
from mqttpub.traffic.runs import PacketRun, RunOrItem
from mqttpub.view.packet.formatted import PayloadFormat
from mqttpub.view.packet.show import Show
from mqttpub.view.traffic import run_dumps
from mqttpub.view.traffic.run_dumps import LONGEST
from tests.build.events import CLIENT, SERVER, Dialog, known, linted, talks
from tests.build.runs import run_of, with_runs
from tests.fuzz.mutated import items_of_captures
from tests.paths import CAPTURES
from tests.view.traffic.test_summary_runs import connections

SCREENS: tuple[dict[str, Any], ...] = (
    {"width": 80}, {"width": 60}, {"width": 133, "full": True}, {"width": 300, "absolute": True}, {"color": True},
    {"payloads": PayloadFormat("hex", payload_reader("hex"))}, {"width": 70, "secrets": True},
)  # fmt: skip


def shown(events: Iterable[RunOrItem], *, width: int = 80, color: bool = False, **options: Any) -> str:
    """Return the dump of a file as text."""
    variables = {"COLUMNS": str(width), "FORCE_COLOR": "1"} if color else {"COLUMNS": str(width)}
    with patch.dict("os.environ", variables), redirect_stdout(StringIO()) as out:
        dump(events, ViewOptions(zero=Zero(), gathers=True, **options))
    return out.getvalue()


def check(items: Sequence[TrafficItem], screens: Iterable[dict[str, Any]] = SCREENS) -> None:
    runs = list(with_runs(items))
    for screen in screens:
        assert shown(runs, runs=True, **screen) == shown(items, **screen)


def drawn_alone(events: Iterable[RunOrItem]) -> int:
    """Return how many packets of runs are not drawn together with others."""
    drawn: Callable[..., str] = Show.drawn
    with patch.object(Show, "drawn", autospec=True, side_effect=drawn) as alone:
        shown(events, runs=True)
    return alone.call_count


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcapng")), ids=lambda path: path.stem)
def test_captures(path: Any) -> None:
    runs = 0
    for number, items in enumerate(items_of_captures(path, 22)):
        check(items, SCREENS[number : number + 1] if number else SCREENS)
        runs += sum(isinstance(each, PacketRun) for each in with_runs(items))
    assert runs > 10


ALIKE = (
    st.sampled_from([b'{"a": 10, "b": [0, -1.50]}', b'{"a": 29, "b": [7, -0.05]}', b'{"a": 09, "b": [7, -0.05]}']),
    st.sampled_from(
        [b"plain", b"words", b" word", b"word ", b"[ord]", b'w"ord', b"w\\ord", b"w\x7frd", b"\xc3\xb6der"]
    ),
    st.sampled_from([b"\0\1\2\3", b"\0\1\2 ", b"text", b"\xff\xfe\xfd\xfc", "\u65e5x".encode(), b"{} {"]),
    st.sampled_from([b"two words " * 6, b"other-one " * 6, b"x" * 60, b" " * 60, b"ends here  " * 5 + b"     "]),
    st.sampled_from([b"%d words of a longer text " % n * 12 for n in range(3)]),
    st.just(b""),
)
TOPICS = st.sampled_from(("a/1", "b/2", "c 3", "d%s", "\xe4x", '"q"', "[x]", "\u65e5"))
LONG_TOPICS = st.sampled_from(("a" * 40, "b/c " * 10, "\xe4" * 20, " " * 40))
PAIRS = (("k", "v1"), ("k", "v2"), ("kv", "1"), ("k", "\xe4"), ("", "k12"))
PROPERTIES = (
    st.sampled_from([Property(0x02, each) for each in (1, 2, 60, 3600, 1 << 31)]),
    st.sampled_from([Property(0x03, each) for each in ("text", "json", "a b ", "\xe4bc")]),
    st.sampled_from([Property(0x08, each) for each in ("to/1", "to/2", "a b ", "\xe4bc")]),
    st.sampled_from([Property(0x09, each) for each in (b"1234", b"\0\0\0\1", b"\0\0\1 ", b"{}  ", b"")]),
    st.sampled_from([Property(0x26, (name, each)) for name, each in PAIRS]),
    st.sampled_from([Property(0x01, 0), Property(0x01, 1)]),
)  # fmt: skip


@st.composite
def messages(draw: st.DrawFn) -> list[Publish]:
    """Return messages most of which have the same fields."""
    payload, topic = draw(st.sampled_from(ALIKE)), draw(st.sampled_from((TOPICS, LONG_TOPICS)))
    properties = draw(st.lists(st.sampled_from(PROPERTIES), max_size=4, unique=True))
    qos, first = draw(st.integers(0, 2)), draw(st.sampled_from((1, 8, 95, 9_998)))
    return [
        Publish(
            qos=qos, packet_id=first + number if qos else None, topic=draw(topic), payload=draw(payload),
            properties=tuple(draw(each) for each in properties),
        )
        for number in range(draw(st.integers(1, 24)))
    ]  # fmt: skip


@st.composite
def dialogs(draw: st.DrawFn) -> list[Event]:
    """Return the packets of a connection, and other events."""
    version = draw(st.sampled_from(Version))
    talk = Dialog(version=version, record=draw(st.sampled_from((0, 7))))
    if draw(st.booleans()):
        talk.client(Connect(client_id=draw(st.sampled_from(("c", "\u65e5\x1b", "d "))), will=None))
    for _ in range(draw(st.integers(1, 3))):
        sent: list[Publish] = draw(messages())
        if version is not Version.V5:
            sent = [each.replace(properties=()) for each in sent]
        talk.says(draw(st.sampled_from((CLIENT, SERVER))), *sent, after=draw(st.sampled_from((0, 1, 1_000_000))))
        kind = draw(st.sampled_from((Puback, Pubrec, Pubrel, Pubcomp)))
        acks: list[Packet] = [kind(packet_id=each.packet_id or 1) for each in sent]
        talk.server(*acks)
        if draw(st.booleans()):
            talk.remark("a remark")
    return talk.events


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(dialogs(), st.sampled_from(SCREENS))
def test_packets_of_the_same_fields(events: list[Event], screen: dict[str, Any]) -> None:
    check(list(known(events)), [screen])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(connections(), talks(), st.sampled_from(SCREENS))
def test_any_packets(events: list[Event], others: list[Event], screen: dict[str, Any]) -> None:
    check([*known(events), *linted(others)], [screen])


def test_packets_that_differ_in_values_are_drawn_together() -> None:
    talk = Dialog()
    for qos in range(3):
        made = [
            Publish(
                topic=f"plant/{100 + n}", qos=qos, packet_id=1000 + n if qos else None,
                payload=b'{"value": %d, "unit": "C"}' % (100 + n),
                properties=(
                    Property(0x02, 100 + n), Property(0x09, b"\0\0\0%c" % n), Property(0x26, ("trace", f"{n:08x}")),
                ),
            )
            for n in range(60)
        ]  # fmt: skip
        talk.client(*made)
    talk.server(*(Puback(packet_id=1000 + n) for n in range(60)))
    assert drawn_alone(with_runs(known(talk.events))) == 0


@pytest.mark.parametrize("size", [LONGEST - 10, LONGEST - 1, LONGEST, LONGEST + 200])
def test_long_packets(size: int) -> None:
    talk = Dialog().client(*(Publish(topic=f"a/{n}", payload=b"%d" % n * (size - 8)) for n in range(6)))
    check(list(known(talk.events)), ({}, {"full": True}))


@pytest.mark.parametrize("name", ["MOST_PACKETS", "MOST_BYTES", "MOST_GATHERED"])
def test_what_waits_is_bounded_and_keeps_its_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    talk, odd = Dialog(), Connect(client_id="again", will=None)
    for turn in range(20):
        talk.client(*(Publish(topic=f"a/{n}", payload=b"%d" % turn) for n in range(5)), odd)
    items, waiting = list(linted(talk.events)), []
    show: Callable[..., None] = run_dumps.RunDumps.show

    def count(dumps: Any, run: PacketRun) -> None:
        show(dumps, run)
        waiting.append(len(dumps._held))

    monkeypatch.setattr(run_dumps.RunDumps, "show", count)
    expected = shown(items)
    one = _of_one_column(items)
    assert shown(one, runs=True) == expected
    assert max(waiting) == 20
    waiting.clear()
    monkeypatch.setattr(run_dumps, name, 12)
    assert shown(one, runs=True) == expected
    assert max(waiting) < 4


def _of_one_column(items: Sequence[TrafficItem]) -> list[RunOrItem]:
    """Return what `with_runs` does, with runs that have the same columns, as those of a block of a capture do."""
    kept = [each for each in items if isinstance(each, PacketInContext) and isinstance(each.packet, Publish)]
    whole, row, made = run_of(kept), 0, list[RunOrItem]()
    for each in with_runs(items):
        if isinstance(each, PacketRun):
            made.append(whole.between(row, row + each.stop - each.start).of_client(each.client))
            row += each.stop - each.start
        else:
            made.append(each)
    return made
