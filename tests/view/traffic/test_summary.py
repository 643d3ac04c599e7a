"""One line for each packet."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Puback, Publish
from mqttpub.traffic.events import Closed, Event
from mqttpub.view.packet.dump import plain
from mqttpub.view.terminal.cells import Line
from mqttpub.view.terminal.style import show
from mqttpub.view.traffic.summary import SummaryLines
from tests.build.events import (
    CLIENT,
    SERVER,
    Dialog,
    aliased,
    known,
    linted,
    redelivered,
    subscribed,
    talks,
    walkthrough,
)
from tests.view.drawn import check, compare

SHORT = [*subscribed().events[:6], *subscribed().events[402:410], *subscribed().events[-4:]]
BROKEN = bytes.fromhex("38050001746869")


def lines(events: list[Event], width: int | None, *, absolute: bool = False) -> list[Line]:
    """Return the lines of a conversation."""
    summary = SummaryLines(width=width, absolute=absolute)
    return [summary.line(each) for each in linted(events)]


@pytest.mark.parametrize("width", [80, 120, None])
def test_the_summaries_are_as_recorded(width: int | None, update: bool) -> None:
    talks = (walkthrough().client(BROKEN).events, redelivered(), aliased().events, SHORT)
    shown = [plain(check(lines(events, width), width or 200)) for events in talks]
    compare(f"summary-{width or 'pipe'}.txt", "\n\n".join(shown), update)


def test_absolute_times_are_dates_in_utc() -> None:
    (line,) = lines(walkthrough().events[:1], 80, absolute=True)
    assert plain([line]).startswith("2023-09-07T08:12:33.124456Z mqttx_0...+7 > CONNECT     ")


def test_the_verdict_is_at_the_right_in_its_colour() -> None:
    good, bad = lines(Dialog().client(b"\xc0\x00", BROKEN).events, 80)
    assert good[-1] == ("ok", "dim")
    assert bad[-1] == ("MQTT5-3.3.1-2", "error")
    assert len(plain([bad])) == 80


def test_there_is_no_verdict_without_a_judge() -> None:
    (only,) = (SummaryLines().line(each) for each in known(Dialog().client(b"\xc0\x00").events, None))
    assert plain([only]).endswith("PINGREQ")


def test_ends_without_names_are_shown_by_address_or_number() -> None:
    talk = Dialog().client(b"\xc0\x00")
    assert " 10.0.0....+7 > PINGREQ" in plain(lines(talk.events, 80))
    nameless = [each._replace(ends=each.ends._replace(client="")) for each in talk.events]
    assert " connection 1 > PINGREQ" in plain(lines([*nameless], 80))


def test_gaps_and_closes_show_the_name_of_the_client() -> None:
    talk = Dialog().client(Connect(client_id="a")).gap(SERVER, 9, "9 bytes are missing").closes(None, "end")
    shown = plain(lines(talk.events, 80)).splitlines()
    assert shown[1] == "   0.001000 a            < GAP         9 bytes are missing"
    assert shown[2] == "   0.002000 a            * END         the capture ends"


def test_an_unknown_way_of_closing_is_shown_literally() -> None:
    talk = Dialog().client(b"\xc0\x00")
    closed = Closed(talk.ends, None, 0, CLIENT, "timeout")
    assert plain([SummaryLines().line(closed)]).endswith("> timeout     closes the connection")


def test_text_from_a_peer_cannot_control_the_terminal() -> None:
    talk = Dialog().client(Connect(client_id="\x1b]0;me\x07"), Publish(topic="a\n\u202eb", payload=b"\x9b2J"))
    talk.server(Puback(packet_id=1, reason_code=0x80, properties=(Property(0x1F, "\x1b[2J\r"),)))
    talk.gap(CLIENT, 3, "\x1b[1m")
    stream = io.StringIO()
    show(lines(talk.events, None), stream, color=False)
    assert len(stream.getvalue().splitlines()) == 4
    assert all(line.isprintable() for line in stream.getvalue().splitlines())


def test_an_unknown_direction() -> None:
    assert " - PINGREQ" in plain(lines(Dialog().says(None, b"\xc0\x00").events, 80))


@settings(max_examples=15)
@given(talks(), st.sampled_from((None, 1, 60, 80, 120)))
def test_no_line_is_too_wide(events: list[Event], width: int | None) -> None:
    check(lines(events, width), 100_000 if width is None else max(width, 60))


PAYLOADS = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(("1", "22", "\0\0", "abcdefgh", "\0" * 8, "x" * 15, "\0" * 15)).map(str.encode),
    st.text(max_size=150).map(str.encode),
    st.sampled_from((b"x" * 16, b"y\n" * 9, b"\0" * 16)),
    st.integers(0, 300).map(lambda size: b'"\\' * size),
    st.integers(0, 1000).map(b'{"value": %d, "unit": "C"}'.__mod__),
    st.just(
        b'{"path":"publish.packet_id","offset":1,"value":2,"text":"2 (0x0002)","hex":"","payload":{},"findings":[]}'
    ),
)
IDS = st.sampled_from((1, 9, 10, 4711, 65535))
TOPICS = st.sampled_from(("a", "50%/%s", "plant/7/line/31/temperature", "\u65e5\u672c/\x1b", "t" * 300))
MESSAGES = st.builds(
    lambda qos, message: message.replace(qos=qos, packet_id=message.packet_id if qos else None),
    st.integers(0, 2),
    st.builds(Publish, qos=st.just(1), topic=TOPICS, payload=PAYLOADS, packet_id=IDS, dup=st.booleans()),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(MESSAGES | st.builds(Puback, packet_id=st.integers(1, 65535)), max_size=12), talks(), st.data())
def test_the_text_of_a_line_is_the_same_whatever_was_drawn_before(
    packets: list[Publish | Puback], events: list[Event], data: st.DataObject
) -> None:
    events = [*Dialog().client(*packets).events, *events]
    width, absolute = data.draw(st.sampled_from((None, 60, 80, 100, 133))), data.draw(st.booleans())
    items = list(linted(events) if data.draw(st.booleans()) else known(events, None))
    styled = SummaryLines(width=width, absolute=absolute)
    texts = SummaryLines(width=width, absolute=absolute, most_forms=data.draw(st.sampled_from((1, 3, 4096))))
    for each in [*items, *reversed(items)]:
        assert texts.text(each).rstrip() == plain([styled.line(each)])
        assert len(texts.forms) <= texts.most_forms
        assert len(texts.heads) <= texts.most_forms


def test_a_form_is_made_once_for_packets_of_one_shape() -> None:
    talk = Dialog().client(*(Publish(topic="a", qos=1, packet_id=100 + n, payload=b"%020d" % n) for n in range(50)))
    talk.server(*(Puback(packet_id=100 + n) for n in range(50)))
    texts = SummaryLines()
    assert len({texts.text(each) for each in linted(talk.events)}) == 100
    assert (len(texts.forms), len(texts.heads)) == (2, 2)
