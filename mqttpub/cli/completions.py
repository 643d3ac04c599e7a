"""Shell completion scripts, generated from the commands.

click's own completion starts Python for each Tab, about 0.1 s; these scripts start nothing, except to list
profiles.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from .registry import PERSONALITIES

FILES = ("FILE", "DIRECTORY", "OPTIONS_FILE", "PATH", "SOCKET_PATH")
"""Names of values that are paths, in the usage of other clients."""


class OptionWords(NamedTuple):
    """One option of a command."""

    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool
    takes_path: bool
    listing: str
    """Arguments with which the program prints the possible values, such as `profile list`."""


class CommandWords(NamedTuple):
    """One command and the words that can follow it."""

    path: tuple[str, ...]
    help: str
    options: tuple[OptionWords, ...]
    words: tuple[str, ...]
    """Subcommands, or the choices of its first argument."""
    paths: bool
    """Whether its arguments can be files."""
    listing: str
    """Arguments with which the program prints the possible values of its first argument."""


def script(shell: str) -> str:
    """Return the completion script of bash, zsh or fish."""
    from .main import program

    context = click.Context(program, info_name="mqttpub")
    first, *others = _nodes(program, context, ())
    first = first._replace(words=(*first.words, *PERSONALITIES))
    return WRITERS[shell]([first, *others, *_others()])


def _others() -> Iterator[CommandWords]:
    """Yield the words of the lines of other clients."""
    from .compat.mosquitto.usage import option_rows
    from .compat.mqttx.grammar import NONE
    from .compat.mqttx.options import OPTIONS

    for name in ("mosquitto_pub", "mosquitto_sub", "mosquitto_rr"):
        shown = [_other(tuple(names), value) for names, value in option_rows(name.removeprefix("mosquitto_"))]
        yield CommandWords((name,), PERSONALITIES[name], tuple(shown), (), False, "")
    shown = [_other(("--help",)), _other(("--version",))]
    yield CommandWords(("mqttx",), PERSONALITIES["mqttx"], tuple(shown), tuple(OPTIONS), False, "")
    for name, rows in OPTIONS.items():
        shown = [_other(row.names, "" if row.value == NONE else row.metavar) for row in rows if not row.refusal]
        yield CommandWords(("mqttx", name), "", tuple(shown), (), False, "")


def _other(names: tuple[str, ...], value: str = "") -> OptionWords:
    """Return an option of another client; `value` is the name of its value in the usage, which may list the choices."""
    return OptionWords(names, "", tuple(value.split("/")) if "/" in value else (), bool(value), value in FILES, "")


def _nodes(command: click.Command, context: click.Context, path: tuple[str, ...]) -> Iterator[CommandWords]:
    words: list[str] = []
    paths = False
    listing = ""
    if isinstance(command, click.Group):
        words = command.list_commands(context)
    for param in command.params:
        if isinstance(param, click.Argument):
            words += _choices(param)
            listing = listing or _listing(param)
            paths = paths or not (words or listing)
    shown = [param for param in command.get_params(context) if isinstance(param, click.Option) and not param.hidden]
    options = [_entry(param) for param in shown]
    yield CommandWords(path, command.get_short_help_str(60), tuple(options), tuple(words), paths, listing)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            inner = click.Context(child, info_name=name, parent=context)
            yield from _nodes(child, inner, (*path, name))


def _choices(param: click.Parameter) -> list[str]:
    """Return the values of a parameter, or those that people type."""
    if isinstance(param.type, click.Choice):
        return [str(choice) for choice in param.type.choices]
    # A metavar such as 0|1|2 lists the values that the help recommends.
    shown = (param.metavar or param.type.name).strip("[]").split("|")
    return shown if shown[1:] else list(getattr(param.type, "suggestions", ()))


def _listing(param: click.Parameter) -> str:
    return str(getattr(param.type, "listing", ""))


def _entry(option: click.Option) -> OptionWords:
    shown = getattr(option, "shown", None)
    names = shown() if shown else [*option.opts, *option.secondary_opts]
    help = (option.help or "").split("\n")[0]
    path = isinstance(option.type, click.Path)
    return OptionWords(
        tuple(names), help, tuple(_choices(option)), not (option.is_flag or option.count), path,
        _listing(option),
    )  # fmt: skip


# bash


def _bash(nodes: list[CommandWords]) -> str:
    cases = "\n".join(_bash_case(node) for node in nodes)
    values = "\n".join(_bash_values(nodes))
    return _BASH.format(cases=cases, values=values, parents=_parents(nodes))


def _bash_case(node: CommandWords) -> str:
    options = " ".join(name for entry in node.options for name in entry.names)
    files = " files=1" if node.paths else ""
    listing = f" listing='{node.listing}'" if node.listing else ""
    return f"        '{' '.join(node.path)}') options='{options}' words='{' '.join(node.words)}'{files}{listing} ;;"


def _bash_values(nodes: list[CommandWords]) -> Iterator[str]:
    for node in nodes:
        for entry in node.options:
            if entry.takes_value:
                what = "=files" if entry.takes_path else " ".join(entry.choices)
                what = f"=listing' listing='{entry.listing}" if entry.listing else what
                names = "|".join(f"'{' '.join(node.path)} {name}'" for name in entry.names)
                yield f"        {names}) values='{what}' ;;"


def _parents(nodes: list[CommandWords]) -> str:
    return "|".join(f"'{' '.join(node.path)}'" for node in nodes if node.path)


_BASH = """\
# Completion of mqttpub for bash; written by `mqttpub completion bash`.

# Not compgen -W, which runs what it finds in its words.
_mqttpub_matching() {{
    local -a words
    local each
    read -r -d '' -a words <<<"$1"
    for each in "${{words[@]}}"; do
        [[ $each == "$current"* ]] && COMPREPLY+=("$each")
    done
}}

_mqttpub_files() {{
    local each
    while IFS= read -r each; do
        COMPREPLY+=("$each")
    done < <(compgen -f -- "$current")
}}

_mqttpub() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command='' try word index options='' words='' files='' values=none listing=''
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${{COMP_WORDS[index]}}
        try=${{command:+$command }}$word
        case "$try" in
            {parents}) command=$try ;;
        esac
    done
    case "$command" in
{cases}
    esac
    case "$command $previous" in
{values}
    esac
    COMPREPLY=()
    if [[ $values == =files ]]; then
        _mqttpub_files
    elif [[ $values == =listing || ($values == none && $listing && $current != -*) ]]; then
        _mqttpub_matching "$("${{COMP_WORDS[0]}}" $listing 2>/dev/null)"
    elif [[ $values != none ]]; then
        _mqttpub_matching "$values"
    elif [[ $current == -* ]]; then
        _mqttpub_matching "$options"
    else
        _mqttpub_matching "$words"
        [[ $files ]] && _mqttpub_files
    fi
}}

complete -o filenames -F _mqttpub mqttpub
"""


# zsh


def _zsh(nodes: list[CommandWords]) -> str:
    cases = "\n".join(_zsh_case(node) for node in nodes)
    return _ZSH.format(cases=cases, parents=_parents(nodes))


def _zsh_case(node: CommandWords) -> str:
    rows = [f"            '{row}'" for entry in node.options for row in _zsh_rows(entry)]
    words = [f"            '*: :({' '.join(node.words)})'"] if node.words else []
    words += [f"            '1:name:{_zsh_listing(node.listing)}'"] if node.listing else []
    files = ["            '*: :_files'"] if node.paths and not node.words else []
    rows = [*rows, *words, *files]
    return f"        '{' '.join(node.path)}') specs=(\n" + "\n".join(rows) + "\n        ) ;;"


def _zsh_rows(entry: OptionWords) -> Iterator[str]:
    help = entry.help
    for old, new in (("\\", "\\\\"), ("[", "("), ("]", ")"), (":", "\\:"), ("'", "'\\''")):
        help = help.replace(old, new)
    what = ""
    if entry.takes_value:
        action = "_files" if entry.takes_path else f"({' '.join(entry.choices)})" if entry.choices else " "
        action = _zsh_listing(entry.listing) if entry.listing else action
        what = f":value:{action}"
    yield from (f"*{name}[{help}]{what}" for name in entry.names)


def _zsh_listing(listing: str) -> str:
    return f"{{_mqttpub_listed {listing}}}"


_ZSH = """\
#compdef mqttpub
# Completion of mqttpub for zsh; written by `mqttpub completion zsh`.

_mqttpub_listed() {{
    local -a names
    names=(${{(f)"$(_call_program names $_mqttpub_program "$@" 2>/dev/null)"}})
    compadd -a names
}}

_mqttpub() {{
    local command='' try index named=1 _mqttpub_program=$words[1]
    local -a specs
    for ((index = 2; index < CURRENT; index++)); do
        try=${{command:+$command }}${{words[index]}}
        case "$try" in
            {parents}) command=$try named=$index ;;
        esac
    done
    case "$command" in
{cases}
    esac
    # For _arguments a command begins where its own options do.
    shift $((named - 1)) words
    ((CURRENT -= named - 1))
    _arguments $specs
}}

if [ "$funcstack[1]" = _mqttpub ]; then
    _mqttpub "$@"
else
    compdef _mqttpub mqttpub
fi
"""


# fish


def _fish(nodes: list[CommandWords]) -> str:
    lines = [_FISH]
    for node in nodes:
        lines += _fish_lines(node)
    return "\n".join(lines) + "\n"


def _fish_lines(node: CommandWords) -> Iterator[str]:
    at = f"complete -c mqttpub -n '__mqttpub_at {' '.join(node.path)}'".replace("at '", "at'")
    if node.words:
        yield f"{at} -f -a '{' '.join(node.words)}'"
    elif node.listing:
        yield f"{at} -f -a '(mqttpub {node.listing} 2>/dev/null)'"
    elif node.paths:
        yield f"{at} -F"
    for entry in node.options:
        names = " ".join(_fish_name(name) for name in entry.names)
        help = entry.help.replace("\\", "\\\\").replace("'", "\\'")
        yield f"{at} {names}{_fish_value(entry)} -d '{help}'"


def _fish_value(entry: OptionWords) -> str:
    if not entry.takes_value:
        return ""
    if entry.listing:
        return f" -x -a '(mqttpub {entry.listing} 2>/dev/null)'"
    return " -r -F" if entry.takes_path else f" -x -a '{' '.join(entry.choices)}'" if entry.choices else " -x"


def _fish_name(name: str) -> str:
    if name.startswith("--"):
        return f"-l {name[2:]}"
    return f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}"


_FISH = """\
# Completion of mqttpub for fish; written by `mqttpub completion fish`.

function __mqttpub_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l named
    for word in $words
        string match -q -- '-*' $word; and break
        set -a named $word
    end
    test "$named" = "$argv"
end

complete -c mqttpub -f"""

WRITERS: dict[str, Callable[[list[CommandWords]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
