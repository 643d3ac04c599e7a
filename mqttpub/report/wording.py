"""How a report shows what came from others, and numbers."""

from collections.abc import Callable
from typing import NamedTuple

from ..spec.declare import PACKETS
from ..spec.versions import Version

_PACKETS = {packet.name: packet for packet in PACKETS.values()}
LONGEST = 120
"""Characters of a name in what a plot tells; tables have all of it."""
_MINUTE = 60_000_000
_UNITS = (("d", 1440), ("h", 60), ("min", 1))


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
        return f"{rank}. {cut(text, LONGEST)}"

    def span(self, microseconds: int) -> str:
        """Return how long something took: from two minutes on in days, hours and minutes."""
        if microseconds < 2 * _MINUTE:
            return self.duration(microseconds * 1000)
        rest, parts = round(microseconds / _MINUTE), []
        for unit, minutes in _UNITS:
            count, rest = divmod(rest, minutes)
            if count:
                parts.append(f"{count:,} {unit}")
        return " ".join(parts)


def cut(text: str, length: int, head: int | None = None) -> str:
    """Return a text that is no longer, its middle cut out; `head` says how many characters stand before the cut."""
    if len(text) <= length:
        return text
    kept = max(1, length - 1)
    before = kept // 2 if head is None else min(head, kept)
    return f"{text[:before]}\u2026{text[len(text) - (kept - before) :]}"


def reason(type: str, code: int, version: str) -> str:
    """Return a Reason Code with its name in the packet of that version."""
    packet = _PACKETS.get(type)
    field = (packet.fields.get("reason_code") or packet.fields.get("reason_codes")) if packet else None
    name = field.meaning(code, Version.named(version)) if field else ""
    return f"0x{code:02x} {'unknown' if not name or name.startswith('reason 0x') else name}"


_STEPS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1000))


def step(microseconds: int) -> str:
    """Return the width of a bin, which is whole in some unit."""
    for unit, each in _STEPS:
        if microseconds % each == 0:
            return f"{microseconds // each:,} {unit}"
    return f"{microseconds} us"
