"""Packets sent in bulk are shown as if each were read and judged."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import pytest

from mqttpub.cli.lint.findings import OutputOptions
from mqttpub.cli.observe.inspect import MAX_WAITING, Inspector
from mqttpub.cli.observe.watch import Watch, WatchedConnection
from mqttpub.codec.encode import encode
from mqttpub.codec.frame_runs import take_runs
from mqttpub.codec.stream import Stream
from mqttpub.live.shield import SHIELD
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Direction, Version

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
Sending = tuple[float, Direction, bytes]
"""Packets that pass together: when, which way, and their bytes."""


# many packets at once

MIXED = (b"", b" ", b"[1,2]", b'{"a": 12}', b'{"a": "\xc3\xa9"}', b"\0", b"a\nb", b"50 %s")
PAYLOADS = (
    lambda random, number: b"%d" % number,
    lambda random, number: b"%04d" % (number % 10_000),
    lambda random, number: random.choice(MIXED),
    lambda random, number: bytes(random.choice(b"a ") for _ in range(17)),
    lambda random, number: bytes(random.choice(b'ab "\\{%') for _ in range(random.randrange(12))),
    lambda random, number: b'{"value": %d, "unit": "%c"}' % (number, random.choice(b"CF")),
    lambda random, number: b"word " * random.choice((1, 9, 60, 300)),
)  # fmt: skip
PROPERTIES = ((), (Property(0x02, 60), Property(0x26, ("a", "%s"))), (Property(0x01, 1),), (Property(0x23, 3),))
ACKS = {1: ((SERVER, Puback),), 2: ((SERVER, Pubrec), (CLIENT, Pubrel), (SERVER, Pubcomp))}


def wire(packets: Sequence[Packet], version: Version) -> bytes:
    return b"".join(encode(each, version) for each in packets)


def bulk(
    seed: int, version: Version, qos: int, payloads: int, properties: int, *, messages: int = 400
) -> list[Sending]:
    """Return what passes when messages are published in bulk, some acknowledgements late, repeated, or of nothing."""
    random, now, sendings, late = Random(seed), 1000.0, list[Sending](), list[int]()
    first = random.choice((1, 95, 65_400))
    for start in range(0, messages, step := random.choice((1, 10, 130))):
        ids = [(first + number - 1) % 65_535 + 1 for number in range(start, start + step)]
        sent: list[Packet] = [
            Publish(
                topic=f"t/{number // 150}", qos=qos, packet_id=id if qos else None, dup=qos > 0 and number == 333,
                payload=PAYLOADS[payloads](random, number),
                properties=PROPERTIES[properties] if version == Version.V5 else (),
            )
            for number, id in zip(range(start, start + step), ids, strict=True)
        ]  # fmt: skip
        now += 0.01
        sendings.append((now, CLIENT, wire(sent, version)))
        ids, late = [*ids, *late], [id for id in ids if random.random() < 0.05]
        random.shuffle(late)
        for direction, kind in ACKS.get(qos, ()):
            acks: list[Any] = [kind(packet_id=id) for id in ids]
            if kind is Puback and version == Version.V5:
                acks = [each.replace(reason_code=16 * (id % 50 > 9)) for each, id in zip(acks, ids, strict=True)]
            if not start:
                acks[3:3] = [kind(packet_id=id) for id in (0, 7000, 0)]
            now += 0.0004
            sendings.append((now, direction, wire(acks, version)))
    return sendings


def pass_by(inspector: Inspector | WatchedConnection, sendings: Sequence[Sending], *, together: bool) -> None:
    """Let an inspector show packets, or a watch check them."""
    if isinstance(inspector, Inspector):
        inspector.begun = 1000.0
    version = inspector.version if isinstance(inspector, Inspector) else inspector._version
    streams = {end: Stream(end, version) for end in Direction}
    for at, (now, direction, data) in enumerate(sendings):
        stream, rest = streams[direction], data
        stream.offset = stream.offset or 100
        if together:
            runs, rest = take_runs(stream, direction, data)
            if runs:
                inspector.together(now, runs)
        for frame in stream.feed(rest):
            inspector(now, frame)
        if isinstance(inspector, WatchedConnection):
            continue
        if at % 50 == 20:
            inspector.remark(f"after {at}")
        if inspector.show_in_s() == 0.0 or at % 90 == 9:
            inspector.flush()
    if isinstance(inspector, Inspector):
        inspector.flush()


def compare(
    sendings: Sequence[Sending], version: Version, capsys: pytest.CaptureFixture[str], **options: Any
) -> None:  # fmt: skip
    """Packets that pass together are shown, and remembered, as if each were judged."""
    quick, slow = Inspector(version, **options), Inspector(version, **options)
    pass_by(slow, sendings, together=False)
    wanted = capsys.readouterr().out
    pass_by(quick, sendings, together=True)
    assert capsys.readouterr().out == wanted
    assert quick.published == slow.published


@pytest.mark.slow
@pytest.mark.parametrize("payloads", range(len(PAYLOADS)))
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_packets_that_pass_together_are_shown_as_one_by_one(
    qos: int, payloads: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, version in product((1, 2, 3), (Version.V5, Version.V311)):
        compare(bulk(seed, version, qos, payloads, seed - 1), version, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 132])
@pytest.mark.parametrize("color", ["", "1"])
@pytest.mark.parametrize("full", [False, True])
def test_packets_that_pass_together_are_shown_at_each_width_and_in_colour(
    width: int, color: str, full: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", color)
    for payloads in range(len(PAYLOADS)):
        sendings = bulk(payloads, Version.V5, 1, payloads, 0, messages=160)
        compare(sendings, Version.V5, capsys, full=full, secrets=full)


def test_packets_that_pass_together_are_records_one_by_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(bulk(1, Version.V5, 1, 0, 0), Version.V5, capsys, json=True)


OPENING: tuple[Sending, ...] = (
    (999.0, CLIENT, bytes.fromhex("101000044d5154540502003c032100140000")),
    (999.1, SERVER, bytes.fromhex("20060000032100 0a")),
)
"""CONNECT and CONNACK; either end takes a few messages at a time."""


def checked(
    sendings: Sequence[Sending], version: Version, capsys: pytest.CaptureFixture[str], ways: set[str]
) -> object:  # fmt: skip
    """Return what is shown and counted of packets that are checked."""
    watch = Watch(version, OutputOptions(json="json" in ways, secrets=False, full=False))
    together = "together" in ways
    if "shown" in ways:
        inspector = Inspector(version, json="json" in ways, watch=watch.connection())
        pass_by(inspector, sendings, together=together)
    else:
        pass_by(watch.connection(), sendings, together=together)
    watch.end()
    return capsys.readouterr(), watch.peer_errors


@pytest.mark.slow
@pytest.mark.parametrize("ways", [{"shown"}, {"shown", "json"}, set(), {"json"}])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_packets_that_pass_together_are_checked_as_one_by_one(
    qos: int, ways: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = ((Version.V5, ()), (Version.V5, OPENING), (Version.V311, ()))
    for payloads, (version, opening) in product(range(0, len(PAYLOADS), 2), connections):
        sendings = [*opening, *bulk(payloads, version, qos, payloads, payloads // 2)]
        wanted = checked(sendings, version, capsys, ways)
        assert checked(sendings, version, capsys, {*ways, "together"}) == wanted


def test_most_packets_that_pass_together_are_checked_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, calls = Watch(Version.V5, OutputOptions(json=False, secrets=False, full=False)), Counter[str]()
    monkeypatch.setattr(watch.judge, "packet", counted(calls, "packet", watch.judge.packet))
    late = bytes.fromhex("40020001") + bytes.fromhex("40020001")
    packets = [
        encode(Publish(topic="t", qos=1, packet_id=number, payload=b"x"), Version.V5) for number in range(1, 1001)
    ]
    acks = b"".join(encode(Puback(packet_id=number), Version.V5) for number in range(1, 1001))
    accepted = (999.1, SERVER, bytes.fromhex("2003000000"))
    pass_by(
        watch.connection(),
        [OPENING[0], accepted, (1000.0, CLIENT, b"".join(packets)), (1000.1, SERVER, acks + late)],
        together=True,
    )
    watch.end()
    assert "2,004 packets" in capsys.readouterr().err
    assert calls["packet"] < 200


def ran(count: int, inspector: Inspector) -> None:
    """Let messages of one length pass together."""
    sent = [Publish(topic="t", qos=1, packet_id=30_000 + number, payload=b"x") for number in range(count)]
    pass_by(inspector, [(1000.0, CLIENT, wire(sent, Version.V5))], together=True)


def counted(calls: Counter[str], name: str, call: Any) -> Any:
    """Return a function that does the same and counts its calls."""

    def counting(*given: Any, **named: Any) -> Any:
        calls[name] += 1
        return call(*given, **named)

    return counting


def test_most_packets_that_pass_together_are_drawn_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inspector, calls = Inspector(Version.V5), Counter[str]()
    inspector.remark("begun")
    monkeypatch.setattr(inspector._judge, "alone", counted(calls, "alone", inspector._judge.alone))
    ran(10 * MAX_WAITING, inspector)
    assert calls == {"alone": 1}


def test_no_more_packets_than_a_thousand_are_drawn_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inspector, sizes = Inspector(Version.V5), []
    inspector.remark("begun")
    together = inspector._twins.together

    def measured(data: bytes, size: int, *given: Any) -> object:
        sizes.append(len(data) // size)
        return together(data, size, *given)

    monkeypatch.setattr(inspector._twins, "together", measured)
    ran(10 * MAX_WAITING + 7, inspector)
    assert sizes == [MAX_WAITING] * 10 + [7]


def test_an_interrupt_waits_until_what_passed_together_is_drawn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inspector = Inspector(Version.V5)
    inspector.remark("begun")
    together = inspector._twins.together

    def interrupted(*given: Any) -> object:
        if not SHIELD.postpones(KeyboardInterrupt()):
            raise KeyboardInterrupt
        return together(*given)

    monkeypatch.setattr(inspector._twins, "together", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ran(50, inspector)
    assert capsys.readouterr().out.count("> PUBLISH") == 50
    assert not inspector.waiting
