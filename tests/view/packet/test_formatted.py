"""Payloads in a format that the user names, whatever a peer sent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.payload.formats import FORMATS, payload_reader
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from mqttpub.view.packet.dump import annotate, plain
from mqttpub.view.packet.formatted import PayloadFormat
from tests.view.samples import record


def shown(format: str, payload: bytes, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return the dump of a PUBLISH and the payload in its record."""
    decoded = decode(encode(Publish(topic="a", payload=payload), Version.V311), Version.V311)
    payloads = PayloadFormat(format, FORMATS[format].title, payload_reader(format))
    entry = record(decoded, payloads=payloads)
    return plain(annotate(decoded, payloads=payloads, **more)), entry["payload"]


@given(
    st.binary(min_size=1, max_size=80),
    st.sampled_from([name for name, each in FORMATS.items() if each.is_read and not each.schema]),
)
def test_any_bytes_are_shown_as_a_value_or_with_one_remark(payload: bytes, format: str) -> None:
    dump, member = shown(format, payload)
    assert dump.replace("\n", "").isprintable()
    assert max(map(len, dump.split("\n"))) <= 80
    assert dump.count(f"* {format}: ") == ("error" in member)
    assert {"text", "base64"} & member.keys()


@pytest.mark.parametrize(
    ("format", "payload", "member"),
    [
        ("cbor", b"\x81" * 900 + b"\x01", "error"),
        ("msgpack", b"\x91" * 900 + b"\x01", "error"),
        ("json", b"[" * 900 + b"]" * 900, "error"),
        ("cbor", b"\x81" * 60 + b"\x01", "json"),
        ("cbor", b"\xc2\x59\x20\x00" + b"\xff" * 0x2000, "json"),
        ("json", b'{"a": 1, "a": 2}', "error"),
    ],
)
def test_a_value_that_not_every_reader_of_json_accepts_is_refused(format: str, payload: bytes, member: str) -> None:
    dump, found = shown(format, payload)
    assert member in found
    assert (f"* {format}: " in dump) == (member == "error")


def test_a_long_value_is_cut_unless_all_is_asked_for() -> None:
    payload = b"\x78\xff" + b"x" * 255
    dump, _ = shown("cbor", payload, limit=16)
    assert dump.count("x") >= 62
    assert "... 193 more characters" in dump
    whole, _ = shown("cbor", payload, limit=None)
    assert "more characters" not in whole


@pytest.mark.parametrize(
    ("format", "payload", "value", "remark"),
    [
        ("cbor", "a2 01 02 01 03", {"map": [[1, 2], [1, 3]]}, "the map at offset 0 has the key 1 2 times"),
        ("sparkplug", "08 01 40 05", {"timestamp_ms": 1, "seq": None, "metrics": []}, "field 8 (varint)"),
    ],
)
def test_what_a_value_does_not_show_is_remarked(format: str, payload: str, value: Any, remark: str) -> None:
    dump, member = shown(format, bytes.fromhex(payload))
    assert remark in " ".join(dump.split())
    assert max(map(len, dump.split("\n"))) <= 80
    assert member["json"] == value
    assert len(member["remarks"]) == 1
    assert remark in member["remarks"][0]


def test_zero_keeps_its_sign() -> None:
    for format, payload in (("json", b'{"a":-0}'), ("cbor", b"\xf9\x80\0"), ("msgpack", b"\xca\x80\0\0\0")):
        dump, member = shown(format, payload)
        assert "-0" in dump
        assert "-0.0" in str(member["json"])


def test_text_of_a_peer_is_escaped_and_shown_only_as_text_where_it_is_asked_for() -> None:
    dump, member = shown("text", b"a\x1b[2J")
    assert '"a\\u001b[2J"' in dump
    assert member == {"base64": "YRtbMko=", "text": "a\x1b[2J"}
