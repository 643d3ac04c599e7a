"""Man pages, written from the commands; `pytest --update` puts them into completions/man/."""

import re
from collections.abc import Iterator

import click

from mqttpub import __version__
from mqttpub.cli.flags.base import ALL_FLAGS, PlainHelp
from mqttpub.cli.main import program
from tests.documents import guide

DATE = "2026-11-23"
"""The day that stands at the foot of each page."""
FOOT = r"""
.SH EXIT STATUS
{statuses}
.SH ENVIRONMENT
Each flag of a command that connects has a variable,
.B MQTTPUB_
and its long name, such as
.BR MQTTPUB_KEEP_ALIVE ;
of a flag that may be repeated, every line is one value.
.BR MQTTPUB_PAGER ,
.BR PAGER ,
.BR NO_COLOR ,
.B FORCE_COLOR
and
.B CLICOLOR_FORCE
decide about the pager and colour.
.SH FILES
.TP
.I ~/.config/mqttpub/config.toml
Named sets of flags,
.BR [profile.NAME] ,
for
.BR \-\-profile .
"""


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    context = click.Context(program, info_name="mqttpub")
    return {f"{'-'.join(names)}.1": page for names, page in _pages(context, ("mqttpub",))}


def _pages(context: click.Context, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    command = context.command
    children: list[tuple[str, click.Command]] = []
    if isinstance(command, click.Group):
        found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
        children = [(name, child) for name, child in found if child]
    yield names, "\n".join(_page(context, names, [(name, _about(child)) for name, child in children])) + "\n"
    for name, child in children:
        yield from _pages(click.Context(child, info_name=name, parent=context), (*names, name))


def _page(context: click.Context, names: tuple[str, ...], children: list[tuple[str, str]]) -> Iterator[str]:
    command, title = context.command, "-".join(names)
    yield f'.TH {_plain(title.upper())} 1 {DATE} "mqttpub {__version__}"'
    yield ".SH NAME"
    yield f"{_plain(title)} \\- {_plain(_about(command).rstrip('.'))}"
    yield ".SH SYNOPSIS"
    pieces = " ".join(_word(piece) for piece in command.collect_usage_pieces(context))
    yield f"\\fB{_plain(' '.join(names))}\\fP {pieces}"
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate((command.help or "").split("\n\n")):
        if number:
            yield ".PP"
        yield _text(" ".join(paragraph.split()))
    if children:
        yield ".SH COMMANDS"
        yield from (f".TP\n.BR {_plain('-'.join((*names, name)))} (1)\n{_text(about)}" for name, about in children)
    yield from _options(context)
    if isinstance(command, PlainHelp) and command.examples:
        yield ".SH EXAMPLES\n.nf"
        yield from map(_plain, command.examples)
        yield ".fi"
    if len(names) == 1:
        rows = re.findall(
            r"^\| ([\d, ]+) \| (.*) \|$", guide("exit-status").read_text().split("\n## ")[0], re.MULTILINE
        )
        yield FOOT.strip("\n").format(statuses="\n".join(f".TP\n.B {status}\n{_text(text)}" for status, text in rows))
    yield ".SH SEE ALSO"
    yield r"\fBmqttpub help\fP lists guides." if len(names) == 1 else f".BR {_plain('-'.join(names[:-1]))} (1)"


def _options(context: click.Context) -> Iterator[str]:
    yield ".SH OPTIONS"
    context.meta[ALL_FLAGS] = True
    before = ""
    for param in context.command.get_params(context):
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is None:
            continue
        group = getattr(param, "group", "") or (before and "Other")
        if group != before:
            yield f".SS {_plain(group)}"
            before = group
        names, help = record
        yield f".TP\n{' '.join(map(_word, names.split(' ')))}\n{_text(help)}"


def _about(command: click.Command) -> str:
    """Return the first sentence of the help of a command."""
    return command.get_short_help_str(200)


def _word(word: str) -> str:
    """Return a word of a synopsis: names of flags bold, values italic."""
    return f"\\f{'B' if word.startswith('-') else 'I'}{_plain(word)}\\fP" if any(map(str.isalnum, word)) else word


def _text(text: str) -> str:
    """Return running text, in which code between backticks is bold."""
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fP", _plain(text))


def _plain(text: str) -> str:
    """Return text in which nothing is taken for a request of roff."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti").replace("^", r"\(ha")
    return f"\\&{text}" if text.startswith((".", "'")) else text
