"""A signal while the program is still imported ends it without a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HOOK = """
import os, sys

def signalled(event, arguments):
    if event == "import" and arguments[0] == os.environ["SIGNAL_AT"]:
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))

sys.addaudithook(signalled)
"""
"""A `sitecustomize` that sends the process a signal at the import of a module."""
MODULES = (
    "gc", "signal", "mqttpub.common.deferred_import", "mqttpub.cli.main", "click", "mqttpub.cli.signals",
    "mqttpub.cli.sub.run", "mqttpub.live.session", "paho.mqtt.client",
)  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_imports(number: signal.Signals, module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "SIGNAL_AT": module, "SIGNAL": str(int(number))}
    # As the script that pip makes; a shell shows 128 and the number for a process that a signal ended.
    line = "from mqttpub.cli.start import run; run(['sub', '-h', '127.0.0.1', '-p', '1', '-t', 'a'])"
    words = ["sh", "-c", f'{sys.executable} -c "{line}"; exit $?']
    done = subprocess.run(words, env=environment, capture_output=True, timeout=60)
    assert (done.returncode, b"Traceback" in done.stderr) == (128 + number, False), done.stderr
