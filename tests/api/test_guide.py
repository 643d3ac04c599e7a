"""The examples of the guide run, and print what it shows; `--update` rewrites that."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import guide
from tests.paths import CAPTURES

GUIDE = guide("python")
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
EXAMPLES = list(EXAMPLE.finditer(GUIDE.read_text()))


@pytest.mark.broker
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example(number: int, mosquitto: int, tmp_path: Path, update: bool) -> None:
    code, shown = EXAMPLES[number].groups()
    shutil.copy(CAPTURES / "qos2-mosquitto.pcapng", tmp_path / "qos2.pcapng")
    (tmp_path / "test_example.py").write_text(code.replace("mqtt://localhost", f"mqtt://localhost:{mosquitto}"))
    program = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if "\ndef test_" in code else []
    done = subprocess.run(
        [sys.executable, "-W", "error", *program, "test_example.py"], cwd=tmp_path, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    if shown is None:
        return
    if update:
        text = GUIDE.read_text()
        block = f"```python\n{code}```\n\n```text\n"
        GUIDE.write_text(text.replace(f"{block}{shown}```", f"{block}{done.stdout}```", 1))
        return
    assert done.stdout == shown
