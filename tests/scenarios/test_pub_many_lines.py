"""Many lines to a broker, of which nothing is lost, doubled or out of order."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.build.brokers import mosquitto, plain

SOME = 80_000
"""More lines than there are Packet Identifiers."""
MANY = 200_000


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [SOME, pytest.param(MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_all_lines_arrive_in_order(qos: str, count: int, tmp_path: Path) -> None:
    lines = b"".join(b"%d\n" % number for number in range(count))
    with mosquitto(tmp_path, lambda port: [*plain(port), "max_queued_messages 0"]) as (port,):
        assert _passed_on(lines, port, qos, tmp_path / "out") == b"ready\n" + lines


def _passed_on(lines: bytes, port: int, qos: str, out: Path) -> bytes:
    """Publish lines and return what a subscriber wrote."""
    here = ["-h", "127.0.0.1", "-p", str(port), "-t", "bulk", "-q", qos]
    # The broker keeps this one, so it comes as soon as the subscription is there.
    subprocess.run(["mosquitto_pub", *here, "-r", "-m", "ready"], check=True)
    with open(out, "wb") as file:
        # The 5.0 mode of mosquitto_sub breaks off under load at QoS 2 with a protocol error of its own.
        listener = subprocess.Popen(
            ["stdbuf", "-oL", "mosquitto_sub", "-V", "311", *here, "-C", str(1 + lines.count(b"\n"))], stdout=file
        )
    try:
        while not out.stat().st_size:
            time.sleep(0.02)
        subprocess.run([sys.executable, "-m", "mqttpub", "pub", *here, "-l"], input=lines, check=True)
        listener.wait()
    finally:
        listener.kill()
        listener.wait()
    return out.read_bytes()
