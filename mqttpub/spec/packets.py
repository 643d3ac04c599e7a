"""The fifteen control packets of MQTT 5.0, 3.1.1 and 3.1, each declared once, in wire order."""

from ..wire.types import BINARY, BYTE, REST, STRING, U16
from .constraints import (
    Ascii,
    Characters,
    InTable,
    LevelWildcards,
    NoNull,
    NonZero,
    NotEmpty,
    NoWildcards,
    OneOf,
    ShareFilter,
    ShareName,
    SingleWildcards,
    StatementRef,
    valid,
)
from .declare import PACKETS, Group, Packet, Properties, bits, control_packet, declare, group, properties, repeat, wire
from .reason_codes import Codes
from .versions import V5, V31, V311, Version

__all__ = [
    "PACKETS", "PACKETS_BY_NAME", "Auth", "Connack", "Connect", "Disconnect", "Packet", "Pingreq", "Pingresp",
    "Puback", "Pubcomp", "Publish", "Pubrec", "Pubrel", "Suback", "Subscribe", "Subscription", "Unsuback",
    "Unsubscribe", "Will", "declared",
]  # fmt: skip

QOS_NAMES = {0: "at most once", 1: "at least once", 2: "exactly once", 3: "reserved"}
RETAIN_HANDLING_NAMES = {
    0: "send retained messages on subscribe",
    1: "send them only for a new subscription",
    2: "do not send them",
    3: "reserved",
}
LEVEL_NAMES = {3: "MQTT 3.1", 4: "MQTT 3.1.1", 5: "MQTT 5.0", 0x83: "MQTT 3.1, bridge", 0x84: "MQTT 3.1.1, bridge"}

_LOWER = "lower four bits of the first byte"
_UNUSED = StatementRef("2.1.3-1", "2.2.2-1", "2.6/header")
_FREE_ID = StatementRef("2.2.1-3", "2.3.1-1", "2.4/zero")
_ACK_ID = StatementRef("2.2.1/zero", "2.3.1/zero-ack", "2.4/zero")
_TOPICS = (
    NoNull(StatementRef("4.7.3-2", "4.7.3-2", "A/null")),
    Characters(StatementRef(v31="2.2/topic-length"), 0, 32_767),
)
_FILTERS = (
    NotEmpty(StatementRef("4.7.3-1", "4.7.3-1", "A/empty")),
    *_TOPICS,
    LevelWildcards(StatementRef("4.7.1-1"), shared=True),
    SingleWildcards(StatementRef("4.7.1-2"), shared=True),
    LevelWildcards(StatementRef(v311="4.7.1-2", v31="A/hash")),
    SingleWildcards(StatementRef(v311="4.7.1-3", v31="A/plus")),
    ShareName(StatementRef("4.8.2-1")),
    ShareFilter(StatementRef("4.8.2-2")),
)


def _reserved(law: StatementRef = _UNUSED) -> int:
    """Declare the lower four bits of a first byte that are always 0."""
    return bits(0b1111, default=0, label="Reserved", doc=_LOWER, limits=(OneOf(law, (0,)),))  # type: ignore[no-any-return]


def _two(law: StatementRef) -> int:
    """Declare the lower four bits of a first byte that are 0010 since 3.1.1."""
    return bits(0b1111, default=2, since=V311, label="Reserved", doc=_LOWER, limits=(OneOf(law, (2,)),))  # type: ignore[no-any-return]


def _old_dup() -> bool:
    return bits(0b1000, default=False, until=V31, label="DUP", doc="this is a re-delivery")  # type: ignore[no-any-return]


def _old_qos(law: StatementRef) -> int:
    return bits(  # type: ignore[no-any-return]
        0b0110, default=1, until=V31, label="QoS", names=QOS_NAMES, limits=(OneOf(law, (1,)),)
    )


def _old_retain() -> bool:
    law = StatementRef(v31="2.1/retain-where")
    return bits(0b0001, default=False, until=V31, label="RETAIN", limits=(OneOf(law, (0,)),))  # type: ignore[no-any-return]


def _id(law: StatementRef, doc: str = "") -> int:
    return wire(U16, label="Packet Identifier", kind="id", doc=doc, limits=(NonZero(law),))  # type: ignore[no-any-return]


def _reason(packet: str, law: StatementRef) -> int | None:
    return wire(  # type: ignore[no-any-return]
        BYTE, label="Reason Code", kind="reason", names=Codes(packet), limits=(InTable(law),),
        since=V5, tail=(V5,), default=None,
    )  # fmt: skip


@declare
class Will(Group):
    """The message that the server publishes when the connection ends unexpectedly."""

    properties: Properties = properties(default=())
    topic: str = wire(
        STRING, label="Will Topic", kind="topic", doc="where the will is published; no wildcards",
        limits=(
            *valid("3.1.3-11", "3.1.3-10", "3.1/will-topic"),
            NotEmpty(StatementRef("4.7.3-1", "4.7.3-1", "A/empty")),
            NoWildcards(StatementRef("4.7.0-1", "4.7.1-1", "A/wildcard-name")),
            *_TOPICS,
        ),
    )  # fmt: skip
    payload: bytes = wire(
        BINARY, label="Will Payload", name_before_5="Will Message", kind="payload", default=b"",
        limits=(Ascii(StatementRef(v31="3.1/will-ascii")),),
    )  # fmt: skip


@declare
class Subscription(Group):
    """One Topic Filter of a SUBSCRIBE and how it is to be served."""

    filter: str = wire(
        STRING, label="Topic Filter", kind="topic", doc="may have wildcards",
        limits=(*valid("3.8.3-1", "3.8.3-1", "3.8/pairs"), *_FILTERS),
    )  # fmt: skip
    reserved: int = bits(
        0xC0, octet="subscription_options", default=0, since=V5, limits=(OneOf(StatementRef("3.8.3-5"), (0,)),)
    )
    retain_handling: int = bits(
        0x30, octet="subscription_options", default=0, since=V5, names=RETAIN_HANDLING_NAMES,
        limits=(OneOf(StatementRef("3.8.3.1/retain-handling"), (0, 1, 2)),),
    )  # fmt: skip
    retain_as_published: bool = bits(
        0x08, octet="subscription_options", default=False, since=V5, label="Retain As Published",
        doc="forwarded messages keep their RETAIN",
    )  # fmt: skip
    no_local: bool = bits(
        0x04, octet="subscription_options", default=False, since=V5, doc="own messages do not come back"
    )
    unused: int = bits(
        0xFC, octet="subscription_options", default=0, until=V311, label="Reserved",
        limits=(OneOf(StatementRef(v311="3.8.3/options", v31="2.6/qos-byte"), (0,)),),
    )  # fmt: skip
    qos: int = bits(
        0x03, octet="subscription_options", default=0, label="Maximum QoS", name_before_5="Requested QoS",
        names=QOS_NAMES, limits=(OneOf(StatementRef("3.8.3.1/qos", "3.8.3/options", "3.8/qos3"), (0, 1, 2)),),
    )  # fmt: skip


@control_packet(1, section="3.1", sender="c")
class Connect(Packet):
    """Opens a session; the first packet from the client."""

    flags: int = _reserved()
    protocol_name: str | None = wire(
        STRING, default=None, fixed={V31: "MQIsdp", V311: "MQTT", V5: "MQTT"}, kind="type",
        limits=(
            OneOf(StatementRef(v5="3.1.2-1", v311="3.1.2.1/name"), ("MQTT",)),
            OneOf(StatementRef(v31="2.2/name"), ("MQIsdp",)),
        ),
    )  # fmt: skip
    protocol_level: int | None = wire(
        BYTE, default=None, fixed={V31: 3, V311: 4, V5: 5}, label="Protocol Version",
        name_before_5="Protocol Level", kind="type", names=LEVEL_NAMES,
        limits=(
            OneOf(StatementRef(v5="3.1.2.2/level"), (5,)),
            OneOf(StatementRef(v311="3.1.2.2/level"), (4,)),
            OneOf(StatementRef(v31="2.2/version"), (3,)),
        ),
    )  # fmt: skip
    username_flag: bool | None = bits(
        0x80, octet="connect_flags", default=None, label="User Name Flag", derived="username"
    )
    password_flag: bool | None = bits(
        0x40, octet="connect_flags", default=None, label="Password Flag", derived="password"
    )
    will_retain: bool = bits(0x20, octet="connect_flags", default=False, doc="the will is published retained")
    will_qos: int = bits(
        0x18, octet="connect_flags", default=0, label="Will QoS", names=QOS_NAMES,
        limits=(OneOf(StatementRef("3.1.2-12", "3.1.2-14", "2.2/will-qos"), (0, 1, 2)),),
    )  # fmt: skip
    will_flag: bool | None = bits(0x04, octet="connect_flags", default=None, label="Will Flag", derived="will")
    clean_start: bool = bits(
        0x02, octet="connect_flags", default=True, name_before_5="Clean Session", doc="begin without the old session"
    )
    reserved: bool = bits(
        0x01, octet="connect_flags", default=False,
        limits=(OneOf(StatementRef("3.1.2-3", "3.1.2-3", "2.6/connect-flags"), (0,)),),
    )  # fmt: skip
    keep_alive: int = wire(
        U16, default=60, unit="s", kind="number", names={0: "off"}, doc="longest silence of the client"
    )
    properties: Properties = properties(default=())
    client_id: str = wire(
        STRING, default="", label="Client Identifier", kind="text",
        limits=(*valid("3.1.3-4", "3.1.3-4"), Characters(StatementRef(v31="3.1/client-id"), 1, 23)),
    )  # fmt: skip
    will: Will | None = group(Will, when="will_flag", default=None, doc="published when the connection breaks")
    username: str | None = wire(
        STRING, when="username_flag", default=None, label="User Name", kind="text", tail=(V31,),
        limits=valid("3.1.3-12", "3.1.3-11"),
    )  # fmt: skip
    password: bytes | None = wire(
        BINARY, when="password_flag", default=None, label="Password", kind="secret", tail=(V31,)
    )


@control_packet(2, section="3.2", sender="s")
class Connack(Packet):
    """Answers CONNECT."""

    flags: int = _reserved()
    reserved: int = bits(
        0xFE, octet="connect_acknowledge_flags", default=0, since=V311,
        limits=(OneOf(StatementRef("3.2.2-1", "3.2.2.1/reserved"), (0,)),),
    )  # fmt: skip
    session_present: bool = bits(
        0x01, octet="connect_acknowledge_flags", default=False, since=V311, doc="the server had a session"
    )
    unused: int = bits(
        0xFF, octet="connect_acknowledge_flags", default=0, until=V31, label="Reserved",
        limits=(OneOf(StatementRef(v31="2.6/connack"), (0,)),),
    )  # fmt: skip
    reason_code: int = wire(
        BYTE, default=0, label="Reason Code", name_before_5="Return Code", kind="reason", names=Codes("CONNACK"),
        limits=(InTable(StatementRef("3.2.2-8", "3.2.2-6", "2.2/return-code")),),
    )  # fmt: skip
    properties: Properties = properties(default=())


@control_packet(3, section="3.3")
class Publish(Packet):
    """Carries one application message, in either direction."""

    dup: bool = bits(0b1000, default=False, label="DUP", doc="this is a re-delivery")
    qos: int = bits(
        0b0110, default=0, label="QoS", names=QOS_NAMES, doc="delivery guarantee",
        limits=(OneOf(StatementRef("3.3.1-4", "3.3.1-4", "2.1/qos3"), (0, 1, 2)),),
    )  # fmt: skip
    retain: bool = bits(0b0001, default=False, label="RETAIN", doc="keep as the topic's last value")
    topic: str = wire(
        STRING, label="Topic Name", kind="topic", doc="where the message goes; no wildcards",
        limits=(
            *valid("3.3.2-1", "3.3.2-1", "3.3/topic"),
            NotEmpty(StatementRef(v311="4.7.3-1", v31="A/empty")),
            NoWildcards(StatementRef("3.3.2-2", "3.3.2-2", "3.3/wildcard")),
            *_TOPICS,
        ),
    )  # fmt: skip
    packet_id: int | None = wire(
        U16, when="qos", default=None, label="Packet Identifier", kind="id",
        doc="only with QoS 1 and 2", limits=(NonZero(_FREE_ID),),
    )  # fmt: skip
    properties: Properties = properties(default=())
    payload: bytes = wire(REST, default=b"", kind="payload", doc="application message")


@control_packet(4, section="3.4")
class Puback(Packet):
    """Answers a QoS 1 PUBLISH."""

    flags: int = _reserved()
    packet_id: int = _id(_ACK_ID, "of the PUBLISH")
    reason_code: int | None = _reason("PUBACK", StatementRef("3.4.2-1"))
    properties: Properties | None = properties(default=None, tail=True)


@control_packet(5, section="3.5")
class Pubrec(Packet):
    """Answers a QoS 2 PUBLISH: received, first answer."""

    flags: int = _reserved()
    packet_id: int = _id(_ACK_ID, "of the PUBLISH")
    reason_code: int | None = _reason("PUBREC", StatementRef("3.5.2-1"))
    properties: Properties | None = properties(default=None, tail=True)


@control_packet(6, section="3.6")
class Pubrel(Packet):
    """Answers PUBREC: the sender will not send the message again."""

    dup: bool = _old_dup()
    qos: int = _old_qos(StatementRef(v31="3.6/qos"))
    retain: bool = _old_retain()
    flags: int = _two(StatementRef("3.6.1-1", "3.6.1-1"))
    packet_id: int = _id(_ACK_ID, "of the PUBLISH")
    reason_code: int | None = _reason("PUBREL", StatementRef("3.6.2-1"))
    properties: Properties | None = properties(default=None, tail=True)


@control_packet(7, section="3.7")
class Pubcomp(Packet):
    """Answers PUBREL: the QoS 2 exchange is complete."""

    flags: int = _reserved()
    packet_id: int = _id(_ACK_ID, "of the PUBLISH")
    reason_code: int | None = _reason("PUBCOMP", StatementRef("3.7.2-1"))
    properties: Properties | None = properties(default=None, tail=True)


@control_packet(8, section="3.8", sender="c")
class Subscribe(Packet):
    """Asks for the messages of Topic Filters."""

    dup: bool = _old_dup()
    qos: int = _old_qos(StatementRef(v31="3.8/qos"))
    retain: bool = _old_retain()
    flags: int = _two(StatementRef("3.8.1-1", "3.8.1-1"))
    packet_id: int = _id(_FREE_ID)
    properties: Properties = properties(default=())
    subscriptions: tuple[Subscription, ...] = repeat(
        Subscription, limits=(NotEmpty(StatementRef("3.8.3-2", "3.8.3-3", "3.8/empty")),)
    )


@control_packet(9, section="3.9", sender="s")
class Suback(Packet):
    """Answers SUBSCRIBE with a code for each Topic Filter."""

    flags: int = _reserved()
    packet_id: int = _id(_ACK_ID, "of the SUBSCRIBE")
    properties: Properties = properties(default=())
    reason_codes: tuple[int, ...] = repeat(
        BYTE, kind="reason", label="Reason Code", name_before_5="Return Code", names=Codes("SUBACK"),
        limits=(NotEmpty(StatementRef(v311="3.9.3/empty")),),
        each=(InTable(StatementRef("3.9.3-2", "3.9.3-2", "3.9/code")),),
    )  # fmt: skip


@control_packet(10, section="3.10", sender="c")
class Unsubscribe(Packet):
    """Ends subscriptions."""

    dup: bool = _old_dup()
    qos: int = _old_qos(StatementRef(v31="3.10/qos"))
    retain: bool = _old_retain()
    flags: int = _two(StatementRef("3.10.1-1", "3.10.1-1"))
    packet_id: int = _id(_FREE_ID)
    properties: Properties = properties(default=())
    filters: tuple[str, ...] = repeat(
        STRING, kind="topic", label="Topic Filter",
        limits=(NotEmpty(StatementRef("3.10.3-2", "3.10.3-2", "3.10/empty")),),
        each=(*valid("3.10.3-1", "3.10.3-1", "3.10/strings"), *_FILTERS),
    )  # fmt: skip


@control_packet(11, section="3.11", sender="s")
class Unsuback(Packet):
    """Answers UNSUBSCRIBE; since 5.0 with a code for each Topic Filter."""

    flags: int = _reserved()
    packet_id: int = _id(_ACK_ID, "of the UNSUBSCRIBE")
    properties: Properties = properties(default=())
    reason_codes: tuple[int, ...] = repeat(
        BYTE, since=V5, default=(), kind="reason", label="Reason Code", names=Codes("UNSUBACK"),
        each=(InTable(StatementRef("3.11.3-2")),),
    )  # fmt: skip


@control_packet(12, section="3.12", sender="c")
class Pingreq(Packet):
    """Shows that the client is alive and asks whether the server is."""

    flags: int = _reserved()


@control_packet(13, section="3.13", sender="s")
class Pingresp(Packet):
    """Answers PINGREQ."""

    flags: int = _reserved()


@control_packet(14, section="3.14", sender="cs", sender_before_5="c")
class Disconnect(Packet):
    """Says why the connection closes; the last packet on it."""

    flags: int = _reserved(StatementRef("3.14.1-1", "3.14.1-1", "2.6/header"))
    reason_code: int | None = _reason("DISCONNECT", StatementRef("3.14.2-1"))
    properties: Properties | None = properties(default=None, tail=True)


@control_packet(15, section="3.15", since=V5)
class Auth(Packet):
    """Carries one step of extended authentication."""

    flags: int = _reserved(StatementRef("3.15.1-1"))
    reason_code: int | None = _reason("AUTH", StatementRef("3.15.2-1"))
    properties: Properties | None = properties(default=None, tail=True)


WITH_SECRETS = frozenset(kind.code for kind in (Connect, Connack, Auth))
"""Types of the packets that may hold a secret."""
PACKETS_BY_NAME = {packet.name: packet for packet in PACKETS.values()}
"""Every control packet by its name in the specification, such as PUBLISH."""


def declared(code: int, version: Version) -> type[Packet] | None:
    """Return the class of the packet type `code`; None if the version does not have it."""
    cls = PACKETS.get(code)
    return cls if cls and cls.since <= version else None
