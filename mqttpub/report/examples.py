"""The lines by which a shell shows the packets that a report names."""

import re
import shlex
from collections.abc import Iterator, Sequence

from .answers import Example

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BARE = re.compile(r"[\w.:\[\]-]+", re.ASCII)


MOST_FILES = 8
"""Files that a line names."""


def decoding(example: Example, statement: str, sources: Sequence[str] = ()) -> str:
    """Return the line that shows the packet; where a finding is about what is no packet, the finding or the connection.

    `sources` are all captures in order. A connection that goes on from file to file is shown by its packets, as
    `lint` judges each file by itself and would not find what is wrong.
    """
    if by_connection(example, sources):
        upto = sources[sources.index(example.began) : sources.index(example.capture) + 1][-MOST_FILES:]
        terms = quoted(f"client={_value(example.client or '')}")
        return f"mqttpub decode {' '.join(quoted(named(each)) for each in upto)} --absolute-time --filter {terms}"
    if example.packet is None:
        chosen = f" --select {quoted(statement)}" if statement else ""
        return f"mqttpub lint {quoted(named(example.capture))}{chosen}"
    terms = quoted(" ".join(_terms(example)))
    return f"mqttpub decode -f {quoted(named(example.capture))} --absolute-time --filter {terms}"


def by_connection(example: Example, sources: Sequence[str]) -> bool:
    """Tell whether a finding is about no packet, but a connection that goes on from file to file."""
    places = example.began, example.capture
    return example.packet is None and bool(example.client) and len({*places}) > 1 and {*places} <= {*sources}


def _terms(example: Example) -> Iterator[str]:
    packet = example.packet or {}
    # A record can complete several packets, which the other terms tell apart.
    yield f"record={example.frame}"
    # A reserved type has no name that a filter knows.
    if not packet["type"].startswith("TYPE "):
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
