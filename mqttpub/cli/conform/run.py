"""What `conform` does with its request: play the cases of each version and say what they show."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ...lab.conform.cases import ConformCase, cases, in_reach, without_case
from ...lab.conform.client_cases import ClientCase, client_cases
from ...lab.conform.limit_search import run_limits
from ...lab.conform.limits import limits
from ...lab.conform.playing import BROKEN, CaseResult, PeerAccess
from ...lab.conform.run import estimate_s, run, speaks
from ...lab.conform.verdicts import StatementVerdict, verdicts
from ...live.failures import Exit, Interrupted, NotConnected
from ...live.net.dial import describe, open_socket
from ...live.net.target import client_id
from ...live.tap import ByteObserver
from ...spec.statements import statement, statements
from ...spec.versions import Direction, Version
from ...view.terminal.style import has_box_characters, show
from ...view.terminal.width import screen_width
from .. import signals
from ..notes import note, print_json
from ..observe.observers import Observers, observed
from ..step.request import connect_fields
from .limits import limit_lines
from .page import write_page
from .records import PeerVerdicts, limit_record, record
from .request import ConformRequest
from .results import results
from .screen import failures, limit_failures, opening, sections, summary

AnyCase = TypeVar("AnyCase", ConformCase, ClientCase)


def conform(request: ConformRequest) -> int:
    """Try the statements of a request and return the exit status; raises a Failure."""
    return observed(request, lambda seen: Conformance(request, seen).run())


class Conformance:
    """One run against a broker."""

    peer = Direction.SERVER

    def __init__(self, request: ConformRequest, seen: Observers) -> None:
        self.request = request
        self.seen = seen
        self.found: list[StatementVerdict] = []
        self.limits: list[CaseResult] = []
        self.access = PeerAccess(self._open, self._connect, request.timeout_s)

    def run(self) -> int:
        """Try all versions and return the exit status."""
        with results(self.request, self.found, self.limits):
            try:
                self._versions()
            except KeyboardInterrupt:
                raise Interrupted(f"{signals.word()}; not all cases were played", signals.status()) from None
        if self.request.page:
            rows, limits = list(map(self._record, self.found)), list(map(limit_record, self.limits))
            write_page(self.request.page, [PeerVerdicts(self.name, rows, limits)])
        strict = self.request.is_strict
        bad = any(each.is_violation or (strict and each.verdict == BROKEN) for each in self.found)
        return Exit.FINDINGS if bad or any(each.verdict == BROKEN for each in self.limits) else Exit.DONE

    @property
    def name(self) -> str:
        """The peer, for people."""
        return self.request.target.place

    def _versions(self) -> None:
        """Try the versions that the peer speaks; raises NotConnected."""
        versions = [self.request.version] if self.request.version else sorted(Version, reverse=True)
        if self.request.shown.json:
            print_json({"event": "conform", "peer": self.name})
        spoken = False
        for version in versions:
            if not self._wanted(version):
                continue
            if why := speaks(version, self.access):
                note(f"the broker does not speak MQTT {version.label}: {why}")
                continue
            spoken = True
            self._version(version)
        if not spoken:
            raise NotConnected("the broker accepts no CONNECT of a version that is to be tried")

    def _wanted(self, version: Version) -> bool:
        wanted = self.request.wanted
        return not wanted.isdisjoint(names_of(version)) if wanted else True

    def _version(self, version: Version) -> None:
        request, began = self.request, time.monotonic()
        played = self._cases(version)
        wanted = [each for each in limits(version) if not request.wanted or each.name in request.wanted]
        where = "if the broker answers at once"
        self._open_report(version, len(played), len(wanted), estimate_s(played, request.jobs), where)
        ended = list(run(played, self.access, request.jobs))
        found = {
            each.case.name: each for each in run_limits(version, wanted, self.access, request.jobs, request.most_bytes)
        }
        self._report(version, ended, began, [found[each.name] for each in wanted])

    def _open_report(self, version: Version, cases: int, limits: int, seconds: float, where: str) -> None:
        if not self.request.shown.json:
            show([[]] * bool(self.found or self.limits), sys.stdout)
            show([opening(version, cases, limits, self.request.jobs, seconds, where)], sys.stdout)
            sys.stdout.flush()

    def _report(
        self, version: Version, ended: Sequence[CaseResult], began: float, limits: Sequence[CaseResult] = ()
    ) -> None:
        """Show the verdicts of a version and the limits, and keep them."""
        request = self.request
        found = [
            each for each in verdicts(version, ended, self.peer)
            if not request.wanted or each.statement.id in request.wanted
        ]  # fmt: skip
        self.found += found
        self.limits += limits
        rows = list(map(limit_record, limits))
        if request.shown.json:
            for row in (*map(self._record, found), *rows):
                print_json(row)
            return
        width, ascii, secrets = screen_width(), not has_box_characters(), request.shown.secrets
        show(sections(found, width), sys.stdout)
        if rows:
            show(limit_lines(rows, width if sys.stdout.isatty() else None), sys.stdout)
        show(failures(found, width, ascii=ascii, secrets=secrets), sys.stdout)
        show(limit_failures(limits, width, ascii=ascii, secrets=secrets), sys.stdout)
        last = summary(self.name, version, found, limits, time.monotonic() - began)
        show([[], last], sys.stdout)
        sys.stdout.flush()

    def _cases(self, version: Version) -> list[ConformCase]:
        request = self.request
        is_websocket = request.target.transport.kind == "websocket"
        every = [
            case for case in cases(version)
            if request.is_thorough >= case.is_thorough and is_websocket >= case.is_websocket
        ]  # fmt: skip
        return self._chosen(every, version)

    def _chosen(self, every: list[AnyCase], version: Version) -> list[AnyCase]:
        """Return the cases to play: all, where one of the wanted statements is put to the test by packets only."""
        wanted = self.request.wanted
        named = {id for case in every for id in case.statements}
        if not wanted or not wanted.intersection(in_reach(version, self.peer)) <= named:
            return every
        return [case for case in every if not wanted.isdisjoint(case.statements)]

    def _record(self, verdict: StatementVerdict) -> dict[str, Any]:
        return record(verdict, secrets=self.request.shown.secrets)

    # the broker

    def _open(self, name: str) -> tuple[Any, ByteObserver | None]:
        target, timeout_s = self.request.target, self.request.timeout_s
        sock = open_socket(target, time.monotonic() + timeout_s, timeout_s)
        observer: Any = self.seen.of(name) if name else None
        if observer is not None:
            observer.connected(describe(sock, target.transport))
        return sock, observer

    def _connect(self) -> Mapping[str, Any]:
        said = connect_fields(self.request.target.connect)
        return {**said, "client_id": client_id("mqttpub")}


def names_of(version: Version) -> set[str]:
    """Return the full ids of the statements of a version, and the names of its limits."""
    return {each.id for each in statements(version.label)} | {each.name for each in limits(version)}


def list_cases(version: Version | None, peer: Direction) -> Iterator[str]:
    """Yield a line for each case for an end, and one for each statement without one."""
    for each in [version] if version else sorted(Version, reverse=True):
        yield f"MQTT {each.label}"
        for case in cases(each) if peer is Direction.SERVER else client_cases(each):
            names = ", ".join(statement(id).label for id in case.statements)
            yield f"  {case.name}  {case.title}" + (f"  ({names})" if names else "")
        for id, why in without_case(each, peer).items():
            yield f"  no case for {statement(id).label}: {why}"
        for limit in limits(each) if peer is Direction.SERVER else ():
            yield f"  {limit.name}  {limit.title}  (limits)"
