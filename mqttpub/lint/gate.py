"""What may be sent: packets that the specification forbids are refused before anything is written."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..codec.encode import encode
from ..common.errors import UserError
from ..spec.constraints import StatementRef
from ..spec.declare import Packet, Property
from ..spec.packets import Connect, Disconnect, Publish
from ..spec.properties import SESSION_EXPIRY_INTERVAL, value_of
from ..spec.versions import Direction, Version
from .packet.fast import is_clean

if TYPE_CHECKING:
    from ..codec.tree import Finding

EXPIRY = StatementRef("3.14.2.2.2/expiry")


class Forbidden(UserError):
    """The specification forbids a packet; the message is one sentence with the statement."""

    def __init__(self, message: str, statement: str) -> None:
        super().__init__(f"{message} ({statement})")
        self.statement = statement


def check_packet(packet: Packet, version: Version, *, forced: bool = False) -> Sequence["Finding"]:
    """Return what the specification advises against in a packet that a client is about to send.

    Raises UserError for a packet that cannot be encoded and, unless `forced`, Forbidden for one with an error.
    A PUBLISH of QoS 1 or 2 needs no Packet Identifier yet.
    """
    if isinstance(packet, Publish) and packet.qos and packet.packet_id is None:
        # The identifier is assigned when the message is sent; any will do to check the rest.
        packet = packet.replace(packet_id=1)
    try:
        data = encode(packet, version)
    except ValueError as error:
        raise UserError(str(error)) from None
    if forced or is_clean(packet, version, Direction.CLIENT):
        return ()
    from ..codec.decode import decode
    from .packet.check import lint

    findings = lint(decode(data, version, direction=Direction.CLIENT), Direction.CLIENT)
    for finding in findings:
        if finding.severity == "error":
            raise Forbidden(finding.message, finding.statement)
    return findings


def check_expiry(connect: Connect, disconnect: Disconnect, version: Version) -> None:
    """Raise Forbidden if only DISCONNECT sets a Session Expiry Interval, and CONNECT did not (5.0: 3.14.2.2.2)."""
    asked, last = _expiry_s(connect.properties), _expiry_s(disconnect.properties)
    if last and not asked:
        message = f"Session Expiry Interval is {last} in DISCONNECT, but 0 in CONNECT"
        raise Forbidden(message, EXPIRY.id(version))


def _expiry_s(properties: tuple[Property, ...] | None) -> int:
    return int(value_of(properties, SESSION_EXPIRY_INTERVAL, 0))
