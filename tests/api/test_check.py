"""Bytes, pairs and texts judged; expected statements are those of the specification."""

import pytest

import mqttpub

CONVERSATION: list[tuple[str, bytes | mqttpub.Packet]] = [
    ("client", mqttpub.Connect(client_id="x")),
    ("server", mqttpub.Connack()),
    ("client", mqttpub.Publish(topic="a", qos=1, packet_id=1)),
    ("server", mqttpub.Puback(packet_id=1)),
]


def statements(findings: list[mqttpub.Finding]) -> list[str]:
    return [each.statement for each in findings]


def test_packets_of_one_end() -> None:
    good = mqttpub.encode(mqttpub.Publish(topic="a"))
    assert mqttpub.check(good + good) == []
    assert statements(mqttpub.check(good + mqttpub.encode(mqttpub.Publish(topic="#")))) == ["MQTT5-3.3.2-2"]
    assert statements(mqttpub.check(mqttpub.encode(mqttpub.Connack()), direction="client")) != []


@pytest.mark.parametrize("cut", range(1, 5))
def test_the_last_packet_may_be_cut_short(cut: int) -> None:
    assert len(mqttpub.check(mqttpub.encode(mqttpub.Publish(topic="abc"))[:cut])) == 1


def test_bytes_that_cannot_be_cut_are_one_packet() -> None:
    assert statements(mqttpub.check(b"\x30\xff\xff\xff\xff\xff")) == ["MQTT5-1.5.5/length"]


def test_a_conversation_of_packets() -> None:
    assert mqttpub.check(CONVERSATION) == []
    wrong = [*CONVERSATION[:3], ("server", mqttpub.encode(mqttpub.Puback(packet_id=2)))]
    [found] = mqttpub.check(wrong)
    assert found.statement == "MQTT5-2.2.1-5"
    assert found.at_fault is mqttpub.Direction.SERVER


def test_a_conversation_in_the_notation_of_scripts() -> None:
    text = "> connect client_id=x\n< connack\n> publish topic=a qos=1 packet_id=1\n< puback packet_id={}\n"
    assert mqttpub.check(text.format(1)) == []
    assert statements(mqttpub.check(text.format(2))) == ["MQTT5-2.2.1-5"]
    with pytest.raises(mqttpub.BadText, match="line 1"):
        mqttpub.check("> conect\n")
