"""Reason Codes of MQTT 5.0 (section 2.4) and return codes of 3.1.1 and 3.1."""

from typing import NamedTuple

from .versions import Version

FAILURE = 0x80
"""The lowest Reason Code of a failure (5.0: 2.4)."""


class Reason(NamedTuple):
    """One meaning of a code, and the packets that may carry it."""

    code: int
    name: str
    packets: frozenset[str]
    """Names of the packets that may carry it."""
    meaning: str
    sender: str = "cs"
    """Which end may send it: c (client), s (server) or cs."""


def _reason(code: int, name: str, packets: str, meaning: str, sender: str = "cs") -> Reason:
    return Reason(code, name, frozenset(packets.split()), meaning, sender)


REASONS = (
    _reason(0x00, "Success", "CONNACK", "The connection is accepted."),
    _reason(0x00, "Success", "PUBACK PUBREC", "The message is accepted."),
    _reason(0x00, "Success", "PUBREL", "The message is released: it will not be sent again."),
    _reason(
        0x00, "Success", "PUBCOMP",
        "The Packet Identifier is released: the sender may use it for a new message.",
    ),
    _reason(0x00, "Success", "UNSUBACK", "The subscription is deleted."),
    _reason(0x00, "Success", "AUTH", "Authentication is complete.", "s"),
    _reason(0x00, "Normal disconnection", "DISCONNECT", "The connection closes and no will is published."),
    _reason(0x00, "Granted QoS 0", "SUBACK", "The subscription is accepted with at most QoS 0."),
    _reason(0x01, "Granted QoS 1", "SUBACK", "The subscription is accepted with at most QoS 1."),
    _reason(0x02, "Granted QoS 2", "SUBACK", "The subscription is accepted with at most QoS 2."),
    _reason(
        0x04, "Disconnect with Will Message", "DISCONNECT",
        "The client closes and wants its will published anyway.", "c",
    ),
    _reason(
        0x10, "No matching subscribers", "PUBACK PUBREC",
        "The message is accepted, but nobody subscribes to its topic at the moment.", "s",
    ),
    _reason(0x11, "No subscription existed", "UNSUBACK", "The client had no such subscription."),
    _reason(0x18, "Continue authentication", "AUTH", "The exchange continues with another step."),
    _reason(0x19, "Re-authenticate", "AUTH", "The client starts authenticating again.", "c"),
    _reason(
        0x80, "Unspecified error", "CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT",
        "Refused; the reason is not revealed, or no other code fits.",
    ),
    _reason(0x81, "Malformed Packet", "CONNACK DISCONNECT", "A packet could not be parsed as specified."),
    _reason(0x82, "Protocol Error", "CONNACK DISCONNECT", "A packet came out of order, or is not allowed."),
    _reason(
        0x83, "Implementation specific error", "CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT",
        "The packet is valid, but this receiver does not accept it.",
    ),
    _reason(0x84, "Unsupported Protocol Version", "CONNACK", "The server does not speak this version."),
    _reason(0x85, "Client Identifier not valid", "CONNACK", "The Client Identifier is not allowed."),
    _reason(0x86, "Bad User Name or Password", "CONNACK", "The server does not accept these credentials."),
    _reason(
        0x87, "Not authorized", "CONNACK SUBACK UNSUBACK DISCONNECT",
        "The permission check failed: this client may not do this.", "s",
    ),
    _reason(0x87, "Not authorized", "PUBACK PUBREC", "The permission check failed: the message is not accepted."),
    _reason(0x88, "Server unavailable", "CONNACK", "The server cannot accept the connection."),
    _reason(0x89, "Server busy", "CONNACK DISCONNECT", "The server has too much to do; try later.", "s"),
    _reason(0x8A, "Banned", "CONNACK", "An administrator has banned this client."),
    _reason(0x8B, "Server shutting down", "DISCONNECT", "The server is going down.", "s"),
    _reason(
        0x8C, "Bad authentication method", "CONNACK DISCONNECT",
        "The method is not supported, or is not the one in use.", "s",
    ),
    _reason(0x8D, "Keep Alive timeout", "DISCONNECT", "No packet came for 1.5 Keep Alive periods.", "s"),
    _reason(0x8E, "Session taken over", "DISCONNECT", "Another connection uses the same Client Identifier.", "s"),
    _reason(0x8F, "Topic Filter invalid", "SUBACK UNSUBACK DISCONNECT", "The filter is valid, but not accepted.", "s"),
    _reason(
        0x90, "Topic Name invalid", "CONNACK PUBACK PUBREC DISCONNECT",
        "The Topic Name is well formed, but not accepted.",
    ),
    _reason(
        0x91, "Packet Identifier in use", "PUBACK PUBREC SUBACK UNSUBACK",
        "The Packet Identifier is in use: the two ends disagree about the session, or one of them is faulty.",
    ),
    _reason(
        0x92, "Packet Identifier not found", "PUBREL PUBCOMP",
        "The Packet Identifier is unknown: the two ends disagree about the session.",
    ),
    _reason(0x93, "Receive Maximum exceeded", "DISCONNECT", "More messages came unacknowledged than were allowed."),
    _reason(0x94, "Topic Alias invalid", "DISCONNECT", "The Topic Alias is 0 or above the allowed maximum."),
    _reason(0x95, "Packet too large", "CONNACK DISCONNECT", "A packet was larger than the receiver allows."),
    _reason(0x96, "Message rate too high", "DISCONNECT", "Messages arrive too fast."),
    _reason(
        0x97, "Quota exceeded", "CONNACK PUBACK PUBREC SUBACK DISCONNECT",
        "A limit set for this client, such as messages per day, is used up.",
    ),
    _reason(0x98, "Administrative action", "DISCONNECT", "An administrator closed the connection."),
    _reason(
        0x99, "Payload format invalid", "CONNACK PUBACK PUBREC DISCONNECT",
        "The payload is not what its Payload Format Indicator says.",
    ),
    _reason(0x9A, "Retain not supported", "CONNACK DISCONNECT", "The server keeps no retained messages.", "s"),
    _reason(0x9B, "QoS not supported", "CONNACK DISCONNECT", "The QoS is above the server's Maximum QoS.", "s"),
    _reason(0x9C, "Use another server", "CONNACK DISCONNECT", "The client should go to another server for now.", "s"),
    _reason(0x9D, "Server moved", "CONNACK DISCONNECT", "The client should go to another server for good.", "s"),
    _reason(
        0x9E, "Shared Subscriptions not supported", "SUBACK DISCONNECT",
        "The server does not support shared subscriptions.", "s",
    ),
    _reason(0x9F, "Connection rate exceeded", "CONNACK DISCONNECT", "Too many connections are being opened.", "s"),
    _reason(0xA0, "Maximum connect time", "DISCONNECT", "The time allowed for this connection is over.", "s"),
    _reason(
        0xA1, "Subscription Identifiers not supported", "SUBACK DISCONNECT",
        "The server does not support Subscription Identifiers.", "s",
    ),
    _reason(
        0xA2, "Wildcard Subscriptions not supported", "SUBACK DISCONNECT",
        "The server does not support wildcards in filters.", "s",
    ),
)  # fmt: skip
"""The rows of Table 2-6 (5.0: 2.4), one for each meaning of a code."""

CONNECT_RETURN_CODES = (
    _reason(0, "Connection Accepted", "CONNACK", "The connection is accepted."),
    _reason(1, "unacceptable protocol version", "CONNACK", "The server does not speak this version."),
    _reason(2, "identifier rejected", "CONNACK", "The Client Identifier is not allowed."),
    _reason(3, "Server unavailable", "CONNACK", "The connection is made, but the service is not available."),
    _reason(4, "bad user name or password", "CONNACK", "The user name or the password is malformed or wrong."),
    _reason(5, "not authorized", "CONNACK", "This client may not connect."),
)
"""Return codes of CONNACK before 5.0 (3.1.1: 3.2.2.3)."""

SUBACK_RETURN_CODES = (
    _reason(0x00, "Granted QoS 0", "SUBACK", "The subscription is accepted with at most QoS 0."),
    _reason(0x01, "Granted QoS 1", "SUBACK", "The subscription is accepted with at most QoS 1."),
    _reason(0x02, "Granted QoS 2", "SUBACK", "The subscription is accepted with at most QoS 2."),
    _reason(0x80, "Failure", "SUBACK", "The subscription is refused (3.1.1 only)."),
)
"""Return codes of SUBACK before 5.0 (3.1.1: 3.9.3)."""


class Codes:
    """The codes that one kind of packet may carry, by version."""

    __slots__ = ("packet", "rows")

    def __init__(self, packet: str) -> None:
        self.packet = packet
        old = {"CONNACK": CONNECT_RETURN_CODES, "SUBACK": SUBACK_RETURN_CODES}.get(packet, ())
        ours = {row.code: row for row in REASONS if packet in row.packets}
        before = {row.code: row for row in old}
        oldest = {code: row for code, row in before.items() if code != 0x80}
        self.rows = {Version.V5: ours, Version.V311: before, Version.V31: oldest}

    def row(self, code: int, version: Version) -> Reason | None:
        """Return the row of a code; None if this packet may not carry it in `version`."""
        return self.rows[version].get(code)

    def name(self, code: int, version: Version) -> str:
        """Return the name of a code; `reason 0xNN` for an unknown one."""
        row = self.rows[version].get(code) or (_ANY.get(code) if version == Version.V5 else None)
        return row.name if row else f"reason 0x{code:02x}"

    def legal(self, code: int, version: Version) -> bool:
        """Whether this packet may carry the code in `version` (5.0: 2.4; 3.1.1: 3.2.2.3, 3.9.3)."""
        return code in self.rows[version]


_ANY = {row.code: row for row in reversed(REASONS)}
