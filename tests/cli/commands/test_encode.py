"""`encode --json`: where one document ends and the next begins."""

from pathlib import Path

import click
import pytest

from mqttpub.cli.encode.run import json_documents
from mqttpub.cli.main import main

PINGREQ = b'{"type": "PINGREQ", "version": "5.0"}'


@pytest.mark.parametrize(
    ("lines", "documents"),
    [
        ([b"{}\n", b"\n", b"[1]\n"], [(1, b"{}\n"), (3, b"[1]\n")]),
        ([b"\n", b"{\n", b'"a": [1,\n', b"2]}\n", b"{}\n"], [(2, b'{\n"a": [1,\n2]}\n'), (5, b"{}\n")]),
        ([b'{"a": "}"\n', b"}\n"], [(1, b'{"a": "}"\n}\n')]),
        ([b'{"a": "\\"{"}\n', b"{}"], [(1, b'{"a": "\\"{"}\n'), (2, b"{}")]),
        ([b"[1,\n"], [(1, b"[1,\n")]),
        ([b" \n"], []),
    ],
)
def test_a_document_ends_where_its_brackets_close(lines: list[bytes], documents: list[tuple[int, bytes]]) -> None:
    assert list(json_documents(lines, 1000)) == documents


def test_a_document_that_is_too_long_is_refused_with_its_first_line() -> None:
    with pytest.raises(click.UsageError, match="line 2: the value that begins here has more than 10 bytes"):
        list(json_documents([b"\n", b"[1,\n", b"2,\n", b"3, 4]\n"], 10))


def test_flags_of_the_program_choose_a_topic_alias_only_where_there_is_a_session(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["encode", "publish", "-t", "a", "-ta", "auto"]) == 2
    assert capsys.readouterr().err == "mqttpub encode publish: --topic-alias: 'auto' is not a number\n"
    assert main(["encode", "publish", "--help"]) == 0
    assert "auto" not in capsys.readouterr().out.split("--color")[0]


def encoded_script(text: str, tmp_path: Path) -> int:
    """Encode a file."""
    file = tmp_path / "talk.mqtt"
    file.write_text(text)
    return main(["encode", "--json", str(file)])


def test_the_packets_of_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n# both ends\n> publish q1 i=$p:1; +5; < puback i=$p\nversion 3.1.1\n[b] > publish twice; [b] client FIN"
    assert encoded_script(text, tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == [
        "32 07 00 01 61 00 01 00 78", "40 02 00 01", "30 04 00 01 61 78", "30 04 00 01 61 78",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n> publsh", "line 2, column 3: 'publsh' is not a packet"),
        ("> publish q1", "line 1, column 1: PUBLISH needs i= (packet_id)"),
        ("[1, 2]", "line 1, column 1: '[1,' is not the label of a connection"),
    ],
)
def test_a_wrong_script_says_where(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert encoded_script(text, tmp_path) == 2
    assert message in capsys.readouterr().err
