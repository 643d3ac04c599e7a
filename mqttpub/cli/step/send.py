"""What `send` does with its request: write bytes, show what comes, and check what is expected."""

import sys
from contextlib import ExitStack

from ...common.bad_text import BadText
from ...lab.player import PlayFailure
from ...live.failures import ConnectionRefused, Exit, Interrupted
from ...script.reader import read_line
from ...view.terminal.style import show
from .. import signals
from ..notes import print_json
from ..observe.observers import observers
from .report import Played, lines, record
from .request import SendRequest
from .run import player
from .scripts import wrong

ARGUMENT = "argument"
"""Name of the arguments in messages, as a script has the name of its file."""
_CONNECT = "> connect; < connack reason_code=$code"


def send(request: SendRequest) -> int:
    """Do what a request asks for and return the exit status; raises a Failure, and UsageError."""
    with ExitStack() as stack:
        seen = observers(request, stack)
        playing = stack.enter_context(player(request, seen, skips=True))
        try:
            if request.connects:
                playing.play(read_line(_CONNECT))
                if code := playing.bindings["code"]:
                    raise ConnectionRefused(f"the broker refused the connection: 0x{int(code):02x}")
            playing.play((*request.steps, *request.expected))
            playing.listen(request.wait_s)
        except PlayFailure as failure:
            seen.flush()
            return _failed(failure, request)
        except BadText as error:
            raise wrong(ARGUMENT, error) from None
        except KeyboardInterrupt:
            raise Interrupted(signals.word(), signals.status()) from None
    return seen.status(Exit.DONE)


def _failed(failure: PlayFailure, request: SendRequest) -> Exit:
    played = Played("send", 0, failure)
    if request.shown.json:
        print_json(record(played, secrets=request.shown.secrets))
    else:
        show(lines(played, secrets=request.shown.secrets), sys.stdout)
    return Exit.FINDINGS
