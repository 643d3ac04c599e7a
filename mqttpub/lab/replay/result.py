"""What a replay reports: how each connection went, and what was answered otherwise than in the capture."""

from collections import Counter
from typing import NamedTuple


class Difference(NamedTuple):
    """Something that went otherwise than in the capture."""

    connection: int
    """Number of the connection in the capture; 0 for the one that carries all messages."""
    client: str
    """Client Identifier in the replay."""
    what: str
    """Name of the packet that differs; `messages` for those that came for a subscription, `end` for the end of the
    connection, `connect` for one that was not made, `publish` for messages that were not sent."""
    message: str
    """A sentence about it, not escaped."""
    topic: str = ""
    captured: str = ""
    """What the capture has."""
    came: str = ""
    position: int = 0
    """The first message of the topic that differs, from 1; 0 where there is none."""
    times: int = 1
    """How often it happened."""


class SideResult(NamedTuple):
    """How a connection went."""

    connection: int
    client: str
    sent: int
    """PUBLISH packets that were sent."""
    acknowledged: int
    """Those of QoS 1 and 2 that were acknowledged with success."""
    refused: Counter[str]
    """Reason Codes of those that were refused, as text."""
    unsent: int
    """PUBLISH packets of the capture that were not sent, because the connection was over."""
    captured: int
    """Messages that came for subscriptions in the capture."""
    came: int
    compared: bool
    """Whether the messages that came were compared."""
    differences: int


class Totals(NamedTuple):
    """A whole replay."""

    connections: int
    """Those that were opened."""
    sent: int
    acknowledged: int
    refused: int
    came: int
    unsent: int
    seconds: float
    captured_s: float
    """Seconds between the first and the last packet of the capture that was played."""
    left_out: Counter[str]
    """What was not played, by its reason."""
    differences: int
    complete: bool
    """Whether the capture was played to its end."""
