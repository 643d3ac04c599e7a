"""Any input as packets, and what damage and wrong options raise."""

import io
from pathlib import Path

import pytest

import mqttpub
from tests.paths import CAPTURES

QOS2 = CAPTURES / "qos2-mosquitto.pcapng"


def names(events: list[object]) -> list[str]:
    return [each.packet.name for each in events if isinstance(each, mqttpub.PacketInContext) and each.packet]


def test_a_path_bytes_and_a_file_are_the_same() -> None:
    events = list(mqttpub.read(QOS2))
    assert "PUBCOMP" in names([*events])
    assert list(mqttpub.read(str(QOS2))) == events
    assert list(mqttpub.read(QOS2.read_bytes())) == events
    assert list(mqttpub.read(io.BytesIO(QOS2.read_bytes()))) == events
    with QOS2.open("rb") as file:
        assert list(mqttpub.read(file)) == events
    with QOS2.open("rb", buffering=0) as plain:
        assert list(mqttpub.read(plain)) == events


def test_text_is_read_in_its_notation() -> None:
    [event] = mqttpub.read(text="30 03 00 01 61", version="3.1.1", direction="server")
    assert isinstance(event, mqttpub.PacketInContext)
    assert event.packet == mqttpub.Publish(topic="a")
    assert (event.event.version, event.event.direction) == (mqttpub.Version.V311, mqttpub.Direction.SERVER)


def test_the_text_of_an_event_has_no_password() -> None:
    connect = mqttpub.encode(mqttpub.Connect(username="u", password=b"s3cret"))
    cut = "30 05 00 01 61"
    events = list(mqttpub.read(text=f"{connect.hex()}\n{connect[:-1].hex()}\n30 03 00 01 62 {cut}"))
    assert [isinstance(each, mqttpub.GapSeen) for each in events] == [False, True, False, True]
    assert "s3cre" not in repr(events)
    assert repr(b"\x30\x03\x00\x01b") in repr(events)
    assert repr(bytes.fromhex(cut)) in repr(events)


def test_a_filter_selects() -> None:
    assert set(names([*mqttpub.read(QOS2, filter="type=pubrec,pubcomp")])) == {"PUBREC", "PUBCOMP"}


def test_damage_is_raised_after_what_comes_before() -> None:
    data = QOS2.read_bytes()
    before: list[object] = []
    with pytest.raises(mqttpub.BadCapture, match="offset"):
        # A list that is extended keeps what came before an exception; one that is made does not.
        before.extend(each for each in mqttpub.read(data[:-3]))
    assert names(before) == names([*mqttpub.read(data)])


def test_what_cannot_be_read() -> None:
    with pytest.raises(mqttpub.UserError, match="cannot read '/no/such': No such file"):
        list(mqttpub.read("/no/such"))
    with pytest.raises(ValueError, match="publsh"):
        list(mqttpub.read(QOS2, filter="publsh"))
    with pytest.raises(TypeError, match="a source or a text"):
        list(mqttpub.read())


def test_a_recording_in_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mqttpub.Recorder(tmp_path / "none" / "a.pcapng")
