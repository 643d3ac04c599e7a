"""Every screen in tests/transcripts is what the program prints; `--update` rewrites them."""

from pathlib import Path

import pytest

from tests.screens import comparable, parse, rewritten, run, written

FILES = sorted((Path(__file__).parent.parent / "transcripts").glob("*.txt"))


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_screens_are_as_written(path: Path, mosquitto: int, tmp_path: Path, update: bool) -> None:
    expected = parse(path.read_text())
    assert expected, f"{path.name} holds no screen"
    shown = [run(screen.command, port=mosquitto, folder=tmp_path) for screen in expected]
    if update:
        path.write_text("\n".join(rewritten(expected, shown)))
        return
    for old, new in zip(expected, shown, strict=True):
        assert comparable(written(new)) == comparable(written(old))
