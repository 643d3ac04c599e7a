"""What `send` does with its request: write bytes, show what comes, and check what is expected."""

import sys
from contextlib import ExitStack

from ...common.bad_text import BadText
from ...lab.player import PlayFailure
from ...live.failures import ConnectionRefused, Exit, Interrupted
from ...script.reader import read_line
from ...view.terminal.style import show
from .. import signals
from ..flags.transport import check
from ..notes import print_json
from .report import Played, lines, record
from .request import SendRequest
from .run import inspecting, player
from .scripts import wrong

ARGUMENT = "argument"
"""Name of the arguments in messages, as a script has the name of its file."""
_CONNECT = "> connect; < connack reason_code=$code"


def send(request: SendRequest) -> int:
    """Do what a request asks for and return the exit status; raises a Failure, and UsageError."""
    check(request.target.transport)
    with ExitStack() as stack:
        inspector = inspecting(request, stack)
        playing = stack.enter_context(player(request, inspector, skips=True))
        try:
            if request.connects:
                playing.play(read_line(_CONNECT))
                if code := playing.bindings["code"]:
                    raise ConnectionRefused(f"the broker refused the connection: 0x{int(code):02x}")
            playing.play((*request.steps, *request.expected))
            playing.listen(request.wait_s)
        except PlayFailure as failure:
            inspector.flush()
            return _failed(failure, request)
        except BadText as error:
            raise wrong(ARGUMENT, error) from None
        except KeyboardInterrupt:
            raise Interrupted(signals.word(), signals.status()) from None
    return Exit.DONE


def _failed(failure: PlayFailure, request: SendRequest) -> Exit:
    played = Played("send", 0, failure)
    if request.json:
        print_json(record(played, secrets=request.secrets))
    else:
        show(lines(played, secrets=request.secrets), sys.stdout)
    return Exit.FINDINGS
