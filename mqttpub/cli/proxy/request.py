"""What the proxy is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...lab.faults.faults import Faults
from ...lab.serving.layers import Layers
from ...lab.serving.server import Address
from ...live.net.target import Target
from ...traffic.query import PacketFilter
from ..observe.shown import Showing
from .listen import Listen


class ProxyRequest(NamedTuple):
    """Where to listen, which broker to connect to, and what is shown of it."""

    listen: Listen
    address: Address
    """The same for the system."""
    layers: Layers
    target: Target
    """The broker; clients bring their own CONNECT."""
    timeout_s: float
    most_connections: int
    faults: Faults | None = None
    """Rules for what passes."""
    intercept: PacketFilter | None = None
    """Packets that the user holds on a terminal."""
    shown: Showing = Showing()
