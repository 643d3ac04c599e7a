"""The connection that paho makes, with a tap around its socket."""

from typing import Any, NamedTuple

from paho.mqtt.client import Client as PahoClient
from paho.mqtt.enums import CallbackAPIVersion

from ..spec.terms import Version
from .failures import NotConnected
from .tap import Observer, Tap


class Target(NamedTuple):
    """Where to connect and as whom."""

    host: str = "localhost"
    port: int = 1883
    version: Version = Version.V5
    client_id: str = ""
    username: str | None = None
    password: bytes | None = None
    keep_alive: int = 60
    clean_start: bool = True

    @property
    def place(self) -> str:
        """Host and port as people write them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Client(PahoClient):
    """paho's client; every byte of its socket passes the tap."""

    def __init__(self, target: Target, observer: Observer | None) -> None:
        old = target.version < Version.V5
        super().__init__(
            CallbackAPIVersion.VERSION2,
            client_id=target.client_id,
            clean_session=target.clean_start if old else None,
            protocol=int(target.version),  # type: ignore[arg-type]
            reconnect_on_failure=False,
        )
        self.tap: Tap | None = None
        self._target = target
        self._observer = observer
        if target.username is not None:
            self.username_pw_set(target.username, target.password)  # type: ignore[arg-type]

    def _create_socket(self) -> Any:
        sock: Any = super()._create_socket()
        self.tap = Tap(sock, self._target.version, self._observer)
        return self.tap


def open_connection(target: Target, timeout: float, observer: Observer | None = None) -> tuple[Client, Tap]:
    """Connect and send CONNECT; raises NotConnected within `timeout` seconds."""
    client = Client(target, observer)
    client.connect_timeout = timeout
    start: Any = {} if target.version < Version.V5 else {"clean_start": target.clean_start}
    try:
        _look_up(target, timeout)
        client.connect(target.host, target.port, target.keep_alive, **start)
    except (OSError, UnicodeError) as error:
        raise NotConnected(_why(error, target, timeout)) from error
    assert client.tap is not None
    import socket

    client.tap.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client, client.tap


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
