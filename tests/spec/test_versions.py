"""Versions and directions."""

import pytest

from mqttpub.spec.versions import Direction, Version


@pytest.mark.parametrize(
    ("version", "level", "label", "prefix"),
    [(Version.V31, 3, "3.1", "MQTT31"), (Version.V311, 4, "3.1.1", "MQTT311"), (Version.V5, 5, "5.0", "MQTT5")],
)
def test_a_version_is_its_level_and_has_a_label_and_a_prefix(
    version: Version, level: int, label: str, prefix: str
) -> None:
    assert (version, version.label, version.prefix) == (level, label, prefix)


def test_versions_are_in_order() -> None:
    assert Version.V31 < Version.V311 < Version.V5


@pytest.mark.parametrize(
    ("level", "version"),
    [
        (0, None), (2, None), (3, Version.V31), (4, Version.V311), (5, Version.V5), (6, None), (0x7F, None),
        (0x80, None), (0x83, Version.V31), (0x84, Version.V311), (0x85, Version.V5), (0xFF, None),
    ],
)  # fmt: skip
def test_the_version_of_a_level(level: int, version: Version | None) -> None:
    assert Version.of_level(level) is version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.1", Version.V31), ("31", Version.V31), ("mqttv31", Version.V31), ("MQIsdp", Version.V31),
        ("3.1.1", Version.V311), ("311", Version.V311), ("3", Version.V311), ("4", Version.V311),
        ("mqttv311", Version.V311), ("5", Version.V5), ("5.0", Version.V5), ("MQTTv5", Version.V5),
    ],
)  # fmt: skip
def test_versions_have_the_names_of_mosquitto_mqttx_and_hivemq(text: str, version: Version) -> None:
    assert Version.named(text) is version


@pytest.mark.parametrize("text", ["", "6", "3.2", "mqtt"])
def test_what_names_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^'{text}' is not an MQTT version \(3\.1, 3\.1\.1, 5\)$"):
        Version.named(text)


def test_a_direction_has_an_arrow_and_a_mark() -> None:
    assert (Direction.CLIENT.arrow, Direction.CLIENT.mark) == ("client -> server", ">")
    assert (Direction.SERVER.arrow, Direction.SERVER.mark) == ("server -> client", "<")
