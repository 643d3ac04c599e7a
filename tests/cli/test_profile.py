"""Profiles: flags from a file, weaker than the environment and the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from tests.cli.requested import PLAIN, connect, refused, requested

CONFIG = """
[profile.default]
host = "by-default"

[profile.prod]
host = "prod.example.org"
port = 8884
mqtt-version = "3.1.1"
client_id = "me"
username = "al"
password = "secret"
keepAlive = 5
no-clean = true
retain = true
topic = ["a", "b"]
message = "from the profile"

[profile.five]
url = "mqtt://me:secret@h:7/t"
user-property = { a = "1", b = 2 }
connect-user-property = ["c: d", "e=f"]
property = [["CONNECT", "receive-maximum", 20], "CONNECT authentication-data xy"]
request-response-information = true
authentication_method = "m"
payload-size = "1K"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the program find a configuration file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "mqttpub" / "config.toml"
    path.parent.mkdir()
    path.write_text(CONFIG)
    return path


SECRETS = """
[profile.secret]
proxy = "socks5h://me:secret@h:1"
url = "mqtt://me:secret@h/t"
key-password = "secret"
password = "secret"
authentication-data = "secret"
ws-header = ["Authorization: Bearer secret", "cookie=secret", "X-Plain: open"]
"""


def test_nothing_secret_is_shown(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(SECRETS)
    assert main(["profile", "show", "secret"]) == 0
    shown = capsys.readouterr().out
    assert "secret" not in shown.replace("[profile.secret]", "")
    assert 'proxy = "socks5h://me:******@h:1"' in shown
    assert 'ws-header = ["Authorization: *************", "cookie=******", "X-Plain: open"]' in shown
    config.write_text('[profile.secret]\nws-header = { Authorization = "Bearer secret", x = "y" }\n')
    assert main(["profile", "show", "secret"]) == 0
    assert capsys.readouterr().out == 'ws-header = {"Authorization": "*************", "x": "y"}\n'


def test_without_a_name_the_default_profile_is_used(config: Path) -> None:
    assert requested().target.host == "by-default"
    config.write_text("")
    assert requested().target.host == "localhost"
    config.unlink()
    assert requested().target.host == "localhost"


def test_a_profile_gives_every_flag(config: Path) -> None:
    request = requested("--profile", "prod", plain=())
    assert request.target[:2] == ("prod.example.org", 8884)
    assert [(packet.topic, packet.payload, packet.retain) for packet in request.packets] == [
        ("a", b"from the profile", True), ("b", b"from the profile", True),
    ]  # fmt: skip
    assert connect("--profile", "prod", "-i", "me") == "c0 00 05 00 02 6d 65 00 02 61 6c 00 06 73 65 63 72 65 74"


def test_values_of_toml_are_what_the_flags_take(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = requested("--profile", "five", "-m", "x", plain=())
    assert request.packets[0].properties == ((0x26, ("a", "1")), (0x26, ("b", "2")))
    assert request.target.connect.properties == (
        (0x15, "m"), (0x19, 1), (0x26, ("c", "d")), (0x26, ("e", "f")), (0x21, 20), (0x16, b"xy"),
    )  # fmt: skip
    assert (request.target.host, request.target.connect.password, request.packets[0].topic) == ("h", b"secret", "t")
    assert capsys.readouterr().err == ""


def test_command_line_over_environment_over_profile(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQTTPUB_PROFILE", "prod")
    assert requested(*PLAIN).target.port == 8884
    monkeypatch.setenv("MQTTPUB_PORT", "2")
    assert requested(*PLAIN).target.port == 2
    assert requested(*PLAIN, "-p", "3").target.port == 3
    assert requested(*PLAIN, "--clean").target.connect.clean_start
    assert requested(*PLAIN, "--profile", "default").target.host == "by-default"


def test_the_command_line_chooses_another_source_than_the_profile(config: Path) -> None:
    request = requested("--profile", "prod", "-n", "--password-file", "/dev/null", "-I", "pre-", plain=())
    assert request.packets[0].payload == b""
    assert request.target.connect.password == b""
    assert request.target.connect.client_id.startswith("pre-")


WRONG = {
    "[profile.x]\nhots = 1": "{path}: profile x: no flag is called 'hots'",
    "[profile.x]\nport = 'many'": "{path}: profile x: port: 'many' is not a number",
    "[profile.x]\nrcvMax = -1": "{path}: profile x: rcvMax: -1 is not in the range 0 to 65535",
    "[profile.x]\nretain = 'perhaps'": "{path}: profile x: retain: 'perhaps' is not a valid boolean.",
    "[profile.x]\nhost = h\n": "{path}: Invalid value (at line 2, column 8)",
    "[profil.x]\nhost = 'h'": "{path}: 'profil' is no table [profile.NAME]",
    "[profile]\nhost = 'h'": "{path}: 'host' is no table [profile.NAME]",
    "profile = 1": "{path}: 'profile' is no table [profile.NAME]",
    "[profile.y]": "{path}: no profile is called 'x'",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_place(text: str, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(text)
    assert refused(capsys, *PLAIN, "--profile", "x").startswith(WRONG[text].format(path=config))


def test_a_profile_without_a_file_is_an_error(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.unlink()
    assert refused(capsys, *PLAIN, "--profile", "x") == f"cannot read '{config}': No such file or directory"
    config.write_bytes(b"\xff")
    assert refused(capsys, *PLAIN, "--profile", "x").startswith(f"{config}: 'utf-8' codec can't decode")


def test_flags_of_other_commands_are_left_to_them(config: Path) -> None:
    config.write_text("[profile.default]\nconnections = 3\nkeep-alive = 9")
    assert requested().target.connect.keep_alive == 9


def test_profiles_are_listed_and_shown(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "list"]) == 0
    assert capsys.readouterr().out == "default\nprod\nfive\n"
    assert main(["profile", "show", "five"]) == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        'url = "mqtt://me:******@h:7/t"',
        'user-property = {"a": "1", "b": 2}',
        'connect-user-property = ["c: d", "e=f"]',
        'property = [["CONNECT", "receive-maximum", "20"], ["CONNECT", "authentication-data", "**"]]',
    ]
    assert main(["profile", "show", "prod"]) == 0
    assert 'password = "******"\n' in capsys.readouterr().out
    assert main(["profile", "show", "none"]) == 2
    assert capsys.readouterr().err == f"mqttpub profile show: {config}: no profile is called 'none'\n"


def test_foreign_characters_are_shown_escaped(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text('[profile.x]\nhost = "ä\\u009b\\u202e\\n"\nunknown = 1979-05-27', encoding="utf-8")
    assert main(["profile", "show", "x"]) == 0
    assert capsys.readouterr().out == 'host = "ä\\u009b\\u202e\\n"\nunknown = "1979-05-27"\n'


def test_without_a_file_nothing_is_loaded_that_reads_one(tmp_path: Path) -> None:
    code = (
        "import sys; from mqttpub.cli.pub import command; command.make_context('pub', ['-t', 'a', '-m', 'x']);"
        "print(sorted({'tomllib', 'getpass', 'mqttpub.cli.url', 'mqttpub.cli.octets'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"XDG_CONFIG_HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['mqttpub.cli.octets']\n"
