"""One case against one client: a run of its command, judged, for a limited time."""

import time
from collections.abc import Callable
from threading import Event
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from ...live.tap import ByteObserver
from ...spec.versions import Version
from ..serving.server import Server
from .client_cases import ClientCase
from .client_server import NO_WEBSOCKET, CaseServer
from .playing import KEPT, NOT_EXERCISED, CaseResult

LONGEST_S = 12.0
"""How long a case lasts at most, besides the time that it waits."""
CONNECT_S = 10.0
"""How long the client may take to connect."""
AFTER_S = 0.5
"""How long nothing may pass after an act until the case ends."""

Record = Callable[[Any, str], ByteObserver | None]
"""Returns what records the bytes of a socket, the connection of a name."""


class Client(Protocol):
    """A client that runs, from `with` on until it ends by itself or the `with` does."""

    @property
    def output(self) -> bytes:
        """The end of what it printed."""

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""

    def __enter__(self) -> object:
        """Start it; raises UserError."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""


class ClientAccess(NamedTuple):
    """How to run the client."""

    client: Callable[[Server], Client]
    """Returns the client that connects to a server."""
    timeout_s: float
    """Longest time to wait for a packet."""
    record: Record = lambda sock, name: None
    host: str = "127.0.0.1"
    tls: Any = None
    """The context of a server, for a client that begins TLS."""


class ClientRun(NamedTuple):
    """How a run of the client for a case ended."""

    result: CaseResult
    version: Version | None
    """The version that it spoke; None where it never sent a CONNECT."""


def play_client(case: ClientCase, access: ClientAccess, stop: Event | None = None) -> ClientRun:
    """Run the client once for a case, and return how that ended; raises UserError where it cannot be started.

    `stop` ends it early.
    """
    began = time.monotonic()
    record: Record = lambda sock, label: access.record(sock, f"{case.name} {label}")  # noqa: E731
    server = CaseServer(case, access.timeout_s, record, access.host, access.tls)
    server.open()
    try:
        run = _RunEnd(server, began, stop or Event())
        client = access.client(server)
        with client:
            server.serve(lambda: run.is_over(client))
            has_ended = client.has_ended
    finally:
        server.stop()
    judge, acting = server.judge, server.acting
    verdict, why, failure = KEPT, "", None
    if server.version is None:
        how = server.broke or server.excess
        verdict, why = NOT_EXERCISED, "the client sent no CONNECT" + (f": {how}" if how else "")
    elif server.version is not case.version:
        verdict, why = NOT_EXERCISED, f"the client speaks MQTT {server.version.label} this time"
    elif server.excess == NO_WEBSOCKET:
        verdict, why = NOT_EXERCISED, NO_WEBSOCKET
    elif acting:
        acting.abandon(server.excess or ("the client ended" if has_ended else "the time is up"))
        verdict, why, failure = acting.verdict, acting.why, acting.failure
    result = CaseResult(
        case, verdict, why, failure, tuple(judge.packets), tuple(judge.broken), frozenset(judge.exercised),
        time.monotonic() - began, client.output,
    )  # fmt: skip
    return ClientRun(result, server.version)


class _RunEnd:
    """When a run is over."""

    def __init__(self, server: CaseServer, began: float, stop: Event) -> None:
        self._server = server
        self._stop = stop
        self._has_ended = False
        """Whether the client had ended the last time."""
        self._until_s = began + LONGEST_S + server.case.wait_s
        self._connect_until_s = began + CONNECT_S

    def is_over(self, client: Client) -> bool:
        """Whether nothing more is to be seen, or the time is up."""
        server, now = self._server, time.monotonic()
        if server.excess or self._stop.is_set() or now >= self._until_s:
            return True
        if client.has_ended and not server.links:
            # What it sent just before may wait to be accepted.
            has_ended, self._has_ended = self._has_ended, True
            return has_ended
        if server.acting and server.acting.is_running:
            return False
        if not server.connections:
            return now >= self._connect_until_s
        still_s = AFTER_S if server.acting and server.acting.is_done else server.case.quiet_s
        return now - server.moved_s >= still_s
