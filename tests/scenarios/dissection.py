"""What tshark makes of a capture: the bytes of its streams, and the fields of its MQTT packets."""

import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from mqttpub.codec.tree import Decoded
from mqttpub.spec.versions import Direction
from mqttpub.view.export.pdml import packet

C, S = Direction.CLIENT, Direction.SERVER
Half = tuple[int, Direction]
"""One direction of a connection: tshark's number of the stream, and who sends."""


class Field(NamedTuple):
    """A field, with its place in the packet."""

    path: str
    """Its name behind the names of those around it."""
    start: int
    size: int
    show: str
    value: str
    unmasked: str

    @property
    def name(self) -> str:
        """Its name without `mqtt.`."""
        return self.path.rpartition("/")[2].removeprefix("mqtt.")


class Dissected(NamedTuple):
    """A packet as tshark, or we in tshark's shape, show it."""

    frame: int
    fields: tuple[Field, ...]
    notes: tuple[str, ...] = ()
    """What it complains of."""


MALFORMED = "Malformed Packet"


UNMASKED = 262_144
"""Bytes of a masked WebSocket message that tshark 4.0 shows; it leaves out the rest without a word."""


class Stream(NamedTuple):
    """The bytes of one direction, and where each segment begins."""

    data: bytes
    cuts: tuple[int, ...]


@cache
def version() -> tuple[int, ...]:
    """Return the version of the tshark that is installed."""
    first = subprocess.run(["tshark", "--version"], capture_output=True, check=True, text=True).stdout.split("\n")[0]
    number = next(word for word in first.split() if word[0].isdigit())
    return tuple(int(part) for part in number.rstrip(".").split("."))


def tshark(path: Path, *words: str, ports: tuple[int, ...] = ()) -> bytes:
    """Run tshark on a capture and return what it prints."""
    decoding = [word for port in ports for word in ("-d", f"tcp.port=={port},mqtt")]
    # A busy loopback shows segments out of order, or cut otherwise when sent again; without this tshark loses packets.
    command = ["tshark", "-n", "-o", "tcp.reassemble_out_of_order:TRUE", "-r", str(path), *decoding, *words]
    return subprocess.run(command, capture_output=True, check=True).stdout


def streams(path: Path, ports: tuple[int, ...]) -> dict[Half, Stream]:
    """Return the bytes of every connection to one of the ports, put together by their sequence numbers."""
    columns = [word for name in ("stream", "srcport", "dstport", "seq", "payload") for word in ("-e", f"tcp.{name}")]
    pieces: dict[Half, dict[int, bytes]] = {}
    for line in tshark(path, "-Y", "tcp.len > 0", "-T", "fields", *columns).decode().splitlines():
        number, source, target, seq, payload = line.split("\t")
        if {int(source), int(target)} & set(ports):
            half = (int(number), C if int(target) in ports else S)
            pieces.setdefault(half, {})[int(seq) - 1] = bytes.fromhex(payload)
    return {half: _put_together(found) for half, found in pieces.items()}


def websocket_streams(path: Path, port: int) -> dict[Half, bytes]:
    """Return what the binary messages of WebSocket connections to a port hold, joined; see UNMASKED."""
    columns = [word for name in ("tcp.stream", "tcp.dstport", "data.data") for word in ("-e", name)]
    decoding = ["-d", f"tcp.port=={port},http", "-Y", f"websocket and data and tcp.port == {port}"]
    found: dict[Half, list[str]] = {}
    for line in tshark(path, *decoding, "-T", "fields", *columns).decode().splitlines():
        number, target, data = line.split("\t")
        found.setdefault((int(number), C if int(target) == port else S), []).append(data.replace(",", ""))
    return {half: bytes.fromhex("".join(pieces)) for half, pieces in found.items()}


def _put_together(pieces: dict[int, bytes]) -> Stream:
    data = bytearray()
    for at, piece in sorted(pieces.items()):
        assert at <= len(data), "bytes are missing from the capture"
        data[at : at + len(piece)] = piece
    return Stream(bytes(data), tuple(sorted(pieces)))


def dissected(path: Path, ports: tuple[int, ...], *words: str) -> dict[Half, list[Dissected]]:
    """Return the MQTT packets that tshark shows of each direction, in its order."""
    output = tshark(path, "-T", "pdml", *words, ports=ports)
    found: dict[Half, list[Dissected]] = {}
    for element in ElementTree.fromstring(output).iter("packet"):
        if shown := list(_of_frame(element)):
            found.setdefault(_half(element, ports), []).extend(shown)
    return found


def _half(element: ElementTree.Element, ports: tuple[int, ...]) -> Half:
    values = {field.get("name"): field.get("show", "") for field in element.iterfind("proto[@name='tcp']/field")}
    return int(values["tcp.stream"]), C if int(values["tcp.dstport"]) in ports else S


def _of_frame(element: ElementTree.Element) -> Iterator[Dissected]:
    number = int(next(element.iterfind("proto[@name='geninfo']/field[@name='num']")).get("show", "0"))
    protos = [proto for proto in element.iterfind("proto") if proto.get("name") in ("mqtt", "_ws.malformed")]
    for proto, following in pairwise([*protos, ElementTree.Element("proto")]):
        if proto.get("name") == "mqtt":
            broken = (MALFORMED,) * (following.get("name") == "_ws.malformed")
            notes = (field.get("showname", "") for field in proto.iter("field") if field.get("name") == "_ws.expert")
            yield Dissected(number, tuple(_fields(proto, int(proto.get("pos", "0")), "")), (*notes, *broken))
        elif proto is protos[0]:
            yield Dissected(number, (), (MALFORMED,))


def _fields(element: ElementTree.Element, base: int, path: str) -> Iterator[Field]:
    for field in element.iterfind("field"):
        name, given = field.get("name", ""), field.attrib
        if name.startswith("mqtt."):
            own = f"{path}/{name}"
            place = int(given["pos"]) - base, int(given["size"])
            yield Field(own, *place, given.get("show", ""), given.get("value", ""), given.get("unmaskedvalue", ""))
            yield from _fields(field, base, own)


def ours(decoded: Decoded) -> Dissected:
    """Return a packet as our PDML shows it."""
    element = ElementTree.fromstring("\n".join(packet(decoded, secrets=True)))
    proto = next(element.iterfind("proto[@name='mqtt']"))
    return Dissected(0, tuple(_fields(proto, 0, "")))
