"""Commands and flags that do not exist: what was probably meant is named."""

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.registry import COMMANDS, PERSONALITIES
from mqttpub.cli.suggestions import OTHER_COMMANDS, OTHER_FLAGS

SAID = {
    "-t x -m y": "mqttpub: flags come after the command: `mqttpub pub -t ...`",
    "--host=h -t x": "mqttpub: flags come after the command: `mqttpub pub --host ...`",
    "--summary f.pcap": "mqttpub: flags come after the command: `mqttpub decode --summary ...`",
    **dict.fromkeys(
        ("-h", "-h localhost"),
        "mqttpub: -h is the host of a command, as in `mqttpub pub -h HOST`; `mqttpub --help` shows the help",
    ),
    "publish -t x": "mqttpub: there is no command 'publish': `mqttpub pub` publishes",
    "subscribe -t x": ("mqttpub: there is no command 'subscribe': `mqttpub sub` subscribes"),
    "mqtt://me:secret@h/t -m x": "mqttpub: give a URL with -L: `mqttpub pub -L URL`",
    "mqtt pub -t x": "mqttpub: there is no command 'mqtt': `mqttpub pub` publishes",
    "rr -t x": "mqttpub: there is no command 'rr': `mqttpub request` publishes a request and waits for its answer",
    "connect -h x": "mqttpub: there is no command 'connect': `mqttpub conn` connects and shows what the broker allows",
    "version": "mqttpub: there is no command 'version': `mqttpub --version` prints the version",
    "-V": "mqttpub: -V is the MQTT version of a command, as in `mqttpub pub -V 5`; the program's own is "
    "`mqttpub --version`",
    "-v": "mqttpub: `mqttpub --version` prints the version",
    "lnit": "mqttpub: there is no command 'lnit'; did you mean lint?",
    "xyz": "mqttpub: there is no command 'xyz'; `mqttpub --help` lists them",
    "/etc/passwd": "mqttpub: there is no command '/etc/passwd'; `mqttpub decode /etc/passwd` reads the file",
    "encode conect": "mqttpub encode: there is no command 'conect'; did you mean connect or disconnect?",
    "profile lst": "mqttpub profile: there is no command 'lst'; did you mean list?",
    "pub -h": "mqttpub pub: -h needs a host name; --help shows the help",
    "pub -t": "mqttpub pub: -t needs a value: -t TOPIC",
    "pub --retain=x": "mqttpub pub: --retain takes no value",
    "pub --hots h": "mqttpub pub: there is no flag --hots; did you mean --host?",
    "pub --passwrd=secret": "mqttpub pub: there is no flag --passwrd; did you mean --password or --key-password?",
    "decode --sumary": "mqttpub decode: there is no flag --sumary; did you mean --summary?",
    "pub --bogus": "mqttpub pub: there is no flag --bogus; `mqttpub pub --help-all` lists them",
    "pub -Z": "mqttpub pub: there is no flag -Z; `mqttpub pub --help-all` lists them",
    "pub -h mqtt://me:secret@h -t a -m x": "mqttpub pub: --host: give a URL with -L",
    "pub -h localhost:1883 -t a -m x": "mqttpub pub: --host: give a port with -p: -h localhost -p 1883",
}


def test_each_row_is_reached() -> None:
    """No command or flag of the program hides a row, and each is in a line above."""
    assert not {*OTHER_COMMANDS} & {*COMMANDS, *PERSONALITIES}
    assert {*OTHER_COMMANDS, *OTHER_FLAGS} <= {line.split()[0] for line in SAID}


@pytest.mark.parametrize("line", SAID)
def test_what_was_probably_meant_is_named(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert capsys.readouterr().err == f"{SAID[line]}\n"
