"""A standalone master with two workers gives the tables that one process gives, also if they share no folder."""

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
from tests.build.object_store import ObjectStore
from tests.scenarios.spark.test_object_store import named
from tests.spark.running import tables

pytestmark = pytest.mark.long
LONGEST = 300
"""Seconds that a run may take on a busy machine."""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a master and two workers of one core each, and yield the URL of the master."""
    with ExitStack() as stack:
        yield cluster(stack, tmp_path_factory.mktemp("cluster"))


def cluster(stack: ExitStack, folder: Path, *hidden: Path) -> str:
    """Start a master and two workers, who do not see each other's folder nor what is hidden; returns the URL."""
    port, log, folders = free_port(), folder / "master.log", [folder / "work-1", folder / "work-2"]
    url = f"spark://127.0.0.1:{port}"
    folder.mkdir(exist_ok=True)
    node(stack, log, "master.Master", "--port", str(port))
    wait_for(log, "New state: ALIVE")
    # Executors at one address would read each other's files.
    for host, (own, other) in (("127.0.0.2", folders), ("127.0.0.3", folders[::-1])):
        own.mkdir(exist_ok=True)
        other.mkdir(exist_ok=True)
        work = ["--cores", "1", "--memory", "1g", "--work-dir", str(own), url]
        node(stack, folder / f"{own.name}.log", "worker.Worker", *work, host=host, home=own, hidden=(other, *hidden))
    wait_for(log, "Registering worker", 2)
    return url


HIDE = 'while [ "$1" != -- ]; do mount -t tmpfs none "$1"; shift; done; shift; exec "$@"'
"""Mounts empty folders over those that are named before --, and becomes the command after it."""


def node(
    stack: ExitStack, log: Path, name: str, *words: str, host: str = "127.0.0.1", home: Path | None = None,
    hidden: tuple[Path, ...] = (),
) -> None:  # fmt: skip
    """Start a part of a cluster from the package, in its own folder, for which hidden ones are empty."""
    java = find()
    assert VECTORS in java.modules, "executors need a whole JDK (Debian: apt-get install openjdk-17-jdk-headless)"
    environ = {**spark_environ(java), "SPARK_LOCAL_IP": host}
    command = [
        java.program, "-Xmx512m", "-cp", f"{environ['SPARK_HOME']}/jars/*", f"org.apache.spark.deploy.{name}",
        "--host", host, "--webui-port", str(free_port()), *words,
    ]  # fmt: skip
    if home:
        environ |= {"HOME": str(home), "TMPDIR": str(home), "SPARK_LOCAL_DIRS": str(home / "local")}
        command = ["unshare", "--mount", "--map-root-user", "sh", "-ec", HIDE, "sh", *map(str, hidden), "--", *command]
    file = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(command, env=environ, cwd=home, stdout=file, stderr=file)
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)


def wait_for(log: Path, words: str, count: int = 1) -> None:
    """Return when a log says something so many times."""
    until = time.monotonic() + 240
    while len(re.findall(words, log.read_text())) < count:
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)


def ended(
    master: str, out: Path | str, *words: str | Path, home: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end."""
    command = [sys.executable, "-m", "mqttpub", "pipeline", "--quiet", "--master", master]
    command += ["--out", str(out), *map(str, words)]
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    if home:
        environ |= {"HOME": str(home), "TMPDIR": str(home)}
    return subprocess.run(
        command, env=environ, cwd=home, capture_output=True, text=True, timeout=LONGEST, check=False
    )  # fmt: skip


def ran(master: str, out: Path | str, *words: str | Path, home: Path | None = None) -> None:
    """Run the program, which must succeed without a word."""
    done = ended(master, out, *words, home=home)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_cluster_and_one_machine_agree(master: str, tmp_path: Path) -> None:
    rotated(capture(9, clients=20), tmp_path / "in", 6)
    words: list[str | Path] = [tmp_path / "in", "--lint", "--conf", "spark.executor.memory=600m"]
    ran(master, tmp_path / "cluster", *words)
    ran("local[2]", tmp_path / "local", *words, "--partitions", "5")
    assert tables(tmp_path / "cluster") == tables(tmp_path / "local")
    assert tables(tmp_path / "local")["packets"]


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Run a cluster whose workers see no folder of each other or of the driver; yields URL and the driver's folder."""
    folder = tmp_path_factory.mktemp("apart")
    home = folder / "driver"
    home.mkdir()
    with ExitStack() as stack:
        yield cluster(stack, folder, home), home


MEMORY = ("--conf", "spark.executor.memory=600m")


def test_machines_that_share_only_a_store(
    apart: tuple[str, Path], s3: str, s3_server: ObjectStore, tmp_path: Path
) -> None:
    master, home = apart
    paths = rotated(capture(9, clients=20), tmp_path / "in", 6)
    for path in paths:
        s3_server.put(s3[len("s3://") :], f"in/{path.name}", path.read_bytes())
    words = [f"{s3}/in", "--lint", *MEMORY]
    ran(master, f"{s3}/whole", *words, home=home)
    for some in (paths[:2], paths[2:]):
        ran(master, f"{s3}/resumed", *(f"{s3}/in/{path.name}" for path in some), *words[1:], "--resume", home=home)
    ran("local[2]", tmp_path / "local", tmp_path / "in", "--lint")
    assert named(f"{s3}/whole") == named(f"{s3}/resumed") == named(tmp_path / "local")
    # Each worker had an executor, and none kept a capture or a table.
    for name in ("work-1", "work-2"):
        assert list((home.parent / name).glob("app-*"))
        assert not [path for path in (home.parent / name).rglob("*") if path.suffix in (".pcap", ".parquet")]


def test_a_path_that_only_the_driver_has_is_reported(apart: tuple[str, Path], s3: str) -> None:
    master, home = apart
    (path,) = rotated(capture(9, clients=2), home / "in", 1)
    done = ended(master, f"{s3}/out", path, *MEMORY, home=home)
    seen = rf"mqttpub: {path} existed at the start, but the task on \S+ cannot open it: No such file or directory\n"
    assert (done.returncode, bool(re.fullmatch(seen, done.stderr))) == (2, True), done.stderr


def test_a_folder_that_only_the_driver_has_is_reported(
    apart: tuple[str, Path], s3: str, s3_server: ObjectStore
) -> None:
    master, home = apart
    s3_server.put(s3[len("s3://") :], "one.pcap", capture(9, clients=2))
    done = ended(master, home / "out", f"{s3}/one.pcap", *MEMORY, home=home)
    refused = rf"mqttpub: the task on \S+ does not find the folder {home}/out; the folder of --out must be shared .*\n"
    assert (done.returncode, bool(re.fullmatch(refused, done.stderr))) == (2, True), done.stderr
