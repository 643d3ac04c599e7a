"""Builds the events of a dialog between client and server: who sends what, when."""

from collections.abc import Iterable, Iterator, Sequence

from hypothesis import strategies as st

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Finding
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.closings import Closings
from mqttpub.traffic.context import ContextTracker, TrafficItem
from mqttpub.traffic.events import Closed, Endpoints, Event, GapSeen, PacketSeen, Remark
from mqttpub.traffic.exchanges import Exchanges
from mqttpub.traffic.handshakes import Exchange
from mqttpub.traffic.statistics import Statistics
from tests.strategies import encoded, versions

START = 1_694_074_353_123_456_000
"""2023-09-07T08:12:33.123456Z."""
MS = 1_000_000
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
ALIAS = 0x23


class Dialog:
    """A connection; each call says the next thing on it, some time after the last."""

    def __init__(self, number: int = 1, version: Version = Version.V5, *, time: int = START, record: int = 0) -> None:
        self.ends = Endpoints(number, f"10.0.0.{number}:5000{number % 10}", "10.0.0.99:1883")
        self.version = version
        self.time: int | None = time
        self.record = record
        self.offsets: dict[Direction | None, int] = {}
        self.events: list[Event] = []

    def says(self, direction: Direction | None, *packets: Packet | bytes, after: int = MS) -> "Dialog":
        """Send packets, one after the other."""
        for packet in packets:
            self.step(after)
            data = packet if isinstance(packet, bytes) else encode(packet, self.version)
            offset = self.offsets.get(direction, 0)
            self.offsets[direction] = offset + len(data)
            self.events.append(
                PacketSeen(self.ends, self.time, self.record, data, offset, direction, self.version, False)
            )
        return self

    def client(self, *packets: Packet | bytes, after: int = MS) -> "Dialog":
        """Send packets from the client."""
        return self.says(CLIENT, *packets, after=after)

    def server(self, *packets: Packet | bytes, after: int = MS) -> "Dialog":
        """Send packets from the server."""
        return self.says(SERVER, *packets, after=after)

    def gap(
        self, direction: Direction | None, length: int | None, message: str, *, malformed: bool = False
    ) -> "Dialog":
        """Lose bytes."""
        self.step(MS)
        offset = self.offsets.get(direction, 0)
        self.events.append(
            GapSeen(self.ends, self.time, self.record, offset, direction, length, b"", message, malformed)
        )
        return self

    def closes(self, direction: Direction | None, how: str = "FIN") -> "Dialog":
        """Close the connection."""
        self.step(MS)
        self.events.append(Closed(self.ends, self.time, self.record, direction, how))
        return self

    def remark(self, message: str) -> "Dialog":
        """Remark something."""
        self.step(MS)
        self.events.append(Remark(self.ends, self.time, self.record, None, message))
        return self

    def step(self, after: int) -> None:
        """Let time pass and the next record begin."""
        self.record += 1
        if self.time is not None:
            self.time += after


def known(events: Iterable[Event], findings: Sequence[Finding] | None = ()) -> Iterator[TrafficItem]:
    """Yield events as the views take them."""
    conversations = ContextTracker()
    for event in events:
        if isinstance(event, PacketSeen):
            yield conversations.packet(event, decode_packet(event.data, event.version), findings)
        else:
            yield event


def linted(events: Iterable[Event]) -> Iterator[TrafficItem]:
    """Yield events as the views take them, with what is wrong with each packet by itself."""
    conversations = ContextTracker()
    for event in events:
        if isinstance(event, PacketSeen):
            decoded = decode(event.data, event.version)
            yield conversations.packet(event, decoded.packet, lint(decoded, event.direction))
        else:
            yield event


def exchanged(events: Iterable[Event]) -> list[Exchange]:
    """Return the exchanges of a conversation, those that are left over at the end of each connection."""
    conversations, exchanges, found = ContextTracker(), Exchanges(), []
    closings: Closings[int] = Closings()
    live: dict[int, Endpoints] = {}
    for event in events:
        live[event.ends.number] = event.ends
        if isinstance(event, PacketSeen):
            known = conversations.packet(event, decode_packet(event.data, event.version))
            if ended := exchanges.packet(*known[:4]):
                found.append(ended)
        elif isinstance(event, Closed) and closings.over(event.ends.number, event):
            found += exchanges.finish(live.pop(event.ends.number))
    for ends in live.values():
        found += exchanges.finish(ends)
    return found


def counted(events: Iterable[Event]) -> Statistics:
    """Return the statistics of a conversation."""
    conversations, exchanges, statistics = ContextTracker(), Exchanges(), Statistics()
    for event in events:
        if isinstance(event, PacketSeen):
            known = conversations.packet(event, decode_packet(event.data, event.version))
            statistics.packet(*known[:4])
            if ended := exchanges.packet(*known[:4]):
                statistics.exchange(ended)
        else:
            statistics.event(event)
            if isinstance(event, Closed):
                for each in exchanges.finish(event.ends):
                    statistics.exchange(each)
    return statistics


@st.composite
def talks(draw: st.DrawFn) -> list[Event]:
    """Return any events of two connections, packets right and wrong, in any order."""
    version = draw(versions)
    both = [Dialog(number, version) for number in (1, 2)]
    events: list[Event] = []
    for _ in range(draw(st.integers(0, 14))):
        talk = draw(st.sampled_from(both))
        direction = draw(st.sampled_from((CLIENT, SERVER, None)))
        kind = draw(st.integers(0, 9))
        if kind == 0:
            talk.gap(direction, draw(st.none() | st.integers(1, 9999)), draw(st.text(max_size=20)))
        elif kind == 1:
            talk.closes(direction, draw(st.sampled_from(("FIN", "RST", "end"))))
        elif kind == 2:
            talk.remark(draw(st.text(max_size=20)))
        else:
            talk.says(direction, draw(encoded(version, draw(st.booleans())) | st.binary(min_size=1, max_size=20)))
        talk.time = draw(st.none() | st.integers(-(10**12), 2 * 10**18))
        events += talk.events[-1:]
    return events


# conversations that several tests show

REQUEST = (Property(0x02, 300), Property(0x08, "response"))


def message(qos: int, packet_id: int | None = None) -> Publish:
    """Return a message as the tool of the EMQX walkthrough sends it."""
    text = f"This is a QoS {qos} message".encode()
    return Publish(topic="request", qos=qos, packet_id=packet_id, properties=REQUEST, payload=text)


def walkthrough() -> Dialog:
    """Return three messages of QoS 0, 1 and 2, nobody subscribing; the bytes are those of the EMQX walkthrough."""
    talk = Dialog()
    talk.client(Connect(client_id="mqttx_0c668d0d", keep_alive=30)).server(Connack(), after=41 * MS)
    talk.client(message(0)).client(message(1, 25674)).server(bytes.fromhex("4004644a1000"), after=39 * MS)
    talk.client(message(2, 4546)).server(bytes.fromhex("500411c21000"), after=40 * MS)
    talk.client(bytes.fromhex("620311c200")).server(bytes.fromhex("700411c20000"), after=38 * MS)
    return talk.client(bytes.fromhex("e000")).closes(CLIENT).closes(SERVER)


def redelivered() -> list[Event]:
    """Return a QoS 2 message that a lost connection interrupts, and the connection that settles it."""
    message = Publish(topic="meters/7/kWh", qos=2, packet_id=9, payload=b"1024")
    first = Dialog(1).client(Connect(client_id="meter-7", clean_start=False)).server(Connack())
    first.client(message).server(Pubrec(packet_id=9)).client(Pubrel(packet_id=9))
    first.client(message.replace(qos=1, packet_id=10)).closes(None, "RST")
    second = Dialog(2, time=first.time or 0, record=first.record)
    second.client(Connect(client_id="meter-7", clean_start=False)).server(Connack(session_present=True), after=5 * MS)
    second.client(Pubrel(packet_id=9)).server(Pubcomp(packet_id=9), after=12 * MS)
    second.client(message.replace(qos=1, packet_id=10, dup=True)).server(Puback(packet_id=10), after=14 * MS)
    return [*first.events, *second.closes(CLIENT).events]


def aliased() -> Dialog:
    """Return the same alias in both directions with two meanings, and one that was never set."""
    talk = Dialog()
    talk.client(Connect(client_id="a", properties=(Property(0x22, 5),))).server(
        Connack(properties=(Property(0x22, 5),))
    )
    one, seven = (Property(ALIAS, 1),), (Property(ALIAS, 7),)
    talk.client(Publish(topic="client/topic", properties=one, payload=b"1"))
    talk.server(Publish(topic="server/topic", properties=one, payload=b"2"))
    talk.client(Publish(topic="", properties=one, payload=b"3")).server(Publish(topic="", properties=one, payload=b"4"))
    talk.client(Publish(topic="client/other", properties=one, payload=b"5"))
    talk.client(Publish(topic="", properties=one, payload=b"6"))
    return talk.server(Publish(topic="", properties=seven, payload=b"7"))


def subscribed() -> Dialog:
    """Return SUBSCRIBE with several filters, a gap, a refused message, UNSUBSCRIBE."""
    talk = Dialog().client(Connect(client_id="panel\x1b[2J", keep_alive=10)).server(Connack())
    wanted = ("sensors/+/temperature", "$share/panels/alarms/#", "secret/#")
    talk.client(Subscribe(packet_id=1, subscriptions=tuple(Subscription(filter=each, qos=1) for each in wanted)))
    talk.server(Suback(packet_id=1, reason_codes=(1, 0, 0x87)))
    talk.server(*(Publish(topic="sensors/3/temperature", payload=b"%d" % at) for at in range(400)))
    talk.gap(SERVER, 1448, "1448 bytes are missing from the capture")
    talk.client(Publish(topic="alarms/reset", qos=2, packet_id=2, retain=True, payload=b"\0\1\2"))
    talk.server(Pubrec(packet_id=2, reason_code=0x87, properties=(Property(0x1F, "not for panels"),)))
    for _ in range(20):
        talk.client(bytes.fromhex("c000"), after=10_000 * MS).server(bytes.fromhex("d000"))
    talk.client(Unsubscribe(packet_id=3, filters=wanted)).server(Unsuback(packet_id=3, reason_codes=(0, 0, 0x11)))
    return talk.remark("what follows is not MQTT").closes(SERVER, "RST")
