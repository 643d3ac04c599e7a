"""Flags of TLS, WebSocket, unix socket, proxy and address: what they ask for, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.flags.transport import IMPLY_TLS, tls_flags
from mqttpub.cli.main import main
from mqttpub.live.net.transport import Tls, Transport
from tests.cli.requested import names, refused, requested

MESSAGE = ("-t", "a", "-m", "x")


def way(*arguments: str) -> tuple[str, int, Transport]:
    """Return host, port and transport of the target."""
    target = requested(*arguments).target
    return target.host, target.port, target.transport


def ws(tls: Tls | None = None, path: str = "/mqtt", **more: Any) -> Transport:
    return Transport("websocket", path, tls=tls, **more)


def tcp(tls: Tls | None = None, **more: Any) -> Transport:
    return Transport(tls=tls, **more)


TLS = Tls()
WAYS: dict[str, tuple[int, Transport]] = {
    "": (1883, tcp()),
    "-p 8884": (8884, tcp()),
    "-p 8883": (8883, tcp(TLS)),
    "-p 8883 --no-tls": (8883, tcp()),
    "-p 8883 --protocol mqtt": (8883, tcp()),
    "-p 8883 --ws": (8883, ws()),
    "--tls": (8883, tcp(TLS)),
    "--secure": (8883, tcp(TLS)),
    "--tls-use-os-certs -p 1883": (1883, tcp(TLS)),
    "--tls --no-tls": (1883, tcp()),
    "--protocol mqtt": (1883, tcp()),
    "--protocol mqtts": (8883, tcp(TLS)),
    "--protocol mqtts --no-tls": (1883, tcp()),
    "--protocol ws": (80, ws()),
    "--protocol wss": (443, ws(TLS)),
    "--ws": (80, ws()),
    "-ws": (80, ws()),
    "--ws --tls -p 9001": (9001, ws(TLS)),
    "--ws --path /a": (80, ws(path="/a")),
    "--ws -ws:path a/b": (80, ws(path="/a/b")),
    "-L ws://h:8000/p?q --ws-path /r": (8000, ws(path="/r")),
    "-L wss://h/p": (443, ws(TLS, "/p")),
    "-L mqtts://h/a": (8883, tcp(TLS)),
    "-L mqtt://h:8883/a": (8883, tcp()),
    "--tls-version tlsv1.3": (8883, tcp(Tls(minimum="1.3"))),
    "--tls-version TLSv1.2 --tls-max-version 1.2": (8883, tcp(Tls(minimum="1.2", maximum="1.2"))),
    "--alpn mqtt --tls-alpn x": (8883, tcp(Tls(alpn=("mqtt", "x")))),
    "--sni example.org --ciphers HIGH": (8883, tcp(Tls(server_name="example.org", ciphers="HIGH"))),
    "--tls-keylog keys": (8883, tcp(Tls(key_log="keys"))),
    "--keypw hex:6f": (8883, tcp(Tls(key_password=b"o"))),
    "--insecure": (8883, tcp(Tls(insecure=True))),
    "--insecure --no-tls": (1883, tcp()),
    "--unix /run/mqtt": (1883, Transport("unix", "/run/mqtt")),
    "--proxy socks5h://me:x@h:1": (1883, tcp(proxy="socks5h://me:x@h:1")),
    "-A 127.0.0.9": (1883, tcp(bind="127.0.0.9")),
}


@pytest.mark.parametrize("line", WAYS)
def test_flags_make_a_way(line: str) -> None:
    assert way(*line.split())[1:] == WAYS[line]


def test_headers_are_pairs_in_order() -> None:
    transport = way("--ws", "--ws-header", "Cookie: a=b", "-wh", "x=y: z", "-wh", "Authorization:Bearer a=")[2]
    assert transport.headers == (("Cookie", "a=b"), ("x", "y: z"), ("Authorization", "Bearer a="))


def test_an_address_may_stand_in_brackets() -> None:
    assert way("-h", "[::1]")[0] == "::1"
    assert requested("-h", "[::1]").target.place == "[::1]:1883"


def test_files_are_named_in_every_way(tmp_path: Path) -> None:
    cert, key, secret = (tmp_path / name for name in ("cert", "key", "secret"))
    for path in (cert, key, secret):
        path.write_text("open sesame\nmore\n")
    expected = Tls(str(cert), str(tmp_path), str(cert), str(key), b"open sesame")
    for ca, folder, ours, private in (
        ("--cafile", "--capath", "--cert", "--key"),
        ("--ca", "--ca-cert-dir", "--client-cert", "--client-private-key"),
    ):
        files = (ca, str(cert), folder, str(tmp_path), ours, str(cert), private, str(key))
        assert way(*files, "--key-password-file", str(secret)) == ("localhost", 8883, tcp(expected))


def test_every_flag_of_tls_turns_it_on() -> None:
    @tls_flags
    def function() -> None:
        """Take the options."""

    options = {option.name for option in function.__click_params__}  # type: ignore[attr-defined]
    assert options == {*IMPLY_TLS, "tls"}
    assert all(names(option) for option in function.__click_params__)  # type: ignore[attr-defined]


def test_insecure_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    requested("--insecure")
    assert capsys.readouterr().err == "mqttpub: --insecure: the certificate of the broker is not verified\n"
    requested("--insecure", "--no-tls")
    assert capsys.readouterr().err == ""


def test_the_environment_names_a_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PROTOCOL": "wss", "WS_PATH": "/x", "ALPN": "a\nb", "PORT": "8884"}.items():
        monkeypatch.setenv(f"MQTTPUB_{name}", value)
    assert way() == ("localhost", 8884, ws(Tls(alpn=("a", "b")), "/x"))


NO_HEADER = "a header has the form 'name: value' (this value is not shown because it may be a secret)"
NO_HEADER_NAME = "the name of a header has only letters, digits and !#$%&'*+-.^_`|~"
NO_PATH = "a path cannot have blanks or control characters"
REFUSED = {
    "--ws-path /a": "--ws-path needs --ws",
    "--ws-header a=b": "--ws-header needs --ws",
    "--ws --ws-header secret": f"--ws-header: {NO_HEADER}",
    "--ws --ws-header a\r=secret": f"--ws-header: {NO_HEADER_NAME}",
    "--ws --ws-header =secret": f"--ws-header: {NO_HEADER_NAME}",
    "--ws --ws-header (a)=secret": f"--ws-header: {NO_HEADER_NAME}",
    "--ws --ws-header a=secret\r\nEvil:1": "--ws-header: the value of a has a control character",
    "--ws --ws-path a\tb": f"--ws-path: {NO_PATH}",
    "-L ws://h/a\r\nEvil:1": f"--url: {NO_PATH}",
    "-L ws://h\r\nEvil/": "--url: a host has a character that no host name has",
    "-L ws://h%0d%0aEvil/": "--url: a host has a character that no host name has",
    "-L ws://u:secret@h?x/": "--url: a host has a character that no host name has",
    "--ws -h h\r\nEvil:1": "--host: a host has a character that no host name has",
    "-h h:amqp": "--host: a host with a colon that is not an IPv6 address",
    "--ws -h h\r\nEvil": "--host: a host has a character that no host name has",
    "-h localhost:1883": "--host: give a port with -p: -h localhost -p 1883",
    "-h [::1]:1883": "--host: give a port with -p: -h [::1] -p 1883",
    "-h mqtt://u:secret@h": "--host: give a URL with -L",
    "-h u:secret@h:1883": "--host: give a User Name with -u, or in a URL with -L",
    "-h u:secret@h": "--host: give a User Name with -u, or in a URL with -L",
    "-h ": "--host: a host has at least one character",
    "--unix ": "--unix: it is empty",
    "-A ": "--bind: it is empty",
    "--sni ": "--sni: it is empty",
    "--alpn ": "--alpn: it is empty",
    "--ciphers ": "--ciphers: it is empty",
    "--key-log ": "--key-log: it is empty",
    "--password-file ": "--password-file: it is empty",
    "--unix s --ws": "--unix does not go with --ws",
    "--unix s --protocol wss": "--unix does not go with TLS and WebSocket",
    "--unix s --tls -A 127.0.0.1": "--unix does not go with --bind and TLS",
    "--unix s --proxy http://h": "--unix does not go with --proxy",
    "--tls-version 1.1": "--tls-version: '1.1' is neither 1.2 nor 1.3",
    "--proxy ftp://h": "--proxy: it does not begin with any of socks5h://, socks5://, socks4://, http://",
    "--cafile /nowhere": "--cafile: File '/nowhere' does not exist.",
    "--protocol amqp": "--protocol: 'amqp' is not one of 'mqtt', 'mqtts', 'ws', 'wss'.",
}


@pytest.mark.parametrize("name", ["url", "ws-path", "ws-header", "host"])
def test_the_environment_and_a_profile_are_checked_as_the_flags_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"url": "ws://h/m\r\nEvil: 1", "ws-header": "a=b\rc"}.get(name, "m\r\nEvil")
    variable = f"MQTTPUB_{name.upper().replace('-', '_')}"
    with monkeypatch.context() as environment:
        environment.setenv(variable, value)
        said = refused(capsys, *MESSAGE, "--ws").removeprefix(f"{variable}: ")
    assert "Evil" not in said
    config = tmp_path / "mqttpub" / "config.toml"
    config.parent.mkdir()
    config.write_text(f"[profile.x]\n{name} = {json.dumps(value)}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    # Lines of the environment are values of their own where a flag may be repeated.
    same = said if name != "ws-header" else "the value of a has a control character"
    assert refused(capsys, *MESSAGE, "--ws", "--profile", "x") == f"{config}: profile x: {name}: {same}"


@pytest.mark.parametrize("line", REFUSED)
def test_what_does_not_fit_is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, *MESSAGE, *line.split(" ")) == REFUSED[line]


def test_a_key_needs_its_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = tmp_path / "key"
    key.touch()
    assert refused(capsys, *MESSAGE, "--key", str(key)) == "--key needs --cert"


def test_a_password_of_a_key_is_masked_in_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "mqttpub").mkdir()
    (tmp_path / "mqttpub" / "config.toml").write_text("[profile.a]\nkey-password = 'secret'\n")
    assert main(["profile", "show", "a"]) == 0
    assert capsys.readouterr().out == 'key-password = "******"\n'
