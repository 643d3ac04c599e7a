"""The loop that drives the connections of a replay."""

import selectors
import time
from collections.abc import Callable

from ...live.failures import PeerFault
from ..raw_client import RawClient
from ..serving.posting import PostedActions
from ..serving.timers import Timers

LONGEST_TURN_S = 0.2
"""Longest time between two calls of what wants to be called in each turn."""
Changed = Callable[[str], None]
"""Takes why a connection can be read no more, as a sentence; empty where something came, or all is written."""
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class ReplayLoop:
    """Waits for sockets, times and other threads; whoever uses it says in `turn` for how long."""

    def __init__(self, tick: Callable[[], None] = lambda: None) -> None:
        self.timers = Timers()
        self._tick = tick
        self._selector = selectors.DefaultSelector()
        self._watched: dict[RawClient, tuple[int, Changed]] = {}
        self._eager: set[RawClient] = set()
        """Connections that may hold more than their descriptors show, as TLS and WebSocket do."""
        self._soon: dict[Callable[[], None], None] = {}
        self._posted = PostedActions()
        self._posted.open(self._selector)

    def close(self) -> None:
        """Close what the loop itself has open."""
        self._selector.close()
        self._posted.close()

    @staticmethod
    def clock() -> float:
        """Return the time in seconds, by the clock of the timers."""
        return time.monotonic()

    def call(self, action: Callable[[], None]) -> None:
        """Do something in a later turn; may be called from any thread."""
        self._posted.post(action)

    def soon(self, action: Callable[[], None]) -> None:
        """Do something at the end of this turn, once however often it is asked for."""
        self._soon[action] = None

    def watch(self, client: RawClient, changed: Changed) -> None:
        """Read what comes on a connection and write what waits; `changed` learns of both."""
        events = (_READ if client.reads else 0) | (_WRITE if client.unsent and not client.ended_by_reset else 0)
        before = self._watched.get(client, (0, changed))[0]
        if events == before or client.fileno() < 0:
            return
        if not before:
            self._selector.register(client, events, client)
            self._eager.add(client)
        elif not events:
            self.forget(client)
            return
        else:
            self._selector.modify(client, events, client)
        self._watched[client] = events, changed

    def forget(self, client: RawClient) -> None:
        """Look at a connection no more; before its socket is closed."""
        if self._watched.pop(client, None):
            self._selector.unregister(client)
        self._eager.discard(client)

    def turn(self, longest_s: float) -> None:
        """Wait until there is something to do, for `longest_s` at most, and do it."""
        due_s = self.timers.next()
        wait_s = min(longest_s, LONGEST_TURN_S, *([] if due_s is None else [due_s - self.clock()]))
        eager, self._eager = self._eager, set()
        ready = dict.fromkeys(eager, _READ)
        for key, mask in self._selector.select(0 if eager or self._soon else max(wait_s, 0)):
            if isinstance(key.data, RawClient):
                ready[key.data] = ready.get(key.data, 0) | mask
            else:
                key.data(mask)
        for client, mask in ready.items():
            self._ready(client, mask)
        self.timers.run(self.clock())
        while self._soon:
            soon, self._soon = self._soon, {}
            for action in soon:
                action()
        self._tick()

    def _ready(self, client: RawClient, mask: int) -> None:
        if client not in self._watched:
            return
        changed = self._watched[client][1]
        if mask & _WRITE:
            client.flush()
            if not client.unsent:
                changed("")
        try:
            if mask & _READ and client in self._watched and client.pump():
                self._eager.add(client)
                changed("")
        except PeerFault as fault:
            # Of the framing of WebSocket.
            changed(str(fault))
        if client in self._watched:
            self.watch(client, changed)
