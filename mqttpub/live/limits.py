"""What CONNECT and CONNACK allow: the Guard holds the server to our CONNECT, ServerLimits hold us to its CONNACK."""

from math import inf
from typing import Any, Literal, NamedTuple

from ..codec.encode import encode
from ..codec.publish_writer import PublishWriter
from ..codec.stream import MAX_PACKET
from ..common.lru import BoundedMemo
from ..spec.constraints import SHARE
from ..spec.declare import PACKETS, Packet
from ..spec.packets import Auth, Connack, Connect, Disconnect, Publish, Subscribe
from ..spec.properties import (
    AUTHENTICATION_METHOD,
    BY_KEY,
    REASON_STRING,
    SUBSCRIPTION_IDENTIFIER,
    TOPIC_ALIAS,
    USER_PROPERTY,
    value_of,
)
from ..spec.versions import Version
from ..traffic.topics import has_wildcard
from .failures import PROTOCOL_ERROR, PeerFault

RECEIVE_MAXIMUM_EXCEEDED, TOPIC_ALIAS_INVALID, PACKET_TOO_LARGE = 0x93, 0x94, 0x95
"""Reason Codes of a DISCONNECT."""
EXPLANATIONS = (REASON_STRING.id, USER_PROPERTY.id)
EXPLAINED = (Publish, Connack, Disconnect)
"""Packets that may have a Reason String although Request Problem Information is 0."""
WITHOUT_CONNACK = {
    Version.V5: " (MQTT5-3.2.0-1)", Version.V311: " (MQTT311-3.2.0-1)", Version.V31: "",
}  # fmt: skip


LENGTH_GROWS_BYTES = 3
"""How many bytes longer a Remaining Length can be than that of a packet without a payload."""
MOST_WRITERS = 1000
"""Writers with a Topic Alias that are remembered."""


class Guard:
    """The limits that the CONNECT set, and the Topic Aliases that the server set; raises PeerFault.

    It finds the faults that no single packet shows, and for which a client has to close (5.0: 4.13; 3.1.1: 4.8).
    """

    def __init__(self, connect: Connect, version: Version) -> None:
        given: dict[int, Any] = dict(connect.properties) if version == Version.V5 else {}

        def limit(key: str, default: int) -> int:
            value: int = given.get(BY_KEY[key].id, default)
            return value

        # The two cannot be 0; a 0 that was forced sets no limit.
        self.packet_limit = limit("maximum_packet_size", MAX_PACKET) or MAX_PACKET
        """Largest size of a packet from the server, in bytes."""
        self._receive_maximum = (limit("receive_maximum", 65535) or 65535) if version == Version.V5 else inf
        self._topic_alias_maximum = limit("topic_alias_maximum", 0)
        self.wants_explanations = bool(limit("request_problem_information", 1))
        """Whether any packet may have a Reason String and User Properties."""
        self._method = given.get(AUTHENTICATION_METHOD.id)
        self._clean_start = connect.clean_start
        self._version = version
        self._aliases: dict[int, str] = {}

    def oversize(self, data: bytes) -> PeerFault:
        """Return the fault for a packet larger than `packet_limit`."""
        name, most = packet_name(data), self.packet_limit
        fault = f"the broker sent {name} with more bytes than our Maximum Packet Size of {most} (MQTT5-3.1.2-24)"
        return PeerFault(fault, data, PACKET_TOO_LARGE)

    def before_connack(self, packet: Packet | None, name: str, data: bytes) -> None:
        """Raise the fault for a first packet that is not CONNACK; `packet` is None where it is not complete."""
        if isinstance(packet, Auth):
            self.check_auth(packet, data)
        # Nothing is sent in answer to a DISCONNECT.
        code = 0 if isinstance(packet, Disconnect) else PROTOCOL_ERROR
        raise PeerFault(f"the broker sent {name} before CONNACK{WITHOUT_CONNACK[self._version]}", data, code)

    def check_connack(self, packet: Connack, data: bytes) -> None:
        """Check the CONNACK that accepts the connection; raises PeerFault for one that does not fit CONNECT."""
        if packet.session_present and self._clean_start:
            asked, statement = (
                ("Start", "MQTT5-3.2.2-2") if self._version == Version.V5 else ("Session", "MQTT311-3.2.2-1")
            )
            raise PeerFault(f"the broker sent Session Present 1, although Clean {asked} is 1 ({statement})", data)
        method = value_of(packet.properties, AUTHENTICATION_METHOD)
        if method != self._method:
            statement = "MQTT5-4.12.0-6" if self._method is None else "MQTT5-4.12.0-5"
            raise PeerFault(f"the Authentication Method in CONNACK is not that in CONNECT ({statement})", data)

    def check_auth(self, packet: Auth, data: bytes) -> None:
        """Check an AUTH: its method is that of CONNECT, and the Reason Code that begins is for clients only."""
        if self._method is None:
            raise PeerFault("the broker sent AUTH, but CONNECT has no Authentication Method (MQTT5-4.12.0-6)", data)
        if value_of(packet.properties, AUTHENTICATION_METHOD) != self._method:
            raise PeerFault("the Authentication Method in AUTH is not that in CONNECT (MQTT5-4.12.0-5)", data)

    def check_explanation(self, packet: Packet, data: bytes) -> None:
        """Check that a packet has a Reason String and User Properties only where they were asked for."""
        if self.wants_explanations or isinstance(packet, EXPLAINED):
            return
        if any(id in EXPLANATIONS for id, _ in getattr(packet, "properties", None) or ()):
            raise PeerFault(
                f"the broker sent a Reason String or a User Property in {packet.name}, although "
                "Request Problem Information is 0 (MQTT5-3.1.2-29)", data,
            )  # fmt: skip

    def receive_maximum(self, unanswered: int, data: bytes) -> PeerFault | None:
        """Return the fault of more unacknowledged QoS 1 and 2 messages than allowed; `data` is the last of them."""
        if unanswered <= self._receive_maximum:
            return None
        fault = (
            f"the broker sent PUBLISH with {unanswered - 1} unacknowledged, but our Receive Maximum is "
            f"{self._receive_maximum} (MQTT5-3.3.4-9)"
        )
        return PeerFault(fault, data, RECEIVE_MAXIMUM_EXCEEDED)

    def topic_alias(self, packet: Publish, data: bytes) -> str:
        """Check the Topic Alias of a PUBLISH, remember one that it sets, and return the Topic Name of the message."""
        alias = value_of(packet.properties, TOPIC_ALIAS)
        if alias is None:
            return packet.topic
        most = self._topic_alias_maximum
        if alias > most:
            statement = "MQTT5-3.1.2-26" if most else "MQTT5-3.1.2-27"
            fault = f"the broker sent PUBLISH with Topic Alias {alias}, but our maximum is {most} ({statement})"
            raise PeerFault(fault, data, TOPIC_ALIAS_INVALID)
        if packet.topic:
            self._aliases[alias] = packet.topic
        elif alias not in self._aliases:
            raise PeerFault(
                f"the broker sent PUBLISH with Topic Alias {alias} before it set it (MQTT5-3.3.4/alias-unset)", data
            )
        return self._aliases[alias]


def packet_name(data: bytes) -> str:
    """Return the name of a packet that begins with these bytes."""
    code = data[0] >> 4
    return PACKETS[code].name if code in PACKETS else f"packet type {code}"


class Violation(NamedTuple):
    """A limit of the server that a message goes beyond."""

    kind: Literal["qos", "retain", "size", "alias"]
    text: str
    """A sentence about it."""


class ServerLimits(NamedTuple):
    """The limits that the server set; the defaults are those of a CONNACK without properties."""

    receive_maximum: int = 65535
    maximum_packet_size: int = 268_435_460
    maximum_qos: int = 2
    retain_available: int = 1
    topic_alias_maximum: int = 0
    wildcard_subscription_available: int = 1
    subscription_identifier_available: int = 1
    shared_subscription_available: int = 1

    @classmethod
    def of(cls, connack: Connack) -> "ServerLimits":
        """Return what the properties of a CONNACK say."""
        given = dict(connack.properties)
        return cls(**{key: given[BY_KEY[key].id] for key in cls._fields if BY_KEY[key].id in given})

    def safe_bytes(self, writer: PublishWriter) -> int:
        """Return a length up to which payloads of a writer exceed no limit; -1 where any payload does.

        Longer ones may be within the limits too.
        """
        return -1 if self.violation(writer, b"") else self.maximum_packet_size - writer.size(b"") - LENGTH_GROWS_BYTES

    def violation(self, writer: PublishWriter, payload: bytes) -> Violation | None:
        """Return the limit that a PUBLISH with this payload exceeds; None where it exceeds none."""
        if writer.qos > self.maximum_qos:
            text = f"QoS is {writer.qos}, but the broker's Maximum QoS is {self.maximum_qos} (MQTT5-3.2.2-11)"
            return Violation("qos", text)
        if writer.packet.retain and not self.retain_available:
            return Violation("retain", "RETAIN is 1, but the broker's Retain Available is 0 (MQTT5-3.2.2-14)")
        size_bytes = writer.size(payload)
        if size_bytes > self.maximum_packet_size:
            most = self.maximum_packet_size
            text = f"PUBLISH has {size_bytes} bytes, but the broker's Maximum Packet Size is {most} (MQTT5-3.2.2-15)"
            return Violation("size", text)
        alias = value_of(writer.packet.properties, TOPIC_ALIAS, 0) if writer.packet.properties else 0
        if alias > self.topic_alias_maximum:
            statement = "MQTT5-3.2.2-17" if self.topic_alias_maximum else "MQTT5-3.2.2-18"
            text = f"Topic Alias is {alias}, but the broker's maximum is {self.topic_alias_maximum} ({statement})"
            return Violation("alias", text)
        return None

    def subscription_violation(self, packet: Subscribe) -> str:
        """Return a sentence about the limit that a SUBSCRIBE exceeds; empty for none."""
        for each in packet.subscriptions:
            if not self.wildcard_subscription_available and has_wildcard(each.filter):
                return _unavailable(f"'{each.filter}' has a wildcard", "Wildcard Subscription", "11/wildcard")
            if not self.shared_subscription_available and each.filter.startswith(SHARE):
                return _unavailable(f"'{each.filter}' is shared", "Shared Subscription", "13/shared")
        if not self.subscription_identifier_available and value_of(packet.properties, SUBSCRIPTION_IDENTIFIER):
            said = "SUBSCRIBE has a Subscription Identifier"
            return _unavailable(said, "Subscription Identifier", "12/identifier")
        # A server of an older version sets no limits.
        size_bytes, most = len(encode(packet, Version.V5)), self.maximum_packet_size
        if size_bytes > most:
            return f"SUBSCRIBE has {size_bytes} bytes, but the broker's Maximum Packet Size is {most} (MQTT5-3.2.2-15)"
        return ""


def _unavailable(said: str, what: str, statement: str) -> str:
    return f"{said}, but the broker's {what} Available is 0 (MQTT5-3.2.2.3.{statement})"


class AliasAssigner:
    """The Topic Aliases that the client sets on one connection, in the order of the topics (5.0: 3.3.2.3.4)."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._aliases: dict[str, int] = {}
        self._writers: BoundedMemo[tuple[PublishWriter, bool], PublishWriter] = BoundedMemo(MOST_WRITERS)

    def writer(self, writer: PublishWriter) -> PublishWriter | None:
        """Return a writer that uses the alias of the topic, or None where no alias is left for it."""
        topic = writer.packet.topic
        known = topic in self._aliases
        if not known and len(self._aliases) >= self._maximum:
            return None
        alias = self._aliases.setdefault(topic, len(self._aliases) + 1)
        key = (writer, known)
        return self._writers.get(key) or self._writers.keep(key, writer.aliased(alias, first=not known))
