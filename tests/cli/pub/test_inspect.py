"""Packets sent in bulk are shown as if each were read and judged."""

from itertools import chain

import pytest

from mqttpub.cli.pub.inspect import Inspector
from mqttpub.codec.encode import encode
from mqttpub.codec.stream import Frame
from mqttpub.spec.packets import Puback, Publish
from mqttpub.spec.versions import Direction, Version


def frames() -> list[Frame]:
    """Return what passes when messages are published in bulk, with some that break rules."""
    sent = [Publish(topic="t", qos=1, packet_id=number, payload=b"%d" % number) for number in range(1, 200)]
    sent[150:152] = [sent[3].replace(dup=True), sent[4].replace(packet_id=0)]
    qos_0 = [Publish(topic="t", payload=b"%d" % number) for number in range(100)]
    acks = [Puback(packet_id=number % 180, reason_code=0x10 * (number % 2)) for number in range(200)]
    client = [Frame(encode(each, Version.V5), 0, Direction.CLIENT, None) for each in [*sent, *qos_0]]
    server = [Frame(encode(each, Version.V5), 0, Direction.SERVER, Version.V5) for each in acks]
    return [*chain.from_iterable(zip(client, server, strict=False)), *client[200:]]


def shown(inspector: Inspector, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what an inspector shows of the frames, and of remarks between them."""
    inspector.begun = 1000.0
    for at, frame in enumerate(frames()):
        inspector(1000 + at / 64, frame)
        if at % 100 == 50:
            inspector.remark(f"after {at}")
            inspector.flush()
    inspector.flush()
    return capsys.readouterr().out


def test_twins_are_shown_as_packets_that_are_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one, quick = Inspector(Version.V5), Inspector(Version.V5)
    drawn, again = [], quick.show.again

    def counted(*given: object, **named: object) -> int | None:
        drawn.append(packet_id := again(*given, **named))  # type: ignore[arg-type]
        return packet_id

    monkeypatch.setattr(one_by_one.show, "again", lambda *given, **named: None)
    monkeypatch.setattr(quick.show, "again", counted)
    assert shown(quick, capsys) == shown(one_by_one, capsys)
    assert sum(each is not None for each in drawn) > len(drawn) // 2
    assert one_by_one.published == quick.published
