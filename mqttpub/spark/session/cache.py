"""A cache with which Spark's JVM starts faster: the classes of one run, loaded and linked."""

import os
from pathlib import Path

from ...common.files import drafted
from .jvm import Java, NoSpark, find
from .session import Settings, session

AHEAD_OF_TIME = 25
"""The first Java that makes an AOT cache in one run (JEP 514); older ones archive classes (JEP 350)."""
WRITE_TIMEOUT_S = 300.0
"""Time for the JVM to write the cache when it ends."""


def path_of(java: Java) -> Path:
    """Return the path of the cache for a Java; it works for this version of Spark on this build of Java only."""
    import pyspark

    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    kind = "aot" if java.version >= AHEAD_OF_TIME else "jsa"
    return Path(base, "mqttpub", f"spark-{pyspark.__version__}-java-{java.build}.{kind}")


def options() -> tuple[str, ...]:
    """Return the options of Java that use the cache; empty without a cache or without Java."""
    try:
        path = path_of(find())
    except (NoSpark, ImportError, RuntimeError):
        return ()
    if not path.is_file():
        return ()
    return (f"-XX:AOTCache={path}" if path.suffix == ".aot" else f"-XX:SharedArchiveFile={path}", "-Xlog:disable")


def warm() -> tuple[Path, int]:
    """Make the cache, which takes half a minute, and return its path and size in bytes; raises NoSpark."""
    java = find()
    path = path_of(java)
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
        spark.sparkContext.parallelize([1], 1).collect()
        spark.range(10).selectExpr("id % 2 AS k").groupBy("k").count().collect()
