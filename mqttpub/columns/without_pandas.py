"""Keeps pyarrow from importing pandas for its first array, as that takes longer than all other imports."""

import sys


class _HiddenPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden while pyarrow looks for it", name=name)


def hide_pandas() -> None:
    """Let pyarrow find no pandas when it makes its first array, which this does; call it before any other array.

    It looks again, and finds it, for whatever needs pandas, such as `to_pandas`. Until then arrays of pandas are
    sequences like any other to it, so this is for processes that are all mqttpub's.
    """
    if "pandas" in sys.modules:
        return
    hidden = _HiddenPandas()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.array(())
    finally:
        sys.meta_path.remove(hidden)
