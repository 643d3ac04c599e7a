"""Peers that keep and that break statements: scripts of cases, played from the server's end, with one line changed."""

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from mqttpub.lab.conform.cases import ConformCase, cases
from mqttpub.lab.conform.playing import BROKEN, CaseResult, PeerAccess, play
from mqttpub.lab.conform.verdicts import verdicts
from mqttpub.lab.player import PlayFailure, PlayOptions
from mqttpub.lab.scripted import ScriptedServer
from mqttpub.lab.serving.layers import PLAIN
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Transport
from mqttpub.script.reader import read_script
from mqttpub.script.steps import EndStep, GivenField, PacketStep, Step
from mqttpub.spec.packets import Publish, Suback, Subscribe, Unsuback, Unsubscribe
from mqttpub.spec.versions import Direction, Version
from tests.lint.label_tables import labelled_lines

LONG_S = 10.0
"""How long an end waits for the other's packet; both run here, so all come long before."""
SHORT_S = 3.0
"""How long a case waits for the packet of a peer that may leave it out."""
OWN_TOPIC = next(step for step in read_script(["< publish t=${run}/a"]) if isinstance(step, PacketStep))
TCP, WEBSOCKET = Transport(), Transport("websocket", "/mqtt")
FRAMED = {
    Version.V5: {"MQTT5-6.0.0-1", "MQTT5-6.0.0-2", "MQTT5-6.0.0-4", "MQTT5-6.0.0/frames"},
    Version.V311: {"MQTT311-6.0.0-1", "MQTT311-6.0.0-2", "MQTT311-6.0.0-4", "MQTT311-6.0.0/frames"},
    Version.V31: set[str](),
}
"""The statements that only a connection over WebSocket shows, which `test_framing` proves."""


class MutantRow(NamedTuple):
    """A peer that breaks statements of a case, and keeps all else."""

    ids: tuple[str, ...]
    version: Version
    case: str
    old: str
    """A part of a line of the case, which the peer plays otherwise."""
    new: str

    def __str__(self) -> str:
        return f"{self.ids[0]} {self.case}: {self.old} => {self.new}"


def mutants(table: str) -> list[MutantRow]:
    """Return the lines of a table: labels in 5.0, 3.1.1 and 3.1, a case, and what its peer does otherwise.

    `${long}` stands for 40,000 characters.
    """
    rows = []
    for ids, version, (case, change) in labelled_lines(table, 2):
        old, arrow, new = change.partition("=>")
        assert arrow, change
        rows.append(MutantRow(ids, version, case, old.strip(), new.strip().replace("${long}", "x" * 40_000)))
    return rows


def unchanged(case: ConformCase) -> list[Step]:
    """Return the script of a case as a peer plays it that sends nothing that it need not."""
    return _needed([*case.given, *case.then])


def changed(case: ConformCase, row: MutantRow) -> list[Step]:
    """Return the same with what a row changes, once; in `then` if it is there, else in `given`."""
    given, then = (
        list({step.word.line: step.word.source for step in part}.values()) for part in (case.given, case.then)
    )
    for lines in (then, given):
        for at, line in enumerate(lines):
            if row.old in line:
                lines[at] = line.replace(row.old, row.new, 1)
                return _until_end(_needed(read_script([*given, *then])))
    raise AssertionError(f"{case.name} has no {row.old!r}")


def _needed(steps: Iterable[Step]) -> list[Step]:
    """Return steps without those that need not be, with what answers leave out.

    That is a code for each Topic Filter, and a topic of the case.
    """
    needed: list[Step] = []
    filters = 1
    for step in steps:
        if not isinstance(step, PacketStep):
            needed.append(step)
        elif not step.times:
            given = {each.field.key: each for each in step.given if isinstance(each, GivenField)}
            if step.packet in (Subscribe, Unsubscribe):
                filters = next((len(given[key].value) for key in ("subscriptions", "filters") if key in given), 1)
            elif step.packet in (Suback, Unsuback) and "reason_codes" not in given:
                codes = GivenField(step.packet.fields["reason_codes"], (0,) * filters, step.word)
                step = step._replace(given=(*step.given, codes))
            elif step.packet is Publish and "topic" not in given:
                step = step._replace(given=(*step.given, *OWN_TOPIC.given))
            needed.append(step)
    return needed


def _until_end(steps: Iterable[Step]) -> list[Step]:
    """Return steps without those of a connection that its server has closed."""
    kept: list[Step] = []
    closed: set[str] = set()
    for step in steps:
        label = getattr(step, "label", None)
        if label not in closed:
            kept.append(step)
        if isinstance(step, EndStep) and step.direction is Direction.SERVER:
            closed.add(step.label)
    return kept


def named(version: Version, name: str) -> ConformCase:
    """Return a case by its name."""
    return next(case for case in cases(version) if case.name == name)


@contextmanager
def peer(steps: list[Step], version: Version, timeout_s: float, layers: Any = PLAIN) -> Iterator[PeerAccess]:
    """Play the server's end of a script in a thread, whatever comes of it; yield how to reach it."""
    is_over = threading.Event()
    with ScriptedServer(layers=layers) as server:
        options = PlayOptions(timeout_s=LONG_S, version=version)

        def serve() -> None:
            with server.player(options) as player:
                with suppress(PlayFailure, OSError):
                    player.play(steps)
                server.__exit__()
                # To close earlier would reset connections, and what the case has not read of them would be lost.
                is_over.wait()

        place = "127.0.0.1", server.port
        thread = threading.Thread(target=serve)
        thread.start()

        target = Target(*place, version, transport=TCP if layers is PLAIN else WEBSOCKET)

        def open(_: str) -> tuple[Any, None]:
            return open_socket(target, time.monotonic() + LONG_S, LONG_S), None

        yield PeerAccess(open, lambda: {"client_id": f"x{time.monotonic_ns()}"}, timeout_s)
        is_over.set()
        while thread.is_alive():
            # It may wait for connections that the case did not come to.
            with suppress(OSError):
                socket.create_connection(place, LONG_S).close()
            thread.join(0.05)


def against(case: ConformCase, steps: list[Step], timeout_s: float = LONG_S, layers: Any = PLAIN) -> CaseResult:
    """Play a case against a peer that plays a script."""
    with peer(steps, case.version, timeout_s, layers) as access:
        return play(case, access)


def broken(result: CaseResult) -> set[str]:
    """Return the full ids of the statements that a result calls broken."""
    return {each.statement.id for each in verdicts(result.case.version, [result]) if each.verdict == BROKEN}
