"""What both ends of a connection still owe each other, packet by packet, and what the client sends next."""

from collections.abc import Iterator
from typing import NamedTuple

from ..spec.declare import Packet
from ..spec.packets import (
    Auth,
    Connack,
    Connect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from ..spec.properties import RECEIVE_MAXIMUM, TOPIC_ALIAS, value_of
from ..spec.versions import Direction

REFUSAL = 0x80
"""Reason Codes from here on refuse."""
CONTINUE = 0x18
MOST_RECEIVED = 65_535
"""Receive Maximum where nothing names one (5.0: 3.1.2.11.3)."""


class Owed(NamedTuple):
    """A packet that an end has to send."""

    name: str
    packet_id: int | None = None

    @property
    def words(self) -> str:
        """The packet as a step without its mark."""
        return self.name.lower() + ("" if self.packet_id is None else f" i={self.packet_id}")


_ANSWERS: dict[type[Packet], str] = {
    Connect: "CONNACK", Subscribe: "SUBACK", Unsubscribe: "UNSUBACK", Pingreq: "PINGRESP", Pubrel: "PUBCOMP",
}  # fmt: skip
"""What the other end answers, whatever the packet says."""
_FULFILS = (Connack, Suback, Unsuback, Pingresp, Puback, Pubrec, Pubrel, Pubcomp)


class ExchangeState:
    """The open exchanges of one connection, as its packets show them.

    Memory is bounded by the Packet Identifiers and Topic Aliases that there are.
    """

    def __init__(self) -> None:
        self.connected = False
        """Whether a CONNACK has accepted."""
        self.owed: dict[Direction, list[Owed]] = {end: [] for end in Direction}
        """What each end has to send, in the order in which it became due."""
        self.in_flight: dict[Direction, set[int]] = {end: set() for end in Direction}
        """Packet Identifiers of messages that each end has published and that are not acknowledged."""
        self.aliases: dict[Direction, dict[int, str]] = {end: {} for end in Direction}
        """The topic of each Topic Alias that each end has set."""
        self.maximum: dict[Direction, int] = dict.fromkeys(Direction, MOST_RECEIVED)
        """Receive Maximum that each end has set for the other."""

    def packet(self, sender: Direction, packet: Packet) -> None:
        """Take a packet that passed."""
        other = Direction.SERVER if sender is Direction.CLIENT else Direction.CLIENT
        if isinstance(packet, _FULFILS):
            self._fulfilled(sender, Owed(packet.name, packet.__dict__.get("packet_id")))
        if answer := _ANSWERS.get(type(packet)):
            self.owed[other].append(Owed(answer, packet.__dict__.get("packet_id")))
        if isinstance(packet, Connect | Connack):
            self.maximum[sender] = value_of(packet.properties, RECEIVE_MAXIMUM, MOST_RECEIVED)
            self.connected = isinstance(packet, Connack) and not packet.reason_code
        elif isinstance(packet, Publish):
            self._published(sender, other, packet)
        elif isinstance(packet, Puback | Pubcomp):
            self.in_flight[other].discard(packet.packet_id)
        elif isinstance(packet, Pubrec):
            if (packet.reason_code or 0) < REFUSAL:
                self.owed[other].append(Owed("PUBREL", packet.packet_id))
            else:
                self.in_flight[other].discard(packet.packet_id)
        elif isinstance(packet, Auth) and packet.reason_code and sender is Direction.CLIENT:
            self.owed[other].append(Owed("AUTH"))

    def _published(self, sender: Direction, other: Direction, packet: Publish) -> None:
        alias = value_of(packet.properties, TOPIC_ALIAS)
        if alias is not None and packet.topic:
            self.aliases[sender][alias] = packet.topic
        if packet.qos and packet.packet_id is not None:
            self.in_flight[sender].add(packet.packet_id)
            owed = Owed("PUBACK" if packet.qos == 1 else "PUBREC", packet.packet_id)
            if owed not in self.owed[other]:
                self.owed[other].append(owed)

    def _fulfilled(self, sender: Direction, owed: Owed) -> None:
        if owed in self.owed[sender]:
            self.owed[sender].remove(owed)

    def free_identifier(self) -> int:
        """Return the lowest Packet Identifier that the client has not in use."""
        taken = self.in_flight[Direction.CLIENT] | {
            each.packet_id for each in self.owed[Direction.SERVER] if each.packet_id is not None
        }
        return next(number for number in range(1, len(taken) + 2) if number not in taken)

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield rows of what is known of both ends: its name, the client's and the server's."""
        client, server = Direction.CLIENT, Direction.SERVER
        yield "owes", self._owes(client), self._owes(server)
        yield "in flight", self._flight(client, server), self._flight(server, client)
        if any(self.aliases.values()):
            yield "aliases", self._aliases(client), self._aliases(server)

    def _aliases(self, end: Direction) -> str:
        return ", ".join(f"{alias}={topic}" for alias, topic in self.aliases[end].items()) or "none"

    def _owes(self, end: Direction) -> str:
        return ", ".join(each.words for each in self.owed[end]) or "nothing"

    def _flight(self, end: Direction, other: Direction) -> str:
        ids = ", ".join(map(str, sorted(self.in_flight[end]))) or "none"
        return f"{ids} of {self.maximum[other]}"
