"""The version of packets that somebody wrote down without the CONNECT that announces it.

Captures settle theirs in `capture.connection`, by the same rule: `capture.evidence.Guess`.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

from ..capture.protocol.evidence import Guess
from ..codec.connect_version import connect_layout
from ..spec.declare import only_sender
from ..spec.versions import Version
from ..traffic.events import Event, GapSeen, PacketSeen

MOST_HELD = 1000
"""Events that are held while the version of a connection is open."""
MOST_SETTLED = 10_000
"""Connections whose version is remembered; the oldest make room."""
CANDIDATES = frozenset((Version.V5, Version.V311))
"""Versions that packets may have when nothing announces one. 3.1 forgives what is an error in the others."""

Place = TypeVar("Place")


def settle(events: Iterable[Event]) -> Iterator[Event]:
    """Give the packets of each connection without a known version one and the same; see `settle_placed`."""
    return (event for event, _ in settle_placed((event, None) for event in events))


def settle_placed(placed: Iterable[tuple[Event, Place]]) -> Iterator[tuple[Event, Place]]:
    """Do so for events that come with their place.

    Events keep their order. They are held until three packets decide, a packet comes whose version is announced, or
    1,000 are held: the connection then has the version that is the likeliest up to there, also in all that follows.
    Packets that only one end sends get their direction.
    """
    settling = _Settling()
    held: deque[tuple[Event, Place]] = deque()
    for event, place in placed:
        settling.add(event)
        held.append((event, place))
        while held and (settling.knows(held[0][0]) or len(held) >= MOST_HELD):
            yield settling.read(held[0][0]), held.popleft()[1]
    for event, place in held:
        yield settling.read(event), place


def guessed_remark(version: Version) -> str:
    """Return a sentence about packets whose version no CONNECT announces."""
    how = f"packets were read as MQTT {version.label}"
    return f"no CONNECT announces a known version; {how}; use --mqtt-version to choose another"


class _Settling:
    """The versions of connections, as far as they are known."""

    def __init__(self) -> None:
        self._open: dict[int, Guess] = {}
        self._settled: dict[int, Version] = {}

    def add(self, event: Event) -> None:
        """Take the next event."""
        number = event.ends.number
        if number in self._settled:
            return
        if isinstance(event, PacketSeen) and not event.guessed:
            self._settle(number, event.version)
        elif data := _packet_in(event):
            guess = self._open.get(number)
            if guess is None:
                also = {event.version} if isinstance(event, PacketSeen) else set()
                guess = self._open[number] = Guess(CANDIDATES | also, most_packets=MOST_HELD)
            guess.add(data)
            if guess.settled:
                self._settle(number)

    def knows(self, event: Event) -> bool:
        """Whether an event needs no more to be read; one that has a version of its own never does."""
        return event.ends.number not in self._open

    def read(self, event: Event) -> Event:
        """Return an event with its version and its direction; a version that is still open is settled by that."""
        if not isinstance(event, PacketSeen):
            return event
        number, version = event.ends.number, event.version
        if event.guessed:
            if number in self._open:
                self._settle(number)
            version = connect_layout(event.data) or self._settled.get(number, version)
        return event._replace(version=version, direction=event.direction or only_sender(event.data[0] >> 4, version))

    def _settle(self, number: int, announced: Version | None = None) -> None:
        if len(self._settled) >= MOST_SETTLED:
            del self._settled[next(iter(self._settled))]
        guess = self._open.pop(number, None)
        version = guess.version if guess else announced
        if version:
            self._settled[number] = version


def _packet_in(event: Event) -> bytes:
    """Return the bytes of a packet, or the first ones of a packet that somebody wrote down and that is cut short."""
    if isinstance(event, PacketSeen) or (isinstance(event, GapSeen) and not event.record):
        return event.data
    return b""
