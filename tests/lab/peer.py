"""Clients of a broker without sockets, and of one with them."""

from typing import Any

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.stream import Stream
from mqttpub.lab.broker.connection import ClientConnection
from mqttpub.lab.broker.dispatch import receive
from mqttpub.lab.broker.hub import Hub
from mqttpub.lab.broker.limits import Limits
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Packet, Properties, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Direction, Version

V31, V311, V5 = Version.V31, Version.V311, Version.V5
EACH = (V31, V311, V5)


def props(**given: Any) -> Properties:
    """Return properties by name; a list makes several."""
    pairs = ((key, each) for key, many in given.items() for each in (many if isinstance(many, list) else [many]))
    return tuple(Property(BY_KEY[key].id, each) for key, each in pairs)


def prop(packet: Any, key: str) -> Any:
    """Return the value of a property, or None."""
    return next((each.value for each in packet.properties or () if each.id == BY_KEY[key].id), None)


def read(data: bytes, version: Version) -> Packet:
    """Return a packet of the broker, which has nothing wrong in it."""
    decoded = decode(data, version, direction=Direction.SERVER)
    wrong = [each for each in lint(decoded, Direction.SERVER) if each.severity == "error"]
    assert not wrong, (data.hex(), wrong)
    assert decoded.packet
    return decoded.packet


class Peer:
    """A client that hands its bytes to the broker directly."""

    def __init__(self, lab: "Lab", version: Version) -> None:
        self.lab = lab
        self.version = version
        self.connection = ClientConnection(lab.hub)
        self.stream = Stream(Direction.SERVER)
        self.connack = Connack()
        self.rest: list[Any] = []
        """What came behind CONNACK or SUBACK."""

    def send(self, *packets: Packet | bytes) -> "Peer":
        """Send packets, or bytes as they are, in one piece."""
        data = (each if isinstance(each, bytes) else encode(each, self.version) for each in packets)
        receive(self.connection, b"".join(data))
        self.lab.settle()
        return self

    def got(self) -> list[Any]:
        """Return the packets that came since the last time."""
        data = bytes(self.connection.output)
        self.connection.output.clear()
        return [read(frame.data, self.connection.version) for frame in self.stream.feed(data)]

    def one(self, kind: type[Packet] = Packet) -> Any:
        """Return the only packet that came."""
        got = self.got()
        assert len(got) == 1, got
        assert isinstance(got[0], kind), got
        return got[0]

    def ask(self, *packets: Packet | bytes) -> Any:
        """Send something and return its answer."""
        return self.send(*packets).one()

    def subscribe(self, *filters: str, qos: int = 2, properties: Properties = (), **options: Any) -> tuple[int, ...]:
        """Subscribe and return the codes of SUBACK, the first of what comes."""
        wanted = tuple(Subscription(filter=each, qos=qos, **options) for each in filters)
        self.send(Subscribe(packet_id=9, properties=properties, subscriptions=wanted))
        suback, *self.rest = self.got()
        assert isinstance(suback, Suback)
        assert suback.packet_id == 9
        return suback.reason_codes

    def publish(self, topic: str, payload: bytes = b"x", qos: int = 0, **fields: Any) -> Any:
        """Publish, at QoS 2 to the end, and return the first answer, if any."""
        packet_id = fields.pop("packet_id", 5 if qos else None)
        self.send(Publish(topic=topic, payload=payload, qos=qos, packet_id=packet_id, **fields))
        if not qos:
            return None
        answer = next(each for each in self.got() if isinstance(each, Puback | Pubrec))
        if qos == 2 and (answer.reason_code or 0) < 0x80:
            self.send(Pubrel(packet_id=packet_id))
            done = [each for each in self.got() if isinstance(each, Pubcomp)]
            assert done[-1].packet_id == packet_id
        return answer

    def messages(self) -> list[Publish]:
        """Return the messages that came, and acknowledge them to the end."""
        found = []
        while packets := self.got():
            for each in packets:
                found += [each] if isinstance(each, Publish) else []
                self.acknowledge(each)
        return found

    def acknowledge(self, packet: Packet) -> None:
        """Give the answer that a packet wants."""
        if isinstance(packet, Publish) and packet.packet_id:
            self.send((Puback if packet.qos == 1 else Pubrec)(packet_id=packet.packet_id))
        elif isinstance(packet, Pubrel):
            self.send(Pubcomp(packet_id=packet.packet_id))

    def bye(self, **fields: Any) -> None:
        """Disconnect."""
        self.send(Disconnect(**fields))
        self.drop()

    def drop(self) -> None:
        """Lose the connection."""
        self.connection.lost("dropped")
        self.lab.settle()

    @property
    def over(self) -> Any:
        """Why the broker closes the connection."""
        return self.connection.closing


class Lab:
    """A broker without sockets, and a clock that the test moves."""

    def __init__(self, limits: Limits | None = None, **more: Any) -> None:
        self.time = 1000.0
        self.events: list[tuple[str, str, str]] = []
        self.hub = Hub(
            lambda: self.time, limits=limits or Limits(), on_event=lambda *event: self.events.append(event), **more
        )

    def peer(self, version: Version = V5) -> Peer:
        """Return a client that has said nothing yet."""
        return Peer(self, version)

    def connect(self, client_id: str = "c", version: Version = V5, **fields: Any) -> Peer:
        """Return a client that is connected; its CONNACK is `peer.connack`."""
        peer = self.peer(version)
        peer.send(Connect(client_id=client_id, **fields))
        connack, *peer.rest = peer.got()
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0, connack
        peer.connack = connack
        return peer

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds
        self.hub.timers.run(self.time)
        self.settle()

    def settle(self) -> None:
        """Do what the driver does after each turn."""
        while self.hub.dirty:
            connection, _ = self.hub.dirty.popitem()
            if connection.closing is not None:
                connection.lost("closed")

    def kinds(self) -> list[str]:
        """Return the kinds of all events."""
        return [kind for kind, _, _ in self.events]
