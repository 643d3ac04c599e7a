"""Exchanges as lines and as JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.common.times import Zero
from mqttpub.spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.traffic.events import Event
from mqttpub.view.packet.dump import plain
from mqttpub.view.packet.record_json import dumps
from mqttpub.view.terminal.cells import Line
from mqttpub.view.traffic.exchanges import ExchangeLines, exchange_record
from tests.build.events import MS, Dialog, aliased, exchanged, redelivered, subscribed, talks, walkthrough
from tests.view.drawn import check, compare

SHORT = [*subscribed().events[:6], *subscribed().events[404:]]


def lines(events: list[Event], width: int | None) -> list[Line]:
    """Return the lines of the exchanges of a conversation."""
    drawn = ExchangeLines(width=width)
    return [line for each in exchanged(events) for line in drawn.lines(each)]


@pytest.mark.parametrize("width", [80, 120, None])
def test_the_lines_of_exchanges_are_as_recorded(width: int | None, update: bool) -> None:
    orphans = (
        Dialog()
        .server(Puback(packet_id=1))
        .client(Publish(topic="t", qos=1, packet_id=2))
        .server(Pubrec(packet_id=9, reason_code=0x91))
    )
    kinds = (walkthrough().events, redelivered(), aliased().events, SHORT, orphans.events)
    shown = [plain(check(lines(events, width), width or 300)) for events in kinds]
    compare(f"exchanges-{width or 'pipe'}.txt", "\n\n".join(shown), update)


def test_the_records_of_exchanges_are_as_recorded(update: bool) -> None:
    events = [*walkthrough().events, *redelivered(), *aliased().events, *SHORT]
    compare("exchanges.jsonl", "\n".join(dumps(exchange_record(each)) for each in exchanged(events)), update)


def test_many_legs_and_many_dups() -> None:
    said = Publish(topic="t", qos=1, packet_id=1)
    talk = Dialog().client(said, *[said.replace(dup=True)] * 40).server(Puback(packet_id=1), after=-MS)
    (shown,) = (plain([line]) for line in lines(talk.events, None))
    assert "  40 times DUP  PUBLISH DUP +1.00 ms" in shown
    assert shown.endswith("  ... 10 more ...  PUBACK +9.00 ms  in 39.0 ms  complete")


def test_lines_of_one_shape_have_their_times_in_the_same_places() -> None:
    drawn = ExchangeLines(width=None)
    for times in ((0, 10, None, None), (None, None, 0, 10)):
        talk = Dialog()
        packets = (
            (talk.client, Publish(topic="t", qos=2, packet_id=1)), (talk.server, Pubrec(packet_id=1)),
            (talk.client, Pubrel(packet_id=1)), (talk.server, Pubcomp(packet_id=1)),
        )  # fmt: skip
        for time_ms, (send, packet) in zip(times, packets, strict=True):
            talk.time = None if time_ms is None else time_ms * MS
            send(packet)
        (exchange,) = exchanged(talk.events)
        assert drawn.text(exchange).split("\n") == [plain([line]) for line in drawn.lines(exchange)]


@pytest.mark.parametrize("width", [60, 80, None])
def test_times_of_thousands_of_years_leave_less_room_for_the_rest(width: int | None) -> None:
    early, late = Dialog(), Dialog()
    late.time = 10**12 * 1000 * MS
    for talk in (early, late):
        talk.client(Publish(topic="t" * 20, qos=1, packet_id=1)).server(Puback(packet_id=1), after=MS)
    exchanges = [each for talk in (early, late) for each in exchanged(talk.events)]
    for order in (exchanges, exchanges[::-1]):
        drawn, styled = (ExchangeLines(width=width, zero=Zero()) for _ in range(2))
        for lines_of in (drawn, styled):
            lines_of.clock.show(0)
        for each in order:
            assert drawn.text(each).split("\n") == [plain([line]) for line in styled.lines(each)]


def test_without_times_an_exchange_has_no_latency() -> None:
    talk = Dialog()
    talk.time = None
    talk.client(Publish(topic="t", qos=1, packet_id=1)).server(Puback(packet_id=1))
    (shown,) = (plain([line]) for line in lines(talk.events, None))
    assert shown == "          - 10.0.0.1:50001 > QoS 1  id 1  t  0 B  PUBACK  complete"
    (record,) = (exchange_record(each) for each in exchanged(talk.events))
    assert (record["begin"], record["end"], record["latency_us"]) == (None, None, None)


def test_a_topic_that_is_not_utf8() -> None:
    (found,) = exchanged(Dialog().client(b"\x30\x05\x00\x02a\xff\x00").events)
    assert exchange_record(found)["topic"] == {"hex": "61ff"}


@settings(max_examples=40, deadline=None)
@given(talks(), st.sampled_from((None, 1, 60, 80, 120)), st.sampled_from((1, 4096)), st.integers(0, 10**10))
def test_the_text_of_a_line_is_the_same_whatever_was_drawn_before(
    events: list[Event], width: int | None, most: int, wait: int
) -> None:
    styled, texts = ExchangeLines(width=width), ExchangeLines(width=width, most_forms=most)
    talk = Dialog()
    for id in (1, 2, 65535):
        talk.client(Publish(topic="100 %d", qos=2, packet_id=id)).server(Pubrec(packet_id=id), after=wait)
        talk.client(Publish(topic="100 %d", qos=1, packet_id=id // 2 + 7)).server(Puback(packet_id=id // 2 + 7))
    for each in exchanged([*talk.events, *events]) * 2:
        assert texts.text(each).split("\n") == [plain([line]) for line in styled.lines(each)]
        assert len(texts.forms) <= most


@settings(max_examples=15)
@given(talks(), st.sampled_from((None, 1, 60, 80, 120)))
def test_no_line_is_too_wide_and_every_record_is_json(events: list[Event], width: int | None) -> None:
    drawn = ExchangeLines(width=width)
    for each in exchanged(events):
        shown = check(drawn.lines(each), 100_000 if width is None else max(width, 60) + 20)
        assert width is not None or len(shown) == 1
        assert json.loads(dumps(exchange_record(each)))["outcome"] == each.outcome
