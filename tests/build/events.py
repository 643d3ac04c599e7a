"""Builds the events of a dialog between client and server: who sends what, when."""

from collections.abc import Iterable, Iterator, Sequence

from hypothesis import strategies as st

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Finding
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Packet
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.closings import Closings
from mqttpub.traffic.context import ContextTracker, TrafficItem
from mqttpub.traffic.events import Closed, Endpoints, Event, GapSeen, PacketSeen, Remark
from mqttpub.traffic.exchanges import Exchanges
from mqttpub.traffic.handshakes import Exchange
from mqttpub.traffic.statistics import Statistics
from tests.build.story import SIDES, Value, said
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

    def say(self, line: str, *, after: int = MS, **values: Value) -> "Dialog":
        """Send the packets of a line of a script, one after the other."""
        for each in said(line, self.version, **values):
            self.says(SIDES[each.side], each.data, after=after)
        return self

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


def walkthrough() -> Dialog:
    """Return three messages of QoS 0, 1 and 2, nobody subscribing; the bytes are those of the EMQX walkthrough."""
    talk = Dialog().say("> connect id=mqttx_0c668d0d ka=30").say("< connack", after=41 * MS)
    words = 't=request message_expiry_interval=300 response_topic=response p="This is a QoS ${qos} message"'
    talk.say(f"> publish {words}", qos="0").say(f"> publish q1 i25674 {words}", qos="1")
    talk.say("< puback i25674 c=10 properties=", after=39 * MS).say(f"> publish q2 i4546 {words}", qos="2")
    talk.say("< pubrec i4546 c=10 properties=", after=40 * MS).say("> pubrel i4546 c=00")
    talk.say("< pubcomp i4546 c=00 properties=", after=38 * MS)
    return talk.say("> disconnect").closes(CLIENT).closes(SERVER)


def redelivered() -> list[Event]:
    """Return a QoS 2 message that a lost connection interrupts, and the connection that settles it."""
    message = "t=meters/7/kWh p=1024"
    first = Dialog(1).say(
        f"> connect id=meter-7 clean=0; < connack; > publish q2 i9 {message}; < pubrec i9; > pubrel i9"
    )
    first.say(f"> publish q1 i10 {message}").closes(None, "RST")
    second = Dialog(2, time=first.time or 0, record=first.record)
    second.say("> connect id=meter-7 clean=0").say("< connack sp=1", after=5 * MS)
    second.say("> pubrel i9").say("< pubcomp i9", after=12 * MS)
    second.say(f"> publish q1 i10 d1 {message}").say("< puback i10", after=14 * MS)
    return [*first.events, *second.closes(CLIENT).events]


def aliased() -> Dialog:
    """Return the same alias in both directions with two meanings, and one that was never set."""
    talk = Dialog().say("> connect id=a topic_alias_maximum=5; < connack topic_alias_maximum=5")
    talk.say("> publish t=client/topic topic_alias=1 p=1; < publish t=server/topic topic_alias=1 p=2")
    talk.say("> publish t= topic_alias=1 p=3; < publish t= topic_alias=1 p=4")
    talk.say("> publish t=client/other topic_alias=1 p=5; > publish t= topic_alias=1 p=6")
    return talk.say("< publish t= topic_alias=7 p=7")


def subscribed() -> Dialog:
    """Return SUBSCRIBE with several filters, a gap, a refused message, UNSUBSCRIBE."""
    talk = Dialog().say("> connect id=${id} ka=10; < connack", id="panel\x1b[2J")
    talk.say("> subscribe i1 f=sensors/+/temperature:q1,$share/panels/alarms/#:q1,secret/#:q1; < suback i1 c=01,00,87")
    for at in range(400):
        talk.say("< publish t=sensors/3/temperature p=${at}", at=at)
    talk.gap(SERVER, 1448, "1448 bytes are missing from the capture")
    talk.say("> publish q2 i2 r1 t=alarms/reset p=hex:000102")
    talk.say('< pubrec i2 c=87 reason_string="not for panels"')
    for _ in range(20):
        talk.say("> pingreq", after=10_000 * MS).say("< pingresp")
    talk.say("> unsubscribe i3 f=sensors/+/temperature,$share/panels/alarms/#,secret/#; < unsuback i3 c=00,00,11")
    return talk.remark("what follows is not MQTT").closes(SERVER, "RST")
