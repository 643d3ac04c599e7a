"""A copy whose brokers are killed while messages go, and which is killed itself: at QoS 1 nothing is lost."""

import signal
from pathlib import Path

import pytest

from tests.build.kills import KilledProgram, compared
from tests.program import PROGRAM, run
from tests.scenarios.survival import Broker, Listener

pytestmark = [pytest.mark.long, pytest.mark.broker, pytest.mark.timeout(900)]
TOPIC = "plant/line"
LINES = 100_000


@pytest.mark.parametrize("outbox", [True, False])
def test_nothing_is_lost_when_brokers_are_killed(outbox: bool, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("from", "to", "copy")]
    for folder in folders:
        folder.mkdir()
    expected = [f"line {number}".encode() for number in range(LINES)]
    with Broker(folders[0]) as source, Broker(folders[1]) as target:
        _fill(source, folders[0] / "survival.conf", b"\n".join(expected))
        listener = Listener(target, TOPIC, 1)
        copy = [
            *PROGRAM, "copy", f"mqtt://127.0.0.1:{source.port}", f"mqtt://127.0.0.1:{target.port}", "-t", "plant/#",
            "-i", "copy", "-q", "1", "--no-clean", "--reconnect",
            *(["--outbox", str(tmp_path / "outbox")] if outbox else []),
        ]  # fmt: skip
        with KilledProgram(folders[2], copy) as copier:
            for victim in (source, target, copier, source, target):
                assert copier.reach(lambda: len(listener.seen), LINES // 7), copier.said()
                victim.kill()
                victim.start()
            assert copier.wait(lambda: len(listener.seen) == LINES), copier.said()
            assert copier.end(signal.SIGTERM) == 143
            assert "what was taken was given" in copier.said()
        listener.stop()
    assert compared(expected, listener.seen).lost == []


def _fill(source: Broker, config: Path, lines: bytes) -> None:
    """Let a broker keep lines for the session of the copy, and write its state to disk now and then only.

    Where it is killed it has the messages of the last time, and sends them again.
    """
    place = ["-h", "127.0.0.1", "-p", source.port]
    config.write_text(config.read_text().replace("val 1\n", f"val {LINES // 10}\n"))
    source.restart(signal.SIGTERM)
    assert run("sub", *place, "-t", "plant/#", "-q", "1", "-i", "copy-from", "-c", "-x", "3600", "-E").returncode == 0
    assert run("pub", *place, "-t", TOPIC, "-q", "1", "-l", data=lines).returncode == 0
    source.restart(signal.SIGTERM)
