"""What `send` does with its request: write bytes, show what comes, and check what is expected."""

import sys
from contextlib import ExitStack

from ...codec.decode import decode_packet
from ...common.bad_text import BadText
from ...lab.player import PlayFailure
from ...live.failures import Exit, Interrupted
from ...live.incoming import refusal
from ...script.reader import read_line
from ...spec.packets import Connack
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
_CONNECT = "> connect; < connack c=00"


def send(request: SendRequest) -> int:
    """Do what a request asks for and return the exit status; raises a Failure, and UsageError."""
    with ExitStack() as stack:
        seen = observers(request, stack)
        playing = stack.enter_context(player(request, seen, skips=True))
        try:
            if request.connects:
                playing.play(read_line(_CONNECT))
            playing.play((*request.steps, *request.expected))
            playing.listen(request.wait_s)
        except PlayFailure as failure:
            if request.connects and failure.came:
                packet = decode_packet(failure.came.data, failure.version)
                if isinstance(packet, Connack) and packet.reason_code:
                    raise refusal(packet, request.target.version) from None
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
