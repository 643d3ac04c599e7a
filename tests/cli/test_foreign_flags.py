"""Flags of the other clients that are not ours: each is refused by its name, with what there is instead."""

import pytest

from mqttpub.cli.bench import command as bench
from mqttpub.cli.foreign_flags import CONNECTION, PUBLISHING
from mqttpub.cli.main import main
from mqttpub.cli.pub import command as pub
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
    assert bench.make_context("bench", ["-S", "5"]).params["payload_size"] == 5


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
