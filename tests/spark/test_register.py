import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mqttpub.capture.reading import events
from mqttpub.traffic.events import PacketSeen
from tests.paths import ROOT

CAPTURE = ROOT / "tests/captures/qos2-mosquitto.pcapng"
BY_ITSELF = """
from mqttpub.spark.session.session import Settings, session

with session(Settings("local[1]")) as spark:
    print("rows", spark.read.format("mqtt_capture").load({capture!r}).count())
    print("columns", len(spark.readStream.format("mqtt").load().columns))
"""
BY_HAND = """
from mqttpub.spark import register
from mqttpub.spark.session.session import Settings, session

with session(Settings("local[1]")) as spark:
    try:
        spark.read.format("mqtt_capture").load({capture!r})
    except Exception as error:
        print("not found", "DATA_SOURCE_NOT_FOUND" in str(error))
    register(spark)
    print("rows", spark.read.format("mqtt_capture").load({capture!r}).count())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources and unpack it."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "sources"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "mqttpub", copy / "mqttpub", ignore=shutil.ignore_patterns("__pycache__"))
    command = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(copy))
    made = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    unpacked = folder / "unpacked"
    zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(unpacked)
    return unpacked


def packets() -> int:
    with CAPTURE.open("rb") as file:
        return sum(isinstance(event, PacketSeen) for event in events(file))


def run(program: str, *path: Path) -> str:
    """Run a program of its own that finds modules in some folders first."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    env["PYTHONPATH"] = os.pathsep.join(map(str, path))
    text = program.format(capture=str(CAPTURE))
    done = subprocess.run([sys.executable, "-c", text], env=env, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_wheel_has_the_modules_that_spark_looks_for(wheel: Path) -> None:
    tops = {path.name for path in wheel.iterdir() if not path.name.endswith(".dist-info")}
    assert tops == {"mqttpub", "pyspark_mqtt", "pyspark_mqtt_capture"}
    assert not (wheel / "mqttpub/spark/found").exists()
    assert (wheel / "mqttpub/spec/data/statements-5.0.tsv").exists()
    assert (wheel / "mqttpub/guides/publish.md").exists()


@pytest.mark.long
def test_spark_finds_the_sources_of_the_wheel_by_itself(wheel: Path) -> None:
    assert run(BY_ITSELF, wheel).splitlines() == [f"rows {packets()}", "columns 9"]


@pytest.mark.long
def test_by_hand_where_a_module_of_others_is_broken(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "pyspark_broken.py").write_text("raise RuntimeError\n")
    assert run(BY_HAND, wheel, tmp_path).splitlines() == ["not found True", f"rows {packets()}"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("statement", "without"),
    [
        ("import mqttpub.spark", ("pyspark", "numpy", "pyarrow", "paho", "mqttpub.live")),
        ("import mqttpub.spark.formats.mqtt_source", ("pyarrow", "paho", "mqttpub.live", "mqttpub.columns")),
        ("import mqttpub.spark.formats.capture_source", ("pyarrow", "paho", "mqttpub.live", "mqttpub.columns")),
    ],
)
def test_the_modules_that_spark_imports_at_every_look_up_are_small(statement: str, without: tuple[str, ...]) -> None:
    program = f"import sys; {statement}; print(*[name for name in {without!r} if name in sys.modules])"
    before = f"import sys; import pyspark.sql.datasource; print(*[name for name in {without!r} if name in sys.modules])"
    loaded, of_spark = (
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True).stdout.split()
        for each in (program, before)
    )
    assert set(loaded) <= set(of_spark) - {"pyspark"}
