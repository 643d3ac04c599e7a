"""What packets tell by themselves: their version, and who sent them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.protocol.evidence import VERSIONS, Guess, clean, first_bytes, without_payload
from mqttpub.codec.encode import encode
from mqttpub.codec.framing import frame_length
from mqttpub.spec.declare import only_sender
from mqttpub.spec.packets import Auth, Connect, Pubrel, Suback, Unsuback, Will
from mqttpub.spec.versions import Version
from mqttpub.wire.cursor import Short
from tests.build.pieces import CLIENT, CONNACKS, CONNECTS, PINGREQ, PINGRESP, SERVER, V5, V31, V311, puback, publish
from tests.strategies import encoded, versions

LATER = {version: puback(version=version) for version in Version}
"""The same bytes in all versions."""


# single packets


@settings(max_examples=50)
@given(versions.flatmap(lambda version: st.tuples(st.just(version), encoded(version))))
def test_valid_packets_are_clean(case: tuple[Version, bytes]) -> None:
    version, data = case
    assert clean(data, version)
    assert data[0] in first_bytes(version)


@given(st.binary(min_size=1, max_size=60), versions)
def test_any_bytes_are_clean_or_not(data: bytes, version: Version) -> None:
    assert clean(data, version) in (True, False)


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (publish(b"no properties", V311), {V5}),
        (publish(b"", V311), {V5}),
        (publish(b"", V5), set()),
        (encode(Auth(reason_code=0x18), V5), {V5, V311, V31}),
        (encode(Unsuback(packet_id=1, reason_codes=(0,)), V5), {V311, V31}),
        (encode(Unsuback(packet_id=1), V311), {V5}),
        (CONNACKS[V5], {V311, V31}),
        (CONNACKS[V311], {V5}),
        (encode(Suback(packet_id=1, reason_codes=(0x80,)), V311), {V5, V31}),
        (encode(Pubrel(packet_id=1), V311), set()),
        (PINGREQ, set()),
        (CONNECTS[V31], set()),
    ],
)
def test_versions_in_which_a_packet_is_wrong(data: bytes, wrong: set[Version]) -> None:
    assert {version for version in Version if not clean(data, version)} == wrong


def test_the_payload_of_a_publish_is_left_out() -> None:
    for version in Version:
        data = publish(bytes(100_000), version, qos=1, packet_id=3)
        short = without_payload(data[:64], version)
        assert frame_length(short) == len(short) < 20
        assert short == publish(b"", version, qos=1, packet_id=3)
    assert without_payload(PINGREQ, V5) == PINGREQ
    with pytest.raises(Short):
        without_payload(publish()[:4], V5)


def test_a_long_packet_gets_a_quick_look_only() -> None:
    data = encode(Connect(client_id="c" * 60, will=Will(topic="w")), V5)
    assert clean(data, V5)
    assert not clean(data, V5, longest=64)
    assert clean(publish(bytes(1000)), V5, longest=64)


def test_who_alone_may_send_a_packet() -> None:
    always = {1: CLIENT, 2: SERVER, 8: CLIENT, 9: SERVER, 10: CLIENT, 11: SERVER, 12: CLIENT, 13: SERVER}
    assert {code: only_sender(code) for code in range(16) if only_sender(code)} == always
    assert {code: only_sender(code, V5) for code in range(16) if only_sender(code, V5)} == always
    assert {code: end for code in range(15) if (end := only_sender(code, V311))} == {**always, 14: CLIENT}


# a conversation


def guessed(*packets: bytes, versions: frozenset[Version] = VERSIONS) -> Guess:
    guess = Guess(versions)
    for data in packets:
        guess.add(data, 0)
    return guess


@pytest.mark.parametrize(
    ("packets", "version", "telling"),
    [
        ([], V5, 0),
        ([PINGREQ, LATER[V5]], V5, 0),
        ([publish()], V5, 1),
        ([publish(version=V311)], V311, 1),
        ([publish(version=V311), PINGREQ, LATER[V5]], V311, 1),
        ([encode(Suback(packet_id=1, reason_codes=(0x80,)), V311), publish(version=V311)], V311, 2),
        ([b"\x6a\x02\x00\x01"], V31, 1),
        ([publish(), publish(), publish(b"", V311)], V311, 3),
        ([puback(), b"\x40\x03\x00\x01\x10"], V5, 1),
        ([b"\x00\x00", PINGREQ], V5, 0),
    ],
)
def test_the_version_with_the_fewest_errors_wins(packets: list[bytes], version: Version, telling: int) -> None:
    guess = guessed(*packets)
    assert (guess.version, guess.different) == (version, telling)


def test_the_reason_of_a_guess() -> None:
    assert guessed(PINGREQ).why == "nothing shows the version so far: 5.0 is assumed"
    assert guessed(publish(version=V311)).why == (
        "version 3.1.1 guessed from 1 packet; without errors: 0 in 5.0, 1 in 3.1.1, 1 in 3.1"
    )


def test_when_enough_was_seen() -> None:
    decides = publish(version=V311)
    assert not guessed(*[decides] * 2).settled
    assert guessed(*[decides] * 3).settled
    # What is right in 5.0 and in 3.1.1, with other values, decides nothing.
    assert not guessed(*[publish()] * 15).settled
    assert guessed(*[publish()] * 16).settled
    assert not guessed(*[PINGREQ] * 15).settled
    assert guessed(*[PINGREQ] * 16).settled
    assert guessed(publish(bytes(1 << 16))).settled


@pytest.mark.parametrize(
    ("packets", "client", "why"),
    [
        ([publish()], None, ""),
        ([publish(), PINGREQ, PINGRESP], 0, "the client is the end that sends PINGREQ"),
        ([PINGRESP], 1, "the server is the end that sends PINGRESP"),
        ([CONNACKS[V5]], 1, "the server is the end that sends CONNACK"),
        ([b"\x00\x00"], None, ""),
    ],
)
def test_packets_that_only_one_end_sends_show_the_client(packets: list[bytes], client: int | None, why: str) -> None:
    guess = guessed(*packets)
    assert (guess.client, guess.client_because) == (client, why)
