"""What first bytes are."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.protocol.detect import Opening, hello_length, opening, server_name
from tests.build.pieces import CONNECTS, V5, V31, bites, publish

BEGINNINGS = {
    CONNECTS[V5]: Opening.MQTT,
    CONNECTS[V31]: Opening.MQTT,
    b"\x10\x8c\x80\x00\x00\x04mqtt\x04\x02\x00\x3c\x00\x00": Opening.MQTT,
    b"\x10\xff\xff\xff\xff": Opening.UNKNOWN,
    b"\x10\x0c\x00\x04XXXX\x04": Opening.UNKNOWN,
    b"\x10\x0c\x00\x05MQTTX\x04": Opening.UNKNOWN,
    b"\x10\x05\x00\x04MQTT\x04": Opening.UNKNOWN,
    publish(): Opening.UNKNOWN,
    b"\x16\x03\x01\x00\x05": Opening.TLS,
    b"\x17\x03\x03\x00\x05": Opening.TLS,
    b"\x16\x03\x09bytes of x": Opening.UNKNOWN,
    b"GET /mqtt HTTP/1.1": Opening.HTTP,
    b"OPTIONS * HTTP/1.1": Opening.HTTP,
    b"HTTP/1.1 200 OK": Opening.HTTP,
    b"PRI * HTTP/2.0": Opening.HTTP,
    b"GETTING somewhere": Opening.UNKNOWN,
    b"GET \x00 and more of it": Opening.UNKNOWN,
    b"SSH-2.0": Opening.SSH,
}


@pytest.mark.parametrize("data", BEGINNINGS)
def test_openings(data: bytes) -> None:
    assert opening(data) is BEGINNINGS[data]


@pytest.mark.parametrize("data", BEGINNINGS)
def test_byte_by_byte_there_is_no_early_decision(data: bytes) -> None:
    said = [opening(data[:size]) for size in range(len(data) + 1)]
    assert next(each for each in said if each) is BEGINNINGS[data]
    assert said[0] is None


@given(st.binary(max_size=40))
def test_any_bytes_are_something_after_a_few(data: bytes) -> None:
    assert opening(data + bytes(12)) or data[:1] == b"\x10"


def hello(name: str | None) -> bytes:
    """Return a real ClientHello."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    made = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        made.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("name", ["broker.example", None])
def test_the_name_that_a_client_hello_asks_for(name: str | None) -> None:
    data = hello(name)
    assert (server_name(data), hello_length(data), hello_length(data[:3])) == (name or "", len(data), 6)
    for part in bites(data):
        assert part
    for size in range(len(data)):
        assert server_name(data[:size]) in ("", name)


def test_other_records_have_no_name() -> None:
    assert (server_name(b"\x17\x03\x03\x00\x05hello"), hello_length(b"\x17\x03")) == ("", 0)
