"""The decrypted content of TLS connections, read by tshark with a key log file or with the keys in the capture."""

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from ..types import NoKeys

PROGRAM = "tshark"
_FIELDS = (
    *("frame.number", "frame.time_epoch"),
    *("ip.src", "ipv6.src", "tcp.srcport", "ip.dst", "ipv6.dst", "tcp.dstport", "data.data"),
)
_DISSECTED = ("http", "http2", "websocket", "mqtt")
"""Protocols that tshark must not dissect in decrypted data, so that it prints the bytes."""
LONGEST_LINE = 1 << 24
"""Characters of a line of tshark's output, at most; a frame holds far less."""
NANOSECONDS = 9


class Decrypted(NamedTuple):
    """Bytes that one end sent to another within TLS."""

    record: int
    """Number of the record of the capture that completed them."""
    time_ns: int | None
    """Nanoseconds since 1970."""
    source: str
    """Address and port, as in Flow."""
    target: str
    data: bytes


def decrypted(capture: Path, keylog: Path | None = None) -> Generator[Decrypted, None, None]:
    """Yield the decrypted bytes of TLS in a capture, in the order of its records, as tshark reads them.

    Without a key log only the keys in a pcapng are used. Raises NoKeys at once if tshark or the file is missing,
    and after all output of tshark if it fails.
    """
    program = shutil.which(PROGRAM)
    if not program:
        raise NoKeys(f"reading TLS needs the program {PROGRAM} (part of Wireshark), which is not installed")
    if keylog is not None:
        _look_at(keylog)
    return _run(command(program, capture, keylog))


def command(program: str, capture: Path, keylog: Path | None) -> list[str]:
    """Return the arguments to run tshark with."""
    options = {"tcp.reassemble_out_of_order": "TRUE", "tcp.try_heuristic_first": "TRUE"}
    if keylog is not None:
        options["tls.keylog_file"] = os.path.abspath(keylog)
    return [
        *(program, "-n", "-r", os.path.abspath(capture)),
        *(part for name, value in options.items() for part in ("-o", f"{name}:{value}")),
        *("-d", "tls.port==1-65535,data"),
        *(part for name in _DISSECTED for part in ("--disable-protocol", name)),
        *("-Y", "tls && data.data", "-T", "fields", "-E", "separator=/t", "-E", "aggregator=,", "-E", "occurrence=a"),
        *(part for name in _FIELDS for part in ("-e", name)),
    ]


def _look_at(keylog: Path) -> None:
    try:
        with keylog.open("rb"):
            pass
    except OSError as error:
        raise NoKeys(f"the key log '{keylog}' cannot be read: {error.strerror}") from None


def _run(arguments: list[str]) -> Generator[Decrypted, None, None]:
    import subprocess  # both are loaded on use: few captures hold TLS
    import tempfile

    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said)
        try:
            assert process.stdout
            while line := process.stdout.readline(LONGEST_LINE):
                yield from _parsed(line)
            if process.wait():
                raise NoKeys(f"{PROGRAM} ended with status {process.returncode}: {_last_line(said)}")
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _parsed(line: bytes) -> Iterator[Decrypted]:
    """Yield the content of a line; a frame that completes several TLS records has one after the other."""
    fields = line.decode("ascii", "replace").rstrip("\n").split("\t")
    if len(fields) != len(_FIELDS):
        raise NoKeys(f"{PROGRAM} printed a line with {len(fields)} fields, not {len(_FIELDS)}")
    number, time, source4, source6, source_port, target4, target6, target_port, data = fields
    source = _end(source4, source6, source_port)
    target = _end(target4, target6, target_port)
    try:
        yield Decrypted(int(number), _nanoseconds(time), source, target, bytes.fromhex(data.replace(",", "")))
    except ValueError as error:
        raise NoKeys(f"{PROGRAM} printed a line that cannot be read: {error}") from None


def _end(address4: str, address6: str, port: str) -> str:
    """Return address and port as in Flow; of addresses within one another those of the innermost."""
    address, port = (address4 or address6).rpartition(",")[2], port.rpartition(",")[2]
    return f"{address}:{port}" if address4 else f"[{address}]:{port}"


def _nanoseconds(text: str) -> int | None:
    whole, _, part = text.partition(".")
    return int(whole) * 10**NANOSECONDS + int(part[:NANOSECONDS].ljust(NANOSECONDS, "0")) if whole else None


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "no reason was given"
