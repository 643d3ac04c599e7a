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


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_bytes_are_bytes(kind: type[bytearray] | type[memoryview]) -> None:
    assert statements(mqttpub.check(kind(b"\xd0\x00"), direction="client")) == ["MQTT5-2.1.2/direction"]
    assert statements(mqttpub.check([*CONVERSATION, ("server", kind(b"\xd0\x00"))])) == ["MQTT5-3.13/unasked"]
    assert mqttpub.decode(kind(b"\x30\x04\x00\x01a\x00")).packet == mqttpub.Publish(topic="a")


@pytest.mark.parametrize("version", ["3.1", "3.1.1"])
def test_a_script_says_its_version(version: str) -> None:
    text = f"version {version}\n> connect\n< connack\n"
    assert mqttpub.check(text) == mqttpub.check(text, version) == []
    with pytest.raises(mqttpub.BadText, match=r"not for 5\.0"):
        mqttpub.check(text, "5.0")


@pytest.mark.parametrize("raw", ["3005000161", "30ffffffff7f"])
@pytest.mark.parametrize("version", ["5.0", "3.1.1"])
def test_bytes_of_a_conversation_that_are_not_a_packet(raw: str, version: str) -> None:
    [alone] = mqttpub.check(bytes.fromhex(raw), version)
    text = f"version {version}\n> connect\n< connack\n> raw {raw}\nclient FIN\n"
    [found] = [each for each in mqttpub.check(text) if each.statement == alone.statement]
    assert found.at_fault is mqttpub.Direction.CLIENT


def test_a_conversation_in_the_notation_of_scripts() -> None:
    text = "> connect client_id=x\n< connack\n> publish topic=a qos=1 packet_id=1\n< puback packet_id={}\n"
    assert mqttpub.check(text.format(1)) == []
    assert statements(mqttpub.check(text.format(2))) == ["MQTT5-2.2.1-5"]
    with pytest.raises(mqttpub.BadText, match="line 1"):
        mqttpub.check("> conect\n")
