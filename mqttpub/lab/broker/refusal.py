"""Why the broker ends a connection, and how it says so in each version."""

from ...codec.encode import encode
from ...codec.tree import Decoded, Finding
from ...lint.packet.check import lint
from ...spec.declare import Packet, Properties, Property
from ...spec.packets import Connack, Disconnect
from ...spec.properties import REASON_STRING
from ...spec.reason_codes import Codes
from ...spec.versions import Direction, Version

SUCCESS = 0x00
NO_SUBSCRIBERS = 0x10
NO_SUBSCRIPTION = 0x11
UNSPECIFIED = 0x80
MALFORMED = 0x81
PROTOCOL = 0x82
VERSION = 0x84
IDENTIFIER = 0x85
CREDENTIALS = 0x86
STOPPING = 0x8B
METHOD = 0x8C
KEEP_ALIVE = 0x8D
TAKEN_OVER = 0x8E
FILTER = 0x8F
TOPIC = 0x90
IN_USE = 0x91
NOT_FOUND = 0x92
RECEIVE_MAXIMUM = 0x93
ALIAS = 0x94
TOO_LARGE = 0x95
QUOTA = 0x97
NO_RETAIN = 0x9A
NO_QOS = 0x9B
NO_SHARED = 0x9E
NO_IDENTIFIERS = 0xA1
NO_WILDCARDS = 0xA2

RETURN_CODES = {VERSION: 1, IDENTIFIER: 2, QUOTA: 3, CREDENTIALS: 4, METHOD: 5}
"""Return codes of CONNACK before 5.0; where there is none, 3.1.1 demands a close without one (3.2.2-6)."""
BY_STATEMENT = {
    **dict.fromkeys(("MQTT311-3.1.3-7", "MQTT31-3.1/client-id"), IDENTIFIER),
    **dict.fromkeys(("MQTT5-3.3.2-2", "MQTT5-4.7.0-1"), TOPIC),
    **dict.fromkeys(("MQTT5-4.7.1-1", "MQTT5-4.7.1-2", "MQTT5-4.8.2-1", "MQTT5-4.8.2-2"), FILTER),
}
"""Answers to faults for which the text of 5.0 names none, or 3.1.1 and 3.1 have a return code."""
REASON = REASON_STRING.id
LONGEST = 300
"""Characters of a Reason String."""


class Refusal(Exception):
    """The client did what ends its connection."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        """Reason Code of MQTT 5.0."""
        self.text = text

    @classmethod
    def of(cls, finding: Finding) -> "Refusal":
        """Return what a finding makes of a packet."""
        code = BY_STATEMENT.get(finding.statement) or finding.reason or PROTOCOL
        statement = f" ({finding.statement})" if finding.statement else ""
        return cls(code, f"{finding.message}{statement}")


def check(decoded: Decoded) -> None:
    """Refuse a packet from a client that breaks the specification; raises Refusal."""
    findings = lint(decoded, Direction.CLIENT)
    errors = [each for each in findings if each.severity == "error"]
    if errors or decoded.packet is None:
        raise Refusal.of((errors or findings)[0])


def reasons(text: str) -> Properties:
    """Return a Reason String that says so, or nothing."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}..."
    return (Property(REASON, text.encode("utf-8", "replace").decode()),) if text else ()


def connack(version: Version, code: int, text: str) -> Packet | None:
    """Return the refusing CONNACK, or None where the version wants a close without one."""
    if version == Version.V5:
        return Connack(reason_code=_fit(code, Connack), properties=reasons(text))
    return Connack(reason_code=RETURN_CODES[code]) if code in RETURN_CODES else None


def disconnect(version: Version, code: int, text: str) -> Packet | None:
    """Return the DISCONNECT that a server sends, or None where the version has none."""
    if version < Version.V5:
        return None
    return Disconnect(reason_code=_fit(code, Disconnect), properties=reasons(text))


def _fit(code: int, kind: type[Packet]) -> int:
    """Return a code, or a general one where this kind of packet does not have it."""
    names = kind.fields["reason_code"].names
    return code if isinstance(names, Codes) and names.legal(code, Version.V5) else MALFORMED


def fitting(packet: Packet, version: Version, largest: int) -> bytes:
    """Return the bytes of a packet, without its Reason String if that makes it too large, or nothing."""
    data = encode(packet, version)
    if len(data) <= largest:
        return data
    given: Properties = getattr(packet, "properties", None) or ()
    kept = tuple(each for each in given if each.id != REASON)
    if len(kept) == len(given):
        return b""
    return fitting(packet.replace(properties=kept), version, largest)
