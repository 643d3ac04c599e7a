"""Packets after which a server has to close, and servers that go on all the same.

Only an answer to what the client sent later is proof of that; anything else may have been under way.
"""

from typing import NamedTuple

from ...spec.constraints import Law
from .registry import Occasion, cite
from .state import State

MALFORMED = cite("4.13.1-1", "4.8.0-1")
FLAGS = cite("4.13.1-1", "2.2.2-2")
SECOND_CONNECT = cite("3.1.0-2", "3.1.0-2")
_ALSO = cite("4.13.1-1", "4.8.0-1")

_WORDS = {
    MALFORMED: "could not be read",
    FLAGS: "has wrong flags",
    SECOND_CONNECT: "is a second CONNECT",
}
WENT_ON = {law: Occasion(law, _ALSO) for law in _WORDS}


class Spoiled(NamedTuple):
    """A packet of the client after which the server has to close."""

    law: Law
    number: int


def spoil(state: State, law: Law) -> None:
    """Note that the server has to close because of the current packet of the client."""
    if state.spoiled is None and law.id(state.version):
        state.spoiled = Spoiled(law, state.number)
        state.counts[WENT_ON[law]] += 1


def went_on(state: State, name: str, number: int) -> None:
    """Check that an answer of the server is not for what came after such a packet."""
    spoiled: Spoiled | None = state.spoiled
    if spoiled is not None and number >= spoiled.number + (spoiled.law != FLAGS):
        message = f"{name} answers packet {number}, but packet {spoiled.number} {_WORDS[spoiled.law]}"
        state.fault(spoiled.law, "", f"{message}: the server must close", _ALSO)
        state.spoiled = None
