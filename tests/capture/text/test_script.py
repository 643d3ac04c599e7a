"""A script as the events of a capture."""

import pytest

from mqttpub.capture.text.script import STEP_NS, script_events
from mqttpub.common.bad_text import BadText
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Event, GapSeen, PacketSeen

C, S = Direction.CLIENT, Direction.SERVER


def events(text: str, version: Version | None = None) -> list[Event]:
    """Return the events of a script."""
    return list(script_events(text.splitlines(), version))


def packets(text: str, version: Version | None = None) -> list[tuple[int, Direction | None, str]]:
    """Return connection, sender and bytes of each packet."""
    return [(e.ends.number, e.direction, e.data.hex()) for e in events(text, version) if isinstance(e, PacketSeen)]


def test_packets_have_a_connection_a_sender_and_a_time() -> None:
    text = "version 3.1.1\n[a] > publish\n[b] < puback i=$p:1; +2; [b] > pingreq twice"
    assert packets(text) == [(1, C, "300400016178"), (2, S, "40020001"), (2, C, "c000"), (2, C, "c000")]
    seen = [event for event in events(text) if isinstance(event, PacketSeen)]
    assert [event.time for event in seen] == [STEP_NS, 2 * STEP_NS, 3 * STEP_NS + 2 * 10**9, 3 * STEP_NS + 2 * 10**9]
    assert {event.version for event in seen} == {Version.V311}


def test_a_packet_may_come_in_pieces_and_what_only_a_player_needs_is_left_out() -> None:
    text = "> raw 30; > raw 04000161; > raw 78; <? pingresp; < none 2s; <* pingresp within=1s slice=1"
    assert packets(text, Version.V311) == [(1, C, "300400016178"), (1, S, "d000"), (1, S, "d000")]


def test_gaps_and_ends() -> None:
    found = events("mid > publish; gap; client FIN; server FIN; [b] @ server RST; [c] @ end")
    begun = [event.ends.begun for event in found if isinstance(event, PacketSeen)]
    assert begun == [False, True, True, True, True]
    assert [event.malformed for event in found if isinstance(event, GapSeen)] == [False]
    assert [(e.ends.number, e.direction, e.how) for e in found if isinstance(e, Closed)] == [
        (1, C, "FIN"), (1, S, "FIN"), (2, S, "RST"), (3, None, "end"),
    ]  # fmt: skip


def test_bytes_that_are_no_packet_are_a_gap_of_the_sender() -> None:
    (packet, gap, *_) = events("> pingreq; > raw 30ffffffff01; > pingreq")
    assert isinstance(packet, PacketSeen)
    assert isinstance(gap, GapSeen)
    assert (gap.direction, gap.malformed, gap.data[:5].hex()) == (C, True, "30ffffffff")


def test_a_connection_that_does_not_end_ends_with_the_script() -> None:
    assert [(event.ends.number, event.how) for event in events("@; [b] @") if isinstance(event, Closed)] == [
        (1, "end"), (2, "end"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "column"),
    [("[a] @ client FIN; [a] server FIN; [a] > pingreq", 39), ("@ client RST; client FIN", 15), ("@ end; gap", 8)],
)
def test_a_label_is_one_connection(text: str, column: int) -> None:
    with pytest.raises(BadText, match=rf"^line 1, column {column}: the connection is over; a new one takes another"):
        events(text)


def test_only_the_other_end_sends_after_one_has_closed() -> None:
    assert packets("> pingreq; client FIN; client FIN; < pingresp; server FIN")[1:] == [(1, S, "d000")]
    with pytest.raises(BadText, match=r"^line 1, column 24: this end has closed the connection"):
        events("> pingreq; client FIN; > pingreq")


def test_an_error_has_its_place() -> None:
    with pytest.raises(BadText, match=r"^line 2, column 7: 'x' is not a packet"):
        events("> publish\n    > x")
