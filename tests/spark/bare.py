"""A Python as workers of a cluster have it: with numpy, pyarrow and pandas, and without mqttpub."""

import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

WANTED = ("numpy", "pyarrow", "pandas")
"""What README.md says that workers need."""


def bare_python(folder: Path) -> Path:
    """Make an environment whose packages are links to ours, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    (site,) = folder.glob("lib/python3*/site-packages")
    for name in sorted(_with_requirements(WANTED)):
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    python = folder / "bin" / "python"
    code = "import importlib.util as u, numpy, pyarrow, pandas; print(u.find_spec('mqttpub'), u.find_spec('pyspark'))"
    # Nowhere near a checkout, from which it would import.
    told = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert told == "None None\n"
    return python


def _with_requirements(names: tuple[str, ...]) -> set[str]:
    """Return packages and what they stand on."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        requirements = [Requirement(each) for each in distribution(name).requires or ()]
        left += [each.name for each in requirements if not each.marker or each.marker.evaluate({"extra": ""})]
    return found
