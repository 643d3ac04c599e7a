"""A real Spark Connect server, whose workers have no mqttpub, gives the tables that one process gives."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqttpub.spark.session.connect import connected
from mqttpub.spark.session.jvm import NoSpark, find, spark_environ
from mqttpub.spark.session.session import VECTORS
from tests.build.brokers import free_port
from tests.build.fleet import capture, rotated
from tests.scenarios.spark.test_cluster import LONGEST, ran, wait_for
from tests.spark.bare import bare_python
from tests.spark.running import tables

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SLOW = """
import os, sys, time
from mqttpub.spark.pipeline import flow
def slow(job, rows):
    open(f"{job.staging}/begun", "w").close()
    time.sleep(600)
flow.read_buckets = slow
from mqttpub.cli.main import run
run(['pipeline', '--quiet', *sys.argv[1:]])
"""
FAILING = """
import sys
from mqttpub.spark.pipeline import flow
def failing(job, rows):
    raise RuntimeError("the disk is on fire")
flow.read_buckets = failing
from mqttpub.cli.main import run
run(['pipeline', '--quiet', *sys.argv[1:]])
"""

PLAIN = """
import sys
from mqttpub.cli.main import run
run(['pipeline', '--quiet', *sys.argv[1:]])
"""
CORES = """
import os, sys
from mqttpub.spark.pipeline.engine.spark import session_cores
from mqttpub.spark.session.session import Settings, session
mode = "SPARK_CONNECT_MODE_ENABLED"
with session(Settings(sys.argv[1])) as spark:
    print(session_cores(spark), "cores, remote", mode in os.environ, end=", ")
print("afterwards", mode in os.environ)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server with two cores from the package, and yield its URL."""
    folder, port, java = tmp_path_factory.mktemp("connect"), free_port(), find()
    assert VECTORS in java.modules, "a server needs a whole JDK (Debian: apt-get install openjdk-17-jdk-headless)"
    log = folder / "log"
    environ = {
        **spark_environ(java), "PYSPARK_PYTHON": str(bare_python(folder / "bare")), "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    settings = {
        "spark.master": "local[2]", "spark.ui.enabled": "false", "spark.driver.memory": "1g",
        "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.local.dir": str(folder / "local"),
    }  # fmt: skip
    given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    # The script becomes the server, so that its process is the one to end.
    command = [f"{environ['SPARK_HOME']}/bin/spark-submit", "--class", SERVER, *given, "spark-internal"]
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environ, cwd=folder, stdout=file, stderr=file)
        try:
            wait_for(log, "Spark Connect server started at")
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def scripted(code: str, *words: str | Path) -> "subprocess.Popen[str]":
    """Start the program with something changed."""
    # What changes is in the main module, which goes to the workers by value.
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.long
def test_a_server_and_one_machine_agree(server: str, tmp_path: Path) -> None:
    rotated(capture(9, clients=10), tmp_path / "in", 4)
    ran(server, tmp_path / "server", tmp_path / "in", "--lint")
    ran("local[2]", tmp_path / "local", tmp_path / "in", "--lint", "--partitions", "3")
    assert tables(tmp_path / "server") == tables(tmp_path / "local")
    assert tables(tmp_path / "local")["packets"]


@pytest.mark.long
def test_tasks_are_as_many_as_the_server_has_cores(server: str) -> None:
    told, _ = scripted(CORES, server).communicate(timeout=LONGEST)
    # Behind the session, Spark can run in this process again.
    assert told == "2 cores, remote True, afterwards False\n"


@pytest.mark.long
def test_a_task_that_fails_is_one_sentence(server: str, tmp_path: Path) -> None:
    process = scripted(FAILING, _capture(tmp_path), "--master", server, "--out", tmp_path / "out")
    _, told = process.communicate(timeout=LONGEST)
    assert process.returncode == 2
    assert told == "mqttpub: Spark failed: RuntimeError: the disk is on fire\n"
    assert os.listdir(tmp_path / "out") == ["_lock"]


@pytest.mark.long
def test_an_interrupt_ends_the_tasks_of_the_server(server: str, tmp_path: Path) -> None:
    process = scripted(SLOW, _capture(tmp_path), "--master", server, "--out", tmp_path / "out")
    until = time.monotonic() + 120
    while not list((tmp_path / "out").glob("_staging-*/begun")):
        assert time.monotonic() < until
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "\nmqttpub: interrupted\n")
    # The server is free for others.
    ran(server, tmp_path / "again", _capture(tmp_path))


@pytest.mark.long
def test_a_setting_of_the_server_stays_as_it_is(server: str, tmp_path: Path) -> None:
    setting = "spark.executor.memory"
    words: list[str | Path] = [
        _capture(tmp_path),
        "--master",
        server,
        "--conf",
        f"{setting}=2g",
        "--out",
        tmp_path / "out",
    ]
    process = scripted(PLAIN, *words)
    _, told = process.communicate(timeout=LONGEST)
    assert process.returncode == 2
    assert told == f"mqttpub: the server at {server} does not let sessions set {setting}: set it when it starts\n"


def _capture(folder: Path) -> Path:
    path = folder / "one.pcap"
    path.write_bytes(capture(3, clients=2, messages=3))
    return path


# without a server


def test_nobody_listens() -> None:
    with pytest.raises(NoSpark, match=r"no Spark Connect server answers at sc://127\.0\.0\.1:\d+: Connection refused"):
        connected(None, f"sc://127.0.0.1:{free_port()}")


@pytest.mark.parametrize("url", ["sc://", "sc://:15002", "sc://host:port", "sc://[::1"])
def test_paths_that_are_not_urls(url: str) -> None:
    with pytest.raises(
        NoSpark, match=re.escape(f"{url} is not the URL of a Spark Connect server such as sc://host:15002")
    ):
        connected(None, url)


def test_packages_that_are_missing() -> None:
    import socket

    class Lacking:
        def remote(self, url: str) -> None:
            raise ImportError(
                "[PACKAGE_NOT_INSTALLED] grpcio >= 1.76.0 must be installed; however, it was not found.\n"
            )

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"sc://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(NoSpark, match=r"needs pip install 'pyspark\[connect\]': \[PACKAGE_NOT_INSTALLED\] grpcio"):
            connected(Lacking(), url)
