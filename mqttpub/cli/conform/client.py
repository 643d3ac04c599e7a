"""What `conform --client` does with its request: run a client against the cases, and say what they show."""

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from ...common.files import lent
from ...lab.conform.client_cases import client_cases
from ...lab.conform.client_playing import ClientAccess, ClientRun, play_client
from ...lab.conform.client_run import run_client
from ...lab.conform.command import CA_FILE, RunningClient
from ...lab.conform.run import estimate_s
from ...lab.serving.certificate import make_certificate
from ...lab.serving.server import Server
from ...live.failures import NotConnected
from ...live.net.dial import describe
from ...live.tap import ByteObserver
from ...spec.versions import Direction, Version
from ..notes import print_json
from ..observe.observers import Observers, observed
from .request import ConformRequest
from .run import Conformance

MOST_SHOWN = 200
"""Characters of the last line that a client printed in a message, at most."""
WHERE = "besides the time that the client takes"


def conform_client(request: ConformRequest) -> int:
    """Try the statements of a request on a client and return the exit status; raises a Failure."""
    with _certificate(request.client) as (tls, ca_file):
        return observed(request, lambda seen: ClientConformance(request, seen, tls, ca_file).run())


@contextmanager
def _certificate(words: Sequence[str]) -> Iterator[tuple[Any, str]]:
    """Make a certificate, if the words of a client name its file, which exists meanwhile; raises Unusable.

    Returns the context of a server, and the name of the file.
    """
    if not any(CA_FILE in word for word in words):
        yield None, ""
        return
    made = make_certificate()
    with lent(BytesIO(made.cert), "cert.pem") as path:
        yield made.context(), path


class ClientConformance(Conformance):
    """One run against a client."""

    peer = Direction.CLIENT

    def __init__(self, request: ConformRequest, seen: Observers, tls: Any, ca_file: str) -> None:
        super().__init__(request, seen)
        self._ca_file = ca_file
        self._client = ClientAccess(self._command, request.timeout_s, self._recorder, tls=tls)

    @property
    def name(self) -> str:
        """The client: its command."""
        return shlex.join(self.request.client)

    def _versions(self) -> None:
        if self.request.shown.json:
            print_json({"event": "conform", "peer": self.name})
        self._version(self._spoken())

    def _spoken(self) -> Version:
        """Return the version that the client speaks by itself; raises NotConnected."""
        run = play_client(client_cases(Version.V5)[0], self._client._replace(record=lambda sock, name: None))
        if run.version is None:
            raise NotConnected(f"{run.result.why}{_printed(run)}")
        asked = self.request.version
        if asked and asked is not run.version:
            raise NotConnected(f"the client speaks MQTT {run.version.label}, not {asked.label}")
        return run.version

    def _version(self, version: Version) -> None:
        began, jobs = time.monotonic(), self.request.jobs
        cases = self._chosen(list(client_cases(version)), version)
        self._open_report(version, len(cases), 0, estimate_s(cases, jobs), WHERE)
        self._report(version, list(run_client(cases, self._client, jobs)), began)

    def _command(self, server: Server) -> RunningClient:
        return RunningClient(self.request.client, server, self._ca_file)

    def _recorder(self, sock: Any, name: str) -> ByteObserver | None:
        observer: Any = self.seen.of(name)
        if observer is not None:
            observer.connected(describe(sock, self.request.target.transport))
        return observer  # type: ignore[no-any-return]


def _printed(run: ClientRun) -> str:
    """Return what the client printed, as the end of a sentence."""
    lines = run.result.output.decode("utf-8", "replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    shown = last if len(last) <= MOST_SHOWN else f"{last[:MOST_SHOWN]}..."
    return f"; it printed: {shown}" if last else ""
