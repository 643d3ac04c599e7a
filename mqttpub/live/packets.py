"""Packets from the broker: read, and refused where one breaks the protocol."""

from typing import Any

from ..codec.fast_decode import Irregular, reader
from ..lint.packet.fast import is_clean
from ..spec.declare import Packet
from ..spec.packets import Puback, Pubcomp, Pubrec
from ..spec.properties import REASON_STRING, SERVER_REFERENCE, value_of
from ..spec.reason_codes import Codes
from ..spec.versions import Direction, Version
from .failures import MALFORMED, PeerFault

LEGAL = {
    cls.code << 4: frozenset(Codes(cls.name).rows[Version.V5]) for cls in (Puback, Pubrec, Pubcomp)
}  # fmt: skip
"""Reason Codes that are allowed after these first bytes."""


def acknowledgement(data: bytes, version: Version, time_s: float) -> tuple[int, int, int | None, float, str]:
    """Return packet type, Packet Identifier, Reason Code, time and Reason String of an acknowledgement.

    Raises PeerFault for a faulty one. `time_s` is returned as it is given.
    """
    # Nearly all acknowledgements of bulk publishing have no properties; these are read without decoding
    # (tests/benchmarks/publish.py).
    size, legal = len(data), LEGAL.get(data[0])
    if legal and size < 6 and (packet_id := data[2] << 8 | data[3] if size > 3 else 0):
        if size == 4:
            return data[0] >> 4, packet_id, None, time_s, ""
        if version == Version.V5 and data[4] in legal:
            return data[0] >> 4, packet_id, data[4], time_s, ""
    packet: Any = read(data, version)
    text = value_of(packet.properties, REASON_STRING, "")
    return data[0] >> 4, packet.packet_id, packet.reason_code, time_s, text


def read(data: bytes, version: Version) -> Packet:
    """Return a packet from the server; raises PeerFault for a faulty one."""
    try:
        packet = reader(data[0] >> 4, version)(data, data[0], _header(data), len(data))
    except (Irregular, IndexError):
        return _judged(data, version)
    return packet if is_clean(packet, version, Direction.SERVER) else _judged(data, version)


def _header(data: bytes) -> int:
    """Return the length of the fixed header; raises Irregular where it is longer than necessary."""
    size = 2
    while data[size - 1] > 0x7F:
        size += 1
    if size > 2 and not data[size - 1]:
        raise Irregular
    return size


def _judged(data: bytes, version: Version) -> Packet:
    from ..codec.decode import decode
    from ..lint.packet.check import lint

    decoded = decode(data, version, direction=Direction.SERVER)
    for finding in lint(decoded, Direction.SERVER):
        if finding.severity == "error":
            cited = f" ({finding.statement})" if finding.statement else ""
            said = f"the broker sent a faulty {decoded.name}: {finding.message}{cited}"
            raise PeerFault(said, data, finding.reason or MALFORMED)
    if decoded.packet is None:
        raise PeerFault(f"the broker sent a {decoded.name} that cannot be read", data, MALFORMED)
    return decoded.packet


def reason_text(packet: Any, version: Version) -> str:
    """Return the code of a packet in words, with the Server Reference and the Reason String if it has them."""
    name = packet.fields["reason_code"].meaning(packet.reason_code or 0, version)
    if version < Version.V5:
        return f"{packet.reason_code} {name}"
    text = f"0x{packet.reason_code or 0:02x} {name}"
    given = dict(packet.properties or ())
    if reference := given.get(SERVER_REFERENCE.id):
        text += f", Server Reference '{reference}'"
    return f"{text}: {given[REASON_STRING.id]}" if given.get(REASON_STRING.id) else text
