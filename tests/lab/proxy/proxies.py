"""A proxy under test, which notes what happens."""

from typing import Any

from mqttpub.lab.proxy.link import LinkEvent
from mqttpub.lab.proxy.proxy import ProxyServer, ProxySettings
from mqttpub.lab.serving.layers import PLAIN, Layers
from mqttpub.lab.serving.server import loopback
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Transport
from tests.lab.serving.clients import TCP


class NotingProxy(ProxyServer):
    """A proxy to a port of loopback; use it in a `with`."""

    def __init__(
        self,
        to: int,
        transport: Transport = TCP,
        layers: Layers = PLAIN,
        *,
        timeout_s: float = 5.0,
        **more: Any,
    ) -> None:
        self.events: list[LinkEvent] = []
        target = Target("127.0.0.1", to, transport=transport)
        settings = ProxySettings(timeout_s=timeout_s, **more)
        super().__init__(
            loopback("127.0.0.1", 0, "the proxy"), target, self.events.append, settings, layers=layers
        )  # fmt: skip

    def ends(self) -> list[str]:
        """Return how connections ended, without their numbers of bytes."""
        return [each.words.split(";")[0] for each in self.events if each.kind != "opened"]
