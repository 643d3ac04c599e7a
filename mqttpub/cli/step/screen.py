"""What the prompts of `step` and of `proxy --intercept` have in common: what they show, and how a line is obeyed."""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence

import click

from ...codec.tree import Finding
from ...common.bad_text import BadText
from ...common.errors import UserError
from ...common.escape import escape
from ...common.words import counted
from ...script.lex import ScriptWord
from ...view.terminal.cells import Line, cells, clip
from .masked import masked_message

COLUMN = 30
"""Cells of the client's column in the state."""
MOST_BYTES = 1024
"""Bytes of a packet that are shown."""
_VARIABLE = re.compile(r"(?<= )(i=)\$m\d+:(\d+)|(?<= )(assigned_client_identifier=)\$\{id\d+:([^}]*)\}")
"""What the writer writes for numbers and identifiers that the broker chose; a $ in quotation marks has a backslash."""
Verbs = Mapping[str, Callable[[ScriptWord], None]]
"""What the user can say, each with what does it, which takes the rest of the line."""


def obey(line: str, verbs: Verbs, otherwise: Callable[[str], None]) -> None:
    """Do what a line says, which is a verb or else for `otherwise`; say what is wrong with it."""
    start = len(line) - len(line.lstrip())
    name, _, rest = line.strip().partition(" ")
    words = ScriptWord(rest.strip(), 1, start + line.strip().find(rest.strip(), len(name)) + 1, line)
    try:
        verbs[name](words) if name in verbs else otherwise(line)
    except BadText as error:
        click.echo(f"column {error.column}: {escape(masked_message(error))}")
    except UserError as error:
        click.echo(escape(str(error)))


def chosen(words: ScriptWord, held: Sequence[object]) -> int | None:
    """Return the index of the packet whose number the user says; None, having said so, where none has it."""
    number = words.text
    if number.isascii() and number.isdecimal() and 1 <= int(number[:9]) <= len(held):
        return int(number) - 1
    click.echo(f"send 1 to {len(held)}" if held else "nothing is held back")
    return None


def state_lines(rows: Iterable[tuple[str, str, str]], held: Iterable[str]) -> list[Line]:
    """Return the state of both ends, escaped rows of a name and two texts, and what is held back."""
    width = max(shutil.get_terminal_size().columns - COLUMN - 10, 10)
    lines: list[Line] = [
        [(f"{name:<10}", "label"), (_cell(one, COLUMN), ""), (clip(other, width), "")] for name, one, other in rows
    ]
    lines += [[(f"held {number:<5}", "label"), (text, "")] for number, text in enumerate(held, 1)]
    return lines


def packet_lines(data: bytes, found: Iterable[Finding]) -> list[Line]:
    """Return the bytes of a packet, and what the rules find in it."""
    left = len(data) - MOST_BYTES
    more = f" and {counted(left, 'more byte')}" if left > 0 else ""
    lines: list[Line] = [[(f"  {data[:MOST_BYTES].hex(' ')}{more}", "dim")]]
    lines += [
        [(f"  {each.severity}  ", each.severity), (f"{escape(each.message)}  {each.statement}", "")] for each in found
    ]
    return lines


def without_variables(text: str) -> str:
    """Return a step with the values that its variables have by default, as they are what the user types next."""
    return _VARIABLE.sub(lambda found: "".join(filter(None, found.groups())), text)


def _cell(text: str, width: int) -> str:
    """Return a text in exactly `width` cells, the last of which is blank."""
    shown = clip(text, width - 1)
    return shown + " " * (width - cells(shown))
