"""A cache with which Spark's JVM starts faster: the classes of one run, loaded and linked."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...common.files import drafted
from .jvm import AHEAD_OF_TIME, NoSpark, cache_path, find
from .session import Settings, session

WRITE_TIMEOUT_S = 300.0
"""Time for the JVM to write the cache when it ends."""


def warm() -> tuple[Path, int]:
    """Make the cache, which takes half a minute, and return its path and size in bytes; raises NoSpark."""
    java = find()
    path = cache_path(java)
    flag = "-XX:AOTCacheOutput" if java.version >= AHEAD_OF_TIME else "-XX:ArchiveClassesAtExit"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with drafted(path) as draft:
            _train((f"{flag}={draft}", "-Xlog:disable"))
    except FileNotFoundError:
        raise NoSpark(f"Java {java.build} in {java.home} wrote no cache") from None
    except OSError as error:
        raise NoSpark(f"cannot write to {error.filename}: {error.strerror}") from None
    return path, path.stat().st_size


def _train(flags: tuple[str, ...]) -> None:
    """Do once what every run does, so that the JVM learns which classes are needed."""
    with session(Settings("local[1]", options=flags, stop_timeout_s=WRITE_TIMEOUT_S)) as spark:
        rows = spark.range(0, 64, 1, 2).selectExpr("id % 8 AS key", "id AS major", "CAST('x' AS binary) AS blob")
        for _ in range(2):
            rows = rows.mapInArrow(_same, rows.schema).repartition("key").sortWithinPartitions("key", "major")
        rows.where("key >= 0").select("blob").collect()
        rows.selectExpr("key % 2 AS k").groupBy("k").count().collect()


def _same(batches: Iterable[Any]) -> Iterator[Any]:
    yield from batches
