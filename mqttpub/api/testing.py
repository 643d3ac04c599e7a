"""A broker for tests, and a recording of every packet on the way to it; the pytest plugin hands it out."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from ..common.bad_text import BadText
from ..common.errors import UserError
from ..lab.broker.server import Broker
from ..lab.player import PlayFailure, PlayOptions
from ..lab.proxy.proxy import ProxyServer, ProxySettings
from ..lab.scripted import ScriptedServer
from ..lab.serving.server import loopback
from ..live.failures import NotConnected
from ..live.net.target import Target
from ..script.reader import decoded_lines, read_script, script_lines
from ..script.steps import Step
from ..spec.versions import Version
from .traffic import Recorder

LOOPBACK = "127.0.0.1"


class LoopbackBroker(NamedTuple):
    """Where a broker for a test listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Its URL, for `publish` and `subscribe`."""
        return f"mqtt://{self.host}:{self.port}"


@contextmanager
def recorded_broker(
    recorder: Recorder, script: str | os.PathLike[str] | None = None, *, timeout_s: float = 10.0
) -> Iterator[LoopbackBroker]:
    """Run a broker on a free port of the loopback address, and record what passes.

    With a `script`, a text of several lines or a path, it plays the server's end of it to the clients that connect; at
    the end, AssertionError says what a client did otherwise, or what did not come within `timeout_s` seconds. Raises
    UserError for a file that cannot be read, and BadText for a script that cannot be played.
    """
    with ExitStack() as stack:
        broker: Broker | _ScriptedBroker = Broker() if script is None else _ScriptedBroker(_steps(script), timeout_s)
        stack.enter_context(broker)
        settings = ProxySettings(observe=lambda label: recorder.connection(Version.V5, label))
        address = loopback(LOOPBACK, 0, "a broker for tests")
        proxy = ProxyServer(address, Target(LOOPBACK, broker.port), lambda event: None, settings)
        stack.enter_context(proxy)
        yield LoopbackBroker(LOOPBACK, proxy.port)


def _steps(script: str | os.PathLike[str]) -> tuple[Step, ...]:
    try:
        if isinstance(script, str) and "\n" in script:
            return tuple(read_script(decoded_lines(script.encode().splitlines())))
        with Path(script).open("rb") as file:
            return tuple(read_script(script_lines(file)))
    except OSError as error:
        raise UserError(f"cannot read '{os.fspath(script)}': {error.strerror}") from None


class _ScriptedBroker:
    """Plays the server's end of a script once, in a thread of its own."""

    def __init__(self, steps: tuple[Step, ...], timeout_s: float) -> None:
        self._steps = steps
        self._options = PlayOptions(timeout_s=timeout_s)
        self._server = ScriptedServer(LOOPBACK)
        self.port = self._server.port
        self._failure = ""
        self._thread = threading.Thread(target=self._play, name="mqttpub script", daemon=True)

    def __enter__(self) -> "_ScriptedBroker":
        try:
            self._server.check(self._steps, self._options)
        except BadText:
            self._server.__exit__()
            raise
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._thread.join()
        self._server.__exit__()
        if self._failure and kind is None:
            raise AssertionError(f"the client did not keep to the script: {self._failure}")

    def _play(self) -> None:
        try:
            self._server.play(self._steps, self._options)
        except PlayFailure as failure:
            self._failure = f"line {failure.step.word.line}: {failure}"
        except NotConnected as failure:
            self._failure = str(failure)
