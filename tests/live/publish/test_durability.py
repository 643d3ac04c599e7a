"""Messages that a lost broker acknowledged last are sent again, and forgotten once they are safe."""

from pathlib import Path
from typing import Any

import pytest

from mqttpub.codec.decode import decode_packet
from mqttpub.live.failures import ConnectionLost
from mqttpub.live.net.target import Target
from mqttpub.live.publish.outbox import Outbox
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import Publication
from mqttpub.live.publish.sources import Listed
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Version
from tests.fakes import Script, answering, scripted_many

V5 = Version.V5
PRESENT = "20 03 01 00 00"
AGAIN = PublishOptions(timeout_s=5, reconnects=3)


def run(port: int, outbox: Outbox, *payloads: bytes, qos: int, options: PublishOptions = AGAIN) -> list[Any]:
    target = Target("127.0.0.1", port, V5, Connect(client_id="me", clean_start=False))
    kept = outbox.add([Publication.of(Publish(topic="a", qos=qos, payload=each), V5) for each in payloads])
    return Publisher(target, Listed(kept), options, journal=outbox).run_all()


def summaries(packets: list[str]) -> list[str]:
    """Return the names of packets, their Packet Identifiers, and what a PUBLISH has besides."""
    decoded: list[Any] = [decode_packet(bytes.fromhex(each), V5) for each in packets]
    said = []
    for each in decoded:
        more = f" {each.payload.decode()}{' DUP' if each.dup else ''}" if each.name == "PUBLISH" else ""
        said.append(f"{each.name} {getattr(each, 'packet_id', '') or ''}".strip() + more)
    return said


def then(seen: list[str], *answers: str, connack: str = PRESENT) -> Script:
    return answering(*answers, seen=seen, connack=connack)


@pytest.fixture
def outbox(tmp_path: Path) -> Any:
    with Outbox(str(tmp_path / "outbox")) as opened:
        yield opened


def test_a_qos_1_message_is_forgotten_once_something_later_is_answered(outbox: Outbox) -> None:
    seen: list[str] = []
    with scripted_many([then(seen, "40 02 00 01", "d0 00", "")]) as port:
        (done,) = run(port, outbox, b"x", qos=1)
    assert summaries(seen) == ["PUBLISH 1 x", "PINGREQ", "DISCONNECT"]
    assert not done.refused
    assert outbox.count() == 0


def test_a_qos_1_message_is_sent_again_if_the_broker_is_lost_after_its_puback(outbox: Outbox) -> None:
    seen: list[str] = []
    with scripted_many([then(seen, "40 02 00 01", ""), then(seen, "40 02 00 01", "d0 00", "")]) as port:
        (done,) = run(port, outbox, b"x", qos=1)
    assert summaries(seen) == ["PUBLISH 1 x", "PINGREQ", "PUBLISH 1 x DUP", "PINGREQ", "DISCONNECT"]
    assert done.sendings == 2
    assert outbox.count() == 0


def test_a_qos_2_message_resumes_with_pubrel_and_an_unknown_packet_identifier_is_not_a_refusal(
    outbox: Outbox,
) -> None:
    seen: list[str] = []
    first = then(seen, "50 02 00 01", "70 02 00 01", "")
    with scripted_many([first, then(seen, "70 03 00 01 92", "d0 00", "")]) as port:
        (done,) = run(port, outbox, b"x", qos=2)
    assert summaries(seen) == ["PUBLISH 1 x", "PUBREL 1", "PINGREQ", "PUBREL 1", "PINGREQ", "DISCONNECT"]
    assert (done.sendings, done.refused) == (1, False)
    assert outbox.count() == 0


def test_a_qos_2_message_has_ended_where_its_session_is_gone(outbox: Outbox) -> None:
    seen: list[str] = []
    first = then(seen, "50 02 00 01", "70 02 00 01", "")
    with scripted_many([first, then(seen, "", connack="20 03 00 00 00")]) as port:
        (done,) = run(port, outbox, b"x", qos=2)
    assert summaries(seen) == ["PUBLISH 1 x", "PUBREL 1", "PINGREQ", "DISCONNECT"]
    assert not done.refused
    assert outbox.count() == 0


def test_a_refused_message_is_not_sent_again(outbox: Outbox) -> None:
    seen: list[str] = []
    with scripted_many([then(seen, "40 03 00 01 87", "")]) as port:
        (done,) = run(port, outbox, b"x", qos=1)
    assert summaries(seen) == ["PUBLISH 1 x", "DISCONNECT"]
    assert done.refused
    assert outbox.count() == 0


def test_without_reconnect_the_outbox_keeps_it_for_the_next_run(outbox: Outbox) -> None:
    seen: list[str] = []
    with scripted_many([then(seen, "40 02 00 01", "")]) as port, pytest.raises(ConnectionLost, match="before PINGRESP"):
        run(port, outbox, b"x", qos=1, options=PublishOptions(timeout_s=5))
    assert [(each.packet_id, each.awaits) for each in outbox.outgoing(V5)] == [(1, 4)]


def test_an_answer_to_a_later_message_shows_that_earlier_ones_are_safe(outbox: Outbox) -> None:
    seen: list[str] = []
    window = "20 06 00 00 03 21 00 01"
    with (
        scripted_many([then(seen, "40 02 00 01", "40 02 00 02", "", connack=window)]) as port,
        pytest.raises(ConnectionLost),
    ):
        run(port, outbox, b"x", b"y", qos=1, options=PublishOptions(timeout_s=5))
    assert summaries(seen) == ["PUBLISH 1 x", "PUBLISH 2 y", "PINGREQ"]
    assert [each.packet_id for each in outbox.outgoing(V5)] == [2]


def test_an_answer_to_a_message_of_the_same_write_shows_nothing(outbox: Outbox) -> None:
    seen: list[str] = []
    with scripted_many([then(seen, "40 02 00 01", "40 02 00 02", "")]) as port, pytest.raises(ConnectionLost):
        run(port, outbox, b"x", b"y", qos=1, options=PublishOptions(timeout_s=5))
    assert summaries(seen) == ["PUBLISH 1 x", "PUBLISH 2 y", "PINGREQ"]
    assert [each.packet_id for each in outbox.outgoing(V5)] == [1, 2]


def test_a_message_whose_packet_identifier_was_reused_is_not_sent_again(outbox: Outbox) -> None:
    seen: list[str] = []
    first = then(seen, "40 02 00 07", "")
    messages = [Publication.of(Publish(topic="a", qos=1, packet_id=7, payload=each), V5) for each in (b"x", b"y")]
    with scripted_many([first, then(seen, "40 02 00 07", "d0 00", "")]) as port:
        target = Target("127.0.0.1", port, V5, Connect(client_id="me", clean_start=False))
        done = Publisher(target, Listed(outbox.add(messages)), AGAIN, journal=outbox).run_all()
    assert summaries(seen) == ["PUBLISH 7 x", "PUBLISH 7 y", "PUBLISH 7 y DUP", "PINGREQ", "DISCONNECT"]
    assert [each.sendings for each in done] == [1, 2]
    assert outbox.count() == 0
