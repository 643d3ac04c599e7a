"""Times and durations as text, always cut to the digits shown and never rounded up.

A cut time equals the one in the tables, whose microseconds are cut too, and no event seems later than it was.
Times are nanoseconds since 1970 in UTC, durations are nanoseconds.
"""

from collections.abc import Sequence
from functools import lru_cache

SECOND_NS = 1_000_000_000
"""Nanoseconds of a second."""
_NEVER = -(1 << 80)
DIGITS = tuple(f"{number:03d}" for number in range(1000))
"""Three digits of each number below 1,000. Looking them up takes a third of the time of formatting them (timeit)."""
RELATIVE = 11
ABSOLUTE = 27
"""Cells that a time takes on the screen."""


class Zero:
    """The time that seconds are counted from, shared by all views of one capture."""

    __slots__ = ("time_ns",)

    def __init__(self) -> None:
        self.time_ns: int | None = None
        """None until the first time is shown."""


class Clock:
    """Writes times as seconds since `zero` or, if `absolute`, as date and time in UTC.

    Without a shared zero, the first time written becomes the zero.
    """

    def __init__(self, *, absolute: bool = False, zero: Zero | None = None) -> None:
        self.absolute = absolute
        self.width = ABSOLUTE if absolute else RELATIVE
        self._zero = Zero() if zero is None else zero
        self._second_ns = _NEVER
        """When the second began whose text is in `_second`, which is all but the decimals."""
        self._second = ""
        self.end = "Z" if absolute else ""
        """What stands after the decimals."""

    def show(self, time_ns: int | None) -> str:
        """Return a time right-aligned in `width` cells; a dash for None.

        A time too long for them loses decimals, so that columns stay aligned.
        """
        # Most times are in the second of the one before: 0.3 us instead of 0.7 for each line (timeit).
        if time_ns is not None:
            rest_ns = time_ns - self._second_ns
            if 0 <= rest_ns < SECOND_NS and not (self.absolute and rest_ns % 1000):
                return f"{self._second}{DIGITS[rest_ns // 1_000_000]}{DIGITS[rest_ns // 1000 % 1000]}{self.end}"
        text = self.text(time_ns)
        if len(text) > self.width:
            return text[: max(self.width, text.find("."))].removesuffix(".").rjust(self.width)
        text = text.rjust(self.width)
        if time_ns is not None:
            self._keep_second(time_ns, text)
        return text

    def shows(self, times_ns: Sequence[int | None]) -> list[str]:
        """Return the texts of times, of which many may be the same."""
        first_ns = times_ns[0]
        if first_ns == times_ns[-1] and times_ns.count(first_ns) == len(times_ns):
            return [self.show(first_ns)] * len(times_ns)
        show, last_ns, text, texts = self.show, first_ns, self.show(first_ns), []
        for time_ns in times_ns:
            if time_ns != last_ns:
                last_ns, text = time_ns, show(time_ns)
            texts.append(text)
        return texts

    def begin(self, time_ns: int | None) -> None:
        """Note a time that is shown later, but before all that come after it."""
        if time_ns is not None and self._zero.time_ns is None:
            self._zero.time_ns = time_ns

    @property
    def origin_ns(self) -> int:
        """Where the seconds begin that are shown, in nanoseconds since 1970."""
        return 0 if self.absolute else self._zero.time_ns or 0

    def _keep_second(self, time_ns: int, text: str) -> None:
        """Keep the text of the second of a time; all times in it have as many digits."""
        passed_ns = time_ns - self.origin_ns
        if passed_ns >= 0:
            self._second_ns = time_ns - passed_ns % SECOND_NS
            self._second = text[: -6 - len(self.end)]

    def text(self, time_ns: int | None) -> str:
        """Return a time without padding; a dash for None."""
        if time_ns is None:
            return "-"
        self.begin(time_ns)
        return iso(time_ns) if self.absolute else seconds(time_ns - self.origin_ns)


def iso(time_ns: int, *, digits: int = 0) -> str:
    """Return a time as ISO 8601 in UTC with 6 or 9 decimals.

    Without `digits` there are 6, or 9 if the time is not a whole number of microseconds.
    """
    second, rest_ns = divmod(time_ns, SECOND_NS)
    return f"{whole_second(second)}.{f'{rest_ns:09d}'[:digits] if digits else fraction(rest_ns)}Z"


def iso_of(time_s: float) -> str:
    """Return a time in seconds since 1970, such as `time.time()`, as ISO 8601 in UTC with six decimals."""
    second, micro = divmod(round(time_s * 1_000_000), 1_000_000)
    return f"{whole_second(second)}.{micro:06d}Z"


@lru_cache(256)
def whole_second(second: int) -> str:
    """Return date and time of a second since 1970; a second outside the calendar stays a number."""
    # Many messages come in one second, and this takes as long as the rest of their record.
    from datetime import UTC, datetime  # loaded on use: most commands show no date

    try:
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(second)


def fraction(rest_ns: int) -> str:
    """Return the decimals of a second: six, or nine if `rest_ns` is not a whole number of microseconds."""
    micro, nano = divmod(rest_ns, 1000)
    return f"{rest_ns:09d}" if nano else f"{micro:06d}"


def seconds(duration_ns: int, *, digits: int = 6) -> str:
    """Return a duration in seconds with up to nine decimals."""
    second, rest_ns = divmod(abs(duration_ns), SECOND_NS)
    return f"{'-' if duration_ns < 0 else ''}{second}.{f'{rest_ns:09d}'[:digits]}"


def duration(duration_ns: int) -> str:
    """Return a duration with a unit and three significant digits: `0.821 ms`, `12.3 ms`, `1.50 s`, `3,600 s`."""
    if duration_ns < 0:
        return f"-{duration(-duration_ns)}"
    for below_ns, step_ns, whole, unit in _DURATIONS:
        if duration_ns < below_ns:
            digits = DIGITS[duration_ns // step_ns]
            return f"{digits[:whole] or 0}.{digits[whole:]} {unit}" if whole < 3 else f"{digits} {unit}"
    return f"{duration_ns // SECOND_NS:,} s"


_DURATIONS = (
    (1_000_000, 1_000, 0, "ms"), (10_000_000, 10_000, 1, "ms"), (100_000_000, 100_000, 2, "ms"),
    (SECOND_NS, 1_000_000, 3, "ms"), (10 * SECOND_NS, 10_000_000, 1, "s"), (100 * SECOND_NS, 100_000_000, 2, "s"),
)  # fmt: skip
"""Durations below the first number have this number of nanoseconds in their last digit, and so many whole digits."""
