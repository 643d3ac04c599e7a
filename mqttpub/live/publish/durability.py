"""Acknowledged messages that the broker may still lose.

A broker that writes its state to disk after it has acknowledged loses, when it is killed,
what it acknowledged last. mosquitto writes between the packets of a connection: its answer
to a packet sent after an acknowledgement shows that what was acknowledged is on disk. Until
then a message is kept, and is sent again if the broker was lost: at QoS 1 from PUBLISH, at
QoS 2 from PUBREL, which cannot deliver the message twice (5.0: 3.7.2.1, 4.4).
"""

from collections import deque
from collections.abc import Iterator

from .outgoing import OutgoingMessage


class AckedUntilSafe:
    """Ended messages in the order of their ends, until a later answer shows that they are safe."""

    def __init__(self) -> None:
        self.messages: deque[OutgoingMessage] = deque()

    def settle(self, ended: OutgoingMessage) -> Iterator[OutgoingMessage]:
        """Add a message that has ended and yield those that its answer shows to be safe."""
        while self.messages and self.messages[0].acked_in < ended.sent_in:
            yield self.messages.popleft()
        if ended.qos and not ended.refused:
            self.messages.append(ended)
        else:
            yield ended

    def rest(self) -> Iterator[OutgoingMessage]:
        """Yield all: the broker has answered something that was sent after the last of them ended."""
        while self.messages:
            yield self.messages.popleft()
