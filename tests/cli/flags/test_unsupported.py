"""Flags of the other clients that are not ours: each is refused by its name, with what there is instead."""

from pathlib import Path

import pytest

from mqttpub.cli.commands.bench import command as bench
from mqttpub.cli.commands.pub import command as pub
from mqttpub.cli.flags.unsupported import BENCHING, CONNECTION, PUBLISHING
from mqttpub.cli.main import main
from tests.cli.requested import names, refused, requested

EVERY = {**CONNECTION, **PUBLISHING}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("value", [[], ["value"]])
def test_a_foreign_flag_is_refused_with_what_there_is_instead(
    name: str, value: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, "-t", "a", "-m", "x", name, *value) == f"{name}: {EVERY[name]}"
    assert refused(capsys, name, *value) == f"{name}: {EVERY[name]}"


@pytest.mark.parametrize(
    "line",
    [
        "mosquitto_pub -t a -m x --psk 00ff --psk-identity me",
        "mosquitto_pub -S -h example.org -t a -m x",
        "mosquitto_pub -t a -m x --cert c --key k --tls-engine pkcs11 --keyform engine",
        "mqttx pub -t a -m x -rp 0",
        "mqttx pub -t a -m x --save-options",
        "mqtt pub -t a -m x --ks store.jks --kspw x",
    ],
)
def test_a_line_of_another_client_is_refused_before_its_files_are_looked_for(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = line.split()
    arguments = words[2:] if words[1] == "pub" else words[1:]
    assert refused(capsys, *arguments).split(": ")[0] in EVERY


def test_the_environment_names_no_foreign_flag_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MQTTPUB_PSK", "00ff")
    assert refused(capsys, "-t", "a", "-m", "x").startswith("MQTTPUB_PSK: TLS with a pre-shared key")


def test_bench_refuses_what_connects_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--psk", "00"]) == 2
    assert capsys.readouterr().err.startswith("mqttpub bench: --psk: TLS with a pre-shared key is not supported")
    assert bench.make_context("bench", ["-S", "5"]).params["payload_size"] == "5"


MQTTX = {
    "-t a -m 6869 -f hex": "--file: there is no file 'hex'; MQTTX's -f hex is --format hex here",
    "-f json -t a -s": "--file: there is no file 'json'; MQTTX's -f json is --format json here",
    "-t a -m x -l ws": "-l makes a message of each line of standard input; MQTTX's -l ws is --protocol ws here",
    "-lwss -t a -m x": "-l makes a message of each line of standard input; MQTTX's -l wss is --protocol wss here",
    "-t a -s -M": "-M is the maximum number of messages in flight; MQTTX's -M is --multiline here",
    "-sM -t a": "-M is the maximum number of messages in flight; MQTTX's -M is --multiline here",
    "-M -s -t a": "-M is the maximum number of messages in flight; MQTTX's -M is --multiline here",
    "-t a -m x -up a=b c=d": "1 argument too many; repeat -up for each pair: -up 'a: b' -up 'c: d'",
    "-t a -m x -Cup a=b c=d e=f": "2 arguments too many; repeat -Cup for each pair: -Cup 'a: b' -Cup 'c: d'",
    "-t a -m x -up a=b secret": (
        "1 argument too many, after the value of -up; quote a value that contains blanks: 'a b'"
    ),
    "-t a -m x -M 70000": "--max-inflight: 70000 is not in the range 1 to 65535",
}


@pytest.mark.parametrize("line", MQTTX)
def test_a_letter_of_mqttx_is_recognised_by_its_value(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, *line.split()) == MQTTX[line]


def test_a_file_may_have_the_name_of_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hex").write_bytes(b"from the file")
    assert requested("-t", "a", "-f", "hex", plain=()).packets[0].payload == b"from the file"


BENCH = {
    "-d": "-d",
    "-im 10": "-im",
    "--limit 9": "--limit",
    "--interval 10": "--interval",
    "-c 10": "-c keeps the session; MQTTX's -c is --connections here",
}


@pytest.mark.parametrize("line", BENCH)
def test_a_line_of_mqttx_bench_is_refused_with_what_there_is_instead(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *line.split()]) == 2
    said = f"{BENCH[line]}: {BENCHING[line.split()[0]]}" if line.split()[0] in BENCHING else BENCH[line]
    assert capsys.readouterr().err == f"mqttpub bench: {said}\n"


def test_the_help_does_not_offer_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pub", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--keystore" not in said
    assert "SRV" not in said


def test_no_foreign_flag_hides_one_of_ours() -> None:
    for command in (pub, bench):
        every = [name for param in command.params for name in names(param)]
        assert len(every) == len(set(every))


def test_no_foreign_flag_is_a_part_of_a_request() -> None:
    requested()
    assert not [param for param in pub.params if param.name and param.name.startswith("foreign") and param.expose_value]
