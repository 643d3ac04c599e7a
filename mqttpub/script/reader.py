"""Text into steps.

file  = { line NEWLINE } ;
line  = ( "version" V { V } | [ step { ";" step } ] ) [ comment ] ;
step  = [ "[" NAME "]" ] { "mid" | "@" } [ event ] ;
event = "+" time | "gap" | end | none | packet ;
end   = [ "!" ] ( ( "client" | "server" ) ( "FIN" | "RST" ) | "end" ) ;
none  = ( ">" | "<" ) "none" time ;
packet = [ "!" ] ( ">" | "<" ) [ "?" | "*" ] ( [ "raw" ] hex { hex } | TYPE ) { word } ;
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from ..common.bad_text import BadText
from ..spec.versions import Direction, Version
from ..wire.types import MAX_VARIABLE
from .lex import ScriptWord, shown, steps
from .names import absent, given
from .signs import LABEL, MARKS, SIDES, TYPES
from .steps import (
    EndStep,
    GapStep,
    GivenField,
    GivenProperty,
    MidStep,
    PacketStep,
    Sending,
    SilenceStep,
    Step,
    VersionStep,
    WaitStep,
)
from .values import hex_bytes, time_ns

_HEX = re.compile(r"[0-9a-fA-F]{2}")
_DIGITS = re.compile(r"[0-9]{1,9}")
_ENDS = {">": Direction.CLIENT, "<": Direction.SERVER}
_BEGINS = "a step begins with >, <, +TIME, gap, client, server, end, mid, @ or [NAME]"
_MODIFIERS = ("twice", "overlong", "cut", "slice", "length", "within")
_AFTER_BYTES = ("twice", "cut", "slice", "within")
LONGEST_LINE = 1 << 26
"""Bytes of a line of a script, at most."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def script_lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of the file of a script, without their ends; raises BadText for one of more than LONGEST_LINE.

    A line ends with LF or CR LF and nothing else. A byte order mark at the beginning is not part of the text, and bytes
    that are not UTF-8 are kept by `surrogateescape`.
    """
    return decoded_lines(iter(lambda: file.readline(LONGEST_LINE + 1), b""))


def decoded_lines(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield lines of bytes as `script_lines` does; a line that is too long may come in parts."""
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise BadText(f"the line has more than {LONGEST_LINE:,} bytes", number)
        text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        yield text.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "surrogateescape")


def read_script(lines: Iterable[str]) -> Iterator[Step]:
    """Yield the steps of a script, a line at a time; raises BadText with the place of what is wrong."""
    for number, line in enumerate(lines, 1):
        yield from read_line(line.rstrip("\r\n"), number)


def read_line(line: str, number: int = 1, *, mark: str = "") -> Iterator[Step]:
    """Yield the steps of one line; raises BadText.

    With a `mark`, > or <, a step that begins with `raw` or the name of a packet is of that end.
    """
    found = steps(line, number)
    for words in found:
        if mark and (words[0].text in TYPES or words[0].text == "raw"):
            yield from _step([words[0]._replace(text=mark), *words])
        elif words[0].text != "version":
            yield from _step(words)
        elif len(found) > 1:
            raise words[0].error("version must be the only thing on its line")
        else:
            yield _version(words)


def _version(words: list[ScriptWord]) -> VersionStep:
    known = {version.label: version for version in Version}
    if len(words) == 1:
        raise words[0].error("a version must follow: 3.1, 3.1.1 or 5.0", len(words[0].text))
    for word in words[1:]:
        if word.text not in known:
            raise word.error(f"{shown(word.text)} is not a version (3.1, 3.1.1 or 5.0)")
    return VersionStep(words[0], tuple(known[word.text] for word in words[1:]))


def _step(words: list[ScriptWord]) -> Iterator[Step]:
    label = ""
    if words[0].text.startswith("["):
        found = LABEL.fullmatch(words[0].text)
        if found is None:
            raise words[0].error(f"{shown(words[0].text)} is not the label of a connection, such as [a]")
        label, words = found[1], words[1:]
    while words and words[0].text in ("mid", "@"):
        yield from _opening(words[0], label)
        words = words[1:]
    if words:
        yield _event(words, label)


def _opening(word: ScriptWord, label: str) -> Iterator[Step]:
    if word.text == "mid":
        yield MidStep(label, word)
        return
    for direction, name in ((Direction.CLIENT, "connect"), (Direction.SERVER, "connack")):
        yield PacketStep(label, word, False, direction, TYPES[name])


def _event(words: list[ScriptWord], label: str) -> Step:
    first = words[0]
    if first.text.startswith("+"):
        _last(words, 1)
        return WaitStep(label, first, time_ns(first.cut(1)))
    if first.text == "gap":
        _last(words, 1)
        return GapStep(label, first)
    fault = first.text.startswith("!")
    name = first.text.removeprefix("!")
    if name in SIDES or name == "end":
        return _end(words, label, name, fault)
    marks = MARKS.match(first.text)
    if marks is None:
        raise first.error(f"{shown(first.text)} begins no step; {_BEGINS}")
    rest = first.cut(marks.end())
    following = [rest, *words[1:]] if rest.text else words[1:]
    if not following:
        raise first.error(f"a packet must follow: raw, {', '.join(TYPES)}", len(first.text))
    direction = _ENDS[marks[2]]
    if following[0].text == "none":
        if marks[1] or marks[3]:
            raise first.error("'none' takes neither ! nor ? nor *")
        return _silence(following, label, direction, first)
    return _packet(following, PacketStep(label, first, fault, direction, None, times=marks[3]))


def _last(words: list[ScriptWord], count: int) -> None:
    if len(words) > count:
        raise words[count].error(
            f"{shown(words[count].text)} is one word too many; a semicolon or the end of the line must follow"
        )


def _end(words: list[ScriptWord], label: str, name: str, fault: bool) -> EndStep:
    if name == "end":
        _last(words, 1)
        return EndStep(label, words[0], fault, None, "end")
    how = words[1].text if len(words) > 1 else ""
    if how not in ("FIN", "RST"):
        word = words[1] if len(words) > 1 else words[0]
        raise word.error(f"FIN or RST must follow {name}", 0 if how else len(word.text))
    _last(words, 2)
    return EndStep(label, words[0], fault, SIDES[name], how)


def _silence(words: list[ScriptWord], label: str, direction: Direction, first: ScriptWord) -> SilenceStep:
    if len(words) == 1:
        raise words[0].error("a time must follow, such as none 0.5s", len(words[0].text))
    _last(words, 2)
    return SilenceStep(label, first, direction, time_ns(words[1]))


def _packet(words: list[ScriptWord], step: PacketStep) -> PacketStep:
    name, *rest = words
    if name.text in TYPES:
        step = step._replace(packet=TYPES[name.text])
    elif name.text == "raw" or _HEX.match(name.text):
        digits = rest if name.text == "raw" else words
        count = next((at for at, word in enumerate(digits) if modifier(word)), len(digits))
        if not count:
            raise name.error("bytes in hex must follow raw", len(name.text))
        step, rest = step._replace(raw=b"".join(map(hex_bytes, digits[:count]))), digits[count:]
    else:
        raise name.error(f"{shown(name.text)} is not a packet; raw, hex or one of {', '.join(TYPES)} must stand here")
    return _described(step, rest)


def modifier(word: ScriptWord) -> str:
    """Return the modifier that a word is, such as `cut`; empty if it is none."""
    name = word.text.partition("=")[0]
    return name if name in _MODIFIERS else ""


def _described(step: PacketStep, words: list[ScriptWord]) -> PacketStep:
    said: list[GivenField | GivenProperty] = []
    seen: set[str] = set()
    allowed = _AFTER_BYTES if step.packet is None else _MODIFIERS
    for word in words:
        name = modifier(word)
        if step.packet is None and name not in allowed:
            raise word.error(f"{shown(word.text)} cannot follow bytes ({', '.join(allowed)} can)")
        if name in seen:
            raise word.error(f"{name} stands twice")
        if name:
            seen.add(name)
            step = _modified(step, name, word)
        elif step.packet and word.text.startswith("-"):
            step = step._replace(absent=(*step.absent, absent(word, step.packet)))
        elif step.packet:
            for each in given(word, step.packet):
                if isinstance(each, GivenField):
                    key = f"will.{each.field.key}" if each.of_will else each.field.key
                    if key in seen:
                        raise word.error(f"{each.field.label} stands twice")
                    seen.add(key)
                said.append(each)
    return step._replace(given=tuple(said))


def _modified(step: PacketStep, name: str, word: ScriptWord) -> PacketStep:
    value = word.cut(len(name) + 1)
    if name in _PLAIN:
        if word.text != name:
            raise word.error(f"{name} takes no value", len(name))
        return step._replace(sending=_PLAIN[name](step.sending))
    if not value.text:
        raise word.error(f"{name}= needs a value", len(word.text))
    if name == "within":
        return step._replace(within_ns=time_ns(value))
    return step._replace(sending=_COUNTS[name](step.sending, _count(value, name), value))


def _count(word: ScriptWord, name: str) -> int:
    if not _DIGITS.fullmatch(word.text) or int(word.text) > MAX_VARIABLE:
        raise word.error(f"{shown(word.text)} is not a number of bytes from 0 to {MAX_VARIABLE}")
    if name == "slice" and not int(word.text):
        raise word.error("slice= needs 1 or more bytes")
    return int(word.text)


_PLAIN: dict[str, Callable[[Sending], Sending]] = {
    "twice": lambda sending: sending._replace(twice=True),
    "overlong": lambda sending: sending._replace(overlong=True),
}
_COUNTS: dict[str, Callable[[Sending, int, ScriptWord], Sending]] = {
    "cut": lambda sending, count, word: sending._replace(cut=count, cut_word=word),
    "slice": lambda sending, count, _: sending._replace(slice_bytes=count),
    "length": lambda sending, count, _: sending._replace(length=count),
}
