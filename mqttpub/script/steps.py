"""The steps of a script."""

from typing import Any, NamedTuple

from ..spec.declare import Field, Packet
from ..spec.properties import PropertyRow
from ..spec.versions import Direction, Version
from .lex import ScriptWord


class GivenField(NamedTuple):
    """A word that gives a field of the packet or of its will."""

    field: Field
    value: Any
    """By the type of the field: a number, a template, Reason Codes, Topic Filters, QoS and RETAIN of a will."""
    word: ScriptWord
    of_will: bool = False


class GivenProperty(NamedTuple):
    """A word that gives a property of the packet or of its will."""

    row: PropertyRow
    value: Any
    """A number, a template, or a pair of templates."""
    word: ScriptWord
    of_will: bool = False


class AbsentProperty(NamedTuple):
    """A word that names a property which the packet does not have."""

    row: PropertyRow
    word: ScriptWord


class GivenFilter(NamedTuple):
    """One Topic Filter and its options."""

    filter: Any
    """A template."""
    options: dict[str, int | bool]
    """Values of the fields of a subscription."""


class Sending(NamedTuple):
    """How a packet is written, where that is not plain."""

    twice: bool = False
    overlong: bool = False
    """Whether Remaining Length takes a byte more than it needs."""
    cut: int = 0
    """Bytes at the end that are not sent."""
    slice_bytes: int = 0
    """Bytes that are written at a time; 0 for all."""
    length: int | None = None
    """Remaining Length, where it is not the true one."""
    cut_word: ScriptWord | None = None
    """The word that says `cut`."""

    @property
    def copies(self) -> int:
        """How often the packet is written."""
        return 2 if self.twice else 1


class PacketStep(NamedTuple):
    """A packet, which one end sends and the other awaits."""

    label: str
    """Name of its connection; empty for the one without a name."""
    word: ScriptWord
    """The first word of the step."""
    fault: bool
    """Whether the step is marked as the fault of the conversation."""
    direction: Direction
    packet: type[Packet] | None
    """The class of the packet; None for raw bytes."""
    given: tuple[GivenField | GivenProperty, ...] = ()
    absent: tuple["AbsentProperty", ...] = ()
    """What a packet that is awaited must not have."""
    raw: bytes = b""
    times: str = ""
    """How often it is awaited: once, `?` at most once, `*` any number of times."""
    sending: Sending = Sending()
    within_ns: int | None = None
    """Longest time to wait for it; None for that of the player."""


class WaitStep(NamedTuple):
    """Time that goes by."""

    label: str
    word: ScriptWord
    wait_ns: int


class SilenceStep(NamedTuple):
    """A time in which an end sends nothing."""

    label: str
    word: ScriptWord
    direction: Direction
    wait_ns: int


class GapStep(NamedTuple):
    """Bytes of the client that a capture does not hold."""

    label: str
    word: ScriptWord


class MidStep(NamedTuple):
    """Says that the beginning of the connection was not captured."""

    label: str
    word: ScriptWord


class EndStep(NamedTuple):
    """The end of a connection, or of the capture."""

    label: str
    word: ScriptWord
    fault: bool
    direction: Direction | None
    """The end that closes; None at the end of the capture."""
    how: str
    """`FIN`, `RST` or `end`."""


class VersionStep(NamedTuple):
    """The versions that the connections below it may speak; the first one is taken unless another is asked for."""

    word: ScriptWord
    versions: tuple[Version, ...]


Step = PacketStep | WaitStep | SilenceStep | GapStep | MidStep | EndStep | VersionStep
