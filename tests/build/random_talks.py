"""Conversations from a seed, in which most packets are as they should be."""

from random import Random

from mqttpub.spec.versions import Version
from tests.build.events import CLIENT, MS, SERVER, Dialog
from tests.build.story import said

SECOND = 1000 * MS
V5 = Version.V5
MOST_PACKETS = 60
Packet = tuple[str] | tuple[str, str, bytes]
"""The words of a packet, and for PUBLISH its topic and payload."""


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
                self.say(random.random() < 0.5, *self.stray())
        if self.rarely(0.3):
            self.dialog.closes(random.choice((CLIENT, SERVER, None)))

    def rarely(self, share: float) -> bool:
        """Return True in this share of calls."""
        return self.random.random() < share

    def say(self, server: bool, words: str, topic: str = "", payload: bytes = b"") -> None:
        """Send a packet, often at the time of the one before it."""
        after = self.random.choice((0, 0, 0, MS, MS, 20 * SECOND))
        for each in said(f"{'><'[server]} {words}", self.version, topic=topic, payload=payload):
            self.dialog.says((CLIENT, SERVER)[each.side], each.data, after=after)

    def open(self) -> None:
        """Send CONNECT and CONNACK with limits, and subscribe or not."""
        random, v5 = self.random, self.version is V5
        limits = {"receive_maximum": random.randint(1, 3), "maximum_qos": 1, "retain_available": 0,
                  "maximum_packet_size": random.randint(20, 60)}  # fmt: skip
        given = [f" {key}={value}" for key, value in limits.items() if v5 and self.rarely(0.3)]
        keep_alive, own = random.choice((0, 10, 60)), [each for each in given if "_maximum=" in each or "size=" in each]
        resumed = self.version is not Version.V31 and self.rarely(0.2)
        self.say(False, f"connect ka={keep_alive}{''.join(own) * self.rarely(0.5)}")
        self.say(True, f"connack sp={resumed:d}{''.join(given)}")
        if self.rarely(0.6):
            identifier = " subscription_identifier=7" if v5 and self.rarely(0.1) else ""
            wanted = f"{random.choice(('#', '#', 'a/+', '$share/s/#'))}:q{random.randrange(3)}"
            self.say(False, f"subscribe i9 f={wanted}{identifier}")
            self.say(True, f"suback i9 c=0{random.choice((0, 1, 2, 2))}")

    def exchange(self) -> None:
        """Send messages of one QoS and their acks, from which one packet may be missing or come twice."""
        random, qos, side = self.random, self.random.randrange(3), self.rarely(0.5)
        ids = random.sample((1, 2, 3, 4), random.randint(1, 4))
        packets: list[tuple[bool, Packet]] = [(side, self.message(qos, id)) for id in ids]
        for name in ((), ("puback",), ("pubrec", "pubrel", "pubcomp"))[qos]:
            if self.rarely(0.1):
                random.shuffle(ids)
            back = side == (name == "pubrel")
            packets += [(back, (f"{name} i={id}{self.reason(name)}",)) for id in ids]
        if self.rarely(0.2):
            at = random.randrange(len(packets))
            packets[at : at + 1] = packets[at : at + 1] * random.choice((0, 2))
        for server, packet in packets[: random.choice((len(packets), len(packets), 3))]:
            self.say(server, *packet)

    def reason(self, name: str) -> str:
        """Return a Reason Code, or none."""
        code = self.random.choice((None, None, None, None, 0, 0, 0x10, 0x92, 0x97)) if self.version is V5 else None
        if code is None:
            return ""
        return f" c={code if (code == 0x92) == (name in ('pubrel', 'pubcomp')) else 0:02x}"

    def message(self, qos: int, packet_id: int) -> Packet:
        """Return a PUBLISH that is seldom wrong."""
        random, some = self.random, 4 * self.rarely(0.1)
        many = random.choices(PROPERTIES, k=random.randrange(3 + some)) if self.version is V5 else []
        dup, retain = qos > 0 and self.rarely(0.04), self.rarely(0.06)
        identified = f"i={packet_id} " if qos else ""
        words = f"publish q{qos} {identified}d{dup:d} r{retain:d} t=${{topic}} p=${{payload}} {' '.join(many)}"
        topic = random.choice(TOPICS) if some else random.choice(("a/1", "b"))
        return words, topic, random.choice((b"", b"four", b"five5", b"\xff\xff\xff\xff"))

    def stray(self) -> Packet:
        """Return a packet that nobody expects."""
        name = self.random.choice(("puback", "pubrec", "pubrel", "pubcomp", "publish", "pingreq", "pingresp"))
        if name == "publish":
            return self.message(self.random.randrange(3), self.random.randint(1, 4))
        return (name,) if name.startswith("ping") else (f"{name} i={self.random.randint(1, 4)}",)


TOPICS = ("a/1", "a/2", "ü/1", "$SYS/x", "", "a/#")
PROPERTIES = (
    *["user_property=k:v", "message_expiry_interval=5", "content_type=text"] * 4,
    "payload_format_indicator=1", "payload_format_indicator=0", r'content_type="a\x00"', "response_topic=answers",
    "response_topic=a/+", "correlation_data=hex:ff", "user_property=k:w", "topic_alias=1", "subscription_identifier=7",
    "user_property=k:é",
)  # fmt: skip
