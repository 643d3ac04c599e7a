"""The connection that paho makes, with a tap around its socket."""

from typing import Any, NamedTuple

from paho.mqtt.client import Client as PahoClient
from paho.mqtt.enums import CallbackAPIVersion

from ..codec.encode import encode
from ..spec.packets import Connect, Disconnect
from ..spec.terms import Version
from .failures import NotConnected
from .tap import Observer, Tap


class Target(NamedTuple):
    """Where to connect, and what to say first and last."""

    host: str = "localhost"
    port: int = 1883
    version: Version = Version.V5
    connect: Connect = Connect()
    """The CONNECT to send."""
    disconnect: Disconnect = Disconnect()
    """The DISCONNECT to send at the end."""

    @property
    def place(self) -> str:
        """Host and port as people write them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def changed(self, **connect: Any) -> "Target":
        """Return the target with some values of its CONNECT changed."""
        return self._replace(connect=self.connect.replace(**connect))


class Client(PahoClient):
    """paho's client; every byte of its socket passes the tap.

    paho makes the socket, keeps the connection alive and subscribes. What its CONNECT would
    say is replaced by our own, because it cannot say all that a CONNECT may.
    """

    def __init__(self, target: Target, observer: Observer | None) -> None:
        super().__init__(
            CallbackAPIVersion.VERSION2,
            client_id=target.connect.client_id or "empty",
            protocol=int(target.version),  # type: ignore[arg-type]
            reconnect_on_failure=False,
        )
        self.tap: Tap | None = None
        self._target = target
        self._observer = observer

    def _create_socket(self) -> Any:
        sock: Any = super()._create_socket()
        target = self._target
        self.tap = Tap(sock, target.version, self._observer, connect=encode(target.connect, target.version))
        return self.tap


def open_connection(target: Target, timeout: float, observer: Observer | None = None) -> tuple[Client, Tap]:
    """Connect and send CONNECT; raises NotConnected within `timeout` seconds."""
    client = Client(target, observer)
    client.connect_timeout = timeout
    try:
        _look_up(target, timeout)
        client.connect(target.host, target.port, target.connect.keep_alive)
    except (OSError, UnicodeError) as error:
        raise NotConnected(_why(error, target, timeout)) from error
    assert client.tap is not None
    _send_at_once(client.tap.sock)
    return client, client.tap


def _send_at_once(sock: Any) -> None:
    import socket

    if getattr(sock, "family", None) in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _look_up(target: Target, timeout: float) -> None:
    """Resolve the name in a thread, because a silent name server cannot be interrupted."""
    import socket
    import threading

    if target.host == "localhost" or ":" in target.host or target.host.replace(".", "").isdigit():
        return
    failed: list[OSError | UnicodeError] = []

    def resolve() -> None:
        try:
            socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            failed.append(error)

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        raise TimeoutError
    if failed:
        raise failed[0]


def _why(error: OSError | UnicodeError, target: Target, timeout: float) -> str:
    import socket

    if isinstance(error, (socket.gaierror, UnicodeError)):
        return f"host '{target.host}' is not known"
    if isinstance(error, TimeoutError):
        return f"no answer from {target.place} within {timeout:g} s"
    return f"cannot connect to {target.place}: {error.strerror or error}"
