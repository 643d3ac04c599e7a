"""The progress line: on a terminal only, not too often, never cut in the middle of a number."""

import io
import re
import subprocess
import sys
from queue import SimpleQueue
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.view.terminal.progress import PublishProgress, ReadingProgress, StageLines, StageProgress, fitting


class Terminal(io.StringIO):
    """A stream that says it is a terminal, and counts writes."""

    encoding = "utf-8"

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def isatty(self) -> bool:
        """Say yes."""
        return True

    def write(self, text: str) -> int:
        """Count."""
        self.writes += 1
        return super().write(text)


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "25")


def shown(terminal: Terminal) -> str:
    """Return what stands on the line at last, without colour."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    return re.split(r"\r\x1b\[2K", text)[-1]


def test_the_line_counts_messages_by_state() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, 10 << 20, clock=clock)
    clock.now += 0.5
    progress.update(sent=12_345, in_flight=20, acknowledged=12_325, refused=3, read_bytes=6 << 20)
    assert shown(terminal) == (
        "12,345 sent  3 refused  12,325 acknowledged  20 in flight  24,690/s  60% of 10.5 MB"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"sent": 0}, "0 sent  0/s"),
        ({"sent": 5, "read_bytes": 999}, "5 sent  5/s  999 bytes read"),
        ({"sent": 5, "in_flight": 5}, "5 sent  0 acknowledged  5 in flight  5/s"),
        ({"sent": 5, "refused": 1}, "5 sent  1 refused  5/s"),
    ],
)
def test_counts_of_zero_are_left_out(counts: dict[str, int], expected: str) -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    clock.now += 1
    progress.update(**counts)
    assert shown(terminal) == expected


def test_it_is_drawn_ten_times_a_second_at_most() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    for _ in range(1000):
        clock.now += 0.005
        progress.update(sent=1)
    assert 40 <= terminal.writes <= 50


def test_counts_that_are_not_given_stay() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    progress.update(sent=7, acknowledged=2)
    clock.now += 1
    progress.update(acknowledged=3)
    assert shown(terminal) == "7 sent  3 acknowledged  0 in flight  7/s"


def test_the_rate_is_that_of_the_last_seconds_and_at_the_end_of_the_whole_run() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    for second in range(1, 11):
        clock.now += 1
        progress.update(sent=100 * second if second < 5 else 400)
    assert shown(terminal) == "400 sent  0/s"
    progress.close()
    assert shown(terminal) == "400 sent  40/s\n"


def test_a_run_that_is_over_at_once_draws_nothing() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    progress.update(sent=5)
    clock.now += 0.05
    progress.close()
    assert terminal.getvalue() == ""


def test_after_close_nothing_is_drawn() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    clock.now += 1
    progress.update(sent=5)
    progress.close()
    before = terminal.getvalue()
    clock.now += 1
    progress.update(sent=6)
    progress.hide()
    progress.close()
    assert terminal.getvalue() == before


def test_hiding_makes_room_for_other_lines() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    progress.hide()
    assert terminal.getvalue() == ""
    clock.now += 1
    progress.update(sent=5)
    progress.hide()
    progress.hide()
    terminal.write("a note\n")
    assert terminal.getvalue().endswith("/s\r\x1b[2Ka note\n")
    clock.now += 1
    progress.update(sent=6)
    assert shown(terminal).startswith("6 sent")


@pytest.mark.parametrize(("width", "expected"), [(100, 5), (45, 4), (20, 2), (10, 1), (2, 0)])
def test_a_narrow_terminal_shows_fewer_counts_but_whole_ones(width: int, expected: int) -> None:
    parts = [(text, "") for text in ("12,345 sent", "3 refused", "9 acknowledged", "2 in flight", "9/s")]
    line = str(fitting(iter(parts), width))
    assert len(line) <= width
    words = line.split("  ") if line else []
    assert set(words) <= {text for text, _ in parts}
    assert len(words) == expected


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_without_colour_or_on_a_dumb_terminal(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    clock.now += 1
    progress.update(sent=5, refused=1)
    assert terminal.getvalue() == ("" if value == "dumb" else "\r\x1b[2K5 sent  1 refused  5/s")


def test_colour_is_that_of_the_theme() -> None:
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, clock=clock)
    clock.now += 1
    progress.update(sent=5, refused=1)
    assert "\x1b[1;31m1 refused\x1b[0m" in terminal.getvalue()


def test_a_pipe_gets_nothing_and_rich_is_not_loaded() -> None:
    code = (
        "import sys, time; from mqttpub.view.terminal.progress import PublishProgress\n"
        "p = PublishProgress(sys.stderr, 5)\n"
        "time.sleep(0.2); p.update(sent=5); p.hide(); p.close(); print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"False\n", b"")


@given(st.integers(1, 1 << 50), st.data())
def test_100_percent_is_the_end(total: int, draw: st.DataObject) -> None:
    done = draw.draw(st.integers(1, total))
    terminal, clock = Terminal(), Clock()
    progress = PublishProgress(terminal, total, clock=clock)
    clock.now += 1
    progress.update(sent=1, read_bytes=done)
    assert ("100%" in shown(terminal)) == (done == total)


class Source(NamedTuple):
    """An input of which some bytes were read."""

    size: int
    position: int


def test_reading_is_drawn_on_standard_error_and_disappears(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, first, second = Terminal(), Source(1000, 1000), Source(3000, 1000)
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = ReadingProgress([first, second], elsewhere=True)
    assert progress
    progress.at(second)
    progress.close()
    assert not progress
    assert "2.0/4.0 kB" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")


@pytest.mark.parametrize("size", [0, 1000])
def test_reading_is_not_drawn_for_a_pipe_or_an_unknown_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO() if size else Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = ReadingProgress([Source(size, 0)], elsewhere=True)
    progress.at(Source(size, 0))
    progress.close()
    assert (bool(progress), stream.getvalue()) == (False, "")


def test_reading_is_not_drawn_beside_output_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert not ReadingProgress([Source(1000, 0)])
    assert terminal.getvalue() == ""


def test_a_stage_shows_its_name_and_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = StageProgress()
    progress.show("starting", 0, 0)
    progress.show("reading", 1500, 64_000_000)
    progress.close()
    assert "reading" in terminal.getvalue()
    assert "1.5 kB of 64 MB" in terminal.getvalue()


def test_a_short_run_writes_no_lines() -> None:
    lines: list[str] = []
    progress = StageLines(lines.append, first_s=60)
    progress.show("starting", 0, 0)
    progress.show("reading", 1, 2)
    progress.close()
    assert lines == []


def test_a_long_run_writes_a_line_for_each_stage() -> None:
    written: SimpleQueue[str] = SimpleQueue()
    progress = StageLines(written.put, first_s=0.01, again_s=60)
    progress.show("starting", 0, 0)
    assert written.get(timeout=60) == "starting"
    progress.show("reading", 0, 64_000_000)
    progress.show("reading", 1500, 64_000_000)
    progress.show("pairing", 1500, 64_000_000)
    progress.close()
    assert [written.get(timeout=60) for _ in range(2)] == ["reading: 0 bytes of 64 MB", "pairing: 1.5 kB of 64 MB"]
    assert written.empty()


def test_a_long_stage_says_again_how_far_it_is() -> None:
    written: SimpleQueue[str] = SimpleQueue()
    progress = StageLines(written.put, first_s=0.01, again_s=0.01)
    progress.show("reading", 1500, 64_000_000)
    assert {written.get(timeout=60) for _ in range(3)} == {"reading: 1.5 kB of 64 MB"}
    progress.close()
