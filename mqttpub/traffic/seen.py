"""What filters look at, on a connection that is on the line."""

from ..codec.decode import decode_packet
from ..codec.stream import Frame
from ..spec.packets import Publish
from ..spec.versions import Version
from .aliases import Aliases
from .clients import Clients
from .events import Endpoints, PacketSeen
from .query import Candidate


class SeenConnection:
    """Makes of each packet of a connection what the terms of a filter look at."""

    def __init__(self, clients: Clients, ends: Endpoints) -> None:
        self.ends = ends
        self._clients = clients
        """Those of all connections of the run."""
        self._aliases = Aliases()

    def candidate(self, frame: Frame) -> Candidate:
        """Return what a filter looks at; every packet of the connection is to come here, in its order."""
        version, direction = frame.version or Version.V5, frame.direction
        packet = decode_packet(frame.data, version)
        event = PacketSeen(self.ends, None, 0, frame.data, frame.offset, direction, version, frame.version is None)
        topic = self._aliases.resolve(packet, direction) if direction and isinstance(packet, Publish) else None
        self._clients.packet(event, packet)
        return Candidate(event, packet, topic, self._clients.name(self.ends), ())

    def over(self) -> None:
        """Forget the connection."""
        self._clients.end(self.ends)
