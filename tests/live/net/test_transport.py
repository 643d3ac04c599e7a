"""The way to a broker, as text."""

from mqttpub.live.net.transport import Transport


def test_the_text_of_a_transport_has_no_secret() -> None:
    proxy = "http://user:s3cret@127.0.0.1:3128"
    shown = repr(Transport("websocket", "/mqtt?token=s3cret", (("Authorization", "Bearer s3cret"),), proxy=proxy))
    assert "s3cret" not in shown
    assert "/mqtt?..." in shown
