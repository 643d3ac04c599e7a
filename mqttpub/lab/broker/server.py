"""The embedded broker: a small one on loopback, for experiments and tests."""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType

from .connection import ClientConnection
from .dispatch import receive
from .hub import Connection, Hub, OnEvent
from .limits import LIMITS, Limits
from .refusal import STOPPING, UNSPECIFIED

CHUNK = 1 << 16
"""Bytes that one client may send before the others get their turn."""
POLL = 0.2
"""Seconds between two looks at whether to stop serving."""
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


def loopback(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """Return family and address for a socket of `host`; raises ValueError unless it is a loopback address."""
    if not 0 <= port <= 0xFFFF:
        raise ValueError(f"{port} is not a port (0 to 65535)")
    try:  # as bytes, because a name as text loads the tables of international names
        found = socket.getaddrinfo(host.encode("ascii") or b"0.0.0.0", port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise ValueError(f"{host!a} cannot be resolved: {error}") from None
    addresses = [(family, (str(address[0]), int(address[1]))) for family, _, _, _, address in found]
    outside = [address for _, (address, _) in addresses if not (address.startswith("127.") or address == "::1")]
    if outside:
        raise ValueError(f"{host!a} is {outside[0]}, but the embedded broker listens on loopback addresses only")
    return min(addresses, key=lambda each: each[0] != socket.AF_INET)


class ClientSocket:
    """The socket of one connection."""

    def __init__(self, broker: "Broker", sock: socket.socket) -> None:
        self.broker = broker
        self.sock = sock
        self.connection = ClientConnection(broker.hub)
        self.ending = False
        """Whether nothing more is written, and only the client's close is awaited."""
        self.events = READ
        broker.selector.register(sock, READ, self.ready)

    def ready(self, mask: int) -> None:
        """Read and write what the socket allows."""
        if mask & WRITE:
            self.flush()
        if mask & READ:
            self.read()

    def read(self) -> None:
        """Read from the socket; bytes received after the end are discarded."""
        try:
            data = self.sock.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self.gone(f"the connection broke: {error.strerror}")
            return
        if not data:
            self.gone("the client closed the connection")
        elif not self.ending:
            self.take(data)

    def take(self, data: bytes) -> None:
        """Pass on received bytes; a defect of the broker ends one connection, not the broker."""
        try:
            receive(self.connection, data)
        except Exception as error:
            self.connection.refuse(UNSPECIFIED, f"the broker failed: {error!r}")

    def flush(self) -> None:
        """Write pending output; once all is written and the connection has ended, shut it down."""
        output = self.connection.output
        try:
            while output:
                del output[: self.sock.send(output)]
        except BlockingIOError:
            pass
        except OSError as error:
            self.gone(f"the connection broke: {error.strerror}")
            return
        if self.connection.closing is not None:
            self.finish()
        self.listen(READ | WRITE if output else READ)

    def finish(self) -> None:
        """Detach the session; the client gets `linger` seconds to read the last packets."""
        if not self.ending:
            self.connection.lost("closed")
            self.ending = True
            hub = self.broker.hub
            hub.timers.set(self, hub.clock() + hub.limits.linger, lambda: self.gone("closed"))
        if not self.connection.output:
            self.half_close()

    def half_close(self) -> None:
        """Shut down the sending side; a full close now could discard data that the client has not read."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.gone("closed")

    def listen(self, events: int) -> None:
        """Choose what to be woken for."""
        if events != self.events and self.sock.fileno() >= 0:
            self.events = events
            self.broker.selector.modify(self.sock, events, self.ready)

    def gone(self, why: str) -> None:
        """Close the socket; more than once does nothing."""
        if self.broker.clients.pop(self.connection, None):
            self.broker.hub.timers.cancel(self)
            self.broker.selector.unregister(self.sock)
            self.sock.close()
            self.connection.lost(why)


class Broker:
    """A broker for MQTT 3.1, 3.1.1 and 5.0 on a loopback address; port 0 takes a free one.

    `with Broker() as broker:` runs it in a thread; `serve` runs it here. Sessions and retained
    messages live as long as the object, so it can be stopped and started again on its port.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, *, on_event: OnEvent | None = None,
        limits: Limits = LIMITS, users: Mapping[str, bytes] | None = None,
    ) -> None:  # fmt: skip
        self._family, self._address = loopback(host, port)
        self.hub = Hub(time.monotonic, limits=limits, on_event=on_event, users=users)
        self.clients: dict[Connection, ClientSocket] = {}
        self.selector: selectors.BaseSelector
        self._thread: threading.Thread | None = None
        self._runner = 0
        """Identifier of the thread that runs it, if one does."""
        self._stopping = False
        self._open = False

    @property
    def host(self) -> str:
        """The address it listens on."""
        return self._address[0]

    @property
    def port(self) -> int:
        """The port it listens on; 0 before the first `open` if it was to choose one."""
        return self._address[1]

    def open(self) -> None:
        """Listen; connections are answered once the broker runs. Raises OSError, for a port in use."""
        if self._open:
            return
        listener = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(self._address)
            listener.listen(128)
        except BaseException:
            listener.close()
            raise
        listener.setblocking(False)
        self._address = listener.getsockname()[:2]
        self._listener = listener
        self._waker, self._woken = socket.socketpair()
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, READ, self._accept)
        self.selector.register(self._woken, READ, lambda mask: self._woken.recv(64))
        self._stopping, self._open = False, True

    def start(self) -> "Broker":
        """Run in a thread of its own."""
        if not self._thread:
            self.open()
            self._thread = threading.Thread(target=self.serve, name="mqttpub broker", daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Tell everyone, close everything, and wait for the thread."""
        thread, self._thread = self._thread, None
        if not (thread or self._runner):
            self._close()
            return
        self._stopping = True
        if self._runner != threading.get_ident():
            self._wake()
        if thread and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> "Broker":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def serve(self, until: Callable[[], bool] | None = None) -> None:
        """Run here until `until` says so, or `stop` is called; then close everything."""
        self.open()
        self._runner = threading.get_ident()
        try:
            while not (self._stopping or (until and until())):
                self.turn(POLL if until else None)
        finally:
            self._runner = 0
            self._close()

    def turn(self, longest: float | None) -> None:
        """Wait until there is something to do, for `longest` seconds at most, and do it."""
        timers = self.hub.timers
        due = timers.next()
        waits = [] if longest is None else [longest]
        waits += [] if due is None else [max(0.0, due - self.hub.clock())]
        for key, mask in self.selector.select(min(waits, default=None)):
            key.data(mask)
        timers.run(self.hub.clock())
        self._flush()

    def _flush(self) -> None:
        dirty = self.hub.dirty
        while dirty:
            connection, _ = dirty.popitem()
            client = self.clients.get(connection)
            if client:
                client.flush()

    def _accept(self, mask: int) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:  # gone again, or no file descriptor left: one will be free in a while
            time.sleep(0.01)
            return
        if len(self.clients) >= self.hub.limits.clients:
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = ClientSocket(self, sock)
        self.clients[client.connection] = client

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # it is just closing
            self._waker.send(b"x")

    def _close(self) -> None:
        if not self._open:
            return
        self._open = False
        for connection, client in list(self.clients.items()):
            if connection.session:
                connection.session.will = None
                connection.dismiss(STOPPING, "the broker stops")
            client.flush()
            client.gone("the broker stops")
        self.hub.dirty.clear()
        self.selector.close()
        for sock in (self._listener, self._waker, self._woken):
            sock.close()
