"""What was read from a log, what was skipped, and what the reading stands on, in sentences."""

from collections.abc import Iterable, Iterator

from ...common.words import counted

_NAMES = {"bare hex": "hex", "hex words": "words in hex", "octal words": "words in octal", "escaped": "escaped strings",
          "list": "lists", "a dump in hex": "a hex dump"}  # fmt: skip


class Log:
    """Counts the lines of a text that hold more than bytes."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.taken = 0
        """Lines with bytes."""
        self.passed = 0
        """Lines without bytes."""
        self.first = 0
        """The number of the first line without bytes, counted from 1."""
        self.swapped = False
        """Whether a server wrote the log."""
        self.marked = False
        """Whether words give directions as the writer of the log sees them."""
        self.contradicted = 0
        """Packets that the direction of their line contradicts."""
        self.first_contradicted = 0
        """The number of the first such line, counted from 1."""
        self.without_direction = False
        """Whether directions were not taken from the words because these contradict one another."""
        self.frames = 0
        """Dumps of network frames."""
        self.kinds: dict[str, None] = {}
        """The notations of what was taken."""
        self.stray = False
        """Whether the text has characters that are none, such as the colours of a terminal."""
        self.cut = 0
        """Lines with more bytes after those that were read."""
        self.first_cut = 0
        """The number of the first such line, counted from 1."""

    def pass_over(self, number: int) -> None:
        """Count a line without bytes."""
        self.first = self.first or number
        self.passed += 1

    def take(self, kinds: Iterable[str]) -> None:
        """Count a line with bytes, in these notations."""
        self.taken += 1
        self.kinds.update(dict.fromkeys(filter(None, kinds)))

    def left(self, number: int) -> None:
        """Count a line with more bytes than were read."""
        self.first_cut = self.first_cut or number
        self.cut += 1

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was taken and skipped."""
        if self.frames:
            frames = f"{self.frames:,} dump{'s are network frames' if self.frames > 1 else ' is a network frame'}"
            yield f"{frames}, of which the TCP payload is read"
        if not self.taken:
            return
        kinds = " and ".join(dict.fromkeys(_NAMES.get(kind, kind) for kind in self.kinds))
        lines = f"bytes in {kinds} were read from {counted(self.taken, 'line')} of a log"
        passed = f", {counted(self.passed, 'line')} skipped (the first is line {self.first})"
        yield lines + (passed if self.passed else "")
        if self.cut:
            lines = counted(self.cut, "line has", "lines have")
            skipped = f"they were skipped (the first is line {self.first_cut})"
            yield f"{lines} more bytes after those that were read; {skipped}"
        yield from self._directions()
        if self.stray:
            yield ("characters that are not text, such as colours, were passed over; --form raw reads the bytes as is")

    def _directions(self) -> Iterator[str]:
        if self.without_direction:
            yield (
                "the directions in the log contradict its packets and were left aside; --direction says who sent the "
                "rest"
            )
        elif self.marked:
            end = "server" if self.swapped else "client"
            yield f"the log is read as one written by a {end}: TX, send, write and -> mean sent by the {end}"
        if self.contradicted and not self.without_direction:
            lines = counted(self.contradicted, "packet is", "packets are")
            yield (
                f"{lines} of a type that the end on its line never sends; there the type counts "
                f"(the first is on line {self.first_contradicted})"
            )
