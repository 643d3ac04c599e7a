"""Latencies, times, names and Reason Codes as the report shows them; times and durations are in microseconds."""

from ..common.escape import escape
from ..common.times import duration, iso
from ..spec.packets import PACKETS_BY_NAME
from ..spec.versions import Version

LONGEST = 120
"""Characters of a name in a plot; tables show all of it."""
_MINUTE_US = 60_000_000
_UNITS = (("d", 1440), ("h", 60), ("min", 1))
_STEPS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1000))


def latency_text(latency_us: int | None) -> str:
    """Return a latency with its unit; a dash for none."""
    return "-" if latency_us is None else duration(latency_us * 1000)


def time_text(time_us: int | None) -> str:
    """Return a time as ISO 8601 in UTC, without a fraction of zero; a dash for none."""
    return "-" if time_us is None else iso(time_us * 1000).replace(".000000Z", "Z")


def name_text(name: str | None, unknown: str) -> str:
    """Return a name that a peer sent, escaped; `unknown` for none."""
    return escape(name) if name else unknown


def ranked_label(rank: int, text: str) -> str:
    """Return a short name that its rank makes unique."""
    return f"{rank}. {cut(text, LONGEST)}"


def span_text(span_us: int) -> str:
    """Return a duration, from two minutes on in days, hours and minutes."""
    if span_us < 2 * _MINUTE_US:
        return duration(span_us * 1000)
    rest, parts = round(span_us / _MINUTE_US), []
    for unit, minutes in _UNITS:
        count, rest = divmod(rest, minutes)
        if count:
            parts.append(f"{count:,} {unit}")
    return " ".join(parts)


def step(width_us: int) -> str:
    """Return the width of a bin in the largest unit in which it is a whole number."""
    for unit, unit_us in _STEPS:
        if width_us % unit_us == 0:
            return f"{width_us // unit_us:,} {unit}"
    return f"{width_us} us"


def cut(text: str, length: int, head: int | None = None) -> str:
    """Return a text of at most `length` characters, shortened in the middle, or after `head` characters."""
    if len(text) <= length:
        return text
    kept = max(1, length - 1)
    before = kept // 2 if head is None else min(head, kept)
    return f"{text[:before]}\u2026{text[len(text) - (kept - before) :]}"


def reason(type: str, code: int, version: str) -> str:
    """Return a Reason Code in hexadecimal, with its name in the packet of that version."""
    packet = PACKETS_BY_NAME.get(type)
    field = (packet.fields.get("reason_code") or packet.fields.get("reason_codes")) if packet else None
    name = field.meaning(code, Version.named(version)) if field else ""
    return f"0x{code:02x} {'unknown' if not name or name.startswith('reason 0x') else name}"
