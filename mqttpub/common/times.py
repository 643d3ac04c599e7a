"""Times and durations as people read them: cut to the digits that are shown, never rounded up.

So a time is that of the tables, whose microseconds are cut, too, and no event seems to come later than it did.
"""

from datetime import UTC, datetime

SECOND = 1_000_000_000
"""Nanoseconds."""
RELATIVE = 11
ABSOLUTE = 27
"""Cells that times take."""


class Zero:
    """Where seconds are counted from, for all views of one capture."""

    __slots__ = ("time",)

    def __init__(self) -> None:
        self.time: int | None = None
        """Nanoseconds since 1970; None until the first time was seen."""


class Clock:
    """Writes times in seconds since `zero`, or `absolute` as date and time in UTC.

    Without a zero of somebody else's, the first time that is written is it.
    """

    def __init__(self, *, absolute: bool = False, zero: Zero | None = None) -> None:
        self.absolute = absolute
        self.width = ABSOLUTE if absolute else RELATIVE
        self._zero = Zero() if zero is None else zero

    def show(self, time: int | None) -> str:
        """Return a time in nanoseconds since 1970, right-aligned; a dash for None.

        A long one loses digits behind the point, so that columns stay columns.
        """
        text = self.text(time)
        if len(text) > self.width:
            text = text[: max(self.width, text.find("."))].removesuffix(".")
        return text.rjust(self.width)

    def text(self, time: int | None) -> str:
        """Return the same without spaces in front."""
        if time is None:
            return "-"
        if self._zero.time is None:
            self._zero.time = time
        return iso(time) if self.absolute else seconds(time - self._zero.time)


def iso(time: int) -> str:
    """Return a time as ISO 8601 in UTC, with microseconds, or nanoseconds where there are any."""
    second, rest = divmod(time, SECOND)
    return f"{whole_second(second)}.{fraction(rest)}Z"


def whole_second(second: int) -> str:
    """Return the date and time of a second since 1970; one that no calendar has stays a number."""
    try:
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(second)


def fraction(rest: int) -> str:
    """Return the digits behind the point, for nanoseconds of a second."""
    micro, nano = divmod(rest, 1000)
    return f"{rest:09d}" if nano else f"{micro:06d}"


def seconds(nanoseconds: int) -> str:
    """Return a duration in seconds with six digits behind the point."""
    sign = "-" if nanoseconds < 0 else ""
    second, rest = divmod(abs(nanoseconds), SECOND)
    return f"{sign}{second}.{rest // 1000:06d}"


def duration(nanoseconds: int) -> str:
    """Return a duration with three digits that count, the others cut: `0.821 ms`, `12.3 ms`, `1.50 s`, `3,600 s`."""
    sign, size = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    unit, name = (SECOND // 1000, "ms") if size < SECOND else (SECOND, "s")
    whole, rest = divmod(size, unit)
    places = max(0, 3 - len(str(whole))) if whole else 3
    digits = f".{rest * 10**places // unit:0{places}d}" if places else ""
    return f"{sign}{whole:,}{digits} {name}"
