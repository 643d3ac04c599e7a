"""A standalone master with two workers gives the tables that one process gives."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mqttpub.spark.session.jvm import find, spark_environ
from mqttpub.spark.session.session import VECTORS
from tests.build.brokers import free_port
from tests.build.fleet import capture, rotated
from tests.spark.running import tables

pytestmark = pytest.mark.long
LONGEST = 300
"""Seconds that a run may take on a busy machine."""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a master and two workers of one core each, and yield the URL of the master."""
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        log = folder / "master.log"
        node(stack, log, "master.Master", "--port", str(port))
        wait_for(log, "New state: ALIVE")
        for number in (1, 2):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"), url]
            node(stack, folder / f"worker-{number}.log", "worker.Worker", *work)
        wait_for(log, "Registering worker", 2)
        yield url


def node(stack: ExitStack, log: Path, name: str, *words: str) -> None:
    """Start a part of a cluster from the package."""
    java = find()
    assert VECTORS in java.modules, "executors need a whole JDK (Debian: apt-get install openjdk-17-jdk-headless)"
    environ = {**spark_environ(java), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [
        java.program, "-Xmx512m", "-cp", f"{environ['SPARK_HOME']}/jars/*", f"org.apache.spark.deploy.{name}",
        "--host", "127.0.0.1", "--webui-port", str(free_port()), *words,
    ]  # fmt: skip
    file = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(command, env=environ, stdout=file, stderr=file)
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)


def wait_for(log: Path, words: str, count: int = 1) -> None:
    """Return when a log says something so many times."""
    until = time.monotonic() + 240
    while len(re.findall(words, log.read_text())) < count:
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)


def ran(master: str, out: Path, *words: str | Path) -> None:
    command = [sys.executable, "-m", "mqttpub", "pipeline", "--master", master, "--out", str(out), *map(str, words)]
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_cluster_and_one_machine_agree(master: str, tmp_path: Path) -> None:
    rotated(capture(9, clients=20), tmp_path / "in", 6)
    words: list[str | Path] = [tmp_path / "in", "--lint", "--conf", "spark.executor.memory=600m"]
    ran(master, tmp_path / "cluster", *words)
    ran("local[2]", tmp_path / "local", *words, "--partitions", "5")
    assert tables(tmp_path / "cluster") == tables(tmp_path / "local")
    assert tables(tmp_path / "local")["packets"]
