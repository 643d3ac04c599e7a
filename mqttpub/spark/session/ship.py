"""Sending mqttpub itself to workers, which may not have it installed."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WRITTEN = (1980, 1, 1, 0, 0, 0)
"""The time of all files in the archive, so that the same files give the same archive."""


def ship(spark: Any, folder: Path) -> None:
    """Let the workers of a session import this mqttpub, whether or not they have one; `folder` holds the archive.

    They still need a Python of the same minor version with numpy and pyarrow. If mqttpub itself runs from an
    archive, whoever made that archive has already sent it.
    """
    package = Path(__file__).parents[2]
    if not package.is_dir():
        return
    path = packed(package, folder / "mqttpub.zip")
    if hasattr(spark, "_jsparkSession"):
        spark.sparkContext.addPyFile(str(path))
    else:
        spark.addArtifacts(str(path), pyfile=True)


def packed(package: Path, path: Path) -> Path:
    """Write a package as an archive that Python can import, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(package):
            info = zipfile.ZipInfo(file.relative_to(package.parent).as_posix(), WRITTEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.read_bytes())
    return path


def _files(package: Path) -> Iterator[Path]:
    yield from sorted(file for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
