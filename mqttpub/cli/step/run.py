"""What `step` does with its request: play each script and say how it ended."""

import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import click

from ...common.bad_text import BadText
from ...lab.player import Player, PlayFailure, PlayOptions
from ...lab.raw_client import RawClient
from ...live.failures import Exit, Interrupted
from ...live.net.dial import open_socket, show_route
from ...live.net.target import client_id
from ...spec.versions import Version
from ...view.terminal.style import show
from .. import signals
from ..notes import print_json
from ..observe.observers import Observers, observed
from .report import Played, lines, record
from .request import PlayRequest, StepRequest, connect_fields
from .results import results
from .scripts import NamedScript, wrong


def step(request: StepRequest) -> int:
    """Play the scripts of a request and return the exit status; raises a Failure, and UsageError."""
    return observed(request, lambda seen: _step(request, seen))


def _step(request: StepRequest, seen: Observers) -> int:
    with results(request) as ended:
        try:
            for played in _each_played(request, seen):
                ended.append(played)
                print_played(played, request)
        except KeyboardInterrupt:
            done = f"{len(ended)} of {len(request.scripts)} scripts were played"
            raise Interrupted(f"{signals.word()}; {done}", signals.status()) from None
        failed = sum(played.failure is not None for played in ended)
        if request.scripts[1:] and not request.shown.json:
            click.echo(f"{len(ended)} scripts: {len(ended) - failed} as they say, {failed} otherwise")
    return Exit.FINDINGS if failed else Exit.DONE


def drive(request: StepRequest) -> int:
    """Let the user drive a conversation on the terminal and return the exit status; raises a Failure."""
    from .prompt import StepPrompt

    # The prompt itself shows every packet with what the rules find in it.
    request = request._replace(shown=request.shown._replace(inspect=False, lint=False))
    target = request.target

    def run(seen: Observers) -> int:
        try:
            dial = partial(dialled, request, seen)
            return StepPrompt(dial, target.version, target.connect, request.timeout_s).run()
        except KeyboardInterrupt:
            raise Interrupted(signals.word(), signals.status()) from None

    return observed(request, run)


def _each_played(request: StepRequest, seen: Observers) -> Iterator[Played]:
    if request.jobs > 1 and request.scripts[1:]:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(request.jobs)
        try:
            yield from pool.map(lambda script: _played(script, request, seen), request.scripts)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return
    for script in request.scripts:
        yield _played(script, request, seen)


def _played(script: NamedScript, request: StepRequest, seen: Observers) -> Played:
    """Play one script; raises UsageError for a script that cannot be played."""
    began, failure = time.monotonic(), None
    try:
        with player(request, seen) as playing:
            playing.play(script.steps)
    except PlayFailure as error:
        failure = error
    except BadText as error:
        raise wrong(script.name, error) from None
    finally:
        seen.settle()
    return Played(script.name, time.monotonic() - began, failure)


def player(request: PlayRequest, seen: Observers, *, skips: bool = False) -> Player:
    """Return what plays scripts against the broker of a request, and shows the packets."""
    options = PlayOptions(
        timeout_s=request.timeout_s, version=request.version, skips=skips, connect=lambda: _given(request)
    )
    return Player(partial(dialled, request, seen), options)


def dialled(request: PlayRequest, seen: Observers, label: str, version: Version) -> RawClient:
    """Return a new connection to the broker of a request, with its observer; raises NotConnected."""
    target = request.target
    sock = open_socket(target, time.monotonic() + request.timeout_s, request.timeout_s)
    observer = seen.of(label)
    show_route(observer, sock, target.transport)
    return RawClient(sock, version=version, observer=observer)


def _given(request: PlayRequest) -> Mapping[str, Any]:
    """Return what the flags say of a CONNECT, for fields that the script leaves open, with a fresh identifier."""
    said = connect_fields(request.target.connect)
    return said if request.is_client_id_chosen else {**said, "client_id": client_id()}


def print_played(played: Played, request: PlayRequest) -> None:
    """Print how a play ended."""
    if request.shown.json:
        print_json(record(played, secrets=request.shown.secrets))
    else:
        show(lines(played, secrets=request.shown.secrets), sys.stdout)
    sys.stdout.flush()
