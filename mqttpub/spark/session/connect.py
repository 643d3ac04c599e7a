"""A session on a Spark Connect server, which is reached by gRPC and needs no Java here."""

import logging
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from .jvm import NoSpark

PORT = 15002
"""Where a Connect server listens unless told otherwise."""
WITHIN = 10.0
"""Seconds in which a server has to answer; gRPC itself would go on trying for ten minutes."""
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""What pyspark writes an error to as JSON with all its traces, beside raising it."""

MODE = "SPARK_CONNECT_MODE_ENABLED"
"""What pyspark sets when it connects, and never takes away."""
_REFUSED = re.compile(r"^Failed to set (\S+) to ")
"""How pyspark warns of a setting that the server did not take."""


@contextmanager
def unmarked() -> Iterator[None]:
    """Leave the environment without the variable that would let all Spark of this process be remote later."""
    there = MODE in os.environ
    try:
        yield
    finally:
        if not there:
            os.environ.pop(MODE, None)


def connected(builder: Any, url: str) -> Any:
    """Return a session on the server of a URL such as sc://host:15002; raises NoSpark, and what Spark raises."""
    _check_answers(url)
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            spark = builder.remote(url).getOrCreate()
    except ImportError as error:
        reason = str(error).strip().splitlines()[0]
        raise NoSpark(f"Spark Connect needs pip install 'pyspark[connect]': {reason}") from None
    refused = dict.fromkeys(name for each in said for name in _REFUSED.findall(str(each.message)))
    if refused:
        spark.stop()
        raise NoSpark(f"the server of {url} lets no session set {', '.join(refused)}: it was settled when it started")
    return spark


def _check_answers(url: str) -> None:
    """Raise NoSpark where nobody listens."""
    try:
        parts = urlsplit(url)
        place = parts.hostname or "", parts.port or PORT
    except ValueError as error:
        raise NoSpark(f"{url} is no URL of a Spark Connect server such as sc://host:{PORT}: {error}") from None
    if not place[0]:
        raise NoSpark(f"{url} is no URL of a Spark Connect server such as sc://host:{PORT}")
    try:
        socket.create_connection(place, timeout=WITHIN).close()
    except OSError as error:
        raise NoSpark(f"no Spark Connect server answers at {url}: {error.strerror or error}") from None


def cores(spark: Any, most: int) -> int:
    """Return how many tasks a server runs side by side, by asking how it would divide a table; `most` at most."""
    parts = spark.range(most).selectExpr("spark_partition_id() AS part").selectExpr("max(part) + 1 AS parts")
    return int(parts.first().parts)
