"""Which bytes count as secret."""

import pytest

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Auth, Connect, Publish
from mqttpub.spec.versions import Version
from mqttpub.view.packet.masking import clipped, hidden
from mqttpub.wire.cursor import Span
from tests.view.samples import CONNECT, WALKTHROUGH

SECRET = b"s3cret!"


def shown(data: bytes, version: Version = Version.V5) -> bytes:
    """Return bytes with a * for each that is hidden."""
    covered = bytearray(data)
    for start, stop in hidden(decode(data, version)):
        covered[start:stop] = b"*" * (stop - start)
    return bytes(covered)


def test_a_password_is_hidden_but_its_length_is_not() -> None:
    data = encode(Connect(client_id="a", username="bob", password=SECRET), Version.V311)
    assert shown(data) == data.replace(SECRET, b"*" * 7)
    assert shown(data).endswith(b"\x00\x07*******")


@pytest.mark.parametrize("packet", [CONNECT, Auth(reason_code=0x18, properties=(Property(0x16, b"\1\2\3"),))])
def test_authentication_data_is_hidden(packet: Packet) -> None:
    data = encode(packet, Version.V5)
    assert b"\x16\x00\x03\1\2\3" in data
    assert shown(data) == data.replace(b"\x00\x03\1\2\3", b"\x00\x03***").replace(SECRET, b"*" * 7)


def test_other_packets_hide_nothing() -> None:
    assert shown(WALKTHROUGH) == WALKTHROUGH
    assert hidden(decode(b"")) == ()
    assert hidden(decode(b"\x10")) == ()


@pytest.mark.parametrize("version", Version)
def test_no_truncation_reveals_a_password(version: Version) -> None:
    data = encode(CONNECT.replace(password=b"~~~~~", properties=(), will=None), version)
    for stop in range(len(data)):
        assert b"~" not in shown(data[:stop], version)


def test_no_truncation_reveals_authentication_data() -> None:
    properties = (Property(0x15, "SCRAM"), Property(0x16, b"#####"))
    for packet in (CONNECT.replace(properties=properties), Auth(reason_code=0x18, properties=properties)):
        data = encode(packet, Version.V5)
        for stop in range(len(data)):
            assert b"#" not in shown(data[:stop])


def test_a_wrong_length_before_the_password_hides_what_follows() -> None:
    data = bytearray(encode(Connect(client_id="abc", username="bob", password=b"#####"), Version.V311))
    data[data.index(b"\x00\x03abc") + 1] = 200
    assert b"#" not in shown(bytes(data))
    assert shown(bytes(data))[:12] == data[:12]


def test_a_password_with_too_short_a_length_is_hidden_entirely() -> None:
    data = bytearray(encode(Connect(client_id="abc", username="bob", password=b"#####"), Version.V311))
    data[data.index(b"\x00\x05#####") + 1] = 2
    assert b"#" not in shown(bytes(data))


def test_without_a_password_nothing_is_hidden() -> None:
    data = encode(Connect(client_id="abc"), Version.V311) + b"more"
    assert shown(data) == data
    assert shown(data[:-6]) == data[:-6]


def test_bytes_after_an_unknown_property_are_secret_only_where_a_secret_is_allowed() -> None:
    unknown = (Property(0x7F, b"\x01\x16\x00\x01#"),)
    auth = encode(Auth(reason_code=0x18, properties=unknown), Version.V5)
    assert b"#" not in shown(auth)
    publish = encode(Publish(topic="t", properties=unknown), Version.V5)
    assert shown(publish) == publish
    other = encode(Auth(reason_code=0x18, properties=(Property(0x7F, b"\x01\x02"),)), Version.V5)
    assert shown(other) == other


def test_spans_are_clipped_to_a_range() -> None:
    spans = [Span(2, 4), Span(6, 9), Span(12, 13)]
    assert list(clipped(spans, 0, 20)) == spans
    assert list(clipped(spans, 3, 7)) == [Span(3, 4), Span(6, 7)]
    assert list(clipped(spans, 4, 6)) == []
    assert list(clipped(spans, 7, 8)) == [Span(7, 8)]
    assert list(clipped([], 0, 9)) == []
