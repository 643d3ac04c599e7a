"""A listener, and the loop that serves its connections."""

import selectors
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from ...live.shield import SHIELD
from .layers import PLAIN, Layering
from .posting import PostedActions
from .served_socket import READ, ServedSocket
from .timers import Timers

POLL = 0.2
"""Seconds between two looks at whether to stop serving."""
BACKLOG = 1024
"""Clients that may wait to be accepted, if the system allows so many; those beyond are let in a second later."""
MOST_ACCEPTED = 16
"""Clients that are accepted in a row, before the others get their turn."""
Address = tuple[socket.AddressFamily, tuple[str, int]]
"""Family, host and port of a socket."""


def loopback(host: str, port: int, who: str) -> Address:
    """Return family and address for a socket of `host`; raises ValueError unless it is a loopback address.

    `who` listens there, for sentences.
    """
    found = _resolved(host, port)
    outside = [address for _, (address, _) in found if not (address.startswith("127.") or address == "::1")]
    if outside:
        raise ValueError(f"{host!a} is {outside[0]}, but {who} listens on loopback addresses only")
    return found[0]


def anywhere(host: str, port: int) -> Address:
    """Return family and address for a socket of `host`, which others may reach; raises ValueError."""
    return _resolved(host, port)[0]


def _resolved(host: str, port: int) -> list[Address]:
    """Return the addresses of a host, those of IPv4 first; raises ValueError."""
    if not 0 <= port <= 0xFFFF:
        raise ValueError(f"{port} is not a port (0 to 65535)")
    try:  # as bytes, because a name as text loads the tables of international names
        found = socket.getaddrinfo(host.encode("ascii") or b"0.0.0.0", port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise ValueError(f"{host!a} cannot be resolved: {error}") from None
    addresses = [(family, (str(address[0]), int(address[1]))) for family, _, _, _, address in found]
    return sorted(addresses, key=lambda each: each[0] != socket.AF_INET)


def listening(address: Address) -> socket.socket:
    """Return a socket that listens and does not block; raises OSError, for a port in use."""
    family, place = address
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


class Server:
    """Serves connections to an address in one thread; port 0 takes a free one.

    `with` runs it in a thread; `serve` runs it here. A subclass says in `accepted` what becomes of a connection, mostly
    by a ServedSocket for it. It can be stopped, and started again on its port.
    """

    def __init__(
        self, address: Address, *, layers: Layering = PLAIN, clock: Callable[[], float] = time.monotonic,
        timers: Timers | None = None,
    ) -> None:  # fmt: skip
        self._family, self._address = address
        self._layers = layers
        self.clock = clock
        self.timers = timers or Timers()
        self.sockets: dict[ServedSocket, None] = {}
        """Those that are open."""
        self.selector: selectors.BaseSelector
        self._posted = PostedActions()
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

    # what a subclass says

    def accepted(self, sock: Any) -> None:
        """Take an accepted socket with its layers, or close it."""
        raise NotImplementedError

    def settle(self) -> None:
        """Do what is left after everything that happened in a turn."""

    def closing(self) -> None:
        """Say goodbye to the peers; the sockets are closed next."""

    # its life

    def open(self) -> None:
        """Listen; connections are answered once the server runs. Raises OSError, for a port in use."""
        if self._open:
            return
        self._listener = listening((self._family, self._address))
        self._address = self._listener.getsockname()[:2]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self._listener, READ, self._accept)
        self._posted.open(self.selector)
        self._stopping, self._open = False, True

    def start(self) -> Self:
        """Run in a thread of its own."""
        if not self._thread:
            self.open()
            name = f"mqttpub {type(self).__name__.lower()}"
            self._thread = threading.Thread(target=self.serve, name=name, daemon=True)
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
            self._posted.wake()
        if thread and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> Self:
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
        due = self.timers.next()
        waits = [] if longest is None else [longest]
        waits += [] if due is None else [max(0.0, due - self.clock())]
        ready = self.selector.select(min(waits, default=None))
        # A signal that ends the program may come while it waits, but not between reading bytes and passing them on.
        with SHIELD:
            for key, mask in ready:
                key.data(mask)
            self.timers.run(self.clock())
            self.settle()

    def call(self, action: Callable[[], None]) -> None:
        """Have an action done by the thread that serves; may be called from any other.

        A server that stops does it when it closes; after that, it is done here.
        """
        self._posted.post(action)

    def _accept(self, mask: int) -> None:
        for _ in range(MOST_ACCEPTED):
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:  # gone again, or no file descriptor left: one will be free in a while
                time.sleep(0.01)
                return
            try:
                layered = self._layers.on(sock)
            except OSError:  # gone before TLS could begin
                sock.close()
            else:
                self.accepted(layered)

    def _close(self) -> None:
        if not self._open:
            return
        self._open = False
        self._posted.leave()
        self.closing()
        for served in list(self.sockets):
            served.close("the server stops")
        self.selector.close()
        self._listener.close()
        self._posted.close()
