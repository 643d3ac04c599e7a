"""`mqttpub proxy` as a process of its own."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.program import PROGRAM

_LISTENING = re.compile(r"listening on \S*:(\d+) -> |\"event\":\"listening\".*\"port\":(\d+)")


class RunningProxy:
    """A proxy, and what it has printed once it has ended."""

    def __init__(self, *flags: object, listen: str = "0", files: int | None = None) -> None:
        command = [*PROGRAM, "proxy", "--listen", listen, *map(str, flags)]
        if files:
            command = ["bash", "-c", f'ulimit -n {files}; exec "$@"', "proxy", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        assert self.process.stderr
        self._is_json = "--json" in flags
        self.said = ""
        """What it has printed where it says what happens: standard output with --json, standard error otherwise."""
        self.other = ""
        """What it has printed elsewhere, once it has ended."""
        self.await_said("listening")
        found = _LISTENING.search(self.said)
        assert found
        self.port = int(found[1] or found[2])

    def await_said(self, text: str, times: int = 1) -> None:
        """Wait until it has said a text so many times."""
        stream = self.process.stdout if self._is_json else self.process.stderr
        assert stream
        while self.said.count(text) < times:
            line = stream.readline()
            assert line, self.said
            self.said += line

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        pair = self.process.communicate(timeout=30)
        said, self.other = pair if self._is_json else reversed(pair)
        self.said += said
        return self.process.returncode


@contextmanager
def running_proxy(*flags: object, listen: str = "0", files: int | None = None) -> Iterator[RunningProxy]:
    """Run a proxy on a free port, to the end of the block; `files` is how many it may have open."""
    made = RunningProxy(*flags, listen=listen, files=files)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
        made.process.wait()
        for stream in (made.process.stdout, made.process.stderr):
            if stream:
                stream.close()
