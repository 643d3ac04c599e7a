"""A program of its own that writes a subscription to files with Spark, for tests that kill it.

    python -m tests.spark.follow PORT FOLDER QOS [end]

With `end` it reads what is there and ends; otherwise it works until it is killed.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from mqttpub.spark import register
from mqttpub.spark.session.session import Settings, session
from tests.processes import running


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


def start(port: int, folder: Path, qos: int, *end: str) -> "subprocess.Popen[bytes]":
    """Run this in a session of its own, by which all its processes are found."""
    return launch("tests.spark.follow", folder, str(port), str(folder), str(qos), *end)


def launch(module: str, folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    """Run a module in a session of its own; what it prints goes to the file `said`."""
    command = [sys.executable, "-m", module, *words]
    # What leads to the JVM of the tests is not for it.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    with open(folder / "said", "ab") as said:
        return subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True, env=env)


def members(program: "subprocess.Popen[bytes]") -> list[int]:
    """Return the processes of a program: driver, JVM and workers."""
    return [process for process, each in running().items() if each.session == program.pid]


def kill(program: "subprocess.Popen[bytes]") -> int:
    """Kill all processes of a program at once; return how many there were."""
    found = members(program)
    until = time.monotonic() + 10
    left = found
    while left:
        assert time.monotonic() < until, left
        for process in left:
            # The workers end by themselves when their JVM is gone.
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        program.wait(10)
        left = members(program)
    return len(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
