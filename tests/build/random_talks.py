"""Conversations from a seed, in which most packets are as they should be."""

from random import Random
from typing import Any

from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
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
)
from mqttpub.spec.versions import Version
from tests.build.events import CLIENT, MS, SERVER, Dialog

SECOND = 1000 * MS
V5 = Version.V5
MOST_PACKETS = 60


class Talk:
    """A conversation in which most packets are as they should be, with few identifiers and topics."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.version = random.choice((*Version, V5))
        self.dialog = Dialog(version=self.version)
        if self.rarely(0.9):
            self.open()
        for _ in range(random.randrange(MOST_PACKETS // 4)):
            if self.rarely(0.8):
                self.exchange()
            else:
                self.say(random.random() < 0.5, self.stray())
        if self.rarely(0.3):
            self.dialog.closes(random.choice((CLIENT, SERVER, None)))

    def rarely(self, share: float) -> bool:
        """Return True in this share of calls."""
        return self.random.random() < share

    def say(self, server: bool, packet: Packet) -> None:
        """Send a packet, often at the time of the one before it."""
        after = self.random.choice((0, 0, 0, MS, MS, 20 * SECOND))
        self.dialog.says(SERVER if server else CLIENT, encode(packet, self.version), after=after)

    def open(self) -> None:
        """Send CONNECT and CONNACK with limits, and subscribe or not."""
        random, v5 = self.random, self.version is V5
        limits = {0x21: random.randint(1, 3), 0x24: 1, 0x25: 0, 0x27: random.randint(20, 60)}
        given = tuple(Property(id, value) for id, value in limits.items() if v5 and self.rarely(0.3))
        keep_alive, own = random.choice((0, 10, 60)), tuple(each for each in given if each.id in (0x21, 0x27))
        resumed = self.version is not Version.V31 and self.rarely(0.2)
        self.say(False, Connect(client_id="c", keep_alive=keep_alive, properties=own * self.rarely(0.5), will=None))
        self.say(True, Connack(session_present=resumed, properties=given))
        if self.rarely(0.6):
            identifier = (Property(0x0B, 7),) if v5 and self.rarely(0.1) else ()
            wanted = Subscription(filter=random.choice(("#", "#", "a/+", "$share/s/#")), qos=random.randrange(3))
            self.say(False, Subscribe(packet_id=9, subscriptions=(wanted,), properties=identifier))
            self.say(True, Suback(packet_id=9, reason_codes=(random.choice((0, 1, 2, 2)),)))

    def exchange(self) -> None:
        """Send messages of one QoS and their acks, from which one packet may be missing or come twice."""
        random, qos, side = self.random, self.random.randrange(3), self.rarely(0.5)
        ids = random.sample((1, 2, 3, 4), random.randint(1, 4))
        packets: list[tuple[bool, Packet]] = [(side, self.message(qos, id)) for id in ids]
        acks: tuple[Any, ...] = (Puback,) if qos == 1 else (Pubrec, Pubrel, Pubcomp) if qos else ()
        for cls in acks:
            if self.rarely(0.1):
                random.shuffle(ids)
            back = side == (cls is Pubrel)
            packets += [(back, cls(packet_id=id, reason_code=self.reason(cls))) for id in ids]
        if self.rarely(0.2):
            at = random.randrange(len(packets))
            packets[at : at + 1] = packets[at : at + 1] * random.choice((0, 2))
        for server, packet in packets[: random.choice((len(packets), len(packets), 3))]:
            self.say(server, packet)

    def reason(self, cls: type[Packet]) -> int | None:
        """Return a Reason Code, or none."""
        code = self.random.choice((None, None, None, None, 0, 0, 0x10, 0x92, 0x97)) if self.version is V5 else None
        return code if code in (None, 0) or (code == 0x92) == (cls in (Pubrel, Pubcomp)) else 0

    def message(self, qos: int, packet_id: int) -> Publish:
        """Return a PUBLISH that is seldom wrong."""
        random, some = self.random, 4 * self.rarely(0.1)
        many = random.choices(_PROPERTIES, k=random.randrange(3 + some)) if self.version is V5 else []
        return Publish(
            qos=qos, dup=qos > 0 and self.rarely(0.04), retain=self.rarely(0.06), packet_id=packet_id if qos else None,
            topic=random.choice(_TOPICS) if some else random.choice(("a/1", "b")), properties=tuple(many),
            payload=random.choice((b"", b"four", b"five5", b"\xff\xff\xff\xff")),
        )  # fmt: skip

    def stray(self) -> Packet:
        """Return a packet that nobody expects."""
        kind: type[Any] = self.random.choice((Puback, Pubrec, Pubrel, Pubcomp, Publish, Pingreq, Pingresp))
        if kind is Publish:
            return self.message(self.random.randrange(3), self.random.randint(1, 4))
        given = {} if kind in (Pingreq, Pingresp) else {"packet_id": self.random.randint(1, 4)}
        packet: Packet = kind(**given)
        return packet


_TOPICS = ("a/1", "a/2", "ü/1", "$SYS/x", "", "a/#")
_PROPERTIES = (
    *[Property(0x26, ("k", "v")), Property(0x02, 5), Property(0x03, "text")] * 4, Property(0x01, 1), Property(0x01, 0),
    Property(0x03, "a\0"), Property(0x08, "answers"), Property(0x08, "a/+"), Property(0x09, b"\xff"),
    Property(0x26, ("k", "w")), Property(0x23, 1), Property(0x0B, 7), Property(0x26, ("k", "é")),
)  # fmt: skip
