"""Man pages, written from the commands; `pytest --update` puts them into completions/man/."""

import re
from collections.abc import Iterable, Iterator

import click

from mqttpub import __version__
from mqttpub.cli.compat.mosquitto.options import OPTIONS as MOSQUITTO
from mqttpub.cli.compat.mosquitto.usage import LAST
from mqttpub.cli.compat.mqttx.options import OPTIONS as MQTTX
from mqttpub.cli.flags.base import ALL_FLAGS, PlainHelp
from mqttpub.cli.main import program
from mqttpub.cli.registry import PERSONALITIES, load
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
OF_MOSQUITTO = {"mosquitto_pub": "pub", "mosquitto_sub": "sub", "mosquitto_rr": "request"}
"""The command of ours that does what a client of mosquitto does."""


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    context = click.Context(program, info_name="mqttpub")
    found = {f"{'-'.join(names)}.1": page for names, page in _pages(context, ("mqttpub",))}
    return found | {f"mqttpub-{name}.1": "\n".join(_client_page(name)) + "\n" for name in PERSONALITIES}


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
    if len(names) == 1:
        yield ".SS As other clients"
        yield from (f".TP\n.BR {_plain(f'mqttpub-{name}')} (1)\n{_text(text)}" for name, text in PERSONALITIES.items())
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


def _client_page(name: str) -> Iterator[str]:
    """Yield the page of another client: its options, each with the flag of ours that says the same."""
    yield f'.TH {_plain(f"mqttpub-{name}".upper())} 1 {DATE} "mqttpub {__version__}"'
    yield ".SH NAME"
    yield f"{_plain(f'mqttpub-{name}')} \\- {_plain(PERSONALITIES[name].rstrip('.'))}"
    yield ".SH SYNOPSIS"
    commands = [f"{name} {command}" for command in MQTTX] if name == "mqttx" else [name]
    yield "\n.br\n".join(f"\\fBmqttpub {_plain(command)}\\fP [\\fIOPTIONS\\fP]" for command in commands)
    yield ".SH DESCRIPTION"
    yield _text(
        f"Reads a line as {name} does: its options, defaults, output, messages and exit statuses. "
        f"A link named `{name}` to `mqttpub` does the same. `mqttpub help compat` says what differs."
    )
    yield ".PP"
    yield "Below an option is the flag that says the same in a line of mqttpub."
    if name == "mqttx":
        for command, rows in MQTTX.items():
            yield f".SH OPTIONS OF {command.upper()}"
            taken = sorted((row for row in rows if not row.refusal), key=lambda row: row.shown)
            yield from _client_options(
                ((row.names, row.shown, row.ours, "--no-" not in row.shown) for row in taken), command
            )
        ours = tuple(MQTTX)
    else:
        yield ".SH OPTIONS"
        rows_of_it = [
            row for row in dict.fromkeys(MOSQUITTO.values()) if name.removeprefix("mosquitto_") in row.programs
        ]
        rows_of_it.sort(key=lambda row: row.names[0].lstrip("-").lower())
        shown = [(row.names, f"{', '.join(row.names)} {row.metavar}", row.ours, row.flag) for row in rows_of_it]
        shown += [((), f"{', '.join(names)} {value}", "", True) for names, value in LAST]
        yield from _client_options(shown, OF_MOSQUITTO[name])
        ours = (OF_MOSQUITTO[name],)
    yield ".SH SEE ALSO"
    yield ",\n".join(f".BR {_plain(f'mqttpub-{command}')} (1)" for command in ours)


def _client_options(rows: Iterable[tuple[tuple[str, ...], str, str, bool]], command: str) -> Iterator[str]:
    """Yield the options of a client: all names, how they are shown, the flag of ours and what they set it to."""
    flags = {
        name: param
        for param in load(command).params
        if isinstance(param, click.Option) and not param.hidden
        for name in (*param.opts, *param.secondary_opts)
    }
    for names, shown, ours, value in rows:
        yield f".TP\n{' '.join(map(_word, shown.split()))}"
        name = f"--{ours}" if ours else next((each for each in names if each.startswith("--") and each in flags), "")
        if name in flags:
            param = flags[name]
            spellings = param.opts if (value if ours else name in param.opts) else param.secondary_opts
            yield _text(f"`{next(each for each in spellings if each.startswith('--'))}`")


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
