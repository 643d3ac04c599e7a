"""The files, standard input and arguments that a user names."""

import io
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mqttpub.common.errors import UserError
from mqttpub.reading.input import AllEvents, AnyInput, Argument, Input, InputOptions, open_inputs, short_names
from mqttpub.traffic.events import PacketSeen
from tests.paths import QOS2

PINGREQ, PINGRESP = "c000", "d000"


def opened(files: list[str], words: list[str]) -> list[AnyInput]:
    """Return the inputs; values of words are read as hex."""
    with ExitStack() as stack:
        return list(open_inputs(files, words, stack, lambda word: bytes.fromhex(word.partition(":")[2])))


def test_files_come_before_the_words_and_standard_input_only_without_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.hex"
    path.write_text(PINGREQ)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"d000"))))
    assert [each.name for each in opened([str(path)], [])] == [str(path)]
    assert [each.name for each in opened([str(path)], [PINGRESP])] == [str(path), "argument"]
    assert [each.name for each in opened([], [str(path), str(path)])] == [str(path)] * 2


@pytest.mark.parametrize("words", [["c000"], ["c0", "00"], ["hex:c000"], ["0xc0,", "0x00"]])
def test_words_that_name_no_file_are_bytes(words: list[str]) -> None:
    (only,) = opened([], words)
    assert isinstance(only, Argument)
    assert [each.data for each in only.events(InputOptions()) if isinstance(each, PacketSeen)] == [b"\xc0\0"]


@pytest.mark.parametrize(
    "word", ["missing.pcap", "missing.PCAPNG", "missing.gz", "missing.hex", "./missing", "/missing"]
)
def test_a_word_that_can_only_be_a_file_name_is_reported_as_missing(word: str) -> None:
    with pytest.raises(UserError, match=r"cannot read '.*': No such file or directory"):
        opened([], [word])


def test_a_file_after_an_at_sign_is_read_as_raw_bytes(tmp_path: Path) -> None:
    path = tmp_path / "packet.hex"
    path.write_bytes(b"\xc0\0")
    (only,) = opened([], [f"@{path}"])
    assert [piece.data for piece in only.pieces("auto")] == [b"\xc0\0"]
    (gone,) = opened([], [f"@{path}.gone"])
    with pytest.raises(UserError, match="cannot read"):
        list(gone.pieces("auto"))


def test_a_bad_value_is_an_error_of_the_user() -> None:
    (only,) = opened([], ["hex:zz"])
    with pytest.raises(UserError, match="non-hexadecimal"):
        list(only.pieces("auto"))


def test_connections_are_numbered_across_inputs_and_a_bad_input_does_not_stop_the_next(tmp_path: Path) -> None:
    good, bad, cut = tmp_path / "good.hex", tmp_path / "bad.hex", tmp_path / "cut.pcapng"
    good.write_text(PINGREQ)
    bad.write_text("c0 0x")
    cut.write_bytes(QOS2.read_bytes()[:3000])
    with ExitStack() as stack:
        events = AllEvents([Input.opened(str(path), stack) for path in (good, bad, cut, good)], InputOptions())
        numbers = [each.ends.number for each in events if isinstance(each, PacketSeen)]
    assert (numbers[0], numbers[1], numbers[-1]) == (1, 2, max(numbers))
    assert [fault.split(": ")[:2] for fault in events.faults] == [
        [str(bad), "line 1, column 5"],
        [str(cut), "offset 2960"],
    ]
    assert tuple(map(events.names.of, (1, 2, numbers[-1]))) == (str(good), str(cut), str(good))


def test_short_names_are_the_last_parts_unless_two_are_equal() -> None:
    assert short_names(["a/x", "b/x", "b/y"]) == {"a/x": "a/x", "b/x": "b/x", "b/y": "y"}


def test_bytes_on_the_command_line_load_no_reader_of_captures() -> None:
    code = (
        "import sys; from mqttpub.cli.main import main; status = main(['decode', 'c000']);"
        "loaded = [name for name in sys.modules if name.startswith(('mqttpub.capture.containers',"
        " 'mqttpub.capture.network', 'mqttpub.capture.reading', 'mqttpub.capture.protocol.websocket',"
        " 'mqttpub.capture.protocol.demux'))]; sys.exit(status or ', '.join(loaded) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


class OneByOne(io.RawIOBase):
    """A pipe that delivers its bytes one by one."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        byte = self._data.read(1)
        buffer[: len(byte)] = byte
        return len(byte)


@pytest.mark.parametrize("text", [b"# what this is for\n\n# and more\n> pingreq\n", b"> pingreq", b"[a] > pingreq\n"])
def test_a_pipe_that_delivers_a_script_one_byte_at_a_time_is_a_script(
    monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(OneByOne(text))))
    (only,) = opened([], [])
    assert only.is_script("auto")
    assert [each.data for each in only.events(InputOptions()) if isinstance(each, PacketSeen)] == [b"\xc0\0"]
