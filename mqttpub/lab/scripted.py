"""A server that plays its end of a script to whoever connects."""

import selectors
import time
from collections.abc import Iterable
from typing import Any, Self

from ..live.tap import again
from ..script.steps import Step
from ..spec.versions import Direction, Version
from .player import Player, PlayOptions
from .raw_client import RawClient, wait_for
from .serving.ending import broke
from .serving.layers import PLAIN, Layers
from .serving.server import POLL, listening, loopback


class ScriptedServer:
    """Listens on a loopback address and plays the server's end of scripts; port 0 takes a free one. Use it in a `with`.

    The first connection that comes is that of the first label of the script, and so on.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, layers: Layers = PLAIN) -> None:
        """Listen; raises ValueError for an address that is not of loopback, OSError for a port in use."""
        self._listener = listening(loopback(host, port, "a scripted server"))
        self._layers = layers

    @property
    def host(self) -> str:
        """The address it listens on."""
        return str(self._listener.getsockname()[0])

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()

    def check(self, steps: Iterable[Step], options: PlayOptions) -> None:
        """Raise BadText for steps that cannot be played, whatever the clients send."""
        with self.player(options) as player:
            player.check(tuple(steps))

    def wait(self) -> None:
        """Wait until a client connects, however long that takes."""
        while not wait_for(self._listener, selectors.EVENT_READ, POLL):
            pass

    def play(self, steps: Iterable[Step], options: PlayOptions) -> None:
        """Play a script to the clients that connect from now on, the server being this end.

        Raises PlayFailure where a client does otherwise, or none connects in time, and BadText for a step that cannot
        be played.
        """
        with self.player(options) as player:
            player.play(steps)

    def player(self, options: PlayOptions) -> Player:
        """Return what plays scripts to the clients that connect; use it in a `with`, at whose end it closes them."""
        return Player(
            lambda label, version: self._accept(label, version, options.timeout_s),
            options._replace(end=Direction.SERVER),
        )

    def _accept(self, label: str, version: Version, timeout_s: float) -> RawClient:
        """Return the next connection; raises OSError with a sentence if none comes, or its handshake fails."""
        until_s = time.monotonic() + timeout_s
        _wait(
            self._listener, until_s, f"no client connected within {timeout_s:g} s{f', for [{label}]' if label else ''}"
        )
        sock: Any = self._listener.accept()[0]
        try:
            sock = self._layers.on(sock)
            while not _is_greeted(sock):
                _wait(sock, until_s, f"the client did not end its handshake within {timeout_s:g} s")
        except OSError as error:
            sock.close()
            raise error if isinstance(error, TimeoutError) else ConnectionError(broke(error)) from None
        return RawClient(sock, Direction.SERVER, version=version)


def _is_greeted(sock: Any) -> bool:
    """Whether the handshakes of the layers are done; does as much of them as it can."""
    if not hasattr(sock, "do_handshake"):
        return True
    try:
        sock.do_handshake()
    except OSError as error:
        if not again(error):
            raise
        return False
    return True


def _wait(sock: Any, until_s: float, otherwise: str) -> None:
    """Wait until a socket can be read from; raises TimeoutError with a sentence at the deadline."""
    left_s = until_s - time.monotonic()
    if left_s <= 0 or not wait_for(sock, selectors.EVENT_READ, left_s):
        raise TimeoutError(otherwise)
