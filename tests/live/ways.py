"""Ways to the broker of the tests, and what is sent on them."""

import ssl
import subprocess
from collections.abc import Callable
from typing import Any

from mqttpub.live.net.dial import Route
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Tls, Transport
from mqttpub.live.publish.publisher import publish_all
from mqttpub.live.publish.sender import OutgoingMessage, Publication
from mqttpub.spec.packets import Publish
from tests.build.brokers import Broker
from tests.build.certificates import PASSWORD
from tests.fakes import Peer, Script, answering

TIMEOUT = 5.0
SHORT = 0.5
"""Seconds to give a peer that says nothing."""
TLS_LINE = "TLS 1.3, TLS_AES_256_GCM_SHA384, peer CN=localhost, valid for 364 more days, verified"


class Watcher:
    """Observes a connection; keeps the lines about its layers."""

    def __init__(self) -> None:
        self.layers: list[str] = []
        self.packets = 0

    def connected(self, route: Route) -> None:
        assert not self.packets, "the layers are shown before CONNECT"
        self.layers = route.layers

    def __call__(self, now: float, frame: Any) -> None:
        self.packets += 1


def publish(
    target: Target, payload: bytes = b"x", *, qos: int = 1, timeout: float = TIMEOUT, **more: Any
) -> OutgoingMessage:
    """Publish one retained message and return its exchange."""
    target = target.changed(client_id="test")
    message = Publication.of(Publish(topic="way", qos=qos, retain=bool(payload), payload=payload), target.version)
    (exchange,) = publish_all(target, [message], timeout_s=timeout, **more)
    return exchange


def layers(target: Target) -> list[str]:
    """Return the lines about the layers of a connection."""
    watcher = Watcher()
    publish(target, observer=watcher)
    assert watcher.packets
    return watcher.layers


def kept(brokers: Broker) -> bytes:
    """Return what the broker keeps of the topic."""
    command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(brokers.ports["tcp"]), "-t", "way", "-C", "1", "-N"]
    return subprocess.run(command, capture_output=True, check=True, timeout=20).stdout


Way = Callable[[Broker], Target]
TCP = Transport()


def to(brokers: Broker, kind: str, transport: Transport = TCP, host: str = "localhost") -> Target:
    """Return a target on a listener of the broker."""
    return Target(host, brokers.ports[kind], transport=transport)


def trusting(brokers: Broker, **more: Any) -> Tls:
    """Return what TLS needs to trust the broker."""
    return Tls(ca_file=str(brokers.ca.cert), **more)


def presenting(brokers: Broker) -> Tls:
    """Return the same, with our certificate behind a password."""
    return trusting(brokers, cert=str(brokers.locked.cert), key=str(brokers.locked.key), key_password=PASSWORD.encode())


def websocket(tls: Tls | None = None, path: str = "/mqtt", **more: Any) -> Transport:
    """Return a transport by WebSocket."""
    return Transport("websocket", path, tls=tls, **more)


def insecurely(kind: str) -> Way:
    return lambda brokers: to(brokers, kind, Transport(tls=Tls(insecure=True)))


WAYS: dict[str, Way] = {
    "TCP": lambda brokers: to(brokers, "tcp"),
    "IPv6": lambda brokers: to(brokers, "ipv6", host="::1"),
    "bind": lambda brokers: to(brokers, "tcp", Transport(bind="127.0.0.9")),
    "unix": lambda brokers: Target(transport=Transport("unix", str(brokers.socket))),
    "TLS": lambda brokers: to(brokers, "tls", Transport(tls=trusting(brokers))),
    "TLS, address": lambda brokers: to(brokers, "tls", Transport(tls=trusting(brokers)), host="127.0.0.1"),
    "TLS, IPv6": lambda brokers: to(brokers, "tls", Transport(tls=trusting(brokers)), host="::1"),
    "TLS 1.2": lambda brokers: to(brokers, "tls", Transport(tls=trusting(brokers, maximum="1.2"))),
    "TLS, certificate": lambda brokers: to(brokers, "client", Transport(tls=presenting(brokers))),
    "TLS, SNI": lambda brokers: to(
        brokers, "elsewhere", Transport(tls=trusting(brokers, server_name="elsewhere.example"))
    ),
    "TLS, insecure": insecurely("tls"),
    "TLS, insecure, expired": insecurely("expired"),
    "TLS, insecure, another name": insecurely("elsewhere"),
    "WS": lambda brokers: to(brokers, "ws", websocket()),
    "WS, IPv6": lambda brokers: to(brokers, "ws", websocket(), host="::1"),
    "WSS": lambda brokers: to(brokers, "wss", websocket(trusting(brokers))),
    "WSS, IPv6": lambda brokers: to(brokers, "wss", websocket(trusting(brokers)), host="::1"),
    "WSS, certificate": lambda brokers: to(brokers, "wss", websocket(presenting(brokers))),
}
LARGE = ["TCP", "unix", "TLS", "WS", "WSS"]


# scripts for a peer


def secured(brokers: Broker, script: Script, *alpn: str, maximum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Script:
    """Return a script that does the handshake of a server before the one given."""
    pair = brokers.ca.signed("scripted")

    def secure(peer: Peer) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.cert, pair.key)
        context.maximum_version = maximum
        if alpn:
            context.set_alpn_protocols(alpn)
        try:
            peer.sock = context.wrap_socket(peer.sock, server_side=True)
        except ssl.SSLError:
            return
        with peer.sock:
            script(peer)

    return secure


puback = answering("40 02 00 01", "")
"""Accepts a connection and a message."""


def saying(data: bytes) -> Script:
    """Return a script that says something to any request, and closes."""

    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.sock.sendall(data)

    return script


def ws(port: int, **more: Any) -> Target:
    """Return a target on a scripted WebSocket."""
    return Target("127.0.0.1", port, transport=websocket(**more))
