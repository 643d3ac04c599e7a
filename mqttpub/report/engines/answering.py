"""What answers the queries of a report: the Spark session of the run, DuckDB, or a session of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...spark.session.session import Settings, failures, sentence, session
from . import QueryEngine, duck, spark


class QueriesFailed(RuntimeError):
    """Queries could not be answered; the message is one sentence."""


@contextmanager
def answering(
    running: Any, folders: Sequence[str | Path], settings: Settings | None, *,
    starting: Callable[[], None] = lambda: None,
) -> Iterator[QueryEngine]:  # fmt: skip
    """Give what answers queries about the tables in folders; its errors in the block become QueriesFailed.

    That is Spark in the session `running` if it is not None, or else DuckDB; where DuckDB cannot answer, a session is
    made after a call of `starting`, and with `settings` None that raises QueriesFailed. Raises OutputRefused without a
    manifest, and NoSpark.
    """
    if running is None:
        why = next(filter(None, map(duck.refusal, folders)), "")
        if not why:
            try:
                with duck.connected() as engine:
                    yield engine
            except duck.failures() as error:
                raise QueriesFailed(str(error).strip().splitlines()[0]) from None
            return
        if settings is None:
            raise QueriesFailed(why)
        starting()
        brief = settings._replace(brief=spark.is_small(folders))
        with session(brief) as made, answering(made, folders, settings) as engine:
            yield engine
        return
    try:
        with spark.connected(running, folders) as engine:
            yield engine
    except failures() as error:
        raise QueriesFailed(sentence(error)) from None
