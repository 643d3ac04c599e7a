"""200,000 lines to a broker, of which nothing is lost, doubled or out of order."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import free_port, mosquitto_program, wait_for_port

LINES = 200_000
CONFIG = "listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nlog_dest none\n"


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_all_lines_arrive_in_order(qos: str, tmp_path: Path) -> None:
    port = free_port()
    config = tmp_path / "mosquitto.conf"
    config.write_text(CONFIG.format(port=port))
    lines = b"".join(b"%d\n" % number for number in range(LINES))
    broker = subprocess.Popen([mosquitto_program(), "-c", str(config)])
    wait_for_port(port)
    out = tmp_path / "out"
    with open(out, "wb") as file:
        # The 5.0 mode of mosquitto_sub breaks off under load at QoS 2 with a protocol error of its own.
        listener = subprocess.Popen(
            ["mosquitto_sub", "-V", "311", "-h", "127.0.0.1", "-p", str(port), "-t", "bulk", "-q", qos], stdout=file
        )
    try:
        time.sleep(0.5)
        subprocess.run(
            [sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "bulk", "-q", qos, "-l"],
            input=lines, check=True, timeout=120,
        )  # fmt: skip
        until = time.monotonic() + 60
        while out.stat().st_size < len(lines) - 4096 and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        time.sleep(0.5)
        listener.terminate()
        listener.wait(10)
        broker.terminate()
        broker.wait(10)
    assert out.read_bytes() == lines
