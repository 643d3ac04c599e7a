"""Packets after which a server must close, and servers that stay connected.

Only an answer to what the client sent later proves that a server stayed; anything else may have been under way.
"""

from ...spec.constraints import StatementRef
from ..registry import TestPoint, cite
from .state import ConnectionState, MustClose

MALFORMED = cite("4.13.1-1", "4.8.0-1")
FLAGS = cite("4.13.1-1", "2.2.2-2")
SECOND_CONNECT = cite("3.1.0-2", "3.1.0-2")
_ALSO = cite("4.13.1-1", "4.8.0-1")

_WORDS = {
    MALFORMED: "could not be read",
    FLAGS: "has wrong flags",
    SECOND_CONNECT: "is a second CONNECT",
}
STAYED_OPEN = {law: TestPoint(law, _ALSO) for law in _WORDS}


def note_server_must_close(state: ConnectionState, law: StatementRef) -> None:
    """Note that the server must close because of the current packet of the client."""
    if state.must_close is None and law.id(state.version):
        state.must_close = MustClose(law, state.number)
        state.exercised[STAYED_OPEN[law]] += 1


def check_server_closed(state: ConnectionState, name: str, number: int) -> None:
    """Report an answer of the server (`name`) to packet `number` if it came after a packet that obliged it to close."""
    cause = state.must_close
    if cause is not None and number >= cause.number + (cause.law != FLAGS):
        message = f"{name} answers packet {number}, but packet {cause.number} {_WORDS[cause.law]}"
        state.fault(cause.law, "", f"{message}: the server must close", _ALSO)
        state.must_close = None
