"""What all benchmarks have in common: their options, work that is done in turns, and what it took."""

import argparse
import compileall
import inspect
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import mqttpub

T = TypeVar("T")
MQTTPUB = [sys.executable, "-m", "mqttpub"]
SETTINGS = "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"
"""Variables that make each start of a program that is not installed compile its modules, and each line a write."""


class Took(NamedTuple):
    """What a process or a call took."""

    seconds: float
    cpu_s: float
    """Processor time, with that of the processes it started and waited for: others want the core too."""
    peak_mb: float = 0.0
    status: int = 0
    began_s: float = 0.0
    """By time.perf_counter()."""


def run(
    command: Sequence[str], *, stdin: Path | None = None, stdout: Path | None = None, watched: bool = False,
    merged: bool = False, good: Sequence[int] = (0,),
) -> Took:  # fmt: skip
    """Run a program to its end, with files as its input and output; if it is watched, its peak memory is there too.

    That is its own, or that of it and all processes that it started, such as a JVM, if that is more.

    Its messages are lost, or merged into its output.
    """
    with ExitStack() as stack:
        given = stack.enter_context(stdin.open("rb")) if stdin else subprocess.DEVNULL
        taken = stack.enter_context(stdout.open("wb")) if stdout else subprocess.DEVNULL
        began, peak, ended = time.perf_counter(), 0.0, 0
        process = subprocess.Popen(
            command, stdin=given, stdout=taken, stderr=subprocess.STDOUT if merged else subprocess.DEVNULL
        )
        while not ended:
            ended, status, used = os.wait4(process.pid, os.WNOHANG if watched else 0)
            if not ended:
                # The accounting at the end of a process counts the memory of its parent, too.
                peak = max(peak, memory_mb(process.pid, "VmHWM"), sum(map(memory_mb, family(process.pid))))
                time.sleep(0.005)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in good:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Took(time.perf_counter() - began, used.ru_utime + used.ru_stime, peak, process.returncode, began)


def ran(command: Sequence[str], **given: Any) -> Callable[[], Took]:
    """Return what runs a program, for `in_turn`."""
    return partial(run, command, **given)


def call(work: Callable[[], object]) -> Took:
    """Call a function."""
    began, before = time.perf_counter(), _used_s()
    work()
    return Took(time.perf_counter() - began, _used_s() - before, began_s=began)


def _used_s() -> float:
    """Return the processor time of this process and of those that it waited for; os.times counts in hundredths."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def in_turn(ways: Mapping[str, Callable[[], T]], rounds: int, *, cold: int = 0) -> dict[str, list[T]]:
    """Do each thing once in each round, so that a slow minute hits all; the first, cold rounds do not count."""
    found: dict[str, list[T]] = {name: [] for name in ways}
    for number in range(cold + rounds):
        for name, way in ways.items():
            done = way()
            if number >= cold:
                found[name].append(done)
    return found


def middle(taken: Iterable[T], measure: Callable[[T], float]) -> float:
    """Return the median of a measure."""
    return median(map(measure, taken))


def ratio(taken: Iterable[T], base: Iterable[T], measure: Callable[[T], float]) -> float:
    """Return how many times that of the base a measure is, as the median of the rounds."""
    return median(measure(one) / measure(other) for one, other in zip(taken, base, strict=True))


def memory_mb(process: int, what: str = "VmRSS") -> float:
    """Return the resident memory of a running process, or with VmHWM the most that it had."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return int(next((line.split()[1] for line in status.splitlines() if line.startswith(what)), "0")) / 1024


def family(process: int) -> Iterator[int]:
    """Yield a process and those that it started, and so on."""
    yield process
    try:
        started = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    for each in started:
        yield from family(int(each))


def stay_on_one_core() -> None:
    """Keep this process, and those that it starts, on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


# the runner


def main(words: Sequence[str]) -> None:
    """Run a benchmark: the first word is the name of its module, the others are options; without any, list them."""
    if not words:
        sys.stdout.writelines(f"{name:16}{_first_line(module)}\n" for name, module in _all())
        return
    name, *options = words
    module = dict(chosen([name], dict(_all())))[name]
    given = vars(_options(module, name).parse_args(options))
    compileall.compile_dir(Path(mqttpub.__file__).parent, quiet=2)
    for variable in SETTINGS:
        os.environ.pop(variable, None)
    with tempfile.TemporaryDirectory() as folder:
        for line in module.lines(Path(folder), **given):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


def _all() -> Iterator[tuple[str, ModuleType]]:
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        module = import_module(f"tests.benchmarks.{path.stem}")
        if hasattr(module, "lines"):
            yield path.stem, module


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0]


def _options(module: ModuleType, name: str) -> argparse.ArgumentParser:
    """Return a parser with an option for each keyword of the function of a benchmark."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.benchmarks {name}", description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    hints = get_type_hints(module.lines)
    for each in list(inspect.signature(module.lines).parameters.values())[1:]:
        parser.add_argument(f"--{each.name.replace('_', '-')}", default=each.default, **_read_as(hints[each.name]))
    return parser


def _read_as(hint: Any) -> dict[str, Any]:
    """Return how argparse reads an option of a type."""
    if hint is bool:
        return {"action": "store_true"}
    many = get_origin(hint) is tuple
    [kind] = [each for each in get_args(hint) or (hint,) if each not in (type(None), Ellipsis)]
    return {"type": kind, "metavar": kind.__name__.upper(), **({"nargs": "+"} if many else {})}


def chosen(names: Iterable[str], known: Mapping[str, T]) -> Iterator[tuple[str, T]]:
    """Yield what has these names, or everything."""
    for name in names or known:
        if name not in known:
            raise SystemExit(f"{name!r} is unknown; there are {', '.join(known)}")
        yield name, known[name]
