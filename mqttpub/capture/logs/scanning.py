"""Lines one after another: the runs in each, and what headings and words say of them."""

import re
from collections.abc import Container

from ..text.source import BadText
from .assembly import Run
from .cleaning import BLANK, LogLine
from .directions import INITIALS, Mark, mark_of, stamp_arrow
from .numbers import Form, Found, cells, found_numbers, lone_number, template
from .quoted import found_base64, found_strings

WORDED = re.compile(r"[^\W\d_]{2,}|[^\W\d_a-fA-F]")
_ABOUT = re.compile(
    r"mqtt|packet|\bpkt|byte|payload|\bhex|buf|data|dump|\braw\b|frame|\bmsg|message|publish|\bpub(?:ack|rec|rel|comp)"
    r"|conn(?:ect|ack)|sub(?:scribe|ack)|ping(?:req|resp)",
    re.IGNORECASE,
)
_TLS = re.compile(r"(?:>>>|<<<) (?:TLS|SSL|DTLS) ?[\d.]+,? ")
_OF_OTHERS = re.compile(
    r"\s*+(?:\(\d+\.\d+\)\s++)?v?s?l?can\d++\s++(?:[TR]X\s.*?)?[0-9A-Fa-f]{3,8}(?:#|\s++\[\d\])"
    r"|\s*+[0-9a-f]++:\t(?:[0-9a-f]{2} )++[ ]*+\t[a-z(]"
)
"""Frames of a CAN bus (candump) and machine code (objdump -d), which are bytes, but of something else."""
_LEFT_OUT = re.compile(r"[ \t,]{0,2}(?<!  )(?:\.\.|\u2026)")
_MISTYPED = re.compile(r"(?:[ \t]|[ \t]*[,:;-][ \t]*)([^\W_]{2})(?!\w)")
"""Two characters that follow a run of bytes as one more byte would."""
_LISTS = ("bytes", "row", "string", "list")
_MOST_FOUND = 64
"""Runs in a line, at most."""
_MOST_BEFORE = 200
"""Characters before a run in which words may describe it."""
_CELLS = ",;\t|"
"""What divides the columns of a table."""
_SHORT = 5
"""Characters of digits that may as well be a port."""
_MASK = "\1"
"""Stands for each character of what may be bytes."""
_AT_END = re.compile(rf"[\s\]}})>\"'.;,{BLANK}]*+$|\s{{2}}|[ ]?[|<]")
_INDENTED = re.compile(r"\s|[\]})]")
_RULER = re.compile(r"[\s|+=_*`~.-]*+$")


class Scanner:
    """Finds the runs of lines, in order, but for those of which the line says that bytes were left out."""

    def __init__(self, known: Container[Form]) -> None:
        self._known = known
        self.stamp_arrows = False
        """Whether an arrow after the time says nothing of the direction."""
        self.quoted = False
        """Whether every line begins with the mark of a quotation."""
        self._heading: Mark | None = None
        self._about = False
        self._new = False
        """Whether a heading stands above that no run has followed yet."""
        self._own: Mark | None = None
        self._last: Mark | None = None
        self._label = ""
        self._alone = False
        """Whether the heading stands on a line without bytes."""
        self._above = ""

    def begin(self, lines: list[LogLine]) -> None:
        """Look at the first lines together."""
        stamped = [line for line in lines if stamp_arrow(line.text, line.bare)]
        back = re.compile(rf"\s*+{BLANK}+[ ]?<-[ ]")
        self.stamp_arrows = bool(stamped) and not any(back.match(line.bare) for line in lines)
        shown = [line for line in lines if line.text.strip()]
        quoted = len(shown) > 2 and all(line.text.startswith(">") for line in shown)
        self.quoted = quoted and any(WORDED.search(line.bare) for line in shown)

    def runs(self, line: LogLine) -> list[Run]:
        """Return what may be bytes in a line; raises BadText for a log of TLS."""
        text, bare = line.text, line.bare
        if self.quoted and text.startswith(">"):
            text, bare = " " + text[1:], " " + bare[1:]
        if self.stamp_arrows and stamp_arrow(text, bare):
            bare = bare.replace("->", "  ", 1)
            text = text.replace("->", "  ", 1)
        if _OF_OTHERS.match(text):
            return []
        if _TLS.match(text):
            message = "a TLS message of openssl -msg holds no MQTT that can be read"
            raise BadText(message, line.number, 1, line.text)
        found = _found(text, INITIALS.sub(_masked, bare) if "C" in bare else bare, self._known)
        self._look(found, text, bare)
        return [run for each in found if (run := self._run(line, each, bare))]

    def _look(self, found: list[Found], text: str, bare: str) -> None:
        """Note what a line says of itself and of those after it."""
        self._own = None
        outside = _outside(found, bare)
        if outside.strip(f" \t{BLANK}{_MASK}"):
            self._own = mark_of(_ends_of(_outside(found, text)), _ends_of(outside))
        worded = WORDED.search(outside) is not None
        found = [each for each in found if _counts(each)]
        if self._own or (worded and not found):
            self._above = text
        if self._own:
            self._heading, self._new, self._about = self._own, True, True
            self._alone = not found
            if self._own.kind == "modem":
                # What follows a command is the answer of the modem.
                self._own, self._heading = Mark(self._own.side, "word"), Mark("<", "word")
        elif worded and not found and not _INDENTED.match(text):
            self._heading, self._new, self._about = None, False, _ABOUT.search(outside) is not None
            self._label = template(outside)
        elif not found and not _RULER.match(text) and _ABOUT.search(outside):
            self._about = True

    def _run(self, line: LogLine, found: Found, bare: str) -> Run | None:
        begin = found.start if found.lead < 0 else found.lead
        before = bare[max(0, begin - _MOST_BEFORE) : begin]
        words = WORDED.search(before) is not None
        if _LEFT_OUT.match(bare, found.end) and not found.column and found.form[0] != "row":
            return None
        if (
            not before.strip(" \t>")
            and found.form[0] == "bytes"
            and _MISTYPED.match(bare, found.end)
            and not found.column
        ):
            return None
        mark = self._own or (self._heading if not words or self._alone else None)
        if mark is None:
            indent = "\t" if bare.startswith("\t") else " "
            column = sum(map(before.count, _CELLS))
            label = template(before) if words else self._label
            mark = Mark(f"{indent} {label}{f' column{column}' if column else ''}", "label")
        starts = self._own is not None or self._new
        self._new = False
        labelled = mark.kind in ("end", "word", "pair") or self._about or _ABOUT.search(before) is not None
        ends = _AT_END.match(bare, found.end) is not None
        after, self._last = self._last, mark
        return Run(line, found, mark, starts, labelled, not words, "" if words else self._above, after, ends)


def _found(text: str, bare: str, known: Container[Form]) -> list[Found]:
    """Return what may be bytes in a line; beside a form that is `known` to hold packets, no other form counts."""
    numbers = found_numbers(bare)
    if "\\" not in text and any(each.form in known for each in numbers):
        return numbers[:_MOST_FOUND]
    found = found_strings(text) if "\\" in text or '"' in text or "'" in text else []
    spans = [(each.start, each.end) for each in found if "\\" in each.tokens[0]]
    found += (each for each in numbers if not any(start <= each.start < end for start, end in spans))
    if not any(each.form[0] in _LISTS and len(each.tokens) != 2 for each in found) and (lone := lone_number(bare)):
        found.append(lone)
    if "," in bare or ";" in bare or "\t" in bare:
        found += cells(bare)
    found += found_base64(bare)
    return found[:_MOST_FOUND]


def _ends_of(text: str) -> str:
    """Return the beginning and the end of a long line, where words on all of it stand."""
    return text if len(text) <= 4 * _MOST_BEFORE else text[: 2 * _MOST_BEFORE] + _MASK + text[-2 * _MOST_BEFORE :]


def _masked(found: re.Match[str]) -> str:
    return _MASK * len(found[0])


def _counts(found: Found) -> bool:
    """Whether a line with this is one of bytes, not one of words with some numbers."""
    if found.form[0] in ("single", "cell", "base64"):
        return False
    return found.form[0] != "bytes" or len(found.tokens) > 2 or max(map(len, found.tokens)) > 1


def _outside(found: list[Found], text: str) -> str:
    """Return a line without what may be bytes, and without the text column after them."""
    parts, at = list[str](), 0
    for each in sorted(found, key=lambda each: each.start):
        if each.form[0] in ("cell", "base64", "single") or (
            each.form[0] == "joined" and each.end - each.start <= _SHORT
        ):
            continue
        end = len(text) if each.column or each.form[0] == "row" else each.end
        if end > at:
            parts += (text[at : each.start], _MASK * (end - max(at, each.start)))
            at = end
    return "".join(parts) + text[at:]
