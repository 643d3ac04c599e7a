"""Conversations of two ends that keep every rule, as seen between them.

Each end knows only what has reached it. Packets are under way for a while, and the observer may
stand anywhere on the way, so that he sees answers before or after what crosses them.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (  # fmt: skip
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
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
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Direction, Version

TOPICS = ("a", "a/b", "$SYS/x", "c")
FILTERS = ("a", "a/#", "+/b", "#", "$SYS/+", "c")
MATCHES = {
    "a": {"a"}, "a/#": {"a", "a/b"}, "+/b": {"a/b"}, "#": {"a", "a/b", "c"}, "$SYS/+": {"$SYS/x"}, "c": {"c"},
}  # fmt: skip
_IDS = (1, 2, 3, 4, 5, 65535)
SECOND = 1_000_000_000


class Seen(NamedTuple):
    """One packet as the observer sees it."""

    time: int
    direction: Direction
    data: bytes


def _property(key: str, value: Any) -> Property:
    return Property(BY_KEY[key].id, value)


class Peer:
    """One end: what it sent, which answers it owes, which limits it received."""

    def __init__(self, random: Random, version: Version) -> None:
        self.random = random
        self.version = version
        self.window = 65535
        self.aliases_allowed = 0
        self.aliases: dict[int, str] = {}
        self.open: dict[int, Packet] = {}
        """Messages and requests of its own, by identifier: what was sent last."""
        self.owed: deque[Packet] = deque()
        """Answers, in the order in which they are due."""
        self.burnt: set[int] = set()
        """Identifiers of what was sent again; a late answer would be taken for that of a new message."""

    def messages(self) -> int:
        """How many messages are not acknowledged."""
        return sum(isinstance(each, Publish | Pubrel) for each in self.open.values())

    def publish(self, topic: str, most: int, **more: Any) -> Packet | None:
        """Return a new message, if one may be sent now."""
        qos, id = self.random.randint(0, most), self.random.choice(_IDS)
        if qos and (id in self.open or id in self.burnt or self.messages() >= self.window):
            return None
        properties = more.pop("properties", ()) if self.version == Version.V5 else ()
        name, alias = self.alias(topic)
        packet = Publish(
            topic=name, qos=qos, packet_id=id if qos else None, properties=(*properties, *alias),
            payload=self.random.randbytes(self.random.randint(0, 3)), **more,
        )  # fmt: skip
        if qos:
            self.open[id] = packet
        return packet

    def alias(self, topic: str) -> tuple[str, tuple[Property, ...]]:
        """Return a topic as it may be written, with its alias."""
        if not self.aliases_allowed or self.version < Version.V5 or self.random.random() < 0.5:
            return topic, ()
        number = self.random.randint(1, self.aliases_allowed)
        known = self.aliases.get(number) == topic
        self.aliases[number] = topic
        return "" if known else topic, (_property("topic_alias", number),)

    def again(self) -> Packet | None:
        """Return something that may be sent again on an open connection, before 5.0; once, for patience grows."""
        able = [each for each in self.open.values() if isinstance(each, Publish) and not each.dup]
        if self.version == Version.V5 or not able:
            return None
        made: Publish = self.random.choice(able).replace(dup=True)
        self.open[made.packet_id or 0] = made
        self.burnt.add(made.packet_id or 0)
        return made

    def take(self, packet: Any) -> None:
        """Read a packet that belongs to a message."""
        id: Any = getattr(packet, "packet_id", None)
        if isinstance(packet, Publish) and packet.qos:
            self.owed.append(Puback(packet_id=id) if packet.qos == 1 else Pubrec(packet_id=id))
        elif isinstance(packet, Pubrec):
            self.owed.append(Pubrel(packet_id=id))
        elif isinstance(packet, Pubrel):
            self.owed.append(Pubcomp(packet_id=id))
        elif isinstance(packet, Puback | Pubcomp | Suback | Unsuback):
            mine = self.open.get(id or 0)
            wanted = {Puback: Publish, Pubcomp: Pubrel, Suback: Subscribe, Unsuback: Unsubscribe}[type(packet)]
            if isinstance(mine, wanted):
                self.open.pop(id or 0)

    def pay(self) -> Packet:
        """Return the next answer."""
        packet = self.owed.popleft()
        if isinstance(packet, Pubrel):
            self.open[packet.packet_id] = packet
        return packet


class Talk:
    """A client and a server, and what is under way between them."""

    def __init__(self, random: Random, version: Version) -> None:
        self.random, self.version = random, version
        self.client, self.server = Peer(random, version), Peer(random, version)
        self.delay = random.choice((0, 1, 40_000_000))
        self.place = random.choice((0.0, 0.3, 1.0))
        """Where the observer stands: 0 beside the client, 1 beside the server."""
        self.now = 1_700_000_000 * SECOND
        self.seen: list[tuple[int, int, Seen]] = []
        self.way: dict[Direction, deque[tuple[int, Packet]]] = {end: deque() for end in Direction}
        self.granted: dict[str, Subscription] = {}
        self.greeted = False
        self.order = 0

    def send(self, direction: Direction, packet: Packet) -> None:
        """Put a packet on its way."""
        self.order += 1
        far = self.place if direction is Direction.CLIENT else 1 - self.place
        seen = Seen(self.now + int(far * self.delay), direction, encode(packet, self.version))
        heapq.heappush(self.seen, (seen.time, self.order, seen))
        self.way[direction].append((self.now + self.delay, packet))

    def arrived(self, direction: Direction) -> Packet | None:
        """Return the next packet that reached the other end."""
        way = self.way[direction]
        return way.popleft()[1] if way and way[0][0] <= self.now else None

    def wait(self) -> None:
        """Let some time go by, less than Keep Alive is."""
        self.now += self.random.choice((1, 1, 1_000_000, 30_000_000))

    # the two ends

    def open(self) -> None:
        """Connect, with limits on both sides in 5.0."""
        told: tuple[Property, ...] = ()
        if self.version == Version.V5:
            self.server.window = self.random.choice((1, 2, 65535))
            self.server.aliases_allowed = self.random.choice((0, 2))
            told = (
                _property("receive_maximum", self.server.window),
                _property("topic_alias_maximum", self.server.aliases_allowed),
                _property("request_problem_information", 0),
            )
        self.clean = self.random.random() < 0.7
        self.send(Direction.CLIENT, Connect(client_id="c", clean_start=self.clean, keep_alive=60, properties=told))

    def greet(self) -> None:
        """Accept the connection, perhaps with a session from before."""
        told: tuple[Property, ...] = ()
        if self.version == Version.V5:
            self.window, self.allowed = self.random.choice((1, 3, 65535)), self.random.choice((0, 3))
            told = (_property("receive_maximum", self.window), _property("topic_alias_maximum", self.allowed))
        self.present = not self.clean and self.version > Version.V31 and self.random.random() < 0.5
        self.greeted = True
        self.send(Direction.SERVER, Connack(session_present=self.present, properties=told))
        if self.present:
            self.granted["#"] = Subscription(filter="#", qos=2)
            self.resume(self.server, Direction.SERVER)

    def resume(self, peer: Peer, direction: Direction) -> None:
        """Send again what was under way in the session."""
        for id in _IDS[: self.random.randint(0, min(3, peer.window))]:
            packet: Packet = self.random.choice(
                (Publish(topic="a", qos=1, packet_id=id, dup=True), Publish(topic="a", qos=2, packet_id=id, dup=True),
                 Pubrel(packet_id=id))
            )  # fmt: skip
            peer.open[id] = packet
            self.send(direction, packet)

    def client_reads(self) -> None:
        """Let the client read one packet."""
        packet = self.arrived(Direction.SERVER)
        if isinstance(packet, Connack) and self.version == Version.V5:
            self.client.window, self.client.aliases_allowed = self.window, self.allowed
        if isinstance(packet, Connack) and packet.session_present:
            self.resume(self.client, Direction.CLIENT)
        if packet:
            self.client.take(packet)

    def server_reads(self) -> None:
        """Let the server read one packet and note what it owes."""
        packet = self.arrived(Direction.CLIENT)
        if isinstance(packet, Subscribe):
            codes = []
            for each in packet.subscriptions:
                refused = self.version > Version.V31 and self.random.random() < 0.2 and each.filter not in self.granted
                code = 0x80 if refused else self.random.randint(0, each.qos)
                if not refused:
                    self.granted[each.filter] = each.replace(qos=code)
                codes.append(code)
            self.server.owed.append(Suback(packet_id=packet.packet_id, reason_codes=tuple(codes)))
        elif isinstance(packet, Unsubscribe):
            for filter in packet.filters:
                self.granted.pop(filter, None)
            codes = [0x11] * len(packet.filters) if self.version == Version.V5 else []
            self.server.owed.append(Unsuback(packet_id=packet.packet_id, reason_codes=tuple(codes)))
        elif isinstance(packet, Pingreq):
            self.server.owed.append(Pingresp())
        elif packet:
            self.server.take(packet)

    def client_sends(self) -> None:
        """Let the client send something of its own."""
        made = self.random.choice(_REQUESTS)(self)
        if made:
            self.send(Direction.CLIENT, made)

    def request(self, kind: type[Packet]) -> Packet | None:
        """Return a SUBSCRIBE or UNSUBSCRIBE with a free identifier."""
        id, filters = self.random.choice(_IDS), self.random.sample(FILTERS, self.random.randint(1, 2))
        if id in self.client.open or id in self.client.burnt:
            return None
        if kind is Unsubscribe:
            packet: Packet = Unsubscribe(packet_id=id, filters=tuple(filters))
        else:
            wanted = tuple(Subscription(filter=each, qos=self.random.randint(0, 2)) for each in filters)
            packet = Subscribe(packet_id=id, subscriptions=wanted)
        self.client.open[id] = packet
        return packet

    def server_sends(self) -> None:
        """Deliver a message that matches."""
        topic = self.random.choice(TOPICS)
        able = [each.qos for filter, each in self.granted.items() if topic in MATCHES[filter]]
        made = self.server.publish(topic, max(able)) if able else None
        if made:
            self.send(Direction.SERVER, made)

    def pay(self, peer: Peer, direction: Direction) -> None:
        """Let an end send one answer that it owes."""
        if peer.owed:
            self.send(direction, peer.pay())

    def run(self, steps: int) -> Iterator[Seen]:
        """Let both ends act for so many steps and yield what the observer sees."""
        self.open()
        early = self.random.random() < 0.2 and self.clean
        for _ in range(steps):
            self.wait()
            self.random.choice(_ACTIONS)(self, early)
        if self.random.random() < 0.5:
            self.send(Direction.CLIENT, Disconnect())
        while self.seen:
            yield heapq.heappop(self.seen)[2]


_REQUESTS: tuple[Callable[[Talk], Packet | None], ...] = (
    lambda talk: talk.client.publish(talk.random.choice(TOPICS), 2, retain=talk.random.random() < 0.2),
    lambda talk: talk.client.publish("a", 2),
    lambda talk: talk.request(Subscribe),
    lambda talk: talk.request(Unsubscribe),
    lambda talk: Pingreq(),
    lambda talk: talk.client.again(),
)


def _client_acts(talk: Talk, early: bool) -> None:
    talk.client_reads()
    if early or (talk.greeted and not any(isinstance(each, Connack) for _, each in talk.way[Direction.SERVER])):
        talk.client_sends() if talk.random.random() < 0.6 else talk.pay(talk.client, Direction.CLIENT)


def _server_acts(talk: Talk, early: bool) -> None:
    if not talk.greeted:
        if isinstance(talk.arrived(Direction.CLIENT), Connect):
            talk.greet()
        return
    talk.server_reads()
    talk.server_sends() if talk.random.random() < 0.4 else talk.pay(talk.server, Direction.SERVER)


_ACTIONS = (_client_acts, _server_acts)


def conversation(random: Random, version: Version, steps: int = 60) -> list[Seen]:
    """Return a valid conversation."""
    return list(Talk(random, version).run(steps))
