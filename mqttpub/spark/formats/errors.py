"""What the data sources say when they cannot go on: one sentence, without the traces of two languages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from ...capture.types import BadCapture
from ...live.failures import Failure

HIDE = "SPARK_HIDE_TRACEBACK"
"""The variable by which pyspark's workers know that an exception is to be told without its trace."""


class SourceError(PySparkException):
    """A data source of ours cannot go on; the text is one sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence

    def __reduce__(self) -> tuple[type["SourceError"], tuple[str]]:
        return type(self), (self.sentence,)


class OptionError(SourceError):
    """An option, a column or a schema cannot be used."""


class CaptureError(SourceError):
    """A capture is not there, or is broken."""


class BrokerError(SourceError):
    """The broker cannot be reached, or refuses."""


class SpoolError(SourceError):
    """The spool cannot be used."""


class RefusedError(SourceError):
    """Rows were not published."""


@contextmanager
def short_errors(kind: type[SourceError] = SourceError) -> Iterator[None]:
    """Turn what goes wrong within a worker of Spark's into one of our errors, and let it be told in one line.

    What the system says about files becomes `kind`. The worker ends with its first exception,
    so nobody else's trace is hidden.
    """
    try:
        yield
    except SourceError:
        os.environ[HIDE] = "1"
        raise
    except Failure as failure:
        os.environ[HIDE] = "1"
        raise BrokerError(str(failure)) from None
    except BadCapture as bad:
        os.environ[HIDE] = "1"
        raise CaptureError(str(bad)) from None
    except OSError as error:
        os.environ[HIDE] = "1"
        named = f" '{error.filename}'" if error.filename else ""
        raise kind(f"cannot use{named}: {error.strerror or error}") from None
