"""pyarrow makes arrays without pandas, and finds it where it is needed."""

import subprocess
import sys

CODE = """
import sys
from mqttpub.columns.without_pandas import import_arrow
import_arrow()
import pyarrow as pa
print("pandas" in sys.modules, pa.array([1, None]).to_pylist(), "pandas" in sys.modules)
print(pa.array(["a"]).to_pandas().tolist(), pa.array(sys.modules["pandas"].Series([1.5])).to_pylist())
import_arrow()
"""


def test_pandas_is_imported_when_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["False [1, None] False", "['a'] [1.5]"]
