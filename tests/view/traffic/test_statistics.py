"""The screen and the record of statistics."""

import json

import pytest
from hypothesis import given, settings

from mqttpub.spec.packets import Connect, Pingreq
from mqttpub.traffic.events import Event
from mqttpub.traffic.statistics import Statistics
from mqttpub.view.packet.dump import plain
from mqttpub.view.packet.record_json import dumps
from mqttpub.view.traffic.statistics import record, screen
from tests.build.events import (
    CLIENT,
    SERVER,
    Dialog,
    aliased,
    counted,
    redelivered,
    subscribed,
    talks,
    walkthrough,
)
from tests.view.drawn import check, compare

BUSY = [
    *walkthrough().events,
    *[each._replace(ends=each.ends._replace(number=each.ends.number + 1)) for each in redelivered()],
    *[each._replace(ends=each.ends._replace(number=4)) for each in aliased().events],
    *[each._replace(ends=each.ends._replace(number=5)) for each in subscribed().events],
]  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
def test_the_statistics_screen_is_as_recorded(width: int, update: bool) -> None:
    compare(f"statistics-{width}.txt", plain(check(screen(counted(BUSY), width=width), width)), update)


def test_the_statistics_record_is_as_recorded(update: bool) -> None:
    compare("statistics.json", json.dumps(record(counted(BUSY)), indent=1), update)


def test_empty_sections_are_not_shown() -> None:
    shown = plain(screen(Statistics()))
    assert shown.splitlines()[0] == "Capture"
    assert "Packets" not in shown
    assert record(Statistics())["packets"] == 0


def test_unreadable_packets_and_gaps_are_counted() -> None:
    talk = (
        Dialog().client(b"\x30\x00").says(None, Pingreq()).gap(CLIENT, 5, "gone").gap(SERVER, None, "x", malformed=True)
    )
    talk.closes(None, "RST")
    shown = plain(screen(counted(talk.events)))
    for line in (
        "  1 unreadable packet", "  1 gap where the capture lacks bytes", "  1 gap where the bytes are not a packet",
        "  5 bytes in gaps", "  1 packet of unknown direction", "  1 connection closed (RST)",
    ):  # fmt: skip
        assert line in shown.splitlines()


def test_many_clients_are_counted_and_not_all_shown() -> None:
    events: list[Event] = []
    for number in range(1, 26):
        events += Dialog(number).client(Connect(client_id=f"client-{number}")).events
    shown = plain(screen(counted(events)))
    assert "  ... 5 more clients" in shown.splitlines()
    assert len(record(counted(events))["clients"]) == 25


def test_client_names_cannot_control_the_terminal() -> None:
    talk = Dialog().client(Connect(client_id="\x1b[2J" * 20))
    check(screen(counted(talk.events), width=80), 80)


@pytest.mark.slow
@settings(max_examples=15)
@given(talks())
def test_the_screen_keeps_its_width_and_the_record_is_json(events: list[Event]) -> None:
    found = counted(events)
    for width in (60, 80, 120):
        check(screen(found, width=width), width)
    told = json.loads(dumps(record(found)))
    assert told["payload"] + sum(told["overhead"].values()) == told["bytes"]
    assert sum(each["packets"] for each in told["kinds"]) == told["packets"]
