"""A conversation written as anyone might log it: notation, prefix, direction and layout do not change what is read."""

import base64
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.logs.account import Log
from mqttpub.capture.logs.read import read_bytes
from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Connack, Connect, Disconnect, Pingreq, Puback, Publish, Suback, Subscribe, Subscription
from mqttpub.spec.versions import Version

CLIENT, SERVER = ">", "<"
Packets = list[tuple[str, bytes]]


@st.composite
def conversations(draw: st.DrawFn) -> Packets:
    """Draw the packets of a connection, with the side that sent each."""
    version = draw(st.sampled_from([Version.V311, Version.V5]))
    topic = draw(st.sampled_from(["a/b", "x", "home/living room/light", "\u00e9t\u00e9/1"]))
    payload = draw(st.one_of(st.binary(max_size=40), st.sampled_from([b"hello", b'{"t": 21.5}', b"0123456789" * 9])))
    number = draw(st.integers(1, 65535))
    made = [
        (CLIENT, Connect(client_id="dev-4711")),
        (SERVER, Connack()),
        (CLIENT, Subscribe(packet_id=number, subscriptions=(Subscription(filter=topic),))),
        (SERVER, Suback(packet_id=number, reason_codes=(0,))),
        (CLIENT, Publish(topic=topic, qos=1, packet_id=number, payload=payload)),
        (SERVER, Puback(packet_id=number)),
        (SERVER, Publish(topic=topic, payload=payload)),
        (CLIENT, Pingreq()),
        (CLIENT, Disconnect()),
    ]
    return [(side, encode(packet, version)) for side, packet in made]


def octal(data: bytes) -> str:
    """Return a C string."""
    return '"' + "".join(chr(b) if chr(b).isalnum() and b < 0x7F else f"\\{b:03o}" for b in data) + '"'


NOTATIONS: dict[str, Callable[[bytes], str]] = {
    "pairs": lambda data: data.hex(" "),
    "upper": lambda data: data.hex(" ").upper(),
    "joined": bytes.hex,
    "0x joined": lambda data: f"0x{data.hex()}",
    "colons": lambda data: data.hex(":"),
    "dashes": lambda data: data.hex("-").upper(),
    "0x": lambda data: " ".join(f"0x{b:02x}" for b in data),
    "0x commas": lambda data: "{" + ", ".join(f"0x{b:02X}" for b in data) + "}",
    "go syntax": lambda data: "[]byte{" + ", ".join(f"{b:#x}" for b in data) + "}",
    "list": lambda data: str(list(data)),
    "go list": lambda data: "[" + " ".join(map(str, data)) + "]",
    "signed": lambda data: str([b - 256 if b > 127 else b for b in data]),
    "erlang": lambda data: "<<" + ",".join(map(str, data)) + ">>",
    "node": lambda data: f"<Buffer {data.hex(' ')}>",
    "groups": lambda data: "<" + " ".join(data[at : at + 4].hex() for at in range(0, len(data), 4)) + ">",
    "repr": repr,
    "bytearray": lambda data: repr(bytearray(data)),
    "c": octal,
    "json": lambda data: json.dumps(data.decode("latin-1")),
    "base64": lambda data: base64.b64encode(data).decode(),
    "count": lambda data: f"({len(data)} bytes): {data.hex(' ')}",
    "count before": lambda data: f"{len(data):3} {data.hex(' ')}",
}


def printable(row: bytes) -> str:
    """Return the text column of a dump."""
    return "".join(chr(b) if 0x20 <= b < 0x7F else "." for b in row)


ROWS: dict[str, Callable[[int, bytes], str]] = {
    "hexdump -C": lambda at, row: f"{at:08x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  |{printable(row)}|",
    "offset": lambda at, row: f"{at:04x}:  {row.hex(' '):<48} {printable(row)}",
    "address": lambda at, row: f"0x{0x3FFB1200 + at:08x}   {row.hex(' ')}",
    "bare": lambda at, row: row.hex(" "),
    "with text": lambda at, row: f"{row.hex(' '):<48}  {printable(row)}",
    "c": lambda at, row: ", ".join(f"0x{b:02x}" for b in row) + ",",
    "decimal": lambda at, row: ", ".join(f"{b:3}" for b in row) + ",",
    "joined": lambda at, row: row.hex(),
}
PREFIXES = (
    "",
    "I ({at}) mqtt_client: ",
    "\x1b[0;32mD ({at}) MQTT: ",
    "2026-11-26T10:11:12.{at}Z DEBUG [mqtt] ",
    "2026-11-26 10:11:12,{at} DEBUG app.mqtt:{at} ",
    "Nov 26 10:11:12 gw mqttd[{at}]: ",
    "[    12.{at}] <dbg> mqtt_trans: ",
    "11-26 10:11:12.{at}  4711  4{at} D Mqtt    : ",
    "10:11:12.{at} [nioEventLoopGroup-2-1] DEBUG c.e.Handler - ",
)
WORDS = (
    ("TX", "RX"), ("send", "recv"), ("Sent", "Received"), ("-->", "<--"), (">>>", "<<<"), ("OUT", "IN"),
    ("MQTT_TX", "MQTT_RX"), ("onWrite", "onRead"), ("client -> server:", "server -> client:"), ("tx_buf", "rx_buf"),
    ("[out]", "[in]"), ("to broker", "from broker"), ("outgoing", "incoming"),
)  # fmt: skip
NOISE = (
    "connected to 10.0.0.7:1883, fd 5", "heap 48212 bytes free, min 31000", "keepalive timer 60 s, next 45 s",
    "rssi -61 dBm, channel 11", "mqtt write 24 bytes", "wifi ap bssid 30:ae:a4:12:34:56", "queue: 0 1 2 3",
)  # fmt: skip


def read(lines: list[str], end: str) -> Packets:
    """Return the sides and bytes of what is read from lines."""
    return [(piece.mark, piece.data) for piece in read_bytes(end.join(lines).encode() + end.encode(), "auto", Log())]


@pytest.mark.slow
@settings(max_examples=150)
@given(conversations(), st.sampled_from([*NOTATIONS]), st.sampled_from(PREFIXES), st.sampled_from(WORDS), st.data())
def test_one_packet_a_line(
    packets: Packets, notation: str, prefix: str, words: tuple[str, str], drawn: st.DataObject
) -> None:
    above = notation != "count before" and drawn.draw(st.booleans())
    lines = []
    for side, data in packets:
        noise, at = drawn.draw(st.sampled_from(["", "", *NOISE])), drawn.draw(st.integers(100, 999))
        lines += [prefix.format(at=at) + noise] if noise else []
        word, shown = words[side == SERVER], NOTATIONS[notation](data)
        lines += [prefix.format(at=at) + word, f"    {shown}"] if above else [f"{prefix.format(at=at)}{word} {shown}"]
    assert read(lines, drawn.draw(st.sampled_from(["\n", "\r\n"]))) == packets


@pytest.mark.slow
@settings(max_examples=150)
@given(conversations(), st.sampled_from([*ROWS]), st.sampled_from(PREFIXES), st.sampled_from(WORDS), st.data())
def test_rows_below_a_heading(
    packets: Packets, layout: str, prefix: str, words: tuple[str, str], drawn: st.DataObject
) -> None:
    before = prefix if drawn.draw(st.booleans()) else "  "
    lines = []
    for side, data in packets:
        at = drawn.draw(st.integers(100, 999))
        heading = drawn.draw(st.sampled_from(["", ":", f" {len(data)} bytes", f" ({len(data)})"]))
        lines.append(prefix.format(at=at) + words[side == SERVER] + heading)
        rows = (ROWS[layout](start, data[start : start + 16]) for start in range(0, len(data), 16))
        lines += [before.format(at=at) + row for row in rows]
    assert read(lines, "\n") == packets
