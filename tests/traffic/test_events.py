"""The ends of connections, as events name them."""

import pytest

from mqttpub.traffic.events import address_and_port


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("10.0.0.1:50000", ("10.0.0.1", 50_000)),
        ("[fe80::1%eth0]:1883", ("fe80::1%eth0", 1883)),
        ("broker.example:0", ("broker.example", 0)),
        ("", ("", None)),
        ("client-1", ("client-1", None)),
        ("/run/mosquitto.sock", ("/run/mosquitto.sock", None)),
        ("::1", ("::1", None)),
        ("[::1]", ("[::1]", None)),
        ("10.0.0.1:65536", ("10.0.0.1:65536", None)),
        ("10.0.0.1:\u0661", ("10.0.0.1:\u0661", None)),
        ("10.0.0.1:" + "9" * 5_000, ("10.0.0.1:" + "9" * 5_000, None)),
    ],
)
def test_an_end_is_divided_into_address_and_port(end: str, expected: tuple[str, int | None]) -> None:
    assert address_and_port(end) == expected
