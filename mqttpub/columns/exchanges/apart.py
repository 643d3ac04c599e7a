"""Pairs the packets of each connection apart from those of all others, and finds what several connections share.

Packets are paired within a connection, sender and Packet Identifier. Other connections of the client matter only
where a packet may resume a message that one of them left unfinished, which is rare. From such a packet on, all of its
Packet Identifier are left to a `Pairing` that sees all connections of the client, and so are the messages that
connections leave unfinished.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..arrays import Mask
from ..arrow import encoded, numbers
from .handshakes import HandshakePackets, forgetting, handshake_packets
from .pair import Close, OpenExchanges, exchanges_of, no_exchanges
from .sessions import SessionEvent

Identifier = tuple[str, int]
"""The key of a connection; sender and Packet Identifier, as in SessionEvent.key."""


class SharedPackets(NamedTuple):
    """What a Pairing needs that sees all connections of a client."""

    packets: HandshakePackets
    clients: list[str]
    """The client of each packet."""
    closes: list[tuple[str, Close]]
    """Closes of connections with such packets, and the client."""
    events: list[SessionEvent]


class ApartPairing(OpenExchanges):
    """Pairs the packets of consecutive batches, connection by connection; can be pickled between them."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: dict[str, dict[int, str]] = {}
        """The client of what is paired elsewhere, by connection, and by sender and Packet Identifier."""

    def add(self, packets: pa.RecordBatch, closed: Iterable[Close] = ()) -> tuple[pa.RecordBatch, SharedPackets]:
        """Read rows of `packets` and the closes among them, as `Pairing.add` does.

        Returns the rows of `exchanges` for those that end, in the order in which they began, and what is shared.
        """
        closed = list(closed)
        legs, carried = self.open.joined(handshake_packets(packets)), self.open.count
        away = self._away(legs)
        own = _but(legs, away)
        exchanges = exchanges_of(own, closed, carried)
        if fresh := list(exchanges.resuming(carried)):
            for event in fresh:
                self._shared.setdefault(event.connection, {}).setdefault(event.key, event.client)
            chosen = np.isin(exchanges.identifier, exchanges.identifier[[event.leg for event in fresh]])
            away[np.flatnonzero(~away)[chosen]] = True
            carried -= int(np.count_nonzero(away[:carried]))
            own = _but(legs, away)
            exchanges = exchanges_of(own, closed, carried)
        events = [*forgetting(packets), *(event for event in exchanges.unfinished() if event.left)]
        shared = self._sent(legs, away, closed, events)
        self.keep(exchanges)
        return exchanges.rows(), shared

    def finish(self) -> pa.RecordBatch:
        """Return the exchanges that are still open, as `unfinished`."""
        if not self.open.count:
            return no_exchanges()
        exchanges = exchanges_of(self.open, self.closes_at_the_end(), self.open.count)
        self.keep(exchanges)
        return exchanges.rows()

    def _away(self, legs: HandshakePackets) -> Mask:
        """Return which packets are paired elsewhere."""
        away = np.zeros(legs.count, np.bool_)
        if not self._shared:
            return away
        index, words = encoded(legs.texts["connection"])
        rows = np.flatnonzero(np.isin(index, [number for number, word in enumerate(words) if word in self._shared]))
        for row, (connection, key) in zip(rows.tolist(), _identifiers(legs, rows), strict=True):
            away[row] = key in self._shared[connection]
        return away

    def _sent(
        self, legs: HandshakePackets, away: Mask, closed: list[Close], events: list[SessionEvent]
    ) -> SharedPackets:
        rows = np.flatnonzero(away)
        identifiers = _identifiers(legs, rows)
        clients = [self._shared[connection][key] for connection, key in identifiers]
        closes = [
            (client, each)
            for each in closed
            for client in sorted(set(self._shared.get(each.connection, {}).values()))
        ]  # fmt: skip
        # Packets of an earlier batch come before all closes.
        frames = np.where(rows < self.open.count, 0, legs["frame"][rows])
        self._forget(closed, zip(identifiers, frames.tolist(), strict=True))
        return SharedPackets(legs.take(rows).compact(), clients, closes, events)

    def _forget(self, closed: list[Close], sent: Iterable[tuple[Identifier, int]]) -> None:
        """Forget what is paired elsewhere of connections that ended; `sent` has the identifier and frame of packets.

        A connection may go on after a reset: what has a packet after the last close is still paired elsewhere.
        """
        last = {each.connection: each.frame for each in sorted(closed, key=lambda each: each.frame)}
        ended = {connection: self._shared.pop(connection, {}) for connection in last}
        for (connection, key), frame in sent:
            if connection in last and frame > last[connection]:
                self._shared.setdefault(connection, {})[key] = ended[connection][key]


def _but(legs: HandshakePackets, away: Mask) -> HandshakePackets:
    return legs.take(np.flatnonzero(~away)) if away.any() else legs


def _identifiers(legs: HandshakePackets, rows: np.ndarray) -> list[Identifier]:
    connections = legs.texts["connection"].take(numbers(rows)).to_pylist()
    keys = (legs["sender"] << 16 | legs["packet_id"])[rows].tolist()
    return list(zip(connections, keys, strict=True))
