"""Dumps by plan are the dumps of trees, whatever was drawn before."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from mqttpub.capture.reading import CaptureEvents
from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Finding
from mqttpub.lint.packet.judge import PacketJudge
from mqttpub.payload.formats import payload_reader
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Pingreq, Puback, Publish, Pubrel, Suback, Subscribe, Subscription
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import PacketSeen
from mqttpub.view.packet import plan as module
from mqttpub.view.packet.dump import annotate, headline
from mqttpub.view.packet.formatted import PayloadFormat
from mqttpub.view.packet.plan import RepeatedDumps
from mqttpub.view.terminal.style import Palette
from tests.paths import CAPTURES
from tests.strategies import directions, encoded
from tests.view.samples import CONNACK, CONNECT, SUBSCRIBE, found, laws
from tests.view.samples import wires as damaged

HEX = PayloadFormat("hex", "hex", payload_reader("hex"))
WIDTHS = (60, 80, 132)
Settings = tuple[int, int | None, bool, bool, PayloadFormat | None]
"""Width, limit, whether secrets are shown, whether in colour, the format of payloads."""
every_setting = st.tuples(
    st.sampled_from(WIDTHS), st.sampled_from([None, 3, 256]), st.booleans(), st.booleans(), st.sampled_from([None, HEX])
)
USUAL: Settings = 80, 256, False, False, None
TIME = "  at 0.5\n"


def dumps(settings: Settings) -> RepeatedDumps:
    """Return dumps that remember nothing yet."""
    width, limit, secrets, color, payloads = settings
    return RepeatedDumps(Palette(color=color), width=width, limit=limit, secrets=secrets, payloads=payloads)


warm = cache(dumps)
"""Dumps that remember what earlier examples drew."""


def by_tree(
    data: bytes, version: Version, direction: Direction | None, settings: Settings, findings: Sequence[Finding] = ()
) -> str:
    """Return the text of a packet as its tree gives it, with a line below the headline."""
    width, limit, secrets, color, payloads = settings
    decoded, palette = decode(data, version, direction=direction), Palette(color=color)
    decoded.findings += findings
    lines = annotate(decoded, width=width, limit=limit, secrets=secrets, payloads=payloads)
    rows = "".join(f"{palette.text(line)}\n" for line in lines)
    return f"{palette.text(headline(decoded, width=width))}\n{TIME}{rows}"


def check(
    data: bytes, version: Version, direction: Direction | None, settings: Settings = USUAL,
    findings: Sequence[Finding] = (),
) -> None:  # fmt: skip
    """A packet is drawn as by its tree, or left to it, by dumps that remember and by others, twice."""
    own = decode(data, version).findings
    wanted = by_tree(data, version, direction, settings, findings)
    for each in (warm(settings), dumps(settings)):
        once, twice = (each.draw(data, version, direction, [*own, *findings], TIME) for _ in range(2))
        assert once == twice == (None if own else wanted)


wires = st.sampled_from(Version).flatmap(lambda version: st.tuples(encoded(version), st.just(version)))


@laws
@given(wires, directions | st.none(), every_setting)
def test_packets_are_drawn_as_by_their_tree(
    wire: tuple[bytes, Version], direction: Direction | None, settings: Settings
) -> None:
    check(*wire, direction, settings)


@laws
@given(damaged(), every_setting)
def test_packets_that_are_not_well_formed_are_left_to_their_tree(
    wire: tuple[bytes, Version], settings: Settings
) -> None:
    check(*wire, None, settings)


places = st.tuples(st.integers(0, 90), st.integers(0, 9), st.integers(0, 255))


@laws
@given(wires, every_setting, st.lists(places, min_size=1, max_size=4))
def test_findings_are_drawn_as_by_the_tree(
    wire: tuple[bytes, Version], settings: Settings, places: list[tuple[int, int, int]]
) -> None:
    remarks = [found(start, start + length, f"at {start}.", mask=mask) for start, length, mask in places]
    check(*wire, None, settings, remarks)


@pytest.mark.parametrize("packet", [CONNECT, SUBSCRIBE, CONNACK], ids=lambda packet: packet.name)
def test_samples_are_drawn_as_by_their_tree(packet: Packet) -> None:
    for settings in product(WIDTHS, (3, 256), (False, True), (False, True), (None, HEX)):
        check(encode(packet, Version.V5), Version.V5, None, settings)


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcapng")), ids=lambda path: path.stem)
def test_captures_are_drawn_as_by_their_trees(path: object) -> None:
    with open(str(path), "rb") as file:
        for event in CaptureEvents(file).events():
            if isinstance(event, PacketSeen):
                check(event.data, event.version, event.direction)


def test_values_that_differ_are_drawn_anew() -> None:
    payloads = (b"", b"1", b"on", b'{"a": 1}', b'{"a": 1}' * 9, b"\0", "\u4f60".encode(), b"x" * 300)
    # Every packet has another type, QoS or length than the one before it.
    for payload, packet_id, expiry, qos in product(payloads, (1, 65_535), (1, 70_000), (0, 1, 2)):
        packet = Publish(
            topic="t", qos=qos, packet_id=packet_id if qos else None, payload=payload,
            properties=(Property(0x02, expiry), Property(0x0B, expiry)),
        )  # fmt: skip
        check(encode(packet, Version.V5), Version.V5, Direction.CLIENT)
    for length in (65_535, 65_536, 65_537, 1 << 20):
        check(encode(Publish(topic="t", payload=bytes(length)), Version.V5), Version.V5, None)


def test_long_lists_and_packets_with_wrong_lengths_are_left_to_their_tree() -> None:
    many = encode(Suback(packet_id=1, reason_codes=(0,) * 100), Version.V5)
    assert dumps(USUAL).draw(many, Version.V5, None) is None
    assert dumps(USUAL).draw(b"\xc0\x01", Version.V5, None) is None
    assert dumps(USUAL).draw(b"", Version.V5, None) is None
    assert dumps(USUAL).draw(encode(Pingreq(), Version.V5), Version.V5, None)


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_PLANS", 8), ("MOST_FIELD_PLANS", 80), ("MOST_TEXT", 20_000), ("MOST_HEADLINES", 16)):
        monkeypatch.setattr(module, name, most)
    drawn = dumps(USUAL)
    for number in range(1, 300):
        properties = tuple(Property(id, number) for id in (0x02, 0x0B, 0x23) if number & id)
        for packet in (
            Publish(topic="t" * (number % 50 + 1), properties=properties * (number % 9 and 1), payload=b"x" * number),
            Subscribe(packet_id=number, subscriptions=(Subscription(filter="f"),) * (number % 12 + 1)),
        ):
            data = encode(packet, Version.V5)
            if not decode(data, Version.V5).findings:
                assert drawn.draw(data, Version.V5, None, (), TIME) == by_tree(data, Version.V5, None, USUAL)
        assert len(drawn._plans) <= 8
        assert len(drawn._fields) <= 80
        assert len(drawn._headlines) <= 16
        assert all(sum(map(len, texts)) <= 20_000 for texts in remembered(drawn))


def test_long_fields_are_not_remembered() -> None:
    drawn = dumps(USUAL)
    for number in range(100):
        packet = Publish(topic=f"{number // 10}" * 60_000, qos=1, packet_id=number + 1, payload=b"x")
        drawn.draw(encode(packet, Version.V5), Version.V5, None)
    assert all(sum(map(len, texts)) < 60_000 for texts in remembered(drawn))


def remembered(drawn: RepeatedDumps) -> list[Iterable[str | bytes]]:
    """Return all that is remembered, apart."""
    keys = [part for key in drawn._field_stencils for part in key if isinstance(part, bytes)]
    fields = [each.text for each in drawn._field_stencils.values()]
    return [drawn._rows.values(), [*fields, *keys]]


CONTENTS = (
    b"{}", b'{"a": 1}', b"[1,2]", b'"', b"a b ", b" ", b"\\", b"50 %s", b"a\nb", b"\0", b"\xff", b"1", b"12345",
    b'{"value": 21, "unit": "C"}', b'{"value": 3, "unit": "\xc2\xb0C"}', b'{"value": 1, "unit": "C", "from": "hall 3"}',
    b"x" * 9, b"word " * 8, b" " * 17, b"x" * 300, "\u4f60\u597d".encode(), b"",
)  # fmt: skip
BULK = (
    Publish(topic="t"), Publish(topic="plant/100%/line", qos=1), Publish(topic="x" * 30, qos=2),
    Publish(topic="a", properties=(Property(0x02, 60), Property(0x26, ("unit", "%s C")))),
    Publish(topic="a", qos=1, properties=(Property(0x01, 1),)), Puback(packet_id=1),
    Puback(packet_id=1, reason_code=0x10), Pubrel(packet_id=1),
)  # fmt: skip
IN_BULK: list[Settings] = [
    USUAL, (60, 3, False, False, None), (132, None, False, False, HEX), (80, 256, True, True, None)
]  # fmt: skip


@pytest.mark.parametrize("settings", IN_BULK)
def test_packets_in_bulk_are_drawn_as_by_their_trees(settings: Settings) -> None:
    random, drawn = Random(7), dumps(settings)
    for turn, kind in product(range(90), BULK):
        packet: Any = kind
        if not isinstance(packet, Publish) or packet.qos:
            packet = packet.replace(packet_id=random.choice((0, 9, 10, 65_535)))
        if isinstance(packet, Publish):
            packet = packet.replace(payload=random.choice(CONTENTS) if turn % 3 else b"%d" % random.randrange(1000))
        data = encode(packet, Version.V5)
        _, findings = PacketJudge().alone(data, Version.V5, Direction.CLIENT)
        if not decode(data, Version.V5).findings:
            wanted = by_tree(data, Version.V5, Direction.CLIENT, settings, findings)
            assert drawn.draw(data, Version.V5, Direction.CLIENT, findings, TIME) == wanted


PIECES = ("alpha ", "gamma ", "epsilon ", "a  ", "50 % ", "x" * 40, '"', "\n", " ", "\u4f60 ", "\u00e9 ", "e\u0301 ")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("limit", [256, 20, None])
@pytest.mark.parametrize("kinds", [3, 5, len(PIECES)])
def test_text_of_several_rows_is_drawn_as_by_its_tree(width: int, limit: int | None, kinds: int) -> None:
    settings: Settings = (width, limit, False, False, None)
    random, drawn = Random(7), dumps(settings)
    for turn in range(300):
        text = "".join(random.choices(PIECES[:kinds], k=random.randrange(4, 14)))[: 60 if turn % 3 else 300]
        content: Any = text.encode()
        middle = random.randrange(len(text))
        if turn % 2:
            properties = Property(0x26, (text[:middle], text[middle:])), Property(0x09, content)
            packet = Publish(topic="t" * 80, properties=properties)
        else:
            packet = Publish(topic="t", payload=content)
        data = encode(packet, Version.V5)
        assert drawn.draw(data, Version.V5, None, (), TIME) == by_tree(data, Version.V5, None, settings)


def test_words_of_one_width_are_told_apart() -> None:
    drawn = dumps(USUAL)
    for content, property in product((b"[1,2]", b"{a,b}", b"12345", b"\0\1\2\3\4", "\u4f60\\b".encode()), (0x09, 0)):
        properties = (Property(property, content),) if property else ()
        packet = Publish(topic="t", properties=properties, payload=content)
        data = encode(packet, Version.V5)
        assert drawn.draw(data, Version.V5, None, (), TIME) == by_tree(data, Version.V5, None, USUAL)


def test_plans_keep_no_packet() -> None:
    drawn = dumps(USUAL)
    data = encode(Publish(topic="t", payload=b"x" * 100_000), Version.V5)
    drawn.draw(data, Version.V5, None)
    (kept,) = drawn._plans.values()
    for decoded in (kept._decoded, *(field._outline.decoded for field in kept.fields)):
        assert decoded.data == b""
        assert all(isinstance(node.value, int) or not node.value for _, node in decoded.root.walk())
    assert all(field._sheet.data == b"" for field in kept.fields)
    assert not any(b"xx" in key[2] for key in drawn._rows)


JSON = (
    '{"value": %d, "unit": "C"}', '{"v":%d}', "[%d,%d]", '{"a": "%d%d", "b": %d.%d%d}', '{"a": -%d.%de-%d%d}', '"%d%d"',
    '{"\u4f60": %d, "50 %%": "\\u00e%d"}', '{\n  "a": [%d, {"b": %d}]\n}', ' {"a": %d}  ', '{"%d": {}, "c": [ ]}',
    '{"measurements": [%d, %d, %d], "station": "hall %d, line %d", "quality": "good"}', '{"a": %d%s}',
)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
def test_json_that_differs_in_digits_is_drawn_as_by_its_tree(width: int) -> None:
    settings: Settings = (width, 256, False, False, None)
    random, drawn = Random(7), dumps(settings)
    for _, json in product(range(60), JSON):
        digits = [str(random.randrange(10)) for _ in range(json.replace("%%", "").count("%"))]
        data = encode(Publish(topic="t", payload=(json.replace("%d", "%s") % tuple(digits)).encode()), Version.V311)
        assert drawn.draw(data, Version.V311, None, (), TIME) == by_tree(data, Version.V311, None, settings)


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


@examples(max_examples=150, deadline=None)
@given(messages(), every_setting, st.sampled_from(Version))
def test_packets_of_the_same_fields_are_drawn_as_by_their_trees(
    sent: list[Publish], given_settings: Settings, version: Version
) -> None:
    drawn = dumps(given_settings)
    for each in sent:
        data = encode(each if version is Version.V5 else each.replace(properties=()), version)
        if not decode(data, version).findings:
            assert drawn.draw(data, version, Direction.CLIENT, (), TIME) == by_tree(
                data, version, Direction.CLIENT, given_settings
            )
