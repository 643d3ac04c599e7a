"""The ladder in a terminal."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.spec.packets import Connect, Pingreq, Pingresp, Publish
from mqttpub.traffic.events import Event
from mqttpub.view.diagram.ladder import ladder
from mqttpub.view.packet.dump import plain
from mqttpub.view.terminal.cells import Line
from tests.build.events import CLIENT, Dialog, aliased, linted, redelivered, subscribed, talks, walkthrough
from tests.view.drawn import check, compare

BROKEN = bytes.fromhex("38050001746869")


def drawn(events: list[Event], **options: Any) -> list[Line]:
    """Return the lines of a ladder."""
    return list(ladder(linted(events), **options))


@pytest.mark.parametrize("width", [80, 120])
def test_the_ladders_are_as_recorded(width: int, update: bool) -> None:
    kinds = (walkthrough().client(BROKEN).events, redelivered(), aliased().events, subscribed().events)
    shown = [plain(check(drawn(events, width=width), width)) for events in kinds]
    compare(f"ladder-{width}.txt", "\n\n".join(shown), update)


def test_without_box_characters(update: bool) -> None:
    shown = plain(check(drawn(subscribed().closes(None, "end").events, width=80, ascii=True), 80))
    assert shown.isascii()
    compare("ladder-ascii.txt", shown, update)


def test_absolute_times_are_dates_in_utc() -> None:
    (_, line) = plain(drawn(Dialog().client(Pingreq()).events, absolute=True)).splitlines()
    assert line.startswith("2023-09-07T08:12:33.124456Z   \u2502\u2500 PINGREQ \u2500")


def test_arrows_point_to_the_receiver() -> None:
    talk = Dialog().client(Pingreq()).server(Pingresp()).says(None, Pingreq())
    _, there, back, nowhere = plain(drawn(talk.events, ascii=True)).splitlines()
    assert there.endswith("->|")
    assert "|<--" in back
    assert "<" not in nowhere
    assert ">" not in nowhere


def test_alternating_connections_have_new_heads() -> None:
    one, two = (
        Dialog(1).client(Connect(client_id="a"), Pingreq()),
        Dialog(2).client(Connect(client_id="b"), Pingreq()),
    )
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    heads = [line for line in plain(drawn(mixed)).splitlines() if line.startswith("connection")]
    assert [line.split()[:3] for line in heads] == [["connection", "1", "a"], ["connection", "2", "b"]] * 2


def test_the_finding_is_below_its_arrow_in_red() -> None:
    lines = drawn(Dialog().client(BROKEN, Pingreq()).events)
    below = lines[2]
    assert ("DUP is 1, but QoS is 0", "error") in below
    assert ("MQTT5-3.3.1-2", "error") in below
    assert ("PUBLISH", "error") in lines[1]
    assert ("PINGREQ", "type") in lines[-1]


def test_text_from_a_peer_cannot_control_the_terminal() -> None:
    talk = Dialog().client(Connect(client_id="\x1b[2J" * 30), Publish(topic="\n\u202e", payload=b"\x1b"))
    check(drawn(talk.gap(CLIENT, 1, "\x1b" * 200).remark("\r" * 200).events), 80)


@settings(max_examples=15)
@given(talks(), st.sampled_from((60, 80, 121)), st.booleans())
def test_no_line_is_too_wide(events: list[Event], width: int, ascii: bool) -> None:
    far = [event._replace(time=None if event.time is None else abs(event.time) % 10**13) for event in events]
    check(drawn([*far], width=width, ascii=ascii), width)
