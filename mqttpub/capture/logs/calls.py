"""The output of strace: what a process writes to and reads from the descriptors on which it speaks MQTT."""

import re
from typing import NamedTuple

from ..text.source import BadText
from .cleaning import LogLine
from .quoted import string_bytes

_FD = r"(?P<fd>\d+)(?P<end><(?:<?->|[^<>\"])*+>)?"
_CALL = re.compile(
    rf"(?:^|[\s\]\0])(?:(?P<call>writev?|send(?:to|msg)?|readv?|recv(?:from|msg)?|close)\({_FD}(?P<rest>.*)"
    r"|<\.\.\. (?P<resumed>\w+) resumed>(?P<more>.*))"
)
_PID = re.compile(r"\s*+(?:\[pid\s++)?(\d++)")
_TEXT = re.compile(r'"(?P<text>(?:\\.|[^"\\])*+)"(?P<cut>\.\.\.)?')
_BASE = re.compile(r'iov_base="(?P<text>(?:\\.|[^"\\])*+)"(?P<cut>\.\.\.)?')
_RESULT = re.compile(r"\)\s*+=\s*+(-?\d+)")
_OF_BROKERS = re.compile(r"[:.]8?1?883\b")
_NAMES = (b"\0\4MQTT", b"\0\6MQIsdp")
_UNKNOWN = "the system calls are not known as MQTT: no CONNECT is among them, and no port (strace -yy shows it)"
_MOST_HELD = 24
"""Bytes by which a descriptor is known as one of MQTT, or not."""


class CallBytes(NamedTuple):
    """What a call wrote or read."""

    line: LogLine
    fd: str
    side: str
    """`>` for what was written, `<` for what was read."""
    data: bytes


class CallReader:
    """Tells the descriptors of MQTT from others by the CONNECT, or by their port if strace prints it."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}
        """Descriptors, and whether MQTT is spoken on them."""
        self._held: dict[tuple[str, str], list[CallBytes]] = {}
        """Bytes of which it is not known yet."""
        self._open: dict[str, tuple[str, str, str]] = {}
        """Calls that have not returned, by process."""
        self.unknown: BadText | None = None
        """The first call whose bytes are left out, as nothing shows that its descriptor is one of MQTT."""

    def line(self, line: LogLine) -> list[CallBytes] | None:
        """Return the bytes that a line shows; None for a line without a call that writes or reads.

        Raises BadText for a call of which strace shows only a part.
        """
        found = _CALL.search(line.text)
        if not found:
            return None
        pid = process[1] if (process := _PID.match(line.text)) else ""
        if found["resumed"]:
            call, fd, end = self._open.pop(pid, ("", "", ""))
            return self._called(line, call, fd, end, found["more"]) if call else None
        call, fd, end, rest = found["call"], found["fd"], found["end"] or "", found["rest"]
        if call == "close":
            self._forget(fd)
            return []
        if "<unfinished" in rest and '"' not in rest:
            self._open[pid] = call, fd, end
            return []
        return self._called(line, call, fd, end, rest)

    def _called(self, line: LogLine, call: str, fd: str, end: str, rest: str) -> list[CallBytes]:
        texts = [*(_BASE if call.endswith(("v", "msg")) else _TEXT).finditer(rest)]
        texts = texts if call.endswith(("v", "msg")) else texts[:1]
        result = int(done[1]) if (done := _RESULT.search(rest)) else None
        if not texts or (result is not None and result <= 0):
            return []
        data = b"".join(string_bytes(text["text"]) or b"" for text in texts)[:result]
        one = CallBytes(line, fd, "<" if call.startswith(("read", "recv")) else ">", data)
        if _OF_BROKERS.search(end):
            self._known[fd] = True
        found = self._of_mqtt(one)
        if found and any(text["cut"] for text in texts):
            column = line.text.find('"...') + 2
            message = "'...' stands for bytes that were left out (strace -s shows more)"
            raise BadText(message, line.number, column, line.text)
        return found

    def _of_mqtt(self, one: CallBytes) -> list[CallBytes]:
        """Return the bytes, with those of the same descriptor that were held, once it is known to be one of MQTT."""
        known = self._known.get(one.fd)
        if known is not None:
            return [one] if known else []
        held = self._held.setdefault((one.fd, one.side), [])
        held.append(one)
        data = b"".join(each.data for each in held)[:_MOST_HELD]
        if not _may_connect(data):
            del self._held[one.fd, one.side]
            self.unknown = self.unknown or BadText(_UNKNOWN, one.line.number, 1, one.line.text)
            return []
        if len(data) < 10:
            return []
        self._known[one.fd] = True
        return self._held.pop((one.fd, one.side))

    def _forget(self, fd: str) -> None:
        self._known.pop(fd, None)
        for side in "<>":
            self._held.pop((fd, side), None)


def _may_connect(data: bytes) -> bool:
    """Whether a CONNECT may begin with some bytes."""
    if data[:1] != b"\x10":
        return not data
    at = 1
    while at < min(len(data), 4) and data[at] >= 0x80:
        at += 1
    name = data[at + 1 : at + 9]
    return any(each.startswith(name[: len(each)]) for each in _NAMES)
