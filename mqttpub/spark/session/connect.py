"""A session on a Spark Connect server, which speaks gRPC, so that no Java is needed here."""

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
"""The default port of a Connect server."""
CONNECT_TIMEOUT_S = 10.0
"""Time for a server to accept a connection; gRPC itself would keep trying for ten minutes."""
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers to which pyspark writes errors as JSON with all traces, besides raising them."""

MODE = "SPARK_CONNECT_MODE_ENABLED"
"""A variable that pyspark sets when it connects, and never removes."""
_REFUSED = re.compile(r"^Failed to set (\S+) to ")
"""The warning of pyspark about a setting that the server refused."""


@contextmanager
def unmarked() -> Iterator[None]:
    """Remove after the block the variable that would make all later Spark sessions of this process remote."""
    there = MODE in os.environ
    try:
        yield
    finally:
        if not there:
            os.environ.pop(MODE, None)


def connected(builder: Any, url: str) -> Any:
    """Return a session on the server at a URL such as sc://host:15002; raises NoSpark, and Spark's errors."""
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
        raise NoSpark(f"the server at {url} does not let sessions set {', '.join(refused)}: set it when it starts")
    return spark


def _check_answers(url: str) -> None:
    """Raise NoSpark if nothing listens at the URL."""
    try:
        parts = urlsplit(url)
        place = parts.hostname or "", parts.port or PORT
    except ValueError as error:
        raise NoSpark(f"{url} is not the URL of a Spark Connect server such as sc://host:{PORT}: {error}") from None
    if not place[0]:
        raise NoSpark(f"{url} is not the URL of a Spark Connect server such as sc://host:{PORT}")
    try:
        socket.create_connection(place, timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise NoSpark(f"no Spark Connect server answers at {url}: {error.strerror or error}") from None


def cores(spark: Any, most: int) -> int:
    """Return how many tasks a server runs in parallel, at most `most`: the parts into which it divides a table."""
    parts = spark.range(most).selectExpr("spark_partition_id() AS part").selectExpr("max(part) + 1 AS parts")
    return int(parts.first().parts)
