"""What `step` does with its request: play each script and say how it ended."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from ...common.bad_text import BadText
from ...lab.player import Player, PlayFailure, PlayOptions
from ...lab.raw_client import RawClient
from ...live.failures import Exit, Interrupted
from ...live.net.dial import describe, open_socket
from ...spec.packets import Connect
from ...spec.versions import Version
from ...view.terminal.style import show
from .. import signals
from ..flags.connection import client_id
from ..flags.transport import check
from ..notes import print_json
from .report import Played, lines, record
from .request import PlayRequest, StepRequest
from .scripts import NamedScript, wrong

if TYPE_CHECKING:
    from ..observe.inspect import Inspector


def step(request: StepRequest) -> int:
    """Play the scripts of a request and return the exit status; raises a Failure, and UsageError."""
    check(request.target.transport)
    ended: list[Played] = []
    try:
        for played in _all(request):
            ended.append(played)
            _print(played, request)
    except KeyboardInterrupt:
        done = f"{len(ended)} of {len(request.scripts)} scripts were played"
        raise Interrupted(f"{signals.word()}; {done}", signals.status()) from None
    finally:
        if request.junit:
            _write_junit(request.junit, ended)
    failed = sum(played.failure is not None for played in ended)
    if request.scripts[1:] and not request.json:
        click.echo(f"{len(ended)} scripts: {len(ended) - failed} as they say, {failed} otherwise")
    return Exit.FINDINGS if failed else Exit.DONE


def drive(request: StepRequest) -> int:
    """Let the user drive a conversation on the terminal and return the exit status; raises a Failure."""
    from .prompt import StepPrompt

    check(request.target.transport)
    target = request.target

    def dial(version: Version) -> RawClient:
        return RawClient(open_socket(target, time.monotonic() + request.timeout_s, request.timeout_s), version=version)

    try:
        return StepPrompt(dial, target.version, target.connect, request.timeout_s).run()
    except KeyboardInterrupt:
        raise Interrupted(signals.word(), signals.status()) from None


def _all(request: StepRequest) -> Iterator[Played]:
    if request.jobs > 1 and request.scripts[1:]:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(request.jobs)
        try:
            yield from pool.map(lambda script: _played(script, request, None), request.scripts)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return
    with ExitStack() as stack:
        inspector = inspecting(request, stack) if request.inspect else None
        for script in request.scripts:
            yield _played(script, request, inspector)


def inspecting(request: PlayRequest, stack: ExitStack) -> "Inspector":
    from ..observe.inspect import Inspector

    made = Inspector(request.target.version, json=request.json, secrets=request.secrets, full=request.full)
    stack.callback(made.flush)
    return made


def _played(script: NamedScript, request: StepRequest, inspector: "Inspector | None") -> Played:
    """Play one script; raises UsageError for a script that cannot be played."""
    began, failure = time.monotonic(), None
    try:
        with player(request, inspector) as playing:
            playing.play(script.steps)
    except PlayFailure as error:
        failure = error
    except BadText as error:
        raise wrong(script.name, error) from None
    finally:
        if inspector:
            inspector.flush()
    return Played(script.name, time.monotonic() - began, failure)


def player(request: PlayRequest, inspector: "Inspector | None", *, skips: bool = False) -> Player:
    """Return what plays scripts against the broker of a request, and shows the packets."""
    target = request.target

    def dial(label: str, version: Version) -> RawClient:
        sock = open_socket(target, time.monotonic() + request.timeout_s, request.timeout_s)
        observer = inspector.of(label, describe(sock, target.transport)) if inspector else None
        return RawClient(sock, version=version, observer=observer)

    def given() -> Mapping[str, Any]:
        return _given(target.connect, chosen=request.is_client_id_chosen)

    return Player(dial, PlayOptions(timeout_s=request.timeout_s, version=request.version, skips=skips, connect=given))


def _given(connect: Connect, *, chosen: bool) -> dict[str, Any]:
    """Return what the flags say of a CONNECT, for fields that the script leaves open, with a fresh identifier."""
    plain = Connect()
    said = {key: value for key, value in connect.__dict__.items() if value != getattr(plain, key)}
    return said if chosen else {**said, "client_id": client_id()}


def _print(played: Played, request: StepRequest) -> None:
    if request.json:
        print_json(record(played, secrets=request.secrets))
    else:
        show(lines(played, secrets=request.secrets), sys.stdout)
    sys.stdout.flush()


def _write_junit(path: str, ended: list[Played]) -> None:
    from ...common.files import replacing
    from ...view.export.junit import Case, junit
    from ...view.terminal.cells import text_of

    cases = [
        Case(
            played.name, "played", played.seconds,
            f"line {played.failure.step.word.line}: {played.failure.message}" if played.failure else "",
            "\n".join(map(text_of, lines(played, secrets=False))),
        )
        for played in ended
    ]  # fmt: skip
    with replacing(path) as out:
        out.writelines(f"{line}\n" for line in junit("mqttpub step", cases))
