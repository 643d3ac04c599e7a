"""Imports numpy and pyarrow without what they load or start for others."""

import os
import sys

from ..common.deferred_import import deferred

_THREADS = "OPENBLAS_NUM_THREADS"
"""The variable that says how many threads numpy starts for linear algebra, which nothing here does."""


_UNUSED = (
    "numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars", "ast", "ctypes", "pickle", "textwrap", "tokenize",
)  # fmt: skip
"""What numpy imports and uses for nothing here, a fifth of its import; the first two only write docstrings."""


class _HiddenPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden while pyarrow looks for it", name=name)


def import_lean() -> None:
    """Import numpy and pyarrow quickly; call it before anything else imports numpy or makes an array.

    pyarrow finds no pandas when it makes its first array, which this does: importing that takes longer than all other
    imports. It looks again, and finds it, for whatever needs pandas, such as `to_pandas`. Until then arrays of pandas
    are sequences like any other to it, so this is for processes that are all mqttpub's.
    """
    import_numpy()
    if "pandas" in sys.modules:
        return
    hidden = _HiddenPandas()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.array(())
    finally:
        sys.meta_path.remove(hidden)


def import_numpy() -> None:
    """Import numpy quickly: it starts no threads, which takes a third of the time of its import, and has no docstrings.

    Python without docstrings (-OO) has numpy without them too, so numpy works without.
    """
    own = os.environ.get(_THREADS)
    os.environ.setdefault(_THREADS, "1")
    try:
        with deferred(*_UNUSED):
            import numpy  # noqa: F401
    finally:
        # Programs that this one starts may want their threads.
        if own is None:
            del os.environ[_THREADS]
