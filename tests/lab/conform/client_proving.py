"""Clients that keep and that break statements: scripts, played against cases."""

import re
import threading
import time
from types import TracebackType
from typing import NamedTuple, Self

from mqttpub.common.bad_text import BadText
from mqttpub.lab.conform.client_cases import ClientCase, client_cases
from mqttpub.lab.conform.client_playing import ClientAccess, play_client
from mqttpub.lab.conform.playing import BROKEN, CaseResult
from mqttpub.lab.conform.verdicts import verdicts
from mqttpub.lab.player import Player, PlayFailure, PlayOptions
from mqttpub.lab.raw_client import RawClient
from mqttpub.lab.serving.server import Server
from mqttpub.live.failures import NotConnected
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Transport
from mqttpub.script.reader import read_script
from mqttpub.script.steps import Step
from mqttpub.spec.versions import Direction, Version
from tests.lint.label_tables import labelled_lines

TIMEOUT_S = 1.0
"""How long a case waits for a packet of the client."""
FRAMED = {
    Version.V5: {"MQTT5-6.0.0-1", "MQTT5-6.0.0-3", "MQTT5-6.0.0/frames"},
    Version.V311: {"MQTT311-6.0.0-1", "MQTT311-6.0.0-3", "MQTT311-6.0.0/frames"},
    Version.V31: {"MQTT31-1/transport"},
}
"""The statements on bytes below MQTT, which `test_client_layers` proves."""
_FOR_ALL = f"version {' '.join(version.label for version in Version)}"
"""Leaves out words that a version does not have."""
_EITHER = re.compile(r"\{(.*?) \| (.*?)\}")


class ClientRow(NamedTuple):
    """A client that breaks statements, and one that is equal otherwise and keeps them."""

    ids: tuple[str, ...]
    version: Version
    case: str
    script: str
    """Where it says `{a | b}`, the client that keeps the statements does `a`, the other one `b`."""

    def __str__(self) -> str:
        return f"{self.ids[0]} {self.case}: {self.script}"

    def steps(self, *, breaks: bool) -> list[Step]:
        """Return what one of the two does."""
        return list(read_script([_FOR_ALL, _EITHER.sub(r"\2" if breaks else r"\1", self.script)]))


def client_rows(table: str) -> list[ClientRow]:
    """Return the lines of a table: labels in 5.0, 3.1.1 and 3.1, a case, and a script."""
    return [ClientRow(ids, version, case, script) for ids, version, (case, script) in labelled_lines(table, 2)]


def named(version: Version, name: str) -> ClientCase:
    """Return a case by its name."""
    return next(case for case in client_cases(version) if case.name == name)


class ScriptedClient:
    """Plays the client's end of a script in a thread, then closes its connections."""

    output = b""

    def __init__(self, steps: list[Step], version: Version, server: Server, *, is_websocket: bool = False) -> None:
        self._steps = steps
        self._version = version
        transport = Transport("websocket", "/mqtt") if is_websocket else Transport()
        self.target = Target(server.host, server.port, transport=transport)
        self._thread = threading.Thread(target=self._play)

    def _dial(self, label: str, version: Version) -> RawClient:
        return RawClient(open_socket(self.target, time.monotonic() + TIMEOUT_S, TIMEOUT_S), version=version)

    def _play(self) -> None:
        options = PlayOptions(timeout_s=TIMEOUT_S, version=self._version, skips=True)
        try:
            with Player(self._dial, options) as player:
                player.play(self._steps)
        except (PlayFailure, OSError, NotConnected, BadText):
            return

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.join()


def against(case: ClientCase, steps: list[Step]) -> CaseResult:
    """Play a case against a client that plays a script."""
    is_websocket = case.is_websocket

    def client(server: Server) -> ScriptedClient:
        return ScriptedClient(steps, case.version, server, is_websocket=is_websocket)

    return play_client(case, ClientAccess(client, TIMEOUT_S)).result


def broken(result: CaseResult) -> set[str]:
    """Return the full ids of the statements that a result calls broken."""
    found = verdicts(result.case.version, [result], Direction.CLIENT)
    return {each.statement.id for each in found if each.verdict == BROKEN}
