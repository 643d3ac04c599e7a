"""How the bytes travel: over TCP, a unix socket or WebSocket, with TLS or without, directly or through a proxy."""

from typing import NamedTuple

from ...spec.declare import masked_repr
from .urls import shown_path

TLS_PORT = 8883
"""The registered port of MQTT over TLS."""
_PORTS = {("tcp", False): 1883, ("tcp", True): TLS_PORT, ("websocket", False): 80, ("websocket", True): 443}


class Tls(NamedTuple):
    """What TLS uses and trusts; without a CA file or folder it trusts the CAs of the system."""

    ca_file: str | None = None
    ca_path: str | None = None
    cert: str | None = None
    key: str | None = None
    key_password: bytes | None = None
    alpn: tuple[str, ...] = ()
    server_name: str | None = None
    """Name to ask for and to check; None for that of the host."""
    minimum: str | None = None
    """Lowest version: 1.2 or 1.3."""
    maximum: str | None = None
    ciphers: str | None = None
    key_log: str | None = None
    """File to which the session keys are appended, for tshark."""
    insecure: bool = False
    """Whether to accept any certificate; with a CA file or folder, a certificate of these CAs for any name."""
    any_name: bool = False
    """Whether to accept a certificate for any name."""

    def __repr__(self) -> str:
        return masked_repr(self, self._asdict(), ("key_password",))

    @property
    def verifies_chain(self) -> bool:
        """Whether the certificate must lead to a CA that is trusted."""
        return not self.insecure or bool(self.ca_file or self.ca_path)

    @property
    def verifies_name(self) -> bool:
        """Whether the certificate must be for the name of the broker."""
        return not (self.insecure or self.any_name)


class Transport(NamedTuple):
    """The way to the broker, apart from its host and port."""

    kind: str = "tcp"
    """tcp, websocket or unix."""
    path: str = ""
    """Path of the unix socket, or of the WebSocket's URL."""
    headers: tuple[tuple[str, str], ...] = ()
    """More headers for the WebSocket's request."""
    tls: Tls | None = None
    proxy: str | None = None
    """URL of a proxy: socks5, socks5h, socks4 or http."""
    bind: str | None = None
    """Local address to connect from."""

    def __repr__(self) -> str:
        # Tokens stand in the query of a path, in headers, and in the URL of a proxy.
        return masked_repr(self, {**self._asdict(), "path": shown_path(self.path)}, ("headers", "proxy"))

    @property
    def default_port(self) -> int:
        """The port of a broker if none is given."""
        return _PORTS.get((self.kind, self.tls is not None), 1883)

    def place(self, host: str, port: int) -> str:
        """Return where a connection goes, as people write it."""
        if self.kind == "unix":
            return self.path
        shown = authority(host, port)
        if self.kind == "websocket":
            return f"{'wss' if self.tls else 'ws'}://{shown}{shown_path(self.path)}"
        return shown


def authority(host: str, port: int) -> str:
    """Return host and port as URLs write them, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
