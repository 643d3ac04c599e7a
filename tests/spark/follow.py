"""A program of its own that writes a subscription to files with Spark, for tests that kill it.

    python -m tests.spark.follow PORT FOLDER QOS [end]

With `end` it reads what is there and ends; otherwise it works until it is killed.
"""

import sys
from pathlib import Path

from mqttpub.spark import register
from mqttpub.spark.session.session import Settings, session
from tests.build.kills import KilledProgram


def main(port: str, folder: str, qos: str, *end: str) -> None:
    """Follow `kill/#`."""
    with session(Settings("local[2]")) as spark:
        register(spark)
        stream = spark.readStream.format("mqtt").options(
            host="127.0.0.1", port=port, filter="kill/#", qos=qos, spool=f"{folder}/spool",
            max_rows_per_trigger="4000", segment_bytes="200000",
        ).load()  # fmt: skip
        writer = stream.writeStream.format("parquet").options(
            path=f"{folder}/out", checkpointLocation=f"{folder}/checkpoint"
        )  # fmt: skip
        query = (writer.trigger(availableNow=True) if end else writer).start()
        query.awaitTermination()


def start(port: int, folder: Path, qos: int) -> KilledProgram:
    """Run this."""
    return KilledProgram(folder, [sys.executable, "-m", "tests.spark.follow", str(port), str(folder), str(qos)])


if __name__ == "__main__":
    main(*sys.argv[1:])
