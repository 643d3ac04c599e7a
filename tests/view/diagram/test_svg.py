"""The ladder as SVG."""

import re
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings

from mqttpub.spec.packets import Connect, Pingreq, Publish, Suback
from mqttpub.traffic.events import Event
from mqttpub.view.diagram.svg import ladder_svg
from tests.build.events import CLIENT, Dialog, aliased, linted, redelivered, subscribed, talks, walkthrough
from tests.view.drawn import compare

BROKEN = bytes.fromhex("38050001746869")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(events: list[Event], **options: Any) -> str:
    """Return the file."""
    return "\n".join(ladder_svg(linted(events), **options))


def texts(svg: str) -> list[str]:
    """Return the text elements of a file."""
    return ["".join(each.itertext()) for each in Xml.fromstring(svg).iter(f"{SVG}text")]


def test_the_svg_file_is_as_recorded(update: bool) -> None:
    compare("ladder.svg", drawn([*walkthrough().client(BROKEN).events]), update)


def test_it_needs_nothing_else_and_follows_the_scheme() -> None:
    svg = drawn([*walkthrough().events, *redelivered()])
    assert not re.search(r"href|url\((?!#)|@import|<script|http://(?!www\.w3\.org/2000/svg)", svg)
    assert "@media(prefers-color-scheme:dark)" in svg


def test_packets_gaps_and_repeats_are_drawn_with_their_arrows() -> None:
    svg = drawn(subscribed().events)
    shown = texts(svg)
    assert 'PUBREC  id 2  0x87 Not authorized  "not for panels"' in shown
    assert "... 398 more PUBLISH  11,434 B" in shown
    assert "1448 bytes are missing from the capture  (server)" in shown
    lines = [each.attrib for each in Xml.fromstring(svg).iter(f"{SVG}line")]
    lives = [each for each in lines if each["class"] == "life"]
    assert len(lives) == 2
    left, right = sorted(each["x1"] for each in lives)
    ends = {(each["x1"], each["x2"]) for each in lines if "marker-end" in each}
    assert ends == {(left, right), (right, left)}
    assert sum("cross" in each.get("marker-end", "") for each in lines) == 1


def test_findings_are_red_and_below() -> None:
    svg = drawn(Dialog().client(BROKEN).events)
    assert "error  DUP is 1, but QoS is 0  MQTT5-3.3.1-2" in texts(svg)
    assert 'class="error" x1=' in svg
    assert 'marker-end="url(#head-error)"' in svg


def test_foreign_text_is_text() -> None:
    evil = "</text><script>alert(1)</script>&\"'\x00\x1b\ufffe"
    talk = Dialog().client(Connect(client_id=evil), Publish(topic=evil, payload=evil.encode()))
    svg = drawn(talk.gap(CLIENT, 1, evil).remark(evil + "\udc80").events)
    tags = {each.tag.removeprefix(SVG) for each in Xml.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "style", "defs", "marker", "path", "rect", "line", "g", "text", "tspan"}
    assert any("<script>alert(1)</script>" in text for text in texts(svg))


def test_a_long_conversation_is_cut_with_a_count() -> None:
    talk = Dialog().client(*(Publish(topic="t", retain=bool(each % 3)) for each in range(100)))
    svg = drawn(talk.events, limit=20, squeeze=False)
    assert "... 80 more steps" in texts(svg)


def test_every_connection_has_its_lines() -> None:
    svg = drawn([*aliased().events, *Dialog(2).client(Pingreq()).events], absolute=True)
    assert svg.count('class="life"') == 4
    assert "2023-09-07T08:12:33.124456Z" in svg


def test_nothing_is_drawn_outside() -> None:
    svg = Xml.fromstring(drawn([*walkthrough().client(BROKEN).events, *redelivered()]))
    height = int(svg.attrib["height"])
    assert all(0 < float(each.attrib["y"]) < height for each in svg.iter(f"{SVG}text"))


@pytest.mark.parametrize(
    "events",
    [[], Dialog().closes(None, "end").events, Dialog().server(Suback(packet_id=1, reason_codes=())).events],
)
def test_little_is_a_file_too(events: list[Event]) -> None:
    Xml.fromstring(drawn(events))


@settings(max_examples=15)
@given(talks())
def test_anything_is_well_formed(events: list[Event]) -> None:
    Xml.fromstring(drawn(events))
