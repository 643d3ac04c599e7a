"""Peers that keep and that break statements: scripts of cases, played from the server's end, with one line changed."""

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from mqttpub.lab.conform.cases import ConformCase, cases
from mqttpub.lab.conform.playing import BROKEN, CaseResult, PeerAccess, play
from mqttpub.lab.conform.verdicts import verdicts
from mqttpub.lab.player import PlayFailure, PlayOptions
from mqttpub.lab.scripted import ScriptedServer
from mqttpub.live.failures import NotConnected
from mqttpub.script.reader import read_script
from mqttpub.script.steps import PacketStep, Step
from mqttpub.spec.versions import Version
from tests.lint.label_tables import labelled_lines

TIMEOUT_S = 1.0
"""How long an end waits for the other's packet; both run here, so it is long."""


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
    """Return the lines of a table: labels in 5.0, 3.1.1 and 3.1, a case, and what its peer does otherwise."""
    rows = []
    for ids, version, (case, change) in labelled_lines(table, 2):
        old, arrow, new = change.partition("=>")
        assert arrow, change
        rows.append(MutantRow(ids, version, case, old.strip(), new.strip()))
    return rows


def unchanged(case: ConformCase) -> list[Step]:
    """Return the script of a case as a peer plays it that sends nothing that it need not."""
    return _needed([*case.given, *case.then])


def changed(case: ConformCase, row: MutantRow) -> list[Step]:
    """Return the same with what a row changes, once; in `then` if it is there, else in `given`."""
    given, then = (list(dict.fromkeys(step.word.source for step in part)) for part in (case.given, case.then))
    for lines in (then, given):
        for at, line in enumerate(lines):
            if row.old in line:
                lines[at] = line.replace(row.old, row.new, 1)
                return _needed(read_script([*given, *then]))
    raise AssertionError(f"{case.name} has no {row.old!r}")


def _needed(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if not (isinstance(step, PacketStep) and step.times)]


def named(version: Version, name: str) -> ConformCase:
    """Return a case by its name."""
    return next(case for case in cases(version) if case.name == name)


@contextmanager
def peer(steps: list[Step], version: Version) -> Iterator[PeerAccess]:
    """Play the server's end of a script in a thread, whatever comes of it; yield how to reach it."""
    with ScriptedServer() as server:
        options = PlayOptions(timeout_s=TIMEOUT_S, version=version)

        def serve() -> None:
            try:
                server.play(steps, options)
            except (PlayFailure, OSError):
                return
            finally:
                server.__exit__()

        thread = threading.Thread(target=serve)
        thread.start()
        place = "127.0.0.1", server.port

        def open(_: str) -> tuple[socket.socket, None]:
            try:
                return socket.create_connection(place, TIMEOUT_S), None
            except OSError as error:
                raise NotConnected(str(error)) from None

        yield PeerAccess(open, lambda: {"client_id": f"x{time.monotonic_ns()}"}, TIMEOUT_S)
        thread.join()


def against(case: ConformCase, steps: list[Step]) -> CaseResult:
    """Play a case against a peer that plays a script."""
    with peer(steps, case.version) as access:
        return play(case, access)


def broken(result: CaseResult) -> set[str]:
    """Return the full ids of the statements that a result calls broken."""
    return {each.statement.id for each in verdicts(result.case.version, [result]) if each.verdict == BROKEN}
