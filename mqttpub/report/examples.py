"""Shell commands that show the packets a report mentions."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BARE = re.compile(r"[\w.:\[\]-]+", re.ASCII)
MOST_FILES = 8
"""Files in a command, at most."""


class ExamplePacket(NamedTuple):
    """What distinguishes a packet from the others of its record."""

    type: str
    direction: str | None
    packet_id: int | None
    topic_alias: int | None
    qos: int | None
    reason_code: int | None


class Example(NamedTuple):
    """The first finding of a statement."""

    capture: str
    frame: int | None
    pos: int | None
    time: int | None
    """Microseconds since 1970."""
    direction: str | None
    type: str | None
    path: str
    message: str
    packet: ExamplePacket | None = None
    """None for a finding about a connection."""
    began: str = ""
    """The capture in which the connection begins; empty for a finding about a packet."""
    client: str | None = None
    """The address of the client of that connection."""
    at_fault: str | None = None
    """The end that breaks the statement; None if that is unknown, and in tables that do not say it."""

    @property
    def place(self) -> tuple[Any, ...]:
        """What identifies the packet with others of its record that one end sent."""
        return self.capture, self.frame, self.pos, self.direction


def decoding(example: Example, statement: str, sources: Sequence[str] = ()) -> str:
    """Return the command that shows the packet of a finding, or the finding or its connection if it has no packet.

    `sources` are all captures in order. For a connection that spans files the command shows its packets,
    since `lint` checks each file by itself and would not report the finding.
    """
    if by_connection(example, sources):
        upto = sources[sources.index(example.began) : sources.index(example.capture) + 1][-MOST_FILES:]
        terms = quoted(f"client={_value(example.client or '')}")
        return f"mqttpub decode {' '.join(quoted(named(each)) for each in upto)} --absolute-time --filter {terms}"
    if example.packet is None:
        chosen = f" --select {quoted(statement)}" if statement else ""
        return f"mqttpub lint {quoted(named(example.capture))}{chosen}"
    terms = quoted(" ".join(filter_terms(example)))
    return f"mqttpub decode -f {quoted(named(example.capture))} --absolute-time --filter {terms}"


def by_connection(example: Example, sources: Sequence[str]) -> bool:
    """Return whether a finding is about a connection, not a packet, and the connection spans files."""
    places = example.began, example.capture
    return example.packet is None and bool(example.client) and len({*places}) > 1 and {*places} <= {*sources}


def filter_terms(example: Example) -> Iterator[str]:
    """Yield the terms of a `--filter` that shows the packet of an example and no other of its record."""
    packet = example.packet
    # A record can complete several packets, which the other terms distinguish.
    yield f"record={example.frame}"
    if packet is None:
        return
    # Filters have no names for reserved types.
    if not packet.type.startswith("TYPE "):
        yield f"type={packet.type}"
    for name, value in (("direction", packet.direction), ("id", packet.packet_id), ("alias", packet.topic_alias)):
        if value is not None:
            yield f"{name}={_value(str(value))}"
    if packet.type == "PUBLISH" and packet.qos is not None:
        yield f"qos={packet.qos}"
    if packet.reason_code is not None:
        yield f"reason=0x{packet.reason_code:02x}"


def _value(text: str) -> str:
    """Return a value in the syntax of a filter."""
    if _BARE.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def named(capture: str) -> str:
    """Return the path at which a capture is opened: that of a URL is fetched into the current folder first."""
    name = capture.rpartition("/")[2] if "://" in capture else capture
    return f"./{name}" if name.startswith("-") else name


def quoted(text: str) -> str:
    """Return text quoted for a shell; control characters need bash, zsh or POSIX 2024."""
    if not _CONTROL.search(text):
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda found: "".join(f"\\{byte:03o}" for byte in found[0].encode()), plain) + "'"
