"""Text with placeholders, for topics and payloads, which are filled anew for each message.

    %i  number of the message, from 1       %(count START STEP)    counts from START in steps, 1 and 1 unless given
    %d  time, 2031-05-07T09:30:00.123456Z   %(time s), %(time ms)  whole seconds or milliseconds since 1970
    %c  Client Identifier                   %(random LOW HIGH)     a number with the decimals of LOW and HIGH
    %u  User Name                           %(choice A|B|C)        one of the values
    %%  a percent sign                      %(uuid)                a random UUID
                                            %(column NAME)         a cell of the row that the message is made of

A name and its arguments stand in parentheses, because JSON is full of braces and quotation marks. In them, %) %( %| and
%% stand for the character itself, and parentheses in pairs need no percent sign.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..common.times import SECOND_NS, iso

if TYPE_CHECKING:
    from random import Random

Make = Callable[[], bytes]
"""Makes the value of a placeholder for the message that is being filled."""
_PLACEHOLDER = re.compile(rb"%(?:\((?P<long>(?:[^%()]|%[%()|]|\([^%()]*\))*+)\)|(?P<short>.?))|[^%]+", re.DOTALL)
_NUMBER = re.compile(rb"(-?)([0-9]{1,15})(?:\.([0-9]{1,6}))?")
_WHOLE = re.compile(rb"-?[0-9]{1,15}")
_TOKEN = re.compile(rb"%.|\||[^%|]+", re.DOTALL)
MOST_NAMED = 10
"""Columns that a message names."""


class TemplateValues:
    """What the templates of a run fill in: fixed names, random values, and the message that `begin` names last.

    The same `seed` gives the same random values to the same templates, filled in the same order. `columns` are the
    names of the cells of each row; None where the messages are not made of rows.
    """

    def __init__(
        self, client_id: str = "", username: str | None = None, *, seed: int | str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.fixed = {b"c": _encoded(client_id), b"u": None if username is None else _encoded(username), b"%": b"%"}
        """Values that are the same for all messages; None for one that is lacking."""
        self.letters: dict[bytes, Make] = {b"i": lambda: b"%d" % self.number, b"d": self.iso}
        """The short placeholders of the others."""
        self.columns = columns
        self.number = 0
        self.time_ns = 0
        self.row: Sequence[bytes] = ()
        self._seed = seed

    @cached_property
    def random(self) -> "Random":
        """Where the random values come from."""
        from random import Random

        return Random(self._seed)

    def begin(self, number: int, time_ns: int, row: Sequence[bytes] = ()) -> None:
        """Fill templates for another message: its number, its time since 1970, and its row."""
        self.number, self.time_ns, self.row = number, time_ns, row

    def iso(self) -> bytes:
        """Return the time of the message."""
        return iso(self.time_ns, digits=6).encode()


class Template:
    """A text with placeholders; raises ValueError, with the byte, for one that cannot be filled."""

    def __init__(self, text: str | bytes, values: TemplateValues) -> None:
        data = _encoded(text) if isinstance(text, str) else text
        self._makers: list[Make] = []
        # The form is one of Python's own, in which a percent sign of the text is doubled.
        self._form = b"".join([self._piece(found, values) for found in _PLACEHOLDER.finditer(data)])

    @property
    def is_fixed(self) -> bool:
        """Whether all messages have the same bytes."""
        return not self._makers

    def fill(self) -> bytes:
        """Return the bytes for the message that the values are those of."""
        return self._form % tuple([make() for make in self._makers])

    def text(self) -> str:
        """Return the text for the message that the values are those of."""
        return self.fill().decode("utf-8", "surrogateescape")

    def _piece(self, found: re.Match[bytes], values: TemplateValues) -> bytes:
        """Return the part of the form for text or for a placeholder."""
        long, short = found.groups()
        if long is None and short is None:
            return found[0]
        if short in values.fixed:
            return _fixed(found, values)
        try:
            self._makers.append(_named(long, values) if short is None else values.letters[short])
        except ValueError as error:
            raise ValueError(f"{_place(found)}: {error}") from None
        except KeyError:
            raise ValueError(_unknown(found, values)) from None
        return b"%b"


def _fixed(found: re.Match[bytes], values: TemplateValues) -> bytes:
    value = values.fixed[found["short"]]
    if value is None:
        raise ValueError(f"{_place(found)}: %u stands for the user name, but there is none")
    return value.replace(b"%", b"%%")


def _place(found: re.Match[bytes]) -> str:
    return f"template, byte {found.start() + 1}"


def _unknown(found: re.Match[bytes], values: TemplateValues) -> str:
    if found["short"] == b"(":
        return f"{_place(found)}: '%(' has no ')' that ends it"
    known = [f"%{name.decode()}" for name in (*values.letters, *values.fixed)]
    known += [f"%({name.decode()})" for name in _NAMED]
    return f"{_place(found)}: '{found[0].decode(errors='replace')}' is none of {', '.join(known)}"


def _encoded(text: str) -> bytes:
    # What is not UTF-8 in the arguments reaches Python as lone surrogates; give back its bytes.
    return text.encode("utf-8", "surrogateescape")


# the placeholders with names


def _named(text: bytes, values: TemplateValues) -> Make:
    """Return what makes the value of a placeholder in parentheses; raises KeyError for an unknown name, ValueError."""
    name, _, given = text.partition(b" ")
    return _NAMED[name](given, values)


def _count(given: bytes, values: TemplateValues) -> Make:
    words = given.split()
    if len(words) > 2 or not all(map(_WHOLE.fullmatch, words)):
        raise ValueError("%(count) takes a whole number to start with and a step, such as %(count 100 5)")
    start, step = (*map(int, words), *(1, 1)[len(words) :])
    return lambda: b"%d" % (start + (values.number - 1) * step)


def _time(given: bytes, values: TemplateValues) -> Make:
    if not given:
        return values.iso
    unit_ns = {b"s": SECOND_NS, b"ms": SECOND_NS // 1000}.get(given)
    if unit_ns is None:
        raise ValueError("%(time) takes s or ms, for seconds or milliseconds since 1970")
    return lambda: b"%d" % (values.time_ns // unit_ns)


def _random(given: bytes, values: TemplateValues) -> Make:
    words = [_NUMBER.fullmatch(word) for word in given.split()]
    if len(words) != 2 or None in words:
        raise ValueError("%(random) takes the lowest and the highest number, such as %(random 18.0 24.5)")
    digits = max(len(word[3] or b"") for word in words if word)
    low, high = (int(word[1] + word[2] + (word[3] or b"").ljust(digits, b"0")) for word in words if word)
    if low > high:
        raise ValueError(f"no number is from {given.decode().replace(' ', ' to ', 1)}")
    randint = values.random.randint
    if not digits:
        return lambda: b"%d" % randint(low, high)
    return lambda: _decimal(randint(low, high), digits)


def _decimal(scaled: int, digits: int) -> bytes:
    text = b"%0*d" % (digits + 1, abs(scaled))
    return b"%b%b.%b" % (b"-" if scaled < 0 else b"", text[:-digits], text[-digits:])


def _choice(given: bytes, values: TemplateValues) -> Make:
    choices = [b""]
    for token in _TOKEN.findall(given):
        if token == b"|":
            choices.append(b"")
        else:
            choices[-1] += token[1:] if token.startswith(b"%") else token
    if len(choices) < 2:
        raise ValueError("%(choice) takes values with | between them, such as %(choice on|off)")
    choice = values.random.choice
    return lambda: choice(choices)


def _uuid(given: bytes, values: TemplateValues) -> Make:
    if given:
        raise ValueError("%(uuid) takes nothing else")
    from uuid import UUID

    bits = values.random.getrandbits
    return lambda: str(UUID(int=bits(128), version=4)).encode()


def _column(given: bytes, values: TemplateValues) -> Make:
    columns, name = values.columns, re.sub(rb"%(.)", rb"\1", given).decode(errors="replace")
    if columns is None:
        raise ValueError("%(column) is a cell of a row of --csv, and what this fills is not made of rows")
    places = [place for place, column in enumerate(columns) if column == name]
    if not places:
        named = ", ".join(f"'{column}'" for column in columns[:MOST_NAMED])
        more = f" and {len(columns) - MOST_NAMED} more" if columns[MOST_NAMED:] else ""
        raise ValueError(f"the CSV file has no column '{name}', but {named}{more}")
    if places[1:]:
        raise ValueError(f"the CSV file has {len(places)} columns '{name}'")
    place = places[0]
    return lambda: values.row[place]


_NAMED: dict[bytes, Callable[[bytes, TemplateValues], Make]] = {
    b"count": _count, b"time": _time, b"random": _random, b"choice": _choice, b"uuid": _uuid, b"column": _column,
}  # fmt: skip
