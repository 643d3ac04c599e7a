"""The Community ID of connections: values that the specification's reference implementation publishes and gives."""

import pytest

from mqttpub.columns.community_id import community_id
from mqttpub.traffic.events import address_and_port


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # From the baseline of corelight/community-id-spec.
        ("128.232.110.120:34855", "66.35.250.204:80", "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        # What the package communityid 1.5.0 gives.
        ("[2001:db8::1]:50000", "[2001:db8::2]:1883", "1:Dpnu4q3qSxS3MYo5Tg0y/tdE8RE="),
        ("192.0.2.1:1883", "192.0.2.1:50000", "1:Wan8aTd2DCWOkPwbSenynE/ajxs="),
    ],
)
def test_both_directions_have_the_published_value(one: str, other: str, expected: str) -> None:
    assert community_id(address_and_port(one), address_and_port(other)) == expected
    assert community_id(address_and_port(other), address_and_port(one)) == expected


@pytest.mark.parametrize("end", ["", "/run/mosquitto.sock", "192.0.2.1", "192.0.2.1:65536", "example.com:1883"])
def test_other_ends_have_none(end: str) -> None:
    assert community_id(address_and_port(end), ("192.0.2.1", 1883)) is None
