"""What a session says when Spark fails."""

import json
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors.exceptions.connect import convert_exception

from mqttpub.spark.session.session import failures, sentence


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("Answer from Java side is empty")]
)
def test_a_jvm_that_was_killed_is_named(error: Exception) -> None:
    assert isinstance(error, failures())
    assert sentence(error) == "its JVM has ended"


FRAME = '  File "/srv/spark/mqttpub.zip/mqttpub/spark/pipeline/flow.py", line 108, in __call__\n    raise error\n'
HEAD = "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: "
TRACE = f"{HEAD}Traceback (most recent call last):\n"
CUT = "a task raised an exception, and only the beginning of its trace came through; the log of Spark has the rest"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f"{TRACE}{FRAME}RuntimeError: the disk is on fire\n SQLSTATE: 38000", "RuntimeError: the disk is on fire"),
        (f"{TRACE}{FRAME}pyarrow.lib.ArrowInvalid: no batch\nError: of others\n", "pyarrow.lib.ArrowInvalid: no batch"),
        (f"{TRACE}{FRAME}KeyError: 1\n\nDuring handling of it:\n\nTraceback (most recent call last):\n{FRAME}OSError\n",
         "OSError"),
        (f"{(TRACE + FRAME * 30)[:2045]}...", CUT),
        (f"{TRACE}{FRAME}...", CUT),
        (f"{HEAD}RuntimeError: the disk is on fire\n SQLSTATE: 38000", f"{HEAD}RuntimeError: the disk is on fire"),
        ("", "no reason given"),
    ],
)  # fmt: skip
def test_the_error_of_a_task_through_a_server_that_gives_no_details(message: str, expected: str) -> None:
    """What pyspark makes of the status alone, as when its request for the details fails."""
    info = SimpleNamespace(reason="", metadata={"classes": json.dumps(["org.apache.spark.api.python.PythonException"])})
    assert sentence(convert_exception(info, message, None)) == expected
