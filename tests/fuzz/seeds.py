"""Bytes to begin with: vectors, the captures that ship with the tests, and generated ones in every container."""

import base64
from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any

from mqttpub.capture.types import CaptureRecord
from mqttpub.spec.versions import Direction, Version
from tests import vectors
from tests.build.containers import Pcapng, RawRecord, zipped, zstd
from tests.build.frames import LINKS, START, Wire, pcap
from tests.build.network import SimulatedConnection, Trouble
from tests.build.websocket import answer, frame, request
from tests.fuzz.built import Step
from tests.fuzz.targets import VIEWS, run
from tests.lint.connection.valid import Seen, conversation
from tests.paths import CAPTURES

CLIENT = Direction.CLIENT
NO_TROUBLE = Trouble()
MOST = (268_435_460, 20)
"""Largest packets of a stream."""
LARGEST = 20_000
"""Bytes of a seed above which it is not used again and again."""
FILTERS = (
    "type=PUBLISH topic=a/+/#", 'client="sensor 1",b !dup', "id=0x2a,42 qos=1,2", "finding=MQTT5-* severity=error",
    "!fault=client,server",
    "connection=2 direction=server version=5", "alias=7 reason=0x87 retain",
    "!type=PINGREQ,PINGRESP client=*-x finding",
)  # fmt: skip


@cache
def conversations() -> tuple[tuple[Version, list[Seen]], ...]:
    """Return valid conversations of all versions."""
    return tuple((version, conversation(Random(version), version, 25)) for version in Version)


@cache
def captures() -> dict[str, bytes]:
    """Return capture files by name."""
    made = {path.name: path.read_bytes() for path in sorted(CAPTURES.glob("*.pcapng"))}
    for version, talk in conversations():
        made[f"{version.label}.pcap"] = pcap(_records(_streams(talk), version))
    _, last = conversations()[-1]
    made["trouble.pcap"] = pcap(_records(_streams(last), 9, Trouble(10, 20, 30, 20, 10)))
    made["within.pcap"] = pcap(_records(_streams(last), 5, opened=False))
    made["websocket.pcap"] = _websocket(last)
    made["broken.pcap"] = pcap(_records((_broken(), b"\x20\x03\0\0\0"), 7))
    small = pcap(_records((_broken()[:60], b"\x20\x03\0\0\0"), 8))
    made["kinds.pcapng"] = _kinds(small)
    return {
        **made,
        "small.pcap.gz": zipped(small, 2),
        "small.pcap.zst": zstd(small, 2),
        "twice.gz": zipped(zipped(small)),
    }


def _broken() -> bytes:
    """Return a CONNECT, and behind it packets with faults."""
    raws = [each.data for each in vectors.packets() if each.findings and len(each.data) < 40 and each.version == 5]
    whole = [raw for raw in raws if len(raw) > 1 and raw[1] == len(raw) - 2]
    return bytes.fromhex("100d00044d5154540502003c000000") + b"".join(whole[:40])


def _streams(talk: Iterable[Seen]) -> tuple[bytes, bytes]:
    sides: tuple[list[bytes], list[bytes]] = [], []
    for each in talk:
        sides[each.direction is not CLIENT].append(each.data)
    return b"".join(sides[0]), b"".join(sides[1])


def _websocket(talk: Iterable[Seen]) -> bytes:
    """Return a conversation on WebSocket, every frame in a segment."""
    wire, places = Wire(6, port=50_006), [0, 0]
    said = [(0, request()), (1, answer())]
    for each in talk:
        side = int(each.direction is not CLIENT)
        said.append((side, frame(each.data, masked=not side)))
    packets = wire.opening()
    for side, data in said:
        packets.append(wire.packet(side, places[side], data, ack=places[1 - side]))
        places[side] += len(data)
    return pcap(_numbered(packets))


def _records(
    streams: tuple[bytes, bytes], seed: int, trouble: Trouble = NO_TROUBLE, *, opened: bool = True
) -> list[CaptureRecord]:
    wire = Wire(4 if seed % 2 else 6, port=50_000 + seed)
    talk = SimulatedConnection(Random(seed), wire, streams, trouble, opened=opened)
    return _numbered(packet for packets in talk.packets() for packet in packets)


def _numbered(packets: Iterable[bytes]) -> list[CaptureRecord]:
    frames = [LINKS["Ethernet"].frame(packet) for packet in packets]
    return [CaptureRecord(at, START + at * 10**6, 1, each, len(each)) for at, each in enumerate(frames, 1)]


def _kinds(small: bytes) -> bytes:
    """Return a pcapng with all kinds of blocks in two sections."""
    made = Pcapng()
    data = small[40:120]
    for order in "<>":
        made.section(order, (2, b"hardware"))
        made.interface(1, 0, 9, None, (2, b"eth0"))
        made.interface(101, 96, 0x8A, 7)
        made.block(4, bytes(8))
        made.enhanced(0, RawRecord(1_700_000_000_000_000_000, data), (1, b"a comment"))
        made.obsolete(1, RawRecord(7, data[:40], 3))
        made.simple(data)
        made.secrets(0x544C534B, b"CLIENT_RANDOM 00 11\n")
        made.block(5, bytes(12))
    return made.written().data


@cache
def texts() -> dict[str, bytes]:
    """Return texts that hold packets, by their kind."""
    raw = b"".join(each.data for each in vectors.packets()[:6])
    rows = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    spaced = [row.hex(" ") for row in rows]
    shown = ["".join(chr(byte) if 32 <= byte < 127 else "." for byte in row) for row in rows]
    made = {
        "hex": raw.hex(),
        "xxd": "\n".join(f"{at * 16:08x}: {row.hex(' ', 2):39s}  {shown[at]}" for at, row in enumerate(rows)),
        "hexdump": "\n".join(f"{at * 16:08x}  {row:47s}  |{shown[at]}|" for at, row in enumerate(spaced)),
        "od": "\n".join(f"{at * 16:07o} {row}" for at, row in enumerate(spaced)) + f"\n{len(raw):07o}\n",
        "marked": "\n".join(f"{'<>'[at % 2]} {row}" for at, row in enumerate(spaced)),
        "array": "uint8_t p[] = { " + ", ".join(f"0x{byte:02x}" for byte in raw) + " }; // a packet\n",
        "python": f"data = {raw!r}\n",
        "escaped": '"' + "".join(f"\\x{byte:02x}" for byte in raw) + '"',
        "base64": base64.b64encode(raw).decode(),
        "fence": "Look:\n```\n" + "\n".join(spaced) + "\n```\n",
        "comments": "30 05 /* PUBLISH\n topic */ 00 01 74\n# rest\n00 61 // payload\n",
    }
    return {**{name: text.encode() for name, text in made.items()}, "raw": raw}


@cache
def transcripts() -> dict[str, bytes]:
    """Return what our own program prints of a few packets."""
    raw = b"".join(each.data for each in vectors.packets()[:6]).hex()
    told = {"json": ["--json"], "dump": [], "records": ["--summary", "--json"], "connection": ["-V", "3.1.1"]}
    return {name: run(["decode", *flags, raw]).out.encode() for name, flags in told.items()}


@cache
def seeds() -> dict[str, list[tuple[Any, ...]]]:
    """Return arguments of every target."""
    files = [each for each in captures().values() if len(each) <= LARGEST]
    told = list(transcripts().values())
    spoken = [_steps(talk, 0) for _, talk in conversations()]
    shapes = [(choice, each) for choice in (0, 1, 2, 3, 15, 19) for each in spoken]
    written = [each for each in (*files, *texts().values(), *told) if len(each) <= LARGEST] * 3
    return {
        "packet": [(each.version, each.direction, each.data) for each in vectors.packets()],
        "stream": [
            (most, b"\1\2\3\4", each) for _, talk in conversations() for each in _streams(talk) for most in MOST
        ],
        "talk": [(version, [*_steps(talk, 1), Step(0x1C, b"")]) for version, talk in conversations()],
        "file": [(0x80, each) for each in files],
        "segments": [(_segments(talk, index),) for index, (_, talk) in enumerate(conversations())],
        "connection": shapes,
        "websocket": [(choice, (b"", b""), each) for choice in (1, 3, 5, 9) for each in spoken],
        "text": [("auto", each) for each in texts().values()],
        "transcript": [(each,) for each in told],
        "picked": [(each.encode(),) for each in FILTERS],
        "program": [(each, VIEWS[at % len(VIEWS)]) for at, each in enumerate(written)],
    }


def _steps(talk: Iterable[Seen], client: int) -> list[Step]:
    return [Step(client + (each.direction is not CLIENT), each.data) for each in talk]


def _segments(talk: Iterable[Seen], flow: int) -> list[Step]:
    made = []
    for at, each in enumerate(talk):
        choice = flow | (each.direction is not CLIENT) << 2 | (0x10 if at % 5 == 4 else 0)
        made.append(Step(choice, bytes((0x02 if at == 0 else 0x10, 128 + at % 5 - 4, 128)) + each.data))
    return made
