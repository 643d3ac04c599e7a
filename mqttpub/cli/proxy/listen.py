"""Where clients of the proxy connect, and what lies between TCP and MQTT there."""

from typing import Any, NamedTuple

import click

from ...live.net.transport import authority
from ...live.net.urls import split
from ..flags.transport import PROTOCOLS

PLAIN = "mqtt"
LOOPBACK = "127.0.0.1"


class Listen(NamedTuple):
    """Protocol, address and port."""

    protocol: str
    """mqtt, mqtts, ws or wss."""
    host: str
    port: int
    """0 for a free one."""

    @property
    def is_websocket(self) -> bool:
        """Whether MQTT lies in a WebSocket."""
        return PROTOCOLS[self.protocol][0]

    @property
    def is_secure(self) -> bool:
        """Whether there is TLS."""
        return PROTOCOLS[self.protocol][1]

    @property
    def place(self) -> str:
        """The address as people write it."""
        shown = authority(self.host, self.port)
        return shown if self.protocol == PLAIN else f"{self.protocol}://{shown}"


class ListenType(click.ParamType[Listen]):
    """An address to listen on: PORT, HOST:PORT, or a URL."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Listen:
        """Return the parts."""
        if isinstance(value, Listen):
            return value
        protocol, found, place = str(value).rpartition("://")
        host, colon, port = place.rpartition(":")
        if not (port.isascii() and port.isdigit() and int(port[:6]) <= 0xFFFF):
            self.fail(f"'{value}' does not end with a port, 0 to 65535", param, ctx)
        if not colon:
            host = LOOPBACK
        try:
            scheme, where, _ = split(f"{protocol if found else PLAIN}://{host}", PROTOCOLS)
        except ValueError as error:
            self.fail(f"'{value}': {error}", param, ctx)
        return Listen(scheme, where.host, int(port))
