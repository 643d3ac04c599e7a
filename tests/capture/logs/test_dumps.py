"""The output of dump tools below a prompt, in every radix and width."""

import shlex
import subprocess
from pathlib import Path

import pytest

from mqttpub.capture.logs.account import Log
from mqttpub.capture.logs.read import read_bytes

PACKETS = bytes.fromhex(
    "1015 0004 4d515454 04 02 003c 0009 73656e736f722d3132 20020000 3218 000f 706c616e742f6c696e65312f68756d 0001"
    "34382e3235 4002 0001 e000"
)

COMMANDS = (
    "od a.bin", "od -b a.bin", "od -c a.bin", "od -x a.bin", "od -t u1 a.bin", "od -t d1 a.bin", "od -A d -t x1z a.bin",
    "od -t x4 a.bin", "hexdump a.bin", "hexdump -b a.bin", "hexdump -c a.bin", "hexdump -d a.bin", "hexdump -C a.bin",
    "xxd a.bin", "xxd -b a.bin", "xxd -e a.bin", "xxd -u -g 4 a.bin", "xxd -c 5 a.bin", "xxd -i a.bin", "xxd -p a.bin",
    "base64 a.bin",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dump_below_its_command(command: str, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(PACKETS)
    shown = subprocess.run(shlex.split(command), cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    log = Log()
    text = f"Here is what I saw in the file:\n\n$ {command}\n{shown}$ \n"
    assert b"".join(piece.data for piece in read_bytes(text.encode(), "auto", log)) == PACKETS
    assert log.taken > 1
