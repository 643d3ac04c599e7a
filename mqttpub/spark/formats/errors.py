"""Errors of the data sources: one sentence, without the traces of Java and Python."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from ...capture.types import BadCapture
from ...live.failures import Failure

HIDE = "SPARK_HIDE_TRACEBACK"
"""The variable that makes pyspark's workers report an exception without its trace."""


class SourceError(PySparkException):
    """A data source failed; the text is one sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence

    def __reduce__(self) -> tuple[type["SourceError"], tuple[str]]:
        return type(self), (self.sentence,)


class OptionError(SourceError):
    """An option, a column or a schema cannot be used."""


class CaptureError(SourceError):
    """A capture does not exist, or is broken."""


class BrokerError(SourceError):
    """The broker cannot be reached, or refused the connection or a subscription."""


class SpoolError(SourceError):
    """The spool cannot be used."""


class RefusedError(SourceError):
    """Rows were not published."""


@contextmanager
def short_errors(kind: type[SourceError] = SourceError) -> Iterator[None]:
    """Turn errors in a worker of Spark into a SourceError that is reported in one line.

    OSError becomes `kind`. The variable HIDE stays set, which hides no other trace, as the worker ends with
    its first exception.
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
