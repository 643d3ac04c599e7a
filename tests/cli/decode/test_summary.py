"""`decode --summary` shows runs of packets as it shows the packets, on every kind of output."""

from collections.abc import Iterator

import pytest

from mqttpub.cli.decode.views import ViewOptions, summary
from mqttpub.common.times import Zero
from mqttpub.spec.packets import Connect, Pingreq, Puback, Publish
from mqttpub.traffic.context import TrafficItem
from tests.build.events import Dialog, known
from tests.build.runs import with_runs


def items() -> Iterator[TrafficItem]:
    """Yield what two connections hold."""
    for number in (1, 2):
        talk = Dialog(number).client(Connect(client_id=f"c{number}"))
        talk.client(*(Publish(topic="\u65e5/1", qos=1, packet_id=each, payload=b"21.5") for each in range(8, 13)))
        talk.server(*(Puback(packet_id=each) for each in range(8, 13)))
        yield from known(talk.client(Pingreq()).events)


@pytest.mark.parametrize("color", ["0", "1"])
@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize("files", [False, True])
def test_runs_look_like_their_packets(
    color: str, json: bool, files: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", color)
    options = ViewOptions(Zero(), json=json, file_of="{}.pcap".format if files else None)
    summary(items(), options)
    expected = capsys.readouterr().out
    summary(with_runs(items()), options._replace(zero=Zero()))
    assert capsys.readouterr().out == expected
    assert ("\x1b[" in expected) == (color == "1" and not json)
    assert len(expected.splitlines()) == 24 + 2 * (files and not json)
