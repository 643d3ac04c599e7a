"""What `send` does with its request: write bytes, show what comes, and check what is expected."""

from ...codec.decode import decode_packet
from ...common.bad_text import BadText
from ...lab.player import PlayFailure
from ...live.failures import Exit, Interrupted
from ...live.incoming import refusal
from ...script.reader import read_line
from ...spec.packets import Connack
from .. import signals
from ..observe.observers import Observers, observed
from .report import Played
from .request import SendRequest
from .run import player, print_played
from .scripts import wrong

ARGUMENT = "argument"
"""Name of the arguments in messages, as a script has the name of its file."""
_CONNECT = "> connect; < connack c=00"


def send(request: SendRequest) -> int:
    """Do what a request asks for and return the exit status; raises a Failure, and UsageError."""
    return observed(request, lambda seen: _send(request, seen))


def _send(request: SendRequest, seen: Observers) -> int:
    with player(request, seen, skips=True) as playing:
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
            print_played(Played("send", 0, failure), request)
            return Exit.FINDINGS
        except BadText as error:
            raise wrong(ARGUMENT, error) from None
        except KeyboardInterrupt:
            raise Interrupted(signals.word(), signals.status()) from None
    return Exit.DONE
