"""Publishing over one connection and over several, against scripted peers."""

from typing import Any

import pytest

from mqttpub.codec.encode import encode
from mqttpub.codec.publish_writer import PublishWriter
from mqttpub.live.failures import ConnectionLost, ConnectionRefused, Failure, NotConnected, Refused, Unanswered
from mqttpub.live.limits import ServerLimits
from mqttpub.live.net.target import Target
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import NotSent, Publication
from mqttpub.live.publish.sources import Listed
from mqttpub.live.session import Session
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Connect, Publish
from mqttpub.spec.versions import Version
from tests.build.brokers import free_port
from tests.fakes import Peer, Script, answering, scripted_many

V5 = Version.V5


def numbered(qos: int, count: int = 1) -> list[Publish]:
    """Return messages with their numbers as payloads."""
    return [Publish(topic="a", qos=qos, payload=b"%d" % number) for number in range(count)]


def publisher(port: int, packets: list[Publish], said: list[str] | None = None, **options: Any) -> Publisher:
    """Return a publisher; what it remarks is added to `said`."""
    target = Target("127.0.0.1", port, connect=Connect(client_id="test"))
    source = Listed(Publication.of(packet, V5, number) for number, packet in enumerate(packets))
    remarks: list[str] = [] if said is None else said
    return Publisher(target, source, PublishOptions(**{"timeout_s": 2.0, **options}), remark=remarks.append)


def serve(seen: list[bytes], *, connack: str = "20 03 00 00 00") -> Script:
    """Return a script that notes every packet and acknowledges it."""
    answers: dict[int, dict[int, int]] = {3: {0x32: 0x40, 0x34: 0x50}, 6: {0x60: 0x70}}

    def script(peer: Peer) -> None:
        seen.append(peer.accept(connack))
        while packet := peer.packet():
            seen.append(packet)
            kind = answers.get(packet[0] >> 4, {})
            first = kind.get(packet[0] & 0x36 if packet[0] >> 4 == 3 else packet[0] & 0xF0)
            if first:
                at = 5 if packet[0] >> 4 == 3 else 2
                peer.send(f"{first:02x} 02 {packet[at : at + 2].hex()}")

    return script


def test_without_reconnect_a_loss_ends_the_run() -> None:
    with (
        scripted_many([answering("")]) as port,
        pytest.raises(ConnectionLost, match="closed the connection before PUBACK"),
    ):
        publisher(port, numbered(1)).run_all()


def test_after_a_loss_the_message_is_sent_again_with_the_same_identifier_and_dup() -> None:
    seen: list[bytes] = []
    said: list[str] = []
    with scripted_many([answering(""), serve(seen, connack="20 03 01 00 00")]) as port:
        (exchange,) = publisher(port, numbered(1), said, reconnects=3).run_all()
    connect, again, *_ = seen
    assert connect[9] & 0b10 == 0, "Clean Start is 0 on the second connection"
    assert again == bytes.fromhex("3a 07 00 01 61 00 01 00 30")
    assert (exchange.sendings, exchange.reason_code) == (2, 0)
    assert "1 unacknowledged message again with DUP" in said[-1]


def test_unacknowledged_messages_are_sent_again_in_order_before_new_ones() -> None:
    seen: list[bytes] = []
    with scripted_many([answering("", "", ""), serve(seen, connack="20 03 01 00 00")]) as port:
        ended = publisher(port, numbered(1, 5), reconnects=1, window=3).run_all()
    publishes = [packet for packet in seen if packet[0] >> 4 == 3]
    assert [(packet[0] >> 3 & 1, packet[-1:]) for packet in publishes] == [
        (1, b"0"), (1, b"1"), (1, b"2"), (0, b"3"), (0, b"4"),
    ]  # fmt: skip
    assert [exchange.token for exchange in ended] == [0, 1, 2, 3, 4]


def test_a_qos_2_message_resumes_with_pubrel() -> None:
    seen: list[bytes] = []
    with scripted_many([answering("50 02 00 01", ""), serve(seen, connack="20 03 01 00 00")]) as port:
        (exchange,) = publisher(port, numbered(2), reconnects=1).run_all()
    assert [packet.hex() for packet in seen[1:2]] == ["62020001"]
    assert exchange.acked_at_s


def test_without_the_session_qos_1_begins_anew_and_qos_2_is_in_doubt() -> None:
    seen: list[bytes] = []
    with scripted_many([answering(""), serve(seen)]) as port:
        made = publisher(port, numbered(1), reconnects=1)
        assert len(made.run_all()) == 1
    assert seen[1][0] == 0x32, "no DUP: for the broker it is a new message"
    with scripted_many([answering(""), serve([])]) as port:
        made = publisher(port, numbered(2), reconnects=1)
        assert made.run_all() == []
    assert [exchange.packet_id for exchange in made.unknown] == [1]


def test_a_refusal_that_will_not_pass_is_final() -> None:
    with scripted_many([answering(connack="20 03 00 87 00")]) as port, pytest.raises(ConnectionRefused, match="0x87"):
        publisher(port, numbered(1), reconnects=5).run_all()


def test_a_refusal_that_may_pass_is_tried_again() -> None:
    with scripted_many([answering(connack="20 03 00 89 00"), serve([])]) as port:
        assert len(publisher(port, numbered(1), reconnects=5).run_all()) == 1


def test_attempts_end_with_the_timeout() -> None:
    with pytest.raises(NotConnected):
        publisher(free_port(), numbered(1), reconnects=None).run_all()


LIMITS = [
    ("20 05 00 00 02 24 00", Publish(topic="a", qos=1), "MQTT5-3.2.2-11"),
    ("20 05 00 00 02 25 00", Publish(topic="a", retain=True), "MQTT5-3.2.2-14"),
    ("20 08 00 00 05 27 00 00 00 14", Publish(topic="a", payload=bytes(20)), "MQTT5-3.2.2-15"),
    ("20 06 00 00 03 22 00 03", Publish(topic="a", properties=(Property(0x23, 4),)), "MQTT5-3.2.2-17"),
    ("20 03 00 00 00", Publish(topic="a", properties=(Property(0x23, 1),)), "MQTT5-3.2.2-18"),
]
WITHIN_LIMITS = [
    ("20 05 00 00 02 24 01", Publish(topic="a", qos=1)),
    ("20 08 00 00 05 27 00 00 00 14", Publish(topic="a", payload=bytes(14))),
    ("20 06 00 00 03 22 00 03", Publish(topic="a", properties=(Property(0x23, 3),))),
]


@pytest.mark.parametrize(("connack", "packet"), WITHIN_LIMITS, ids=lambda value: str(value)[:20])
def test_what_the_connack_just_allows_is_sent(connack: str, packet: Publish) -> None:
    seen: list[bytes] = []
    with scripted_many([serve(seen, connack=connack)]) as port:
        assert len(publisher(port, [packet]).run_all()) == 1
    assert [each[0] >> 4 for each in seen] == [1, 3, 14]


def test_a_connack_without_properties_sets_no_limit_but_that_of_the_format() -> None:
    limits = ServerLimits.of(Connack())
    assert limits == ServerLimits(65535, 5 + 268_435_455, 2, 1, 0), "5.0: 1.5.5, 2.1.4, 3.2.2.3"


SIZES = (*range(110, 140), 0, 500, *range(110, 140))
"""Lengths around those at which a Remaining Length grows by a byte."""


def test_each_message_of_many_keeps_to_the_maximum_packet_size() -> None:
    seen: list[bytes] = []
    packets = [Publish(topic="a", payload=bytes(size)) for size in SIZES]
    fitting = [encode(packet, V5) for packet in packets if len(encode(packet, V5)) <= 132]
    with scripted_many([serve(seen, connack="20 08 00 00 05 27 00 00 00 84")]) as port:
        made = publisher(port, packets)
        made.run_all()
    assert seen[1:-1] == fitting
    assert sum(isinstance(each, NotSent) for each in made.outcomes) == len(packets) - len(fitting) > 0


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("most", [0, 5, 120, 132, 133, 140, 600])
def test_safe_payloads_are_within_the_limit(qos: int, most: int) -> None:
    limits, writer = ServerLimits(maximum_packet_size=most), PublishWriter(Publish(topic="a", qos=qos), V5)
    safe = limits.safe_bytes(writer)
    assert not any(limits.violation(writer, bytes(size)) for size in range(safe + 1))
    assert limits.violation(writer, bytes(safe + 4))


@pytest.mark.parametrize(("connack", "packet", "statement"), LIMITS, ids=lambda value: str(value)[:20])
def test_what_the_connack_forbids_is_not_sent_unless_forced(connack: str, packet: Publish, statement: str) -> None:
    for force in (False, True):
        seen: list[bytes] = []
        with scripted_many([serve(seen, connack=connack)]) as port:
            made = publisher(port, [packet], force=force)
            made.run_all()
        reasons = [each.violation.text for each in made.outcomes if isinstance(each, NotSent)]
        assert any(each[0] >> 4 == 3 for each in seen) == force
        assert [statement in reason for reason in reasons] == ([] if force else [True])


def test_receive_maximum_is_exceeded_only_by_force() -> None:
    script = answering("", "e0 02 93 00", connack="20 06 00 00 03 21 00 01", last=Peer.wait)
    with scripted_many([script]) as port, pytest.raises(Refused, match="0x93 Receive Maximum exceeded"):
        publisher(port, numbered(1, 3), force=True, window=3).run_all()


def test_aliases_replace_the_topic_as_far_as_the_broker_allows() -> None:
    seen: list[bytes] = []
    with scripted_many([serve(seen, connack="20 06 00 00 03 22 00 01")]) as port:
        publisher(port, [Publish(topic=topic) for topic in "abab"], aliases=True).run_all()
    flow = [packet.hex() for packet in seen if packet[0] >> 4 == 3]
    assert flow == ["3007000161" + "03230001", "300400016200", "30060000" + "03230001", "300400016200"]


def test_aliases_are_set_anew_on_each_connection() -> None:
    seen: list[bytes] = []
    connack = "20 06 00 00 03 22 00 05"
    with scripted_many([answering("40 02 00 01", "", connack=connack), serve(seen, connack=connack)]) as port:
        publisher(port, [Publish(topic="a", qos=1)] * 3, aliases=True, reconnects=1, window=1).run_all()
    flow = [packet.hex(" ") for packet in seen if packet[0] >> 4 == 3]
    assert flow == ["32 06 00 01 61 00 02 00", "32 09 00 01 61 00 03 03 23 00 01"]


@pytest.mark.parametrize("reconnects", [0, 1])
def test_a_message_waits_until_another_with_its_packet_identifier_has_ended(reconnects: int) -> None:
    seen: list[str] = []
    connack = "20 06 00 00 03 22 00 05"
    packets = [Publish(topic=topic, qos=1, packet_id=id) for topic, id in (("a", None), ("b", 1), ("b", None))]
    script = answering("40 02 00 01", "40 03 00 01 87", "40 02 00 02", "", connack=connack, seen=seen)
    with scripted_many([*[answering("", connack=connack)] * reconnects, script]) as port:
        made = publisher(port, packets, aliases=True, reconnects=reconnects)
        ended = made.run_all()
    assert [(each.token, each.packet_id, each.outcome) for each in ended] == [
        (0, 1, "accepted"), (1, 1, "refused"), (2, 2, "accepted")
    ]  # fmt: skip
    # The Topic Alias of a message that waits is set when it is sent.
    assert [packet.split()[4:7] for packet in seen[1:3]] == [["62", "00", "01"], ["00", "02", "03"]]


def test_attempts_are_counted_from_the_last_success() -> None:
    lost = answering("40 02 00 01", ""), answering("40 02 00 02", "")
    with scripted_many([*lost, serve([])]) as port:
        ended = publisher(port, numbered(1, 3), reconnects=1, window=1).run_all()
    assert [exchange.packet_id for exchange in ended] == [1, 2, 3]


def test_unacknowledged_messages_are_in_doubt_when_reconnecting_fails() -> None:
    ends: dict[str, Script] = {
        "before CONNACK, as a TLS port does without --tls": lambda peer: None,
        "0x87 Not authorized": answering(connack="20 03 00 87 00"),
    }
    for said, end in ends.items():
        with scripted_many([answering(""), end]) as port, pytest.raises(ConnectionLost) as caught:
            publisher(port, numbered(1), reconnects=1).run_all()
        assert str(caught.value).endswith(f"{said}; no PUBACK came for Packet Identifier 1")


def test_what_was_acknowledged_before_is_not_said_to_be_unsent() -> None:
    ends = [answering("40 02 00 01"), lambda peer: None]
    with scripted_many(ends) as port, pytest.raises(Failure) as caught:
        publisher(port, numbered(1, 2), reconnects=1, window=1).run_all()
    assert "no message was sent" not in str(caught.value)


ANSWERED = {1: ("40 02 00 01",), 2: ("50 02 00 01", "70 02 00 01")}


@pytest.mark.parametrize("qos", ANSWERED)
def test_a_pubrel_does_not_wait_for_a_message_with_which_it_could_go_out(qos: int) -> None:
    seen: list[str] = []
    with scripted_many([answering("50 02 00 09", *ANSWERED[qos], "", seen=seen)]) as port:
        publisher(port, numbered(qos)).run_all()
    assert seen[1:-1] == ["62 03 00 09 92", "62 02 00 01"][:qos]


STRAY = ["the broker sent PUBACK for Packet Identifier 9, which is not in flight"]


def test_stray_acknowledgements_are_reported() -> None:
    said: list[str] = []
    with scripted_many([answering("40 02 00 09" + "40 02 00 01", "")]) as port:
        assert len(publisher(port, numbered(1), said).run_all()) == 1
    assert said == STRAY


def test_stray_acknowledgements_are_reported_also_when_the_right_one_never_comes() -> None:
    said: list[str] = []
    with scripted_many([answering("40 02 00 09", last=Peer.wait)]) as port:
        made = publisher(port, numbered(1), said, timeout_s=0.4)
        with pytest.raises(Unanswered, match="no PUBACK for Packet Identifier 1"):
            made.run_all()
    assert said == STRAY


def test_a_message_that_becomes_due_is_not_left_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    class JustDue(Listed):
        """A source whose message becomes due right after it was asked for it."""

        asked = 0

        def take(self, most: int, now_s: float) -> list[Publication]:
            self.asked += 1
            return [] if self.asked == 1 else super().take(most, now_s)

    waits: list[float] = []
    step = Session.step

    def recorded(self: Session, awaited: str | None = None, *, most_s: float = 1.0, also: int | None = None) -> bool:
        waits.append(most_s)
        return step(self, awaited, most_s=most_s, also=also)

    seen: list[bytes] = []
    with scripted_many([serve(seen)]) as port:
        made = publisher(port, numbered(0))
        made.source = JustDue(Publication.of(packet, V5) for packet in numbered(0))
        monkeypatch.setattr(Session, "step", recorded)
        made.run_all()
    assert [packet[0] for packet in seen] == [0x10, 0x30, 0xE0]
    # The first wait is for CONNACK, the second is the one that must not last.
    assert waits[1] == 0.0
