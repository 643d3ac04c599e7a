"""A line of a log without what is not bytes: colours of terminals, stray bytes, times, addresses, process numbers."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

BLANK = "\0"
"""Stands for each character of a time or an address, so that no run of bytes goes across it."""

_ESCAPES = re.compile(
    r"(?:\x1b|\^\[|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-?]*+[ -/]*+[@-~]"
    r"|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)?|\x1b[ -/]*+[0-~]?|\[[0-9]{1,2}(?:;[0-9]{1,3}){0,4}m"
)
_STRAY = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffd\u200b-\u200f]")
_STRAY_TO_BLANK = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), 65279, 65533), " ")
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_SOURCES = "cc?|cpp|cxx|h|hpp|ino|py|go|rs|js|ts|java|kt|erl|exs?|rb|cs|swift|php|lua"
_NOT_BYTES = re.compile(
    rf"""(?<![\w.:-])[12]\d{{3}}[-/.]\d\d[-/.]\d\d(?:[T _,-]{{1,2}}\d\d[:.]\d\d[:.]\d\d(?:[.,]\d+)*)?
     (?:Z|[ ]?[+-]\d\d:?\d\d\b)?
    |(?<![\w.:])\d\d?[-/.]\d\d?[-/.](?:19|20)\d\d(?![\w.])                     # 26.11.2026
    |(?<![\w.:])(?:\d\d-\d\d[ ])?\d\d?:\d\d:\d\d(?:[.,]\d+)*+(?::\d{{3}}\b)?+(?![:a-zA-Z0-9])(?:[ ][AP]M\b)?
    |(?<![\w.])(?:19|20)\d{{6}}[ T_-]\d{{6}}(?:[.,]\d+)?(?!\w)              # 20261126 120000.123
    |\b(?:{_MONTHS})[a-z]*+[ ]{{1,2}}\d{{1,2}}\b(?:,?[ ](?:19|20)\d\d\b)?
    |\[\s*+\d+\.\d+\]                                                       # [   12.345678]
    |(?<![\])>])(?:\[\s*+[#]?\d+\]|\(\s*+\d+\s*+\)|<\d{{1,3}}>)(?![\[(<])
    |(?<![\w.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:[:.]\d{{1,5}}\b)?(?!\.?\w)               # IPv4
    |(?<![\w:])(?:[0-9A-Fa-f]{{1,4}}:)+:[0-9A-Fa-f:]*+(?!\w)                 # IPv6
    |(?<!\w)[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{12}}(?!\w)
    |(?<![\w/.-])[\w/.-]{{1,100}}?\.(?:{_SOURCES}):\d+(?::\d+)?(?!\w)                           # file.c:123
    """,
    re.VERBOSE,
)
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "#39": "'", "nbsp": " "}
_ENTITY = re.compile(f"&({'|'.join(_ENTITIES)});")
_LOGCAT = re.compile(r"\0+\s++(\d++\s++\d++)\s++[VDIWEF]\s")
"""The process and the thread in a line of logcat, after its time."""
_WHEN = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?\s?(Z|[+-]\d\d:?\d\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LogLine(NamedTuple):
    """A line as it is looked at."""

    number: int
    """Counted from 1."""
    text: str
    """Without colours; the strings of a JSON object unescaped once."""
    bare: str
    """The same with BLANK for each character of a time or an address."""


def without_colours(text: str) -> str:
    """Return a text without the escape sequences of terminals and without other control characters."""
    if "[" in text or "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.translate(_STRAY_TO_BLANK) if _STRAY.search(text) else text


def log_line(number: int, text: str) -> LogLine:
    """Return a line as it is looked at."""
    text = without_colours(text).rstrip()
    if "&" in text:
        text = _ENTITY.sub(lambda found: _ENTITIES[found[1]], text)
    if text.startswith("{") and text.endswith("}") and '"' in text:
        text = _unwrapped(text)
    return LogLine(number, text, without_times(text))


def without_times(text: str) -> str:
    """Return a text with BLANK for each character of a time, an address or a process number."""
    bare = _NOT_BYTES.sub(_blanked, text)
    if found := _LOGCAT.match(bare):
        bare = bare[: found.start(1)] + BLANK * (found.end(1) - found.start(1)) + bare[found.end(1) :]
    return bare


def _blanked(found: re.Match[str]) -> str:
    return BLANK * len(found[0])


def _unwrapped(text: str) -> str:
    """Return the members of a JSON object as text, as docker, journald and many libraries write a line each."""
    import json

    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return " ; ".join(f"{name}={_shown(value)}" for name, value in members.items())


def _shown(value: Any) -> str:
    import json

    if not isinstance(value, str):
        return json.dumps(value)
    if _STRAY.search(value):
        # Bytes that stand in a string as characters.
        return '"' + "".join(f"\\x{ord(c):02x}" if _is_byte(c) else c for c in value) + '"'
    return value.rstrip("\r\n")


def _is_byte(character: str) -> bool:
    return ord(character) < 256 and (character in '\\"' or not 0x20 <= ord(character) < 0x7F)


def time_ns(text: str) -> int | None:
    """Return the time in a line, in nanoseconds since 1970, if its date and zone are there."""
    found = _WHEN.search(text)
    if not found:
        return None
    zone = "+00:00" if found[4] == "Z" else found[4]
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{zone}")
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(seconds=1) * 10**9 + int((found[3] or "").ljust(9, "0"))
