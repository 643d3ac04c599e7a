"""The examples of the guide run in its order in one folder, and print what it shows; `--update` rewrites that."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import guide

GUIDE = guide("python")
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


@pytest.mark.broker
def test_the_examples(mosquitto: int, tmp_path: Path, update: bool) -> None:
    text = GUIDE.read_text()
    for example in EXAMPLE.finditer(text):
        code, shown = example.groups()
        (tmp_path / "test_example.py").write_text(code.replace("mqtt://localhost", f"mqtt://localhost:{mosquitto}"))
        program = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if "\ndef test_" in code else []
        done = subprocess.run(
            [sys.executable, "-W", "error", *program, "test_example.py"], cwd=tmp_path, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        if update and shown is not None:
            block = f"```python\n{code}```\n\n```text\n"
            text = text.replace(f"{block}{shown}```", f"{block}{done.stdout}```", 1)
            GUIDE.write_text(text)
        assert update or shown in (None, done.stdout), code
