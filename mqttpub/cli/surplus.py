"""Arguments that belong to no flag: where they stand, and what was probably meant."""

from collections.abc import Sequence

import click

from .flags.mqttx_letters import count, surplus


class _GivenWord(str):
    """A word that is found again by identity, though others may be equal."""


def too_many(ctx: click.Context, rest: Sequence[str], words: Sequence[str] = ()) -> str:
    """Return the message for the surplus arguments `rest` among the words of a command line.

    It says where they are but does not repeat them, because they may be secret.
    """
    if meant := surplus(ctx, rest):
        return meant
    many, first = f"{count(rest)} too many", "" if len(rest) == 1 else "the first "
    if not words:
        return f"{many}; quote values that contain blanks"
    before = _before(ctx, words)
    if not before:
        return f"{many}, {first}in front of all flags; {_usual(ctx)}"
    flag, takes_value = before
    if takes_value:
        return f"{many}, {first}after the value of {flag}; quote a value that contains blanks: 'a b'"
    return f"{many}, {first}after {flag}, which takes no value; {_usual(ctx)}"


def _before(ctx: click.Context, words: Sequence[str]) -> tuple[str, bool] | None:
    """Return the flag in front of the first surplus argument, and whether it takes a value; None if there is none."""
    marked = [_GivenWord(word) for word in words]
    _, rest, _ = ctx.command.make_parser(ctx).parse_args(list(marked))
    at = next(number for number, word in enumerate(marked) if word is rest[0])
    flags = {
        name: param for param in ctx.command.params if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }  # fmt: skip
    for word in reversed(words[:at]):
        # A value may be attached: --message=x, -mx.
        for name in (word, word.partition("=")[0], word[:2]):
            if flag := flags.get(name):
                return name, not flag.is_flag and not flag.count
    return None


def _usual(ctx: click.Context) -> str:
    """Return the flags for what people write without one."""
    names = {param.name for param in ctx.command.params}
    if "topic" not in names:
        return "-h is for the broker"
    return "-t is for the topic, -m for the payload" if "message" in names else "-t is for the Topic Filter"
