"""Captures, logs and other inputs as judged packets, and recordings of connections that are read the same way."""

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from ..codec.tree import Finding
from ..lab.recorder import CaptureRecorder
from ..reading.follow import JudgedTraffic
from ..reading.input import Input, InputOptions
from ..spec.versions import Direction, Version
from ..traffic.context import PacketInContext, TrafficItem
from ..traffic.events import GapSeen, Remark
from ..traffic.runs import PacketRun
from .packets import direction_of, version_of

Source = str | os.PathLike[str] | bytes | BinaryIO
"""A path, `-` for standard input, the content of a file, or a file open for bytes."""


def read(
    source: Source | None = None, *, text: str | None = None, filter: str | None = None,
    version: str | Version | None = None, direction: str | Direction | None = None, form: str = "auto",
    ports: tuple[int, ...] = (), keylog: str | os.PathLike[str] | None = None,
) -> Iterator[TrafficItem]:  # fmt: skip
    """Yield the packets of an input with their findings, and what else happened on their connections, in order.

    The input is anything that `mqttpub decode` takes: pcap and pcapng, compressed or not, logs, hex and other
    notations, scripts. A str is a path; bytes are the content of a file, and `text` is text itself.

    A PacketInContext has the values in `packet`, its findings, the client, and the topic that a Topic Alias stands
    for; its `event` has the bytes, the time in nanoseconds since 1970, the direction, the version and the
    connection. GapSeen, Closed and Remark are the other events. Memory is bounded, whatever the size of the input.

    `filter` selects as `decode --filter` does. `version` is that of connections without a CONNECT, None to guess it;
    `direction` the sender of packets in a text without marks; `form` the notation of bytes in texts: auto, hex,
    base64, escaped or raw; `ports` more TCP ports of MQTT; `keylog` a file of TLS keys.

    Raises ValueError for an option that cannot be, and UserError for a file that cannot be opened; BadCapture and
    BadText, which are ValueErrors, and NoKeys for damage, after what comes before it.
    """
    options = InputOptions(
        form=form, version=None if version is None else version_of(version), direction=direction_of(direction),
        ports=ports, keylog=None if keylog is None else Path(keylog),
    )  # fmt: skip
    picked = None
    if filter is not None:
        from ..traffic.query import PacketFilter

        picked = PacketFilter.parse(filter)
    if (source is None) == (text is None):
        raise TypeError("read takes a source or a text")
    with ExitStack() as stack:
        given = _input(text.encode() if text is not None else source, stack)
        for known in JudgedTraffic(given.events(options), picked):
            # Runs stay together only where the events have runs.
            assert not isinstance(known, PacketRun)
            yield known


def _input(source: Source | None, stack: ExitStack) -> Input:
    if isinstance(source, bytes):
        return Input("bytes", io.BufferedReader(io.BytesIO(source)), len(source))
    if isinstance(source, (str, os.PathLike)):
        return Input.opened(os.fspath(source), stack)
    assert source is not None
    file = source if isinstance(source, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, source))
    return Input(str(getattr(source, "name", "file")), file, 0)


def findings_of(traffic: JudgedTraffic) -> Iterator[Finding]:
    """Yield the findings of packets, of bytes that are not a packet, and of the ends of connections."""
    for event in traffic:
        if isinstance(event, PacketInContext):
            yield from event.findings or ()
        elif isinstance(event, GapSeen) and event.malformed:
            yield traffic.judge.rules.unread(event)
        elif isinstance(event, Remark) and event.finding:
            yield event.finding


def findings_in(source: Source, version: Version | None = None) -> list[Finding]:
    """Return the findings of an input, of which `version` is as in `read`."""
    with ExitStack() as stack:
        return list(findings_of(JudgedTraffic(_input(source, stack).events(InputOptions(version=version)))))


class Recorder(CaptureRecorder):
    """Records connections as a pcapng file, each record at once and whole; Wireshark and `read` open it.

    Give it to `publish` or `subscribe`; use it in a `with`, or close it. Passwords are in the file as they were sent,
    unless `masks`. Raises OSError for a file that cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, masks: bool = False) -> None:
        super().__init__(os.fspath(path), masks=masks)
        self.path = os.fspath(path)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def summary(self) -> str:
        """Return what has passed so far, a line for each packet, as `mqttpub decode --summary` shows it."""
        from ..view.traffic.summary import SummaryLines

        return "\n".join(map(SummaryLines().text, read(self.path)))

    def packets(self) -> list[PacketInContext]:
        """Return the packets that have passed so far, with their findings, as `read` does."""
        return [each for each in read(self.path) if isinstance(each, PacketInContext)]

    def findings(self) -> list[Finding]:
        """Return what broke a statement so far, on either end, in the order of the packets."""
        return findings_in(self.path)
