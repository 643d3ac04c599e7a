"""The proxy: accepts clients, and connects each of them to the broker."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from ...live.net.target import Target
from ...live.net.transport import authority
from ...live.tap import Buffering, Observer
from ..faults.faults import Faults
from ..serving.layers import PLAIN, Layers
from ..serving.server import Address, Server
from .intercept import Interception
from .link import LinkEvent, ProxyLink

MOST_CONNECTIONS = 1000


def _nothing(_: str) -> None:
    return None


class ProxySettings(NamedTuple):
    """What a proxy does besides passing bytes on."""

    timeout_s: float = 30.0
    """How long a connection to the broker, and its first answer, may take."""
    most_connections: int = MOST_CONNECTIONS
    observe: Callable[[str], Observer | None] = _nothing
    """Returns the observer of the connection of a label."""
    faults: Faults | None = None
    """Rules that act on what passes."""
    interception: Interception | None = None
    """Packets that the user holds."""
    shows: Buffering | None = None
    """What gathers packets and has to be asked to show them."""


PLAINLY = ProxySettings()


class ProxyServer(Server):
    """Listens on an address, and passes on what clients and the broker of a target send each other."""

    def __init__(
        self, address: Address, target: Target, on_event: Callable[[LinkEvent], None],
        settings: ProxySettings = PLAINLY, *, layers: Layers = PLAIN,
    ) -> None:  # fmt: skip
        super().__init__(address, layers=layers)
        self.target = target
        self.settings = settings
        self.timeout_s = settings.timeout_s
        self.observe = settings.observe
        self.faults = settings.faults
        self.interception = settings.interception
        self.on_event = on_event
        self.links: dict[ProxyLink, None] = {}
        """The connections that are open."""
        self._numbers = itertools.count(1)

    def accepted(self, sock: Any) -> None:
        """Serve a client, if there is room for it."""
        try:
            place = sock.getpeername()[:2]
        except OSError:  # gone again
            sock.close()
            return
        client = authority(*place)
        if len(self.links) >= self.settings.most_connections:
            sock.close()
            words = f"{client} was turned away: {len(self.links):,} connections are open"
            self.on_event(LinkEvent("refused", "", words, {"client": client}))
            return
        label = str(next(self._numbers))
        self.on_event(LinkEvent("opened", label, f"opened by {client}", {"client": client}))
        ProxyLink(self, label, sock, place)

    def settle(self) -> None:
        """Show what is gathered, when it is due."""
        if shows := self.settings.shows:
            due_s = shows.show_in_s()
            if due_s is None:
                return
            if due_s <= 0:
                shows.flush()
            else:
                self.timers.set("show", self.clock() + due_s, shows.flush)

    def closing(self) -> None:
        """Write what waits, as far as the ends take it, and close them."""
        for link in list(self.links):
            link.close("closed", None, "closed by the proxy")
            for end in list(link.ends.values()):
                end.socket.flush()
                end.socket.close("the proxy stops")
