"""The grammar of MQTTX: an option is matched whole first, then as a letter with a value or with more letters."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

NONE, REQUIRED, OPTIONAL = "", "required", "optional"
"""Whether an option has a value."""

Parse = Callable[[str, Any], Any]
"""Returns the value of an option for a word and what the words before it made; raises ValueError with a sentence."""


class LineError(Exception):
    """A line that MQTTX refuses; the text is its sentence."""


class Option(NamedTuple):
    """An option: its names, the key of its value, and how the value is read."""

    names: tuple[str, ...]
    key: str
    value: str = NONE
    metavar: str = ""
    parse: Parse | None = None
    default: Any = None
    variadic: bool = False
    refusal: str = ""
    """Why mqttpub does without it, and what there is instead."""
    ours: str = ""
    """The long name of our flag in a profile; empty where there is none."""

    @property
    def saved(self) -> str:
        """The name in a file of --save-options."""
        first, *more = self.names[-1].removeprefix("--").removeprefix("no-").split("-")
        return "".join((first, *(word.title() for word in more)))

    @property
    def shown(self) -> str:
        """The names and the value as the messages write them."""
        word = f"{self.metavar}{'...' * self.variadic}"
        form = {NONE: "", REQUIRED: f" <{word}>", OPTIONAL: f" [{word}]"}[self.value]
        return f"{', '.join(self.names)}{form}"


class Values:
    """The values of a line by key, and which of them it gave."""

    def __init__(self, options: Iterable[Option]) -> None:
        self.by_key: dict[str, Any] = {option.key: option.default for option in options}
        self.given: set[str] = set()
        self._options = {option.key: option for option in options}

    def __getitem__(self, key: str) -> Any:
        return self.by_key[key]

    def take(self, option: Option, word: str | None) -> None:
        """Take an option with a word, None for none; raises LineError."""
        if option.refusal:
            raise LineError(f"error: option '{option.shown}' cannot be used: {option.refusal}")
        before = self.by_key.get(option.key) if option.key in self.given else None
        self.given.add(option.key)
        if word is None:
            # --no-x turns x off.
            self.by_key[option.key] = not any(name.startswith("--no-") for name in option.names)
            return
        if option.parse:
            try:
                value = option.parse(word, before)
            except ValueError as error:
                raise LineError(str(error)) from None
        else:
            value = word
            if option.variadic:
                value = [*before, word] if isinstance(before, list) else [word]
        self.by_key[option.key] = value

    def complete(self, saved: Mapping[str, Any]) -> None:
        """Take what a file says of options that the line did not give."""
        for key, value in saved.items():
            if key in self._options and key not in self.given:
                self.by_key[key] = value


def read(words: Iterable[str], options: tuple[Option, ...]) -> Values:
    """Return the values of a line; surplus words are ignored, as MQTTX does. Raises LineError."""
    values = Values(options)
    known = {name: option for option in options for name in option.names}
    rest = deque(words)
    variadic: Option | None = None
    while rest:
        word = rest.popleft()
        if word == "--":
            break
        if variadic and not _may_be_option(word):
            values.take(variadic, word)
            continue
        variadic = None
        if not _may_be_option(word):
            continue
        option = known.get(word)
        if option is None:
            _take_apart(word, known, values, rest)
            continue
        values.take(option, _value(option, rest))
        variadic = option if option.variadic else None
    return values


def _may_be_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-")


def _value(option: Option, rest: deque[str]) -> str | None:
    if option.value == REQUIRED:
        if not rest:
            raise LineError(f"error: option '{option.shown}' argument missing")
        return rest.popleft()
    if option.value == OPTIONAL and rest and not _may_be_option(rest[0]):
        return rest.popleft()
    return None


def _take_apart(word: str, known: Mapping[str, Option], values: Values, rest: deque[str]) -> None:
    """Take a letter with its value or with more letters, or a name with `=`; raises LineError for any other word."""
    name, found, value = word.partition("=")
    if word.startswith("--"):
        option = known.get(name) if found else None
        if option is None or option.value == NONE:
            raise LineError(f"error: unknown option '{word}'")
        values.take(option, value)
        return
    letter = known.get(word[:2])
    if letter is None or len(word) < 3:
        raise LineError(f"error: unknown option '{word}'")
    if letter.value == NONE:
        values.take(letter, None)
        rest.appendleft(f"-{word[2:]}")
    else:
        values.take(letter, word[2:])
