"""Coverage-guided fuzzing of every target, the long form of tests/fuzz/test_fuzz.py.

    python -m tests.fuzz.atheris_run                     all targets for ten minutes together
    python -m tests.fuzz.atheris_run --seconds 3600      for an hour
    python -m tests.fuzz.atheris_run packet program      some targets; --list names them
    python -m tests.fuzz.atheris_run --replay FILE       once, an input that was found

Needs `pip install atheris`, whose wheels are there for Linux on x86-64 and Python 3.11 to 3.13; anywhere else it is
built from source, with clang and libFuzzer. What is found is written to the folder of --findings as TARGET-crash-...,
TARGET-timeout-... or TARGET-oom-..., and makes the exit status 1. With --corpus, inputs that reach something new are
kept and tried first the next time.
"""

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

SLOWEST = 10
"""Seconds that one input may take, instrumented."""
MOST_MEMORY = 512
"""MB of the whole process: the fuzzer, its corpus, and two interpreters' worth of instrumented code."""
LONGEST = 6000
"""Bytes of an input."""
LARGE = ("file", "program")
"""Targets whose inputs are files, behind two bytes of choices; they get mutations that leave the records right."""
_STATUS = re.compile(rb"#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)")


class Progress(NamedTuple):
    """How far a run came: the coverage of the seeds, and at last."""

    runs: int
    begun: int
    edges: int
    features: int
    corpus: int


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=600, help="of all targets together")
    parser.add_argument("--corpus", type=Path, help="where inputs are kept; a folder of this run if not given")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="name the targets")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    parser.add_argument("--one", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        _fuzz(*given.one)
    from tests.fuzz.targets import TARGETS

    if given.list:
        say("\n".join(TARGETS))
        return 0
    if given.replay:
        TARGETS[given.replay.name.partition("-")[0]](given.replay.read_bytes())
        return 0
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    names = given.targets or list(TARGETS)
    with tempfile.TemporaryDirectory() as folder:
        corpus = given.corpus or Path(folder)
        given.findings.mkdir(parents=True, exist_ok=True)
        before = set(given.findings.iterdir())
        for name in names:
            _watched(name, corpus / name, given.findings, given.seconds // len(names), given.seed)
        found = sorted(set(given.findings.iterdir()) - before)
    for path in found:
        say(f"found: {path}")
    return 1 if found else 0


def _watched(name: str, corpus: Path, findings: Path, seconds: int, seed: int) -> None:
    """Fuzz a target in a process of its own, again after each finding, and tell how far it came."""
    corpus.mkdir(parents=True, exist_ok=True)
    begun, runs, first = time.monotonic(), 0, 0
    last = Progress(0, 0, 0, 0, 0)
    while (left := round(begun + seconds - time.monotonic())) > 0:
        ran = subprocess.run(_command(name, corpus, findings, left, seed), stderr=subprocess.PIPE)
        last = _progress(ran.stderr)
        first, runs, seed = first or last.begun, runs + last.runs, seed + 1
        if ran.returncode and (told := _fault(ran.stderr)):
            say(f"{name}: {told}")
        if not last.runs:
            say(ran.stderr.decode(errors="replace"))
            break
    taken = time.monotonic() - begun
    say(
        f"{name:11s} {runs:9,} runs in {taken:4.0f} s ({runs / max(taken, 1):6,.0f}/s)  "
        f"edges {first} -> {last.edges}  features {last.features}  corpus {last.corpus}"
    )


def _command(name: str, corpus: Path, findings: Path, seconds: int, seed: int) -> list[str]:
    options = {
        "max_total_time": seconds, "timeout": SLOWEST, "rss_limit_mb": MOST_MEMORY, "max_len": LONGEST, "seed": seed,
        "artifact_prefix": f"{findings}/{name}-", "print_final_stats": 1,
    }  # fmt: skip
    flags = [f"-{option}={value}" for option, value in options.items()]
    return [sys.executable, "-m", "tests.fuzz.atheris_run", "--one", name, str(corpus), *flags]


def _progress(told: bytes) -> Progress:
    lines = [[int(each) if each.isdigit() else 0 for each in found] for found in _STATUS.findall(told)]
    begun = [line[2] for line, found in zip(lines, _STATUS.findall(told), strict=True) if found[1] == b"INITED"]
    runs = re.search(rb"number_of_executed_units: (\d+)", told)
    last = lines[-1] if lines else [0, 0, 0, 0, 0]
    return Progress(int(runs[1]) if runs else last[0], begun[0] if begun else 0, last[2], last[3], last[4])


def _fault(told: bytes) -> str:
    """Return what was said of a finding; nothing when the fuzzer was only ended by its own clock."""
    text = told.decode(errors="replace")
    starts = [start for mark in ("=== Uncaught", "ERROR: libFuzzer") if (start := text.find(mark)) >= 0]
    return text[min(starts) :][:4000] if starts else ""


def _fuzz(name: str, corpus: str, *flags: str) -> None:
    """Fuzz one target in this process, which ends with it."""
    atheris = importlib.import_module("atheris")

    with atheris.instrument_imports(include=["mqttpub"]):
        from tests.fuzz.mutated import mutated
        from tests.fuzz.seeds import seeds
        from tests.fuzz.targets import TARGETS

    for number, seed in enumerate(seeds()[name]):
        if len(seed) <= LONGEST * 2:
            Path(corpus, f"seed-{number}").write_bytes(seed)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return data[:2] + mutated(random, data[2:])[: most - 2]

    mutators = {"custom_mutator": mutate} if name in LARGE else {}
    atheris.Setup([sys.argv[0], *flags, corpus], TARGETS[name], **mutators)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
