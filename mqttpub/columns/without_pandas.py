"""Imports pyarrow without pandas, which takes longer than all other imports: 0.25 s of 0.35 s (processor time)."""

import sys


class _HiddenPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden while pyarrow looks for it", name=name)


def import_arrow() -> None:
    """Import pyarrow; call it in a process that is all mqttpub's, before anything else makes an array.

    pyarrow looks for pandas when it makes its first array, which this does, and again for whatever needs pandas, such
    as `to_pandas`. Until then arrays of pandas are sequences like any other to it.
    """
    if "pandas" in sys.modules:
        return
    # An entry None in sys.modules, which hides it from Python, is a module to the compiled code of pyarrow.
    hidden = _HiddenPandas()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.array(())
    finally:
        sys.meta_path.remove(hidden)
