"""Options files of other clients, and lines of flags, become profiles."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a home for the configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def profile(home: Path, name: str) -> Any:
    """Return a profile of the configuration file."""
    return tomllib.loads((home / "mqttpub" / "config.toml").read_text())["profile"][name]


def test_mosquitto(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["-h broker", "-p 8883", "# x", "--cafile /a b/ca.pem", '-P se"cret', "-c", "--tls-engine e"]
    (home / "mosquitto_pub").write_text("\n".join(lines))
    assert main(["profile", "import", "prod", "mosquitto_pub"]) == 0
    assert profile(home, "prod") == {
        "host": "broker", "port": "8883", "cafile": "/a b/ca.pem", "password": 'se"cret', "clean": False,
    }  # fmt: skip
    assert "--tls-engine" in capsys.readouterr().err
    assert (home / "mqttpub" / "config.toml").stat().st_mode & 0o077 == 0
    assert main(["profile", "import", "prod", "mosquitto_pub"]) == 2
    assert main(["profile", "show", "prod"]) == 0
    assert "cret" not in capsys.readouterr().out


@pytest.mark.parametrize(("line", "port"), [("", "1883"), ("--cafile ca.pem", "8883"), ("-p 80", "80")])
def test_the_port_of_a_websocket_is_that_of_the_client(home: Path, line: str, port: str) -> None:
    (home / "mosquitto_sub").write_text(f"--ws\n{line}\n")
    assert main(["profile", "import", "prod", "mosquitto_sub"]) == 0
    assert profile(home, "prod")["port"] == port


SECRETS = [
    ("-P", "cret"), ("--pw", "cret"), ("-P=cret",), ("--pw=cret",), ("-Pcret",), ("-P\tcret",), ('"-P cret"',),
    ("-P \\", "cret"), ("--psk cret",), ("mqtt://me:cret@broker",), ("-u me", "-P", "  cret "), ("--password cret",),
    ("cret",), ("-c cret",), ("--tls-engine-kpass-sha1 cret",),
]  # fmt: skip
"""Lines of an options file in each of which a password stands where no flag can take it."""


@pytest.mark.parametrize("lines", SECRETS, ids=" / ".join)
def test_no_line_that_may_be_a_password_is_printed(
    lines: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "mosquitto_pub").write_text("\n".join(lines))
    assert main(["profile", "import", "prod", "mosquitto_pub"]) == 0
    said = capsys.readouterr()
    assert "cret" not in said.out + said.err
    assert "left out, because no flag corresponds: " in said.err


@pytest.mark.parametrize("text", ["cret", "[mqtt]\ncret", "[mqtt]\npassword=cret\npassword=cret", "[mqtt\ncret=1"])
def test_a_broken_configuration_of_mqttx_is_not_printed(
    text: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "config"
    path.write_text(text)
    assert main(["profile", "import", "saved", "mqttx", str(path)]) == 2
    said = capsys.readouterr().err
    assert ("cret" not in said, f"{path}: line " in said) == (True, True)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000], ids=["arrays", "objects"])
def test_options_that_are_nested_too_deeply(text: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / "options.json"
    path.write_text(text)
    assert main(["profile", "import", "saved", "mqttx", str(path)]) == 2
    assert capsys.readouterr().err == f"mqttpub profile: {path}: its values are nested too deeply\n"


def test_mqttx(home: Path) -> None:
    path = home / "options.json"
    path.write_text(json.dumps({"pub": {"mqttVersion": 4, "hostname": "h", "clean": False, "qos": 1, "topic": "a"}}))
    assert main(["profile", "import", "saved", "mqttx", str(path)]) == 0
    assert profile(home, "saved") == {"mqtt-version": "3.1.1", "host": "h", "clean": False, "qos": 1, "topic": "a"}
    (home / ".mqttx-cli").mkdir()
    (home / ".mqttx-cli" / "config").write_text("[default]\noutput = text\n[mqtt]\nhost = x\nusername = me\n")
    assert main(["profile", "import", "plain", "mqttx"]) == 0
    assert profile(home, "plain") == {"host": "x", "username": "me"}


def test_save(home: Path, capsys: pytest.CaptureFixture[str], mosquitto: int) -> None:
    """Flags of pub that were saved are those of a run with the profile."""
    words = [
        "-h",
        "127.0.0.1",
        "-p",
        str(mosquitto),
        "-t",
        "a",
        "-m",
        "saved",
        "--no-clean",
        "-up",
        "a: b",
        "-D",
        "WILL",
        "content-type",
        "x",
    ]
    assert main(["profile", "save", "here", *words]) == 0
    assert profile(home, "here") == {
        "host": "127.0.0.1", "port": str(mosquitto), "topic": ["a"], "message": "saved", "clean": False,
        "user-property": ["a: b"], "property": [["WILL", "content-type", "x"]],
    }  # fmt: skip
    capsys.readouterr()
    words = ["--profile", "here", "-m", "x", "-q", "1", "--will-topic", "w", "-i", "compat-profile"]
    assert main(["pub", *words]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("words", [["import", "x", "mosquitto_pub"], ["import", "x", "mqttx"], ["save", "x", "--nope"]])
def test_wrong(words: list[str]) -> None:
    assert main(["profile", *words]) == 2
