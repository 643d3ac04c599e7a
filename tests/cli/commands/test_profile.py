"""Profiles: flags from a file, weaker than the environment and the command line."""

import subprocess
import sys
import tomllib
from contextlib import suppress
from itertools import product
from pathlib import Path

import click
import pytest

from mqttpub.cli.commands.bench import command as bench
from mqttpub.cli.commands.pub import command as pub
from mqttpub.cli.flags.base import Profile
from mqttpub.cli.flags.profile import by_key, defaults, lines
from mqttpub.cli.flags.properties_argument import SettingType
from mqttpub.cli.flags.transport import HeaderType, ProxyType
from mqttpub.cli.flags.types import SecretType
from mqttpub.cli.flags.url import UrlType
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


@pytest.mark.parametrize("words", [["profile", "list"], ["pub", "-t", "a", "-m", "x"], ["profile", "show", "x"]])
@pytest.mark.parametrize("value", ["[" * 100_000, "{a=" * 100_000], ids=["arrays", "tables"])
def test_values_that_are_nested_too_deeply(
    value: str, words: list[str], config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(f"[profile.x]\na = {value}")
    assert main(words) == 2
    assert capsys.readouterr().err.endswith(f": {config}: its values are nested too deeply\n")


def test_nothing_secret_is_shown(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(SECRETS)
    assert main(["profile", "show", "secret"]) == 0
    shown = capsys.readouterr().out
    assert "secret" not in shown.replace("[profile.secret]", "")
    assert 'proxy = "socks5h://me:******@h:1"' in shown
    assert 'ws-header = ["Authorization: *************", "cookie=******", "X-Plain: ****"]' in shown
    config.write_text('[profile.secret]\nws-header = { Authorization = "Bearer secret", x = "y" }\n')
    assert main(["profile", "show", "secret"]) == 0
    assert capsys.readouterr().out == 'ws-header = {"Authorization": "*************", "x": "*"}\n'


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
    assert requested().target.port == 8884
    monkeypatch.setenv("MQTTPUB_PORT", "2")
    assert requested().target.port == 2
    assert requested("-p", "3").target.port == 3
    assert requested("--clean").target.connect.clean_start
    assert requested("--profile", "default").target.host == "by-default"


def test_the_command_line_chooses_another_source_than_the_profile(config: Path) -> None:
    request = requested("--profile", "prod", "-n", "--password-file", "/dev/null", "-I", "pre-", plain=())
    assert request.packets[0].payload == b""
    assert request.target.connect.password == b""
    assert request.target.connect.client_id.startswith("pre-")


NOT_AN_ARRAY = "expects text or a number, not an array"
WRONG = {
    "[profile.x]\nhots = 1": "{path}: profile x: there is no flag 'hots'",
    "[profile.x]\nport = 'many'": "{path}: profile x: port: 'many' is not a number",
    "[profile.x]\nrcvMax = -1": "{path}: profile x: rcvMax: -1 is not in the range 1 to 65535",
    "[profile.x]\nretain = 'perhaps'": "{path}: profile x: retain: 'perhaps' is not a valid boolean.",
    "[profile.x]\nhost = h\n": "{path}: Invalid value (at line 2, column 8)",
    "[profil.x]\nhost = 'h'": "{path}: 'profil' is not a table [profile.NAME]",
    "[profile]\nhost = 'h'": "{path}: 'host' is not a table [profile.NAME]",
    "profile = 1": "{path}: 'profile' is not a table [profile.NAME]",
    "[profile.y]": "{path}: there is no profile 'x'",
    "[profile.x]\nqos = { a = 1 }": "{path}: profile x: qos: expects text or a number, not a table",
    "[profile.x]\nqos = [1]": "{path}: profile x: qos: expects text or a number, not an array",
    "[profile.x]\nqos = true": "{path}: profile x: qos: 'True' is not a number",
    "[profile.x]\nqos = 1979-05-27": "{path}: profile x: qos: expects text or a number, not a date or a time",
    "[profile.x]\nretain = [true]": "{path}: profile x: retain: expects true or false, not an array",
    "[profile.x]\nretain = 1": "{path}: profile x: retain: expects true or false, not a number",
    "[profile.x]\nuser-property = { a = [1] }": "{path}: profile x: user-property: {NOT_AN_ARRAY}",
    "[profile.x]\nuser-property = [['a']]": "{path}: profile x: user-property: expects a name and a value, but got 1",
    "[profile.x]\nproperty = { a = 1 }": "{path}: profile x: property: expects text or a number, not a table",
    "[profile.x]\nproperty = [['CONNECT', 'receive-maximum', [20]]]": "{path}: profile x: property: {NOT_AN_ARRAY}",
    "[profile.x]\noutbox = ''": "{path}: profile x: outbox: it is empty",
    "[profile.x]\noutbox = 'a\\u0000b'".replace(
        "'", '"'
    ): "{path}: profile x: outbox: it contains a NUL byte, which no",
    "[profile.x]\ncafile = 'a\\u0000b'".replace(
        "'", '"'
    ): "{path}: profile x: cafile: it contains a NUL byte, which no",
    "[profile.x]\nbind = 'a\\u0000b'".replace("'", '"'): "{path}: profile x: bind: a host has a character that no",
    "[profile.x]\ntopic = [['a']]": "{path}: profile x: topic: expects text or a number, not an array",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_reported_with_its_place(text: str, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(text)
    assert refused(capsys, *PLAIN, "--profile", "x").startswith(
        WRONG[text].format(path=config, NOT_AN_ARRAY=NOT_AN_ARRAY)
    )


TOML = (
    '"secret"', '""', "1", "-1", "1.5", "nan", "true", "false", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[]",
    '["secret"]', '[["secret"]]', '[["a", "secret"]]', '[["CONNECT", "authentication-data", "secret"]]', "[1]",
    "[{ a = 1 }]", "{}", '{ a = "secret" }', "{ a = 1 }", "{ a = [1] }", "{ a = { b = 1 } }",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("command", "known"), [(pub, None), (bench, pub)], ids=["pub", "bench"])
def test_any_profile_is_accepted_or_refused_in_a_sentence(command: click.Command, known: click.Command | None) -> None:
    profile = Profile("config.toml", "x", {})
    shared = by_key(known) if known else {}
    flags = {name: flag for name, (flag, _) in by_key(command).items() if name not in shared}
    names = [name for name, flag in flags.items() if flag.long == f"--{name}" != "--ask-password"]
    assert names
    for name, text in product(names, TOML):
        table = tomllib.loads(f"{name} = {text}")
        with suppress(click.UsageError):
            command.make_context("it", [], default_map=defaults(command, profile, table))
        list(lines(table))


OF_SECRETS = [
    name for name, (flag, _) in by_key(pub).items()
    if flag.long == f"--{name}" and isinstance(flag.type, (SecretType, UrlType, ProxyType, HeaderType, SettingType))
]  # fmt: skip
WRITTEN = (
    "{}", "hex:{}", "base64:{}!", "@{}", "mqtt://me:{}@",
    "http://me:{}@h:x", "{}@h:1", ":{}@h", "socks5://me:{}", "me:{}",
    "mqtt://me:{}/x@h", "Authorization {}", "Authorization={}\r", "Authorization:{}\n", "Cookie {}=", "={}",
    "authentication-data {}", "CONNECT authentication-data", "CONNECT authentication-data hex:{}",
    "CONNECT authentication-data a {}",
)  # fmt: skip
"""Mistakes that people make around a secret."""
UNSENT = ("--packet-id", "1")
"""Refused, for a message of QoS 0, when all else is right; so nothing is sent."""


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_SECRETS)
def test_no_mistake_around_a_secret_shows_it(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variable = f"MQTTPUB_{name.replace('-', '_').upper()}"
    for text in WRITTEN:
        value = text.format("sEcReT")
        main(["pub", *PLAIN, f"--{name}", value, *UNSENT])
        with monkeypatch.context() as environment:
            environment.setenv(variable, value)
            main(["pub", *PLAIN, *UNSENT])
        assert not any("sEcReT" in line for line in lines({name: value})), text
    for each in (["sEcReT"], [["authentication-data", "sEcReT"]], {"Authorization": "sEcReT"}):
        assert not any("sEcReT" in line for line in lines({name: each})), each
    said = capsys.readouterr()
    assert said.err
    assert "sEcReT" not in said.err + said.out


def test_a_password_of_two_words_without_quotes_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, *PLAIN, "-P", "two", "words")
    assert said == "1 argument too many, after the value of -P; quote a value that contains blanks: 'a b'"


def test_a_profile_without_a_file_is_an_error(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.unlink()
    assert refused(capsys, *PLAIN, "--profile", "x") == f"cannot read '{config}': No such file or directory"
    config.write_bytes(b"\xff")
    assert refused(capsys, *PLAIN, "--profile", "x").startswith(f"{config}: 'utf-8' codec can't decode")


def test_flags_of_other_commands_are_left_to_them(config: Path) -> None:
    config.write_text("[profile.default]\nconnections = 3\nkeep-alive = 9")
    assert requested().target.connect.keep_alive == 9


def test_the_name_of_a_profile_does_not_act_on_the_terminal(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text('[profile."ev\\u001b[31m"]')
    assert main(["profile", "list"]) == 0
    assert capsys.readouterr().out == "ev\\x1b[31m\n"


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
    assert capsys.readouterr().err == f"mqttpub profile show: {config}: there is no profile 'none'\n"


def test_foreign_characters_are_shown_escaped(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text('[profile.x]\nhost = "ä\\u009b\\u202e\\n"\nunknown = 1979-05-27', encoding="utf-8")
    assert main(["profile", "show", "x"]) == 0
    shown = 'host = "ä\\u009b\\u202e\\n"\nunknown = "***" (unknown flag)\n'
    assert capsys.readouterr().out == shown


def test_without_a_file_nothing_is_loaded_that_reads_one(tmp_path: Path) -> None:
    code = (
        "import sys; from mqttpub.cli.commands.pub import command; command.make_context('pub', ['-t', 'a', '-m', 'x']);"
        "print(sorted({'tomllib', 'getpass', "
        "'mqttpub.payload.bytes_argument'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"XDG_CONFIG_HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['mqttpub.payload.bytes_argument']\n"
