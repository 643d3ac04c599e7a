"""A copy whose brokers are killed while messages go, and which is killed itself: at QoS 1 nothing is lost."""

import signal
from pathlib import Path

import pytest

from tests.build.kills import KilledProgram, compared
from tests.program import PROGRAM
from tests.scenarios.survival import Broker, Listener

pytestmark = [pytest.mark.long, pytest.mark.broker, pytest.mark.timeout(900)]
TOPIC = "plant/line"
LINES = 100_000


@pytest.mark.parametrize("outbox", [True, False])
def test_nothing_is_lost_when_everything_is_killed(outbox: bool, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("from", "to", "pub", "copy")]
    for folder in folders:
        folder.mkdir()
    expected = [f"line {number}".encode() for number in range(LINES)]
    (tmp_path / "lines").write_bytes(b"\n".join(expected) + b"\n")
    with Broker(folders[0]) as source, Broker(folders[1]) as target:
        listener = Listener(target, TOPIC, 1)
        copy = [
            *PROGRAM, "copy", f"mqtt://127.0.0.1:{source.port}", f"mqtt://127.0.0.1:{target.port}", "-t", "plant/#",
            "-i", "copy", "--reconnect", *(["--outbox", str(tmp_path / "outbox")] if outbox else ["-c", "-x", "600"]),
        ]  # fmt: skip
        pub = [
            *PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(source.port), "-t", TOPIC, "-q", "1", "-l", "--reconnect",
            "--outbox", str(tmp_path / "pub.outbox"), "--rate", "2500",
        ]  # fmt: skip
        with KilledProgram(folders[3], copy) as copier:
            copier.wait(lambda: "copying" in copier.said())
            with KilledProgram(folders[2], pub, stdin=tmp_path / "lines") as publisher:
                for number, victim in enumerate((source, target, copier, target, source), 1):
                    assert copier.wait(lambda: len(listener.seen) > LINES * number // 7), copier.said()  # noqa: B023
                    victim.kill()
                    victim.start()
                assert publisher.end() == 0, publisher.said()
                assert copier.wait(lambda: len(listener.seen) == LINES), copier.said()
            assert copier.end(signal.SIGTERM) == 143
            assert "what was taken was given" in copier.said()
        listener.stop()
    assert compared(expected, listener.seen).lost == []
