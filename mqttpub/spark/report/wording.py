"""How a report shows what came from others, and numbers."""

from collections.abc import Callable
from typing import NamedTuple

from ...spec.fields import PACKETS
from ...spec.terms import Version

_PACKETS = {packet.name: packet for packet in PACKETS.values()}
LONGEST = 40
"""Characters of a name beside a plot; tables have all of it."""


class Wording(NamedTuple):
    """Functions that a layer above has: foreign text without control characters, times as people read them."""

    text: Callable[[str], str]
    duration: Callable[[int], str]
    """Of nanoseconds."""
    moment: Callable[[int], str]
    """Of nanoseconds since 1970."""

    def latency(self, microseconds: int | None) -> str:
        """Return a latency; a dash for none."""
        return "-" if microseconds is None else self.duration(microseconds * 1000)

    def time(self, microseconds: int | None) -> str:
        """Return a time; a dash for none."""
        return "-" if microseconds is None else self.moment(microseconds * 1000).replace(".000000Z", "Z")

    def name(self, text: str | None, unknown: str) -> str:
        """Return a name that a peer gave; `unknown` for none."""
        return self.text(text) if text else unknown

    def label(self, rank: int, text: str) -> str:
        """Return a short name, different from all others by its rank."""
        return f"{rank}. {text if len(text) <= LONGEST else text[: LONGEST - 3] + '...'}"


def number(value: float) -> str:
    """Return a number with commas."""
    return f"{value:,}"


def share(part: int, whole: int) -> str:
    """Return a part in percent; of nothing there is none."""
    return (
        "-" if not whole else f"{100 * part / whole:.2f} %" if 0 < part * 100 < whole else f"{100 * part / whole:.1f} %"
    )


def counted(count: int, noun: str) -> str:
    """Return a number of things."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def reason(type: str, code: int, version: str) -> str:
    """Return a Reason Code with its name in the packet of that version."""
    packet = _PACKETS.get(type)
    field = (packet.fields.get("reason_code") or packet.fields.get("reason_codes")) if packet else None
    name = field.meaning(code, Version.named(version)) if field else ""
    return f"0x{code:02x} {'unknown' if not name or name.startswith('reason 0x') else name}"


def size(value: float) -> str:
    """Return bytes with a unit, three digits that count."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


_STEPS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1000))


def step(microseconds: int) -> str:
    """Return the width of a bin, which is whole in some unit."""
    for unit, each in _STEPS:
        if microseconds % each == 0:
            return f"{microseconds // each:,} {unit}"
    return f"{microseconds} us"
