"""What `copy` is asked to do, as one value that the command makes of its flags."""

from collections.abc import Callable
from typing import NamedTuple

from ...live.net.target import Target
from ...spec.packets import Subscribe
from ..observe.shown import Showing


class CopyRequest(NamedTuple):
    """Which topics to copy from where to where, and how."""

    source: Target
    """The broker that messages are taken from."""
    target: Target
    """The broker that they are given to."""
    timeout_s: float
    subscribe: Subscribe
    rewrite: Callable[[str], str]
    """Makes the Topic Name of a copy of that of the message."""
    hops: int = 1
    """A message that was copied so often already is left out."""
    window: int = 1000
    """How many messages of QoS 1 and 2 may be under way at each end."""
    reconnects: int | None = 0
    outbox: str | None = None
    resend_doubtful: bool = False
    is_client_id_chosen: bool = False
    """Whether the user gave the Client Identifiers."""
    most_messages: int | None = None
    """End after so many messages."""
    duration_s: float | None = None
    """End after so many seconds."""
    shown: Showing = Showing()
