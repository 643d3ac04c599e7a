"""Ending processes with all that they started."""

import signal
import subprocess
import threading
import time

import pytest

from mqttpub.common.processes import end_groups


@pytest.mark.timeout(20)
def test_what_a_shell_started_and_ignores_sigterm_ends_with_it() -> None:
    script = "(trap '' TERM; echo ready; while :; do sleep 0.05; done) | cat; true"
    process = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    )  # fmt: skip
    assert process.stdout
    with process.stdout as output:
        assert output.readline() == b"ready\n"
        end_groups(process)
        assert process.returncode is not None
        until_s = time.monotonic() + 10
        while members(process.pid) and time.monotonic() < until_s:
            time.sleep(0.01)
        assert members(process.pid) == []


@pytest.mark.timeout(20)
def test_a_process_that_another_thread_waits_for_is_ended() -> None:
    for _ in range(20):
        with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
            waiting = threading.Thread(target=process.wait)
            waiting.start()
            end_groups(process)
            waiting.join()
        assert process.returncode == -signal.SIGTERM


def members(group: int) -> list[str]:
    """Return the processes of a group that have not ended."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return [row[2] for row in rows if row[0] == str(group) and not row[1].startswith("Z")]
