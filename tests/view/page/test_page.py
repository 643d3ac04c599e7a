"""The page of captured packets: what stands in the file, and what must never get out of it."""

import io
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded, Finding
from mqttpub.lint.packet.check import lint
from mqttpub.spec.packets import PACKETS, Puback, Publish, Subscribe, Subscription
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.aliases import Topic
from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import SIDES, Closed, Endpoints, GapSeen, PacketSeen, Remark
from mqttpub.view.packet.masking import hidden
from mqttpub.view.page.blocks import BLOCK_ROWS
from mqttpub.view.page.page import SCRIPTS, PageWriter, asset
from mqttpub.wire.cursor import Span
from tests.build.pages import blocks, parts
from tests.view.samples import BROKEN, CONNACK, CONNECT, SUBSCRIBE, judged, laws, of, publish

ENDS = Endpoints(1, "10.0.0.20:50000", "10.0.0.2:1883")
HOSTILE = '</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>{{script}}\u202e\x1b[31m"\\'


def seen(decoded: Decoded, *, time: int | None = 1_767_225_600_000_000_001, ends: Endpoints = ENDS) -> PacketSeen:
    """Return the event of a packet."""
    return PacketSeen(ends, time, 7, decoded.data, decoded.offset, decoded.direction, decoded.version, False)


def known(
    decoded: Decoded, *, client: str = "", topic: str | None = None, time: int | None = 1_767_225_600_000_000_001,
    ends: Endpoints = ENDS,
) -> PacketInContext:  # fmt: skip
    """Return a packet with its findings in its context; `topic` is the topic with its alias resolved."""
    resolved = None if topic is None else Topic(topic)
    return PacketInContext(seen(decoded, time=time, ends=ends), decoded.packet, resolved, client, decoded.findings)


def sent(data: bytes, version: Version = Version.V5, direction: Direction | None = Direction.CLIENT) -> Decoded:
    """Return bytes decoded and judged."""
    decoded = decode(data, version, direction=direction)
    decoded.findings = lint(decoded, direction)
    return decoded


def written(*packets: Decoded, title: str = "capture", secrets: bool = False, shown_bytes: int = 65_536) -> str:
    """Return a page of packets."""
    out = io.StringIO()
    page = PageWriter(out, title, secrets=secrets, shown_bytes=shown_bytes)
    for each in packets:
        page.add(known(each))
    page.close()
    return out.getvalue()


class Parsed(HTMLParser):
    """Reads a page the way a browser does: elements, their attributes, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.inside: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.inside = []
        self.elements.append((tag, dict(attrs), self.inside))

    def handle_endtag(self, tag: str) -> None:
        """Let no more text belong to an element that has ended."""
        self.inside = []

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.inside.append(data)

    def texts(self, tag: str, **wanted: str) -> list[str]:
        """Return the text of the elements that have these attributes."""
        return [
            "".join(text)
            for name, attributes, text in self.elements
            if name == tag and wanted.items() <= attributes.items()
        ]


def details(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the only block of a page."""
    (block,) = blocks(text)
    return block


def column(block: dict[str, Any], name: str) -> list[str]:
    """Return a column of texts."""
    return [block["strings"][number] if number >= 0 else "" for number in block[name]]


# One file, nothing loaded


def test_a_page_loads_nothing() -> None:
    text = written(of(CONNECT), of(SUBSCRIBE), of(CONNACK))
    assert not re.search(r"https?:|[\"'(=]//|@import|url\(|\bfetch\b|XMLHttp|WebSocket|importScripts", text, re.I)
    for tag, attributes, _ in Parsed(text).elements:
        assert tag not in ("iframe", "object", "embed", "base", "form")
        assert attributes.get("src") is None
        assert attributes.get("href") in (None, "data:,")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_every_page_is_ascii() -> None:
    page = written(publish("\u4f60\u597d".encode()), title="\u4f60\u597d <b>&amp;")
    assert page.isascii()
    assert Parsed(page).texts("h1") == ["\u4f60\u597d <b>&amp;"]


def test_the_policy_allows_the_one_script_and_the_one_style() -> None:
    parsed = Parsed(written())
    (policy,) = [each.get("content") or "" for tag, each, _ in parsed.elements if each.get("http-equiv")]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    (style,) = parsed.texts("style")
    script = next("".join(text) for tag, attributes, text in parsed.elements if tag == "script" and not attributes)
    for name, content in (("script-src", script), ("style-src", style)):
        assert allowed[name] == f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
    assert allowed["default-src"] == "'none'"
    assert allowed["require-trusted-types-for"] == "'script'"


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_never_parses_text_as_markup(name: str) -> None:
    text = asset(f"{name}.js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|setTimeout\(['\"]", text
    )
    assert "</" not in text
    assert "<!--" not in text


# Hostile text


def hostile() -> Decoded:
    """Return a packet all of whose text wants to be markup."""
    return sent(encode(Publish(topic=HOSTILE, payload=HOSTILE.encode()), Version.V5))


def test_hostile_text_adds_no_element() -> None:
    calm, wild = written(of(Puback(packet_id=1)), title="t"), io.StringIO()
    page = PageWriter(wild, HOSTILE)
    page.add(known(hostile(), client=HOSTILE, topic=HOSTILE))
    subscribe = encode(Subscribe(packet_id=1, subscriptions=(Subscription(filter=HOSTILE, qos=0),)), Version.V5)
    page.add(known(sent(subscribe), client=HOSTILE))
    page.close()
    assert [tag for tag, *_ in Parsed(wild.getvalue()).elements] == [tag for tag, *_ in Parsed(calm).elements]
    assert wild.getvalue().count("<script>") == 1
    assert "\x1b" not in wild.getvalue()


def test_gaps_remarks_and_endpoint_names_add_no_element() -> None:
    out = io.StringIO()
    page = PageWriter(out, "t", secrets=True)
    ends = Endpoints(1, HOSTILE, HOSTILE)
    page.add(GapSeen(ends, 1, 1, 0, None, 9, HOSTILE.encode(), HOSTILE, True))
    page.add(Remark(ends, 1, 1, None, HOSTILE))
    page.add(Closed(ends, 1, 1, None, HOSTILE))
    page.close()
    parsed = Parsed(out.getvalue())
    assert [tag for tag, *_ in parsed.elements] == [tag for tag, *_ in Parsed(written(hostile())).elements]
    assert column(details(out.getvalue())[0], "summary")[1].startswith("</script><script>alert(1)")


# Secrets


@pytest.mark.parametrize("packet", [encode(CONNECT, Version.V5), encode(CONNECT, Version.V5)[:-1], BROKEN[11]])
def test_secrets_are_not_in_the_file(packet: bytes) -> None:
    decoded = sent(packet)
    _, rest = details(written(decoded))
    data = b64decode(rest["rows"][0][0])
    for start, stop in hidden(decoded):
        assert data[start:stop] == b"*" * (stop - start)
    text = written(decoded)
    ((head, body),) = parts(text)
    for secret in (b"s3cret!", b"s3cret"):
        for form in (secret, secret.hex().encode(), b64encode(secret)):
            assert form not in text.encode()
            assert form not in head
            assert form not in body


def test_secrets_are_there_when_they_are_asked_for() -> None:
    _, rest = details(written(of(CONNECT), secrets=True))
    assert b64decode(rest["rows"][0][0]) == of(CONNECT).data
    assert not [style for *_, style in rest["shapes"][0] if "*" in style]


def test_bytes_of_a_gap_are_hidden_and_counted() -> None:
    for secrets in (False, True):
        out = io.StringIO()
        page = PageWriter(out, "t", secrets=secrets)
        page.add(GapSeen(ENDS, 1, 3, 5, Direction.CLIENT, None, b"hunter2", "not MQTT", True))
        page.close()
        _, rest = details(out.getvalue())
        assert rest["rows"] == [["", 5, 3, 7] if not secrets else [b64encode(b"hunter2").decode(), 5, 3, 0]]


# What is in it


def fields(text: str) -> list[tuple[str, int, list[tuple[int, int, str]], str]]:
    """Return label, mask, parts and text of each field of a page with one packet."""
    _, rest = details(text)
    _, _, _, _, _, shape, lengths, texts, _ = rest["rows"][0]
    at, taken, found = 0, iter(lengths), []
    for (label, _, _, mask, _, styles), words in zip(rest["shapes"][shape], texts, strict=True):
        parts = []
        for style in styles.split():
            start, at = at, at + next(taken)
            parts.append((start, at, style))
        found.append((label, mask, parts, rest["strings"][words]))
    assert next(taken, None) is None
    return found


def test_fields_have_their_names_their_places_and_their_words() -> None:
    found = {label: (mask, parts, words) for label, mask, parts, words in fields(written(of(SUBSCRIBE)))}
    assert found["Packet type"] == (0xF0, [], "8  SUBSCRIBE")
    assert found["Packet Identifier"] == (0, [(2, 4, "id")], ""), "the page makes these words"
    assert found["Subscription Identifier"] == (0, [(5, 6, "property"), (6, 8, "number")], "268")
    assert found["Topic Filter"] == (0, [(32, 34, "length"), (34, 37, "topic")], "3 bytes")
    assert found["Maximum QoS"] == (0b11, [], "2  exactly once")


@pytest.mark.slow
@laws
@given(judged())
def test_fields_tile_any_packet(decoded: Decoded) -> None:
    at = 0
    for _, mask, runs, _ in fields(written(decoded)):
        assert not (mask and runs)
        for start, stop, _ in runs:
            assert start == at
            at = stop
    assert at == len(decoded.data)


@pytest.mark.slow
@laws
@given(judged(), st.booleans())
def test_any_packet_can_be_read_back(decoded: Decoded, secrets: bool) -> None:
    block, rest = details(written(decoded, secrets=secrets))
    assert block["findings"] == [[0, *each] for each in _places(block, decoded)]
    data = b64decode(rest["rows"][0][0])
    assert len(data) == len(decoded.data)
    if secrets:
        assert data == decoded.data


def _places(block: dict[str, Any], decoded: Decoded) -> list[list[Any]]:
    texts = {text: number for number, text in enumerate(block["strings"])}
    severities = ["", "note", "warning", "error"]
    return [
        [severities.index(each.severity), each.span.start, each.span.length, each.mask, *rest]
        for each, (*_, message, rule, path, _) in zip(decoded.findings, block["findings"], strict=True)
        if (rest := [message, texts[each.statement], texts[each.path], SIDES[each.at_fault]]) and rule == rest[1]
    ]


def test_what_an_end_left_undone_is_a_finding_of_that_end() -> None:
    undone = Finding("error", "connection", Span(0, 0), "got no PUBACK", "MQTT5-4.3.2-4", at_fault=Direction.SERVER)
    out = io.StringIO()
    page = PageWriter(out, "t", most=2)
    for _ in range(3):
        page.add(Remark(Endpoints(1, "a:1", "b:2"), None, 7, None, "error: got no PUBACK", undone))
    page.close()
    block, _ = details(out.getvalue())
    assert [(each[0], each[1], each[-1]) for each in block["findings"]] == [(0, 3, 2), (1, 3, 2)]
    assert page.left_out == {"others": 1, "error": 1}


def test_the_list_distinguishes_packets() -> None:
    block, _ = details(written(of(CONNECT), of(SUBSCRIBE), of(CONNACK), publish(b"x")))
    assert column(block, "word") == ["CONNECT", "SUBSCRIBE", "CONNACK", "PUBLISH"]
    assert column(block, "summary") == [
        "sensor-17", "id 25674  sensors/+/temperature  and 1 more", "0x00 Success", "QoS 0",
    ]  # fmt: skip
    assert block["id"] == [-1, 25674, -1, -1]
    assert block["length"] == [len(each.data) for each in (of(CONNECT), of(SUBSCRIBE), of(CONNACK), publish(b"x"))]


def test_times_keep_their_nanoseconds() -> None:
    out = io.StringIO()
    page = PageWriter(out, "t")
    for time in (None, 1_767_225_600_000_000_001, 1_767_225_600_000_000_003, None, 1_767_225_599_999_999_999):
        page.add(known(publish(b""), time=time))
    page.close()
    block, _ = details(out.getvalue())
    assert block["base"] == "1767225600000000001"
    assert block["time"] == [None, 0, 2, None, -2]


def test_other_rows_have_their_place_in_the_list() -> None:
    out = io.StringIO()
    page = PageWriter(out, "t")
    page.add(known(publish(b""), topic="a/b", client="one"))
    page.add(GapSeen(ENDS, 5, 1, 0, Direction.SERVER, 1448, b"", "1,448 bytes are missing", False))
    page.add(GapSeen(ENDS, 5, 1, 0, Direction.CLIENT, None, b"", "this is no packet", True))
    page.add(Remark(ENDS, 6, 1, None, "TLS begins"))
    page.add(Closed(ENDS, 7, 1, Direction.CLIENT, "RST"))
    page.add(known(publish(b""), client="two"))
    page.close()
    block, _ = details(out.getvalue())
    assert block["kind"] == [0, 1, 1, 2, 3, 0]
    assert block["dir"] == [0, 2, 1, 0, 1, 0]
    assert column(block, "topic") == ["a/b", "", "", "", "", ""]
    assert column(block, "summary")[1:5] == [
        "1,448 bytes are missing", "this is no packet", "TLS begins", "reset the connection (RST)",
    ]  # fmt: skip
    assert [each[:2] for each in block["findings"]] == [[1, 2], [2, 3]]
    assert block["ends"] == [[1, "10.0.0.20:50000", "10.0.0.2:1883", "two", ""]]


def test_each_connection_of_several_files_names_its_file() -> None:
    out = io.StringIO()
    page = PageWriter(out, "t", file_of=lambda number: f"{number}\x1b.pcap")
    for number in (1, 2):
        page.add(known(publish(b""), ends=ENDS._replace(number=number)))
    page.close()
    block, _ = details(out.getvalue())
    assert [(each[0], each[4]) for each in block["ends"]] == [(1, "1\\x1b.pcap"), (2, "2\\x1b.pcap")]


def test_each_statement_is_in_the_file_once() -> None:
    broken = [sent(BROKEN[4]) for _ in range(20)]
    ids = {each.statement for each in broken[0].findings}
    text = written(*broken)
    (end,) = Parsed(text).texts("script", id="end")
    assert json.loads(end)["statements"] == {id: [statement(id).section, statement(id).text] for id in ids}
    for id in ids:
        assert text.count(statement(id).text) == 1


def test_a_long_packet_is_kept_in_part_with_its_full_length() -> None:
    decoded = publish(bytes(5000))
    _, rest = details(written(decoded, shown_bytes=100))
    assert b64decode(rest["rows"][0][0]) == decoded.data[:100]
    assert rest["rows"][0][-1] == len(decoded.data)
    assert sum(rest["rows"][0][6]) == len(decoded.data)


def test_every_kind_of_packet_and_all_broken_ones_go_in() -> None:
    everything = [sent(data, version) for data in BROKEN for version in Version]
    text = written(*everything, *(sent(bytes([kind << 4, 0])) for kind in PACKETS))
    assert sum(len(block["kind"]) for block, _ in blocks(text)) == len(everything) + len(PACKETS)


# Memory and size


def test_rows_are_written_as_they_come() -> None:
    out = io.StringIO()
    page = PageWriter(out, "t")
    small = of(Puback(packet_id=1))
    for _ in range(2 * BLOCK_ROWS + 1):
        page.add(known(small))
    assert len(page.block.rows) == 1
    page.close()
    assert [len(block["kind"]) for block, _ in blocks(out.getvalue())] == [BLOCK_ROWS, BLOCK_ROWS, 1]


def test_large_packets_are_written_early() -> None:
    out = io.StringIO()
    page = PageWriter(out, "t")
    large = publish(bytes(300_000))
    for _ in range(40):
        page.add(known(large))
        assert page.block.size_bytes < 1 << 20
    assert len(blocks(out.getvalue())) == 2


@pytest.mark.slow
def test_small_packets_need_little_space() -> None:
    packets = [
        of(Publish(topic=f"plant/{n % 9}/temperature", qos=1, packet_id=n + 1, payload=b'{"v":%d.25}' % n))
        for n in range(BLOCK_ROWS)
    ]
    assert len(written(*packets)) - len(written()) < 250 * BLOCK_ROWS


# The look


def palettes() -> dict[str, dict[str, str]]:
    """Return the colours of both themes."""
    light, dark = re.findall(r":root[^{]*\{([^}]*)\}", asset("page.css"))[:2]
    colours = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", each)) for each in (light, dark)]
    return {"light": colours[0], "dark": {**colours[0], **colours[1]}}


def contrast(one: str, two: str) -> float:
    """Return the contrast of two colours as WCAG 2.1 reckons it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    bright, dull = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dull + 0.05)


KINDS = "type flag length id topic property reason number text payload secret reserved gap"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_every_ground(theme: str) -> None:
    colours = palettes()[theme]
    pairs = [(ink, ground) for ink in ("ink", "dim") for ground in ("ground", "panel", "raised", "chosen", "kin")]
    pairs += [(kind, ground) for kind in KINDS.split() for ground in ("panel", "chosen")]
    pairs += [(severity, f"{severity}-soft") for severity in ("error", "warning", "note")]
    pairs += [(ink, f"{severity}-soft") for ink in ("ink", "dim") for severity in ("error", "warning", "note")]
    pairs += [("lit-ink", "lit"), ("accent", "panel"), ("good", "panel")]
    low = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


def test_every_kind_of_field_has_a_colour() -> None:
    style = asset("page.css")
    for kind in KINDS.split():
        assert f".k-{kind} {{" in style
