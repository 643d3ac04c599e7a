"""Acknowledged messages that the broker may yet lose.

A broker that writes its state to disk after it has acknowledged loses, when it is killed,
what it acknowledged last. mosquitto writes between the packets of a connection: its answer
to a packet sent after an acknowledgement shows that what was acknowledged is on disk. Until
then a message is not forgotten, and goes on again where the broker was lost: at QoS 1 from
PUBLISH, at QoS 2 from PUBREL, which cannot bring the message twice (5.0: 3.7.2.1, 4.4).
"""

from collections import deque
from collections.abc import Iterator

from .flows import Exchange, Sender


class Settling:
    """Finished exchanges in the order of their ends, until a later answer shows that they are safe."""

    def __init__(self) -> None:
        self.exchanges: deque[Exchange] = deque()

    def settle(self, ended: Exchange) -> Iterator[Exchange]:
        """Take an exchange that has ended and yield those that its answer shows to be safe."""
        while self.exchanges and self.exchanges[0].acked_in < ended.sent_in:
            yield self.exchanges.popleft()
        if ended.qos and not ended.refused:
            self.exchanges.append(ended)
        else:
            yield ended

    def rest(self) -> Iterator[Exchange]:
        """Yield all: the broker has answered something that was sent after the last of them ended."""
        while self.exchanges:
            yield self.exchanges.popleft()

    def reopen(self, sender: Sender, session_present: bool) -> Iterator[Exchange]:
        """Give them to the sender for a new connection; yield those that cannot go on.

        These have ended: a QoS 2 message without its session, one whose Packet Identifier
        belongs to another by now.
        """
        again, self.exchanges = self.exchanges, deque()
        for exchange in again:
            if not (session_present or exchange.qos == 1) or not sender.reopen(exchange):
                yield exchange
