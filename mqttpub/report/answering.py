"""What answers the queries of a report: the Spark session of the run, DuckDB, or a session of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..spark.session.session import Settings, failures, sentence, session
from . import duck


class QueriesFailed(RuntimeError):
    """Queries could not be answered; the message is one sentence."""


@contextmanager
def answering(
    spark: Any, folder: str | Path, settings: Settings | None, *, thorough: bool = False,
    starting: Callable[[], None] = lambda: None,
) -> Iterator[Any]:  # fmt: skip
    """Give what answers queries about the tables in a folder; its errors in the block become QueriesFailed.

    That is `spark` if it is not None, or else DuckDB. A session is made for `thorough` questions, and where DuckDB
    cannot answer, after a call of `starting`; with `settings` None that raises QueriesFailed. Raises OutputRefused
    without a manifest, and NoSpark.
    """
    why = "these questions need Spark" if thorough else duck.refusal(folder) if spark is None else ""
    if spark is None and not why:
        try:
            with duck.connected() as found:
                yield found
        except duck.failures() as error:
            raise QueriesFailed(str(error).strip().splitlines()[0]) from None
        return
    if spark is None and settings is None:
        raise QueriesFailed(why)
    try:
        if spark is not None:
            yield spark
            return
        assert settings is not None, "checked above"
        starting()
        with session(settings) as made:
            yield made
    except failures() as error:
        raise QueriesFailed(sentence(error)) from None
