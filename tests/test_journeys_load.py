"""What a journey loads: the modules of each kind of run, so that none pays for the room of another."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mqttpub.cli.inputs.opened import WORTH_BYTES
from tests.benchmarks.traffic import MIXES, write_pcap
from tests.paths import QOS2

HEAVY = {"paho", "ssl", "rich", "asyncio", "numpy", "pyarrow", "pyspark", "pandas", "tomllib", "xml.etree", "email"}
"""Packages that take long to import."""
CAPTURES = {"mqttpub.capture.containers", "mqttpub.capture.network", "mqttpub.capture.protocol.demux"}
TABLES = {"mqttpub.columns", "mqttpub.spark", "mqttpub.report", "pyarrow", "numpy", "pyspark"}
BROKER = {"mqttpub.live", "mqttpub.lab", "paho", "ssl"}

JOURNEYS = {
    "--help": (9, (), HEAVY | BROKER | CAPTURES | TABLES | {"mqttpub.spec", "mqttpub.codec", "mqttpub.view"}),
    "pub --help": (50, (), HEAVY - {"email"} | CAPTURES | TABLES | {"mqttpub.codec", "mqttpub.view", "mqttpub.lab"}),
    "encode publish -t a -m b": (38, (), HEAVY | BROKER | CAPTURES | TABLES | {"mqttpub.traffic"}),
    "decode -V 5 30050001610078": (100, (), HEAVY | BROKER | CAPTURES | TABLES),
    "decode {qos2} --summary": (139, (), HEAVY - {"rich"} | BROKER | TABLES),
    "decode {qos2} --summary --json": (141, (), HEAVY | BROKER | TABLES),
    "lint {qos2}": (165, (), HEAVY - {"rich"} | BROKER | TABLES),
    "decode {qos2} --parquet {out}": (
        158,
        ("numpy", "pyarrow"),
        BROKER - {"ssl"} | {"mqttpub.spark", "pyspark", "pandas", "paho"},
    ),
    "pipeline {qos2} --master none --out {out} --summary": (
        269,
        ("numpy", "pyarrow", "duckdb"),
        BROKER - {"ssl"} | {"pyspark", "pandas"},
    ),
    "explain PUBLISH": (59, (), HEAVY - {"rich"} | BROKER | CAPTURES | TABLES),
    "pub -h 127.0.0.1 -p 1 -t a -m b": (
        97,
        ("paho",),
        CAPTURES | TABLES | {"rich", "email", "http", "mqttpub.lab", "mqttpub.codec.decode"},
    ),
}
"""Arguments; then most modules of mqttpub, packages that have to be loaded, and packages that must not be."""
CODE = """
import json, sys
from mqttpub.cli.main import main
status = main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.write("\\n" + json.dumps([status, sorted(sys.modules)]))
"""


def loaded(journey: str, out: Path) -> set[str]:
    """Run the program with the arguments of a journey and return the names of the modules that were loaded."""
    arguments = [word.format(qos2=QOS2, out=out / "x.parquet") for word in journey.split()]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    status, names = json.loads(done.stderr.splitlines()[-1])
    assert status in (0, 1, 3)
    return set(names)


@pytest.mark.parametrize("journey", JOURNEYS)
def test_a_journey_loads_what_it_needs_and_no_more(journey: str, tmp_path: Path) -> None:
    most, needed, forbidden = JOURNEYS[journey]
    names = loaded(journey, tmp_path)
    assert set(needed) <= names
    within = {name for name in names for package in forbidden if name == package or name.startswith(f"{package}.")}
    assert within == set()
    assert sum(name.startswith("mqttpub") for name in names) <= most


@pytest.mark.parametrize(
    "line",
    ["pub -h 127.0.0.1 -p 1 -t a -m b", "sub -h 127.0.0.1 -p 1 -t a", "mosquitto_pub -h 127.0.0.1 -p 1 -t a -m b",
     "encode publish -t a -m b", "decode 30050001610078", "explain PUBLISH", "--version"],
)  # fmt: skip
def test_short_runs_do_without_inspect(line: str) -> None:
    """click imports it, and uses it for texts that are not ours; it would import a compiler's worth of modules."""
    code = f"import mqttpub.cli.start\n{CODE}"
    done = subprocess.run([sys.executable, "-c", code, *line.split()], capture_output=True, text=True, timeout=120)
    _, names = json.loads(done.stderr.splitlines()[-1])
    assert "click" in names
    assert not {"ast", "dis"} & {*names}


def test_a_personality_loads_no_more_than_the_program_itself(tmp_path: Path) -> None:
    """mosquitto_pub has its own grammar instead of the flags of `pub`, and pays for no room that `pub` does without."""
    line = "-h 127.0.0.1 -p 1 -t a -m b"
    own, personality = loaded(f"pub {line}", tmp_path), loaded(f"mosquitto_pub {line}", tmp_path)
    assert len(personality) <= len(own)
    assert {name for name in personality - own if not name.startswith("mqttpub.cli.compat")} == set()


@pytest.mark.parametrize(("mix", "packets"), [("bulk", 70_000), ("usual", 25_000), ("heavy", 20_000)])
def test_a_large_capture_is_summed_up_with_numpy_alone(mix: str, packets: int, tmp_path: Path) -> None:
    """Lines are made of numbers and bytes; only tables need Arrow."""
    capture = tmp_path / "large.pcap"
    write_pcap(capture, packets, MIXES[mix])
    assert capture.stat().st_size > WORTH_BYTES
    names = loaded(f"decode {capture} --summary", tmp_path)
    assert "numpy" in names
    assert not names & {"pyarrow", "pandas", "numpy.ma", "numpy.random", "dateutil"}
