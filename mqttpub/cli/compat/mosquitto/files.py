"""The files with options that the mosquitto clients read before their line.

Each line is an option and, after the first blank, its value as it stands, without quotes; a line that begins with `#`
is a comment. An option with several values, such as -D, cannot be in a file.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import count

from ....common.files import base_directory
from .settings import GrammarError

LONGEST = 1023
"""Bytes of a line; what is beyond them is read as the next line."""


def option_lines(name: str, words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of each line of the file that -o names, or of the client's own file, if it exists.

    Raises GrammarError for -o without a file or more than once.
    """
    chosen = _chosen(words)
    for path in [chosen] if chosen is not None else default_paths(name):
        for _, words_of_line in file_lines(path):
            yield words_of_line


def _chosen(words: Sequence[str]) -> str | None:
    places = [at for at, word in enumerate(words) if word == "-o"]
    if places[1:]:
        raise GrammarError("Error: Duplicate -o argument given.", gap=1)
    if places and places[0] == len(words) - 1:
        raise GrammarError("Error: -o argument given but no options file specified.", gap=1)
    return words[places[0] + 1] if places else None


def default_paths(name: str) -> list[str]:
    """Return the path of a client's own file, which need not exist; none without a home."""
    if "HOME" not in os.environ and not os.path.isabs(os.environ.get("XDG_CONFIG_HOME", "")):
        return []
    return [os.path.join(base_directory("XDG_CONFIG_HOME", ".config"), name)]


def file_lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line of a file; nothing where it cannot be opened."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError:
        return
    with file:
        for number in count(1):
            if not (line := _line(file.readline(LONGEST))):
                return
            text = line.rstrip("\r\n")
            if not text.startswith("#") and (words := _words(text)):
                yield number, words


def _line(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _words(text: str) -> list[str]:
    option, _, value = text.lstrip(" ").partition(" ")
    return [each for each in (option, value) if each]
