"""Actions that other threads give to the thread of a loop."""

import selectors
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress

Action = Callable[[], None]


class PostedActions:
    """Wakes a loop and does in its thread what any thread has posted, in order.

    What is posted before `open` and after `leave` is done by the thread that posts it.
    """

    def __init__(self) -> None:
        self._actions: deque[Action] = deque()
        self._open = False

    def open(self, selector: selectors.BaseSelector) -> None:
        """Be called by a loop that calls what its selector holds with the events."""
        self._waker, self._woken = socket.socketpair()
        for each in (self._waker, self._woken):
            each.setblocking(False)
        selector.register(self._woken, selectors.EVENT_READ, self._called)
        self._open = True

    def post(self, action: Action) -> None:
        """Have an action done; may be called from any thread."""
        self._actions.append(action)
        if self._open:
            self.wake()
        else:
            self._do()

    def wake(self) -> None:
        """Let the loop begin a turn."""
        with suppress(OSError):  # it is just closing, or is called already
            self._waker.send(b"x")

    def leave(self) -> None:
        """Do what is left; from now on whoever posts an action does it."""
        self._open = False
        self._do()

    def close(self) -> None:
        """Close the sockets; what is left is done only by `leave` before that."""
        self._waker.close()
        self._woken.close()

    def _called(self, mask: int) -> None:
        with suppress(BlockingIOError):
            self._woken.recv(64)
        self._do()

    def _do(self) -> None:
        for _ in range(len(self._actions)):
            try:
                action = self._actions.popleft()
            except IndexError:  # the thread that closes took it, or one that posts
                return
            action()
