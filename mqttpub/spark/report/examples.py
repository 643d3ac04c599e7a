"""The lines by which a shell shows the packets that a report names."""

import re
import shlex
from collections.abc import Iterator

from .answers import Example

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BARE = re.compile(r"[\w.:\[\]-]+", re.ASCII)


def decoding(example: Example, statement: str) -> str:
    """Return the line that shows the packet; where a finding is about what is no packet, that judges the capture."""
    if example.packet is None:
        chosen = f" --select {quoted(statement)}" if statement else ""
        return f"mqttpub lint {quoted(named(example.capture))}{chosen}"
    terms = quoted(" ".join(_terms(example)))
    return f"mqttpub decode -f {quoted(named(example.capture))} --absolute-time --filter {terms}"


def _terms(example: Example) -> Iterator[str]:
    packet = example.packet or {}
    # A record can complete several packets, which the other terms tell apart.
    yield f"record={example.frame}"
    yield f"type={packet['type']}"
    for name, key in (("direction", "direction"), ("id", "packet_id"), ("alias", "topic_alias")):
        if packet[key] is not None:
            yield f"{name}={_value(str(packet[key]))}"
    if packet["type"] == "PUBLISH" and packet["qos"] is not None:
        yield f"qos={packet['qos']}"
    if packet["reason_code"] is not None:
        yield f"reason=0x{packet['reason_code']:02x}"


def _value(text: str) -> str:
    """Return a value as a filter takes it."""
    if _BARE.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def named(capture: str) -> str:
    """Return the name under which a capture is opened; one behind a URL has to be fetched, and lies here then."""
    name = capture.rpartition("/")[2] if "://" in capture else capture
    return f"./{name}" if name.startswith("-") else name


def quoted(text: str) -> str:
    """Return a word of a shell; one with control characters in the way of bash, zsh and POSIX 2024."""
    if not _CONTROL.search(text):
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda found: "".join(f"\\{byte:03o}" for byte in found[0].encode()), plain) + "'"
