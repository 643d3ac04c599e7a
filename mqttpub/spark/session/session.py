"""A Spark session that logs nothing by default, runs this Python in its workers, and cleans up after itself."""

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...common.extras import needs
from .connect import connected, unmarked
from .jvm import PORT, SECRET, Java, NoSpark, boot, find, reason
from .ship import ship

SMALLEST = 450
"""MiB of memory that Spark's JVM needs at least."""
MASTER_TIMEOUT_S = 5.0
"""Time for a master to accept a connection."""
ATTEMPTS = 3
"""Attempts at each task."""
MEMORY = "1g"
"""Heap of the driver's JVM, which only distributes work."""
VECTORS = "jdk.incubator.vector"
"""A module that Spark's start scripts require, and that small runtimes lack."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS")
"""Variables that keep libraries from starting threads of their own in Spark's tasks."""
LOGGING = """\
status = fatal
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n
"""
BRIEF = "-XX:TieredStopAtLevel=1"
"""Lets the JVM compile once and quickly. A run on a small capture then takes 18 CPU-seconds instead of 29."""
_TRACE = "Traceback (most recent call last):"
_PROMISED = "Please see the stack trace below."
"""The end of a line that pyspark puts before the message of a task."""
_CUT = "a task raised an exception, and only the beginning of its trace came through; the log of Spark has the rest"
_LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")
_UNITS = {"": 1 / 1048576, "b": 1 / 1048576, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1048576}


_MASTER = re.compile(r"^[ \t]*spark\.master[ \t=:]+(\S+)", re.MULTILINE)


class Settings(NamedTuple):
    """Where and how Spark runs."""

    master: str = "local[*]"
    conf: Mapping[str, str] = {}
    verbose: bool = False
    """Whether to show Spark's own log."""
    options: tuple[str, ...] = ()
    """Options of Java, before all others."""
    brief: bool = False
    """Whether the JVM has so little to do that better code would not pay: its own takes half the processor time."""
    stop_timeout_s: float = 180.0
    """Time for the JVM to end, which may write an archive of its classes."""

    @property
    def url(self) -> str:
        """The master for Spark; local[N] gets a number of attempts, as Spark repeats local tasks only then."""
        local = _LOCAL.fullmatch(self.master)
        return f"local[{local[1] or 1},{ATTEMPTS}]" if local else self.master

    @property
    def local(self) -> bool:
        """Whether Spark runs on this machine, in a JVM that is started here."""
        return self.master == "local" or self.master.startswith("local[")

    @property
    def connect(self) -> bool:
        """Whether Spark is a Spark Connect server."""
        return self.master.startswith("sc://")


def configured_master() -> str | None:
    """Return the master that spark-defaults.conf names; None without such a file or entry."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME", ""), "conf")
    try:
        text = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _MASTER.findall(text)
    return found[-1] if found else None


@contextmanager
def session(settings: Settings) -> Iterator[Any]:
    """Give the active SparkSession, or a new one that ends with the block; raises NoSpark."""
    try:
        import pyspark
    except ImportError:
        raise NoSpark(needs("Spark", ["pyspark"], "spark")) from None
    del pyspark
    if running := _running():
        yield running
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(_folder()))
        if settings.connect:
            stack.enter_context(unmarked())
            yield _created(settings, {}, stack, folder)
            return
        conf = {**_defaults(settings, folder), **settings.conf}
        _check_memory(conf)
        log = None if settings.verbose else stack.enter_context(open(folder / "jvm.log", "w+b"))
        stack.enter_context(_environment(settings))
        _start(settings, conf, log, stack)
        yield _created(settings, conf, stack, folder)


def _running() -> Any:
    """Return the session of another part of this program, or of the launcher of a cluster; None without one."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() or (SparkSession.builder.getOrCreate() if PORT in os.environ else None)


@contextmanager
def _folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="mqttpub-spark-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _defaults(settings: Settings, folder: Path) -> dict[str, str]:
    """Return the settings that the user's settings override."""
    logging = folder / "log4j2.properties"
    logging.write_text(LOGGING.format(level="info" if settings.verbose else "off"))
    conf = {
        "spark.app.name": "mqttpub",
        "spark.master": settings.url,
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        **{f"spark.executorEnv.{name}": "1" for name in THREADS},
    }
    if settings.local:
        # No other machine takes part, and the name of this one may not resolve.
        conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                 "spark.local.dir": str(folder / "local")}  # fmt: skip
    return conf


def _check_memory(conf: Mapping[str, str]) -> None:
    """Raise NoSpark for a heap that is too small, which Spark itself would report in forty lines."""
    given = conf["spark.driver.memory"].strip().lower()
    number, unit = given.rstrip("bkmgt"), given[len(given.rstrip("bkmgt")) :]
    try:
        size = int(number) * _UNITS[unit[:1]]
    except (KeyError, ValueError):
        raise NoSpark(f"spark.driver.memory={given} is not a size such as 1g or 600m") from None
    if size < SMALLEST:
        raise NoSpark(f"spark.driver.memory={given} is too small: Spark's JVM needs {SMALLEST}m or more")


@contextmanager
def _environment(settings: Settings) -> Iterator[None]:
    """Set the environment variables that Spark and its workers read, until the block ends."""
    wanted = {"PYSPARK_PYTHON": sys.executable, **dict.fromkeys(THREADS, "1")}
    if settings.local:
        wanted["SPARK_LOCAL_IP"] = "127.0.0.1"
    new = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)


def _start(settings: Settings, conf: Mapping[str, str], log: Any, stack: ExitStack) -> None:
    """Start the JVM, directly for this machine, and by Spark's own scripts for a cluster."""
    java = find()
    if settings.local:
        options = (*(settings.options), *([BRIEF] if settings.brief else []))
        stack.callback(boot(java, conf.items(), options=options, log=log).stop, settings.stop_timeout_s)
        return
    _check_for_scripts(settings.master, java)
    _check_master(settings.master)
    if "JAVA_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(java.home)
        stack.callback(os.environ.pop, "JAVA_HOME", None)
    stack.callback(_wait, _start_by_scripts(conf, log))


def _start_by_scripts(conf: Mapping[str, str], log: Any) -> Any:
    """Start the JVM by spark-submit, which reads the configuration of the cluster, and return its process."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    given = SparkConf(loadDefaults=False)
    given.setAll(list(conf.items()))
    try:
        gateway = launch_gateway(given, {"stdout": log, "stderr": log})
    except failures() as error:
        raise NoSpark(f"Spark's JVM did not start: {reason(log) or sentence(error)}") from None
    SparkContext._ensure_initialized(gateway=gateway)
    return gateway.proc


def _wait(process: Any) -> None:
    """Let a JVM end, and wait for that."""
    if process.stdin:
        process.stdin.close()
    process.wait()


def _check_for_scripts(master: str, java: Java) -> None:
    if VECTORS not in java.modules:
        raise NoSpark(
            f"{master} needs a complete JDK of Java 17 or later in JAVA_HOME: {java.home} has no module {VECTORS}"
        )


def _check_master(url: str) -> None:
    """Raise NoSpark if no standalone master of a URL answers, which Spark would report only after minutes."""
    if not url.startswith("spark://"):
        return
    reasons = []
    for place in url.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 0xFFFF:
            raise NoSpark(f"{url} is not a master such as spark://HOST:PORT")
        try:
            socket.create_connection((host.strip("[]"), int(port)), MASTER_TIMEOUT_S).close()
        except OSError as error:
            reasons.append(f"{place}: {error.strerror or error}")
        else:
            return
    raise NoSpark(f"no Spark master answers at {url} ({'; '.join(reasons)})")


def _created(settings: Settings, conf: Mapping[str, str], stack: ExitStack, folder: Path) -> Any:
    """Return a new session that `stack` ends, and whose workers can import this mqttpub."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in {**conf, **settings.conf}.items():
        builder = builder.config(name, value)
    handler = signal.getsignal(signal.SIGINT)
    _quieten()
    try:
        spark = connected(builder, settings.master) if settings.connect else builder.master(settings.url).getOrCreate()
    except NoSpark:
        raise
    except (*failures(), RuntimeError, OSError) as error:
        raise NoSpark(f"Spark does not start on {settings.master}: {sentence(error)}") from None
    if threading.current_thread() is threading.main_thread():
        # pyspark's own handler would call the JVM in the middle of another call.
        signal.signal(signal.SIGINT, handler)
    stack.callback(_end, spark)
    if settings.local:
        # Programs started from here on must not use this session.
        for name in (PORT, SECRET):
            os.environ.pop(name, None)
    else:
        ship(spark, folder)
    return spark


def _end(spark: Any) -> None:
    """Stop a session, and forget the connection to its JVM, so that another session can be made."""
    from pyspark import SparkContext

    with suppress(*failures()):
        # A killed JVM cannot be stopped; the call that failed because of it has been reported.
        spark.stop()
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None


def _quieten() -> None:
    """Let a JVM that is killed, even while it starts, be reported in one sentence; pyspark would print a trace, too."""
    from pyspark import accumulators

    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = lambda *given: None


def failures() -> tuple[Any, ...]:
    """Return the exceptions that Spark raises; ConnectionError says that the JVM is gone."""
    from pyspark.core.context import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, ConnectionError


def sentence(error: BaseException) -> str:
    """Return the message of an error of Spark, without the traces of Java and Python."""
    from py4j.protocol import Py4JNetworkError

    if isinstance(error, ConnectionError | Py4JNetworkError):
        return "its JVM has ended"
    cause = getattr(error, "java_exception", None)
    if cause is None:
        return _cleaned(str(error))
    while cause.getCause() is not None:
        cause = cause.getCause()
    return _cleaned(str(cause.getMessage() or cause.getClass().getSimpleName()))


def _cleaned(text: str) -> str:
    """Return the exception of the last Python trace in a message, or the first line of a message without one."""
    _, traced, trace = text.rpartition(_TRACE)
    if traced:
        # Of a message that is not fetched as a whole, a Connect server sends the first 2048 characters.
        raised = [line for line in trace.splitlines() if line[:1].isidentifier()]
        return raised[0].strip() if raised else _CUT
    lines = [line for line in text.splitlines() if line.strip() and not line.endswith(_PROMISED)]
    return lines[0].strip() if lines else "no reason given"
