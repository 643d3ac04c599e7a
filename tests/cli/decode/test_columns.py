"""What `decode` and `lint` print of captures that they read in columns is what they print of others."""

import gzip
import os
import subprocess
import sys
from random import Random

import pytest

from mqttpub.cli.inputs import opened
from mqttpub.cli.main import main
from mqttpub.columns.runs import read
from mqttpub.common.extras import installing
from tests.build import morning, plant
from tests.fuzz.mutated import mutated
from tests.paths import CAPTURES, QOS2

VIEWS = (
    "decode", "decode --full --absolute-time", "decode --format hex", "decode --filter type=PUBLISH", "decode --jobs 2",
    "decode --summary", "decode --summary --json", "decode --summary --absolute-time", "decode --flows",
    "decode --flows --json", "decode --stats", "decode --stats --json", "decode --json", "lint", "lint --json",
    "decode --summary --filter type=PUBLISH", "decode --flows --follow *", "decode --summary --jobs 2",
    "lint --jobs 2 --report", "decode --summary --max-connections 1",
)  # fmt: skip


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Return lists of captures that are read together."""
    folder = tmp_path_factory.mktemp("captures")
    made = {"morning.pcap.gz": gzip.compress(morning.capture()), "plant.pcap": plant.capture()}
    made |= {f"mutated-{seed}.pcap": mutated(Random(seed), QOS2.read_bytes()) for seed in range(3)}
    made["cut.pcapng"] = QOS2.read_bytes()[:3000]
    for name, data in made.items():
        (folder / name).write_bytes(data)
    alone = [[str(path)] for path in (*CAPTURES.glob("*.pcapng"), *(folder / name for name in made))]
    return [*alone, [str(folder / name) for name in ("plant.pcap", "cut.pcapng", "plant.pcap")]]


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_columns_change_nothing(
    view: str, captures: list[list[str]], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(read, "FEWEST", 1)
    monkeypatch.setattr(read, "WORTH", 0)
    for paths in captures:
        found = []
        for least in (1, 1 << 40):
            monkeypatch.setattr(opened, "WORTH_BYTES", least)
            status = main([*view.split(), *paths])
            found.append((status, *capfdbinary.readouterr()))
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("command", "numpy", "least", "said"),
    [
        ("decode --summary --jobs 2", False, 1, 1), ("lint", False, 1, 1), ("decode", False, 1, 1),
        ("decode --ladder", False, 1, 0), ("lint", True, 1, 0), ("lint", False, 1 << 40, 0),
    ],
)  # fmt: skip
def test_a_terminal_learns_once_what_would_be_quicker(command: str, numpy: bool, least: int, said: int) -> None:
    code = f"import sys\nif not {numpy}: sys.modules['numpy'] = None\nfrom mqttpub.cli.inputs import opened\n"
    code += f"from mqttpub.cli.main import main\nopened.WORTH_SAYING_BYTES = {least}\nsys.exit(main(sys.argv[1:]))"
    captures = [str(path) for path in sorted(CAPTURES.glob("*.pcapng"))[:2]]
    ours, theirs = os.openpty()
    try:
        words = [sys.executable, "-c", code, "--no-pager", *command.split(), *captures]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=theirs, timeout=60)
        os.write(theirs, b"\n")
        shown = os.read(ours, 1 << 16)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode in {0, 1}
    assert shown.count(f"2 to 6 times as fast with numpy: {installing('columns')}".encode()) == said
