"""What both ends of a connection still owe each other, packet by packet, and what the client sends next."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from ..common.escape import escape
from ..script.writer import quoted
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
from ..spec.properties import AUTHENTICATION_METHOD, RECEIVE_MAXIMUM, TOPIC_ALIAS, value_of
from ..spec.reason_codes import FAILURE
from ..spec.versions import Direction

CONTINUE = 0x18
MOST_RECEIVED = 65_535
"""Receive Maximum where nothing names one (5.0: 3.1.2.11.3)."""
MOST_LISTED = 3
"""What is listed of many; the rest is counted."""
MOST_TOPIC = 64
"""Characters that are kept of the topic of an alias, which is only shown."""


class Owed(NamedTuple):
    """A packet that an end has to send."""

    name: str
    packet_id: int | None = None
    more: str = ""
    """Further words of the step."""

    @property
    def words(self) -> str:
        """The packet as a step without its mark."""
        return self.name.lower() + ("" if self.packet_id is None else f" i={self.packet_id}") + self.more


AUTH_OR_CONNACK = Owed("AUTH or CONNACK")
"""What the server owes after an AUTH of the client before it has accepted (5.0: 4.12)."""


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
        self.owed: dict[Direction, dict[Owed, int]] = {end: {} for end in Direction}
        """What each end has to send and how often, in the order in which it became due."""
        self.in_flight: dict[Direction, set[int]] = {end: set() for end in Direction}
        """Packet Identifiers of messages that each end has published and that are not acknowledged."""
        self.aliases: dict[Direction, dict[int, str]] = {end: {} for end in Direction}
        """The topic of each Topic Alias that each end has set."""
        self.maximum: dict[Direction, int] = dict.fromkeys(Direction, MOST_RECEIVED)
        """Receive Maximum that each end has set for the other."""
        self._method = ""
        """Authentication Method of the connection."""

    def packet(self, sender: Direction, packet: Packet) -> None:
        """Take a packet that passed."""
        other = sender.other
        if isinstance(packet, _FULFILS):
            self._fulfilled(sender, Owed(packet.name, packet.__dict__.get("packet_id")))
        if answer := _ANSWERS.get(type(packet)):
            owed = Owed(answer, packet.__dict__.get("packet_id"))
            self.owed[other][owed] = self.owed[other].get(owed, 0) + 1
        if isinstance(packet, Connect | Connack):
            self._method = value_of(packet.properties, AUTHENTICATION_METHOD, self._method)
            self.owed[sender].pop(AUTH_OR_CONNACK, None)
            self.maximum[sender] = value_of(packet.properties, RECEIVE_MAXIMUM, MOST_RECEIVED)
            self.connected = isinstance(packet, Connack) and not packet.reason_code
        elif isinstance(packet, Publish):
            self._published(sender, other, packet)
        elif isinstance(packet, Puback | Pubcomp):
            self.in_flight[other].discard(packet.packet_id)
        elif isinstance(packet, Pubrec):
            if (packet.reason_code or 0) < FAILURE:
                self.owed[other][Owed("PUBREL", packet.packet_id)] = 1
            else:
                self.in_flight[other].discard(packet.packet_id)
        elif isinstance(packet, Auth):
            self._authenticated(sender, packet)

    def _authenticated(self, sender: Direction, packet: Auth) -> None:
        """Take an AUTH: the client answers each one that says to continue, the server each one of the client."""
        self._method = value_of(packet.properties, AUTHENTICATION_METHOD, self._method)
        self.owed[sender] = {each: count for each, count in self.owed[sender].items() if "AUTH" not in each.name}
        if sender is Direction.CLIENT:
            self.owed[Direction.SERVER][Owed("AUTH") if self.connected else AUTH_OR_CONNACK] = 1
            return
        self.owed[sender].pop(Owed("CONNACK"), None)
        if packet.reason_code == CONTINUE:
            method = f" authentication_method={quoted(self._method)}" if self._method else ""
            self.owed[Direction.CLIENT][Owed("AUTH", more=f" c{CONTINUE:02x}{method}")] = 1

    def _published(self, sender: Direction, other: Direction, packet: Publish) -> None:
        alias = value_of(packet.properties, TOPIC_ALIAS)
        if alias is not None and packet.topic:
            self.aliases[sender][alias] = packet.topic[:MOST_TOPIC]
        if packet.qos and packet.packet_id is not None:
            self.in_flight[sender].add(packet.packet_id)
            self.owed[other].setdefault(Owed("PUBACK" if packet.qos == 1 else "PUBREC", packet.packet_id), 1)

    def _fulfilled(self, sender: Direction, owed: Owed) -> None:
        left = self.owed[sender].get(owed, 0) - 1
        if left > 0:
            self.owed[sender][owed] = left
        else:
            self.owed[sender].pop(owed, None)

    def free_identifier(self) -> int:
        """Return the lowest Packet Identifier that the client has not in use."""
        taken = self.in_flight[Direction.CLIENT] | {
            each.packet_id for each in self.owed[Direction.SERVER] if each.packet_id is not None
        }
        return next(number for number in range(1, len(taken) + 2) if number not in taken)

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield rows of what is known of both ends, escaped: its name, the client's and the server's."""
        client, server = Direction.CLIENT, Direction.SERVER
        yield "owes", self._owes(client), self._owes(server)
        yield "in flight", self._flight(client, server), self._flight(server, client)
        if any(self.aliases.values()):
            yield "aliases", self._aliases(client), self._aliases(server)

    def _aliases(self, end: Direction) -> str:
        aliases = self.aliases[end]
        shown = (f"{alias}={escape(topic)}" for alias, topic in aliases.items())
        return _listed(aliases, shown) or "none"

    def _owes(self, end: Direction) -> str:
        owed = self.owed[end]
        return _listed(owed, (each.words for each in owed)) or "nothing"

    def _flight(self, end: Direction, other: Direction) -> str:
        ids = self.in_flight[end]
        return f"{_listed(ids, map(str, sorted(ids))) or 'none'} of {self.maximum[other]}"


def _listed(all: Collection[object], texts: Iterator[str]) -> str:
    """Return the first of several texts, and how many more there are."""
    more = len(all) - MOST_LISTED
    return ", ".join(islice(texts, MOST_LISTED)) + (f" and {more:,} more" if more > 0 else "")
