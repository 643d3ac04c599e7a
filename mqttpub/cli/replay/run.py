"""What `replay` does with its request: play a capture, and say what went otherwise than in it."""

from contextlib import ExitStack
from functools import partial
from typing import Any

import click

from ...common.words import counted
from ...lab.raw_client import RawClient
from ...lab.replay.publishes import OnlyPublishes
from ...lab.replay.replay import CaptureReplay, Sides
from ...lab.replay.side import ClientSide
from ...lab.replay.whole import WholeSides
from ...live.failures import Exit, Interrupted, NoConnack
from ...live.incoming import refusal
from ...live.net.dial import show_route
from ...reading.input import AllEvents, Input, InputOptions
from .. import signals
from ..notes import note
from ..observe.observers import Observers, observed
from .report import ReplayReport
from .request import ReplayRequest


def replay(request: ReplayRequest) -> int:
    """Play the capture of a request and return the exit status; raises a Failure, UsageError and UserError."""
    return observed(request, lambda seen: _replay(request, seen))


def _replay(request: ReplayRequest, seen: Observers) -> int:
    report = ReplayReport(json=request.shown.json)

    def found(each: Any) -> None:
        # What was seen comes before what it means.
        seen.flush()
        report(each)

    with ExitStack() as stack:
        events = AllEvents([Input.opened(request.source, stack)], InputOptions())
        run = CaptureReplay(request.options, found, partial(_connected, request, seen), partial(_tick, seen))
        stack.callback(run.close)
        sides = _sides(request, run)
        try:
            run.run(events, sides)
        except KeyboardInterrupt:
            run.abandon()
            seen.settle()
            report.end(run.totals)
            raise Interrupted(_interrupted(run), signals.status()) from None
    seen.settle()
    for sentence in events.remarks:
        note(sentence)
    _check_played(run, events, request)
    for sentence in events.faults:
        note(sentence)
    report.end(run.totals)
    if not run.has_connack:
        raise NoConnack(f"no CONNACK came from {request.target.place}")
    if isinstance(sides, OnlyPublishes) and (connack := sides.side.connack) and connack.reason_code:
        raise refusal(connack, request.target.version)
    if events.faults:
        return Exit.USAGE
    return Exit.FINDINGS if run.totals.differences else Exit.DONE


def _sides(request: ReplayRequest, run: CaptureReplay) -> Sides:
    if request.sender is None:
        return WholeSides(run, request.user, request.rewrite)
    return OnlyPublishes(run, request.target, request.rewrite, request.sender)


def _connected(request: ReplayRequest, seen: Observers, side: ClientSide, sock: Any) -> RawClient:
    """Return a client of an open socket, with its observer."""
    observer = seen.of(str(side.number or ""))
    show_route(observer, sock, request.target.transport)
    return RawClient(sock, version=side.version, observer=observer)


def _tick(seen: Observers) -> None:
    """Show what is gathered, when that is due."""
    due_s = seen.inspector.show_in_s() if seen.inspector else None
    if due_s is not None and due_s <= 0:
        seen.flush()


def _check_played(run: CaptureReplay, events: AllEvents, request: ReplayRequest) -> None:
    """Raise UsageError where nothing of the capture was played."""
    if run.has_begun:
        return
    if events.faults:
        raise click.UsageError("; ".join(events.faults))
    if run.left_out:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in run.left_out.items())
        raise click.UsageError(f"nothing in '{request.source}' can be played: {reasons}")
    what = "MQTT of a client" if request.sender is None else "PUBLISH"
    chosen = " that --filter chooses" if request.options.picked else ""
    raise click.UsageError(f"'{request.source}' has no {what}{chosen}")


def _interrupted(run: CaptureReplay) -> str:
    totals = run.totals
    record = f", record {run.last_record:,}" if run.last_record else ""
    read = f"the capture was played up to {totals.captured_s:.1f} s of it{record}; the rest was not sent"
    unsent = f"nor {counted(totals.unsent, 'message')} of what had been read" if totals.unsent else ""
    return ", ".join(filter(None, (f"{signals.word()}; {read}", unsent)))
