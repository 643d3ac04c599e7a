"""What `broker --script` does: play the server's end of a script to whoever connects."""

import sys
import time
from typing import NamedTuple

import click

from ...common.bad_text import BadText
from ...lab.player import PlayFailure, PlayOptions
from ...lab.scripted import ScriptedServer
from ...live.failures import Exit
from ...view.terminal.style import show
from .report import Played, lines
from .scripts import NamedScript, wrong


class ServeRequest(NamedTuple):
    """Which script to play, and how often."""

    script: NamedScript
    timeout_s: float
    """Longest time to wait for a packet of a client."""
    once: bool
    """Whether to play it once and end with its result, instead of to one client after another."""
    quiet: bool
    """Whether only plays that went otherwise are shown."""


def serve(server: ScriptedServer, request: ServeRequest) -> int:
    """Play a script as the server and return the exit status; raises UsageError for one that cannot be played."""
    options = PlayOptions(timeout_s=request.timeout_s)
    try:
        server.check(request.script.steps, options)
    except BadText as error:
        raise wrong(request.script.name, error) from None
    click.echo(f"listening on {server.host}:{server.port}; press Ctrl-C to stop")
    while True:
        if not request.once:
            server.wait()
        played = _played(server, request.script, options)
        if played.failure or not request.quiet:
            show(lines(played, secrets=False), sys.stdout)
            sys.stdout.flush()
        if request.once:
            return Exit.FINDINGS if played.failure else Exit.DONE


def _played(server: ScriptedServer, script: NamedScript, options: PlayOptions) -> Played:
    """Play a script once."""
    began, failure = time.monotonic(), None
    try:
        server.play(script.steps, options)
    except PlayFailure as error:
        failure = error
    return Played(script.name, time.monotonic() - began, failure)
