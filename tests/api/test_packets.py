"""Bytes and packets, with the values of the specification."""

import pytest

import mqttpub
from mqttpub.spec.declare import SECRET_IDS
from mqttpub.spec.properties import PROPERTIES

PUBLISH = bytes.fromhex("32 08 00 01 61 00 0a 00 68 69")


def test_a_packet_is_read_and_written() -> None:
    decoded = mqttpub.decode(PUBLISH, "5.0", "client")
    assert decoded.packet == mqttpub.Publish(topic="a", qos=1, packet_id=10, payload=b"hi")
    assert decoded.findings == []
    assert mqttpub.encode(decoded.packet) == PUBLISH
    topic = decoded.at("publish.topic")
    assert topic
    assert (topic.span.start, topic.span.stop) == (2, 5)


def test_findings_of_rules_are_among_those_of_the_decoder() -> None:
    broken = mqttpub.encode(mqttpub.Publish(topic="a/+", qos=3, packet_id=1), "3.1.1")
    assert [each.statement for each in mqttpub.decode(broken, "3.1.1").findings] == [
        "MQTT311-3.3.1-4", "MQTT311-3.3.2-2",
    ]  # fmt: skip
    assert mqttpub.decode(broken[:3], "3.1.1").packet is None


def test_the_dump_is_that_of_the_command_and_masks_secrets() -> None:
    connect = mqttpub.encode(mqttpub.Connect(client_id="c", username="u", password=b"s3cret"))
    shown = mqttpub.dump(mqttpub.decode(connect))
    assert shown.startswith("CONNECT  ")
    assert "s3cret" not in shown
    assert "s3cret" in mqttpub.dump(mqttpub.decode(connect), secrets=True)


@pytest.mark.parametrize("call", [lambda: mqttpub.decode(PUBLISH, "4.2"), lambda: mqttpub.decode(PUBLISH, "5", "up")])
def test_a_wrong_option_is_a_value_error(call: "pytest.Function") -> None:
    with pytest.raises(ValueError, match=r"4\.2|up"):
        call()  # type: ignore[operator]


def test_properties_by_name() -> None:
    given = mqttpub.properties(topic_alias=1, subscription_identifier=[1, 2], user_property={"a": "b"})
    assert [each.id for each in given] == [0x23, 0x0B, 0x0B, 0x26]
    packet = mqttpub.Publish(topic="t", properties=given)
    read = mqttpub.decode(mqttpub.encode(packet)).packet
    assert read == packet
    assert mqttpub.property_values(packet) == {
        "topic_alias": 1, "subscription_identifier": [1, 2], "user_property": [("a", "b")],
    }  # fmt: skip
    assert mqttpub.property_values(mqttpub.Pingreq()) == {}
    with pytest.raises(TypeError, match="did you mean 'topic_alias'"):
        mqttpub.properties(topic_alia=1)


def test_reason_codes_by_name() -> None:
    assert mqttpub.reason_code("Not authorized") == 0x87
    assert mqttpub.reason_name(0x87) == "Not authorized"
    assert mqttpub.reason_name(5, "CONNACK", "3.1.1") == "not authorized"
    with pytest.raises(mqttpub.UserError, match="did you mean"):
        mqttpub.reason_code("Not autorized")


def test_the_text_of_a_packet_has_no_password() -> None:
    secret = mqttpub.properties(authentication_method="M", authentication_data=b"s3cret")
    packet = mqttpub.Connect(username="u", password=b"s3cret", properties=secret)
    assert "s3cret" not in repr(packet)
    tls = repr(mqttpub.Tls(cert="c.pem", key_password=b"s3cret"))
    assert "cert='c.pem'" in tls
    assert "s3cret" not in tls
    assert {row.id for row in PROPERTIES.values() if row.secret} == SECRET_IDS
    assert "password=None" in repr(mqttpub.Connect())
