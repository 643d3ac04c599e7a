"""A cache from which Spark's JVM starts faster: the classes of one run, loaded and linked."""

import os
from pathlib import Path

from ...common.files import drafted
from .jvm import Java, NoSpark, find
from .session import Settings, session

AHEAD_OF_TIME = 25
"""The first Java that makes an AOT cache in one run (JEP 514); older ones archive classes (JEP 350)."""
PATIENCE = 300.0
"""Seconds that the JVM may take to write the cache when it ends."""


def path_of(java: Java) -> Path:
    """Return where the cache of a Java is kept; it serves this version of Spark on this build of Java only."""
    import pyspark

    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    kind = "aot" if java.version >= AHEAD_OF_TIME else "jsa"
    return Path(base, "mqttpub", f"spark-{pyspark.__version__}-java-{java.build}.{kind}")


def options() -> tuple[str, ...]:
    """Return the options of Java that use the cache; none where there is no cache, or no Java."""
    try:
        path = path_of(find())
    except (NoSpark, ImportError, RuntimeError):
        return ()
    if not path.is_file():
        return ()
    return (f"-XX:AOTCache={path}" if path.suffix == ".aot" else f"-XX:SharedArchiveFile={path}", "-Xlog:disable")


def warm() -> tuple[Path, int]:
    """Make the cache anew and return it with its size in bytes; takes half a minute; raises NoSpark."""
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
    """Run once what every run does, so that the JVM knows which classes are needed."""
    with session(Settings("local[1]", options=flags, patience=PATIENCE)) as spark:
        spark.sparkContext.parallelize([1], 1).collect()
        spark.range(10).selectExpr("id % 2 AS k").groupBy("k").count().collect()
