"""What a server leaves out with good reason: it says that it does not offer it, or grants less than was asked for."""

from collections.abc import Iterable

from ...codec.decode import decode_packet
from ...script.steps import EndStep
from ...spec.declare import Packet
from ...spec.packets import Connack, Connect, Publish, Suback, Subscribe
from ...spec.properties import BY_KEY, SUBSCRIPTION_IDENTIFIER, TOPIC_ALIAS, TOPIC_ALIAS_MAXIMUM, value_of
from ...spec.versions import Direction
from ..player import PlayFailure
from .judge import SeenPacket

NOT_OFFERED = {
    "retain_available": lambda packet: getattr(packet, "retain", False) or getattr(packet, "will_retain", False),
    "wildcard_subscription_available": lambda packet: any("+" in each or "#" in each for each in _filters(packet)),
    "shared_subscription_available": lambda packet: any(each.startswith("$share/") for each in _filters(packet)),
    "subscription_identifier_available": lambda packet: (
        isinstance(packet, Subscribe) and value_of(packet.properties, SUBSCRIPTION_IDENTIFIER) is not None
    ),
}  # fmt: skip
"""Properties of CONNACK that are 0 for what a server does not offer, and whether a packet of the client asks for it."""
MAXIMUM_QOS = BY_KEY["maximum_qos"]
MOST_ALIASES = 65535
"""The Topic Alias Maximum that no Topic Alias exceeds."""


def is_open(failure: PlayFailure) -> bool:
    """Whether the packet that failed a step shows nothing of its statements.

    That is so of a packet that cannot be read, in which lint finds what it breaks, and of a SUBACK that differs in what
    is granted, as a server may grant less or refuse.
    """
    if failure.came is None or isinstance(failure.step, EndStep):
        return False
    packet = decode_packet(failure.came.data, failure.version)
    differs = {each.key for each in failure.wrong}
    return packet is None or (isinstance(packet, Suback) and differs == {"reason_codes"})


def not_offered(packets: Iterable[SeenPacket]) -> str:
    """Return what a case asked for that the server does not offer, as a sentence; empty if there is nothing."""
    read = [(seen, decode_packet(seen.frame.data, seen.version)) for seen in packets]
    connacks = [packet for _, packet in read if isinstance(packet, Connack)]
    asked = [packet for seen, packet in read if packet and seen.frame.direction is Direction.CLIENT]
    for key, asks in NOT_OFFERED.items():
        row = BY_KEY[key]
        if any(value_of(each.properties, row) == 0 for each in connacks) and any(map(asks, asked)):
            return f"{row.label} is 0 in CONNACK"
    highest = min((value_of(each.properties, MAXIMUM_QOS, 2) for each in connacks), default=2)
    if highest < 2 and any(_qos(packet) > highest for packet in asked):
        return f"{MAXIMUM_QOS.label} is {highest} in CONNACK"
    aliases = [value_of(each.properties, TOPIC_ALIAS) for each in asked if isinstance(each, Publish)]
    maxima = [value_of(each.properties, TOPIC_ALIAS_MAXIMUM) for each in connacks]
    if MOST_ALIASES in aliases and MOST_ALIASES in maxima:
        return f"{TOPIC_ALIAS_MAXIMUM.label} is {MOST_ALIASES} in CONNACK"
    return ""


def _filters(packet: Packet) -> list[str]:
    return [each.filter for each in packet.subscriptions] if isinstance(packet, Subscribe) else []


def _qos(packet: Packet) -> int:
    if isinstance(packet, Connect):
        return packet.will_qos
    return packet.qos if isinstance(packet, Publish) else 0
