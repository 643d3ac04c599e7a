"""What `conn` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...live.net.target import Target
from ..observe.shown import Showing


class ConnectionRequest(NamedTuple):
    """Where to connect, and what to do with the connection."""

    target: Target
    timeout_s: float
    pings: int = 0
    """Number of PINGREQ packets whose answers are timed."""
    ping_interval_s: float = 1.0
    stay_s: float | None = None
    """How many seconds to stay connected, infinite for until a signal; None to disconnect at once."""
    reauthenticate: bool = False
    """Whether to authenticate again once connected."""
    shown: Showing = Showing()
