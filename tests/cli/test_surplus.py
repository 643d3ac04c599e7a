"""Arguments that belong to no flag."""

import pytest

from mqttpub.cli.main import main

QUOTE = "quote a value that contains blanks: 'a b'"
PUB = "-t is for the topic, -m for the payload"
LINES = {
    "pub -t a -m hello world": f"1 argument too many, after the value of -m; {QUOTE}",
    "pub -t a -m see you soon": f"2 arguments too many, the first after the value of -m; {QUOTE}",
    "pub -t a --message=hello world": f"1 argument too many, after the value of --message; {QUOTE}",
    "pub -t a -mhello world -r": f"1 argument too many, after the value of -m; {QUOTE}",
    "pub -t x -m x x": f"1 argument too many, after the value of -m; {QUOTE}",
    "pub -t a -r hello": f"1 argument too many, after -r, which takes no value; {PUB}",
    "pub a hello": f"2 arguments too many, the first in front of all flags; {PUB}",
    "sub a": "1 argument too many, in front of all flags; -t is for the Topic Filter",
    "conn broker.example": "1 argument too many, in front of all flags; -h is for the broker",
    "request -t a b": f"1 argument too many, after the value of -t; {QUOTE}",
}


@pytest.mark.parametrize("line", LINES)
def test_where_the_argument_stands_and_what_was_meant(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert capsys.readouterr() == ("", f"mqttpub {line.split()[0]}: {LINES[line]}\n")
