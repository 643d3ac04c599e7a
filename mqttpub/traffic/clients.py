"""Which client a connection belongs to."""

from ..common.lru import WeightedLru
from ..spec.declare import Packet
from ..spec.packets import Connack, Connect
from ..spec.properties import ASSIGNED_CLIENT_IDENTIFIER, value_of
from .events import Endpoints, PacketSeen

MEMORY = 4 << 20
"""Most characters of Client Identifiers that are remembered; each entry counts `_ENTRY` more."""
_ENTRY = 128
LONGEST_NAME = 256
"""Most characters of a name from a peer that counts are kept by."""


class Clients:
    """Client Identifiers by connection, from CONNECT or as the server assigned them in CONNACK (5.0: 3.2.2.3.7)."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: WeightedLru[int, str] = WeightedLru(MEMORY)

    def packet(self, event: PacketSeen, packet: Packet | None) -> None:
        """Read a packet; only CONNECT and CONNACK have an identifier."""
        name = ""
        if isinstance(packet, Connect):
            name = packet.client_id
        elif isinstance(packet, Connack):
            name = value_of(packet.properties, ASSIGNED_CLIENT_IDENTIFIER, "")
        if name:
            self._names.put(event.ends.number, name, len(name) + _ENTRY)

    def name(self, ends: Endpoints) -> str:
        """Return the Client Identifier; empty if it is unknown."""
        return self._names.get(ends.number) or ""

    def end(self, ends: Endpoints) -> None:
        """Forget a connection."""
        self._names.pop(ends.number)


def display_name(client: str, ends: Endpoints) -> str:
    """Return a name for the client: its identifier, else its address, else the number of the connection."""
    return client or ends.client or f"connection {ends.number}"


def shortened(name: str) -> str:
    """Return a name from a peer, of at most LONGEST_NAME characters and the number of those left out."""
    left = len(name) - LONGEST_NAME
    return f"{name[:LONGEST_NAME]}...+{left}" if left > 0 else name
