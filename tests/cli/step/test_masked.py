"""Secrets in the text of scripts do not reach messages, records and results."""

from pathlib import Path

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.step.masked import masked
from tests.build.brokers import free_port
from tests.fakes import Peer, scripted

CONNECT = "101c00044d51545404c2003c0000000175000b73457372657477315051"
"""CONNECT of MQTT 3.1.1 with User Name `u` and the password `sEsretw1PQ`, damaged at its end."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("> connect id=a password=sEcret1; < connack", "> connect id=a password=*******; < connack"),
        ("> connect password=\"a b\\\"c\" id=a", "> connect password=******** id=a"),
        ("> connect password=\"a b", "> connect password=****"),
        ("connect Password=hex:7345 qq=1", "connect Password=******** qq=1"),
        ("< auth authentication-data=sEcr3t", "< auth authentication-data=******"),
        (f"> raw {CONNECT[:4]} {CONNECT[4:]} twice", f"> raw **** {'*' * len(CONNECT[4:])} twice"),
        (f"< connack; > {CONNECT}", f"< connack; > {'*' * len(CONNECT)}"),
        ("> raw 30 05 0001610078; > publish p=x=y", "> raw 30 05 0001610078; > publish p=x=y"),
    ],
)  # fmt: skip
def test_the_words_and_bytes_of_secrets_are_masked_in_their_columns(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_a_failure_shows_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def peer(peer: Peer) -> None:
        # AUTH with Authentication Method `m` and Authentication Data `deep`
        peer.accept("f00d180b150001 6d 16000464656570".replace(" ", ""))
        peer.wait()

    file, out = tmp_path / "talk.mqtt", tmp_path / "results.xml"
    file.write_text("> connect id=a username=u password=sEcret1; < auth authentication_data=sEcr3t")
    for flags in ([], ["--json"], ["--junit", str(out)]):
        with scripted(peer) as port:
            assert main(["step", "-h", "127.0.0.1", "-p", str(port), str(file), *flags]) == 1
        shown = capsys.readouterr().out
        assert "password=*******; < auth authentication_data=******" in shown
        assert "but not with authentication_data=******" in shown
        assert "authentication_data=****" in shown
        for secret in ("sEcret1", "sEcr3t", "deep", "awaited  f0", "64656570", "_hex"):
            assert secret not in shown
    assert "sEcr" not in out.read_text()
    assert "awaited" not in out.read_text().replace("awaited_", "")
    with scripted(peer) as port:
        assert main(["step", "-h", "127.0.0.1", "-p", str(port), str(file), "--show-secrets"]) == 1
    shown = capsys.readouterr().out
    assert "password=sEcret1; < auth authentication_data=sEcr3t" in shown
    assert "awaited  f0" in shown


@pytest.mark.parametrize(
    "words",
    [
        ["connect username=u password=p4ss qq=1"],
        ["connect username=u password=base64:p4ss!!"],
        ["connect username=u password=\"p4ss"],
        ["pingreq", "--expect", "auth authentication_data=p4ss qq=1"],
    ],
)  # fmt: skip
def test_a_wrong_step_shows_no_secret(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "-p", str(free_port()), *words]) == 2
    assert "p4ss" not in capsys.readouterr().err
    (tmp_path / "talk.mqtt").write_text(f"> {words[-1]}")
    assert main(["step", "-p", str(free_port()), str(tmp_path / "talk.mqtt")]) == 2
    assert "p4ss" not in capsys.readouterr().err
