"""Options with aliases and groups, and where their values come from: command line, environment or profile."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource, augment_usage_errors

F = TypeVar("F", bound=Callable[..., Any])
FlagValues = Mapping[str, Any]
"""What click has made of the flags of a command, by parameter name.

Only the modules that declare flags read it: they turn it into a request with named fields, and nothing below a command
sees it.
"""
ALL_FLAGS = "mqttpub.all_flags"
"""Where a context keeps that its help shows all flags, not only the common ones."""

RANKS = {
    ParameterSource.DEFAULT: 0,
    ParameterSource.DEFAULT_MAP: 1,
    ParameterSource.ENVIRONMENT: 2,
    ParameterSource.PROMPT: 3,
    ParameterSource.COMMANDLINE: 3,
}
"""Precedence of the sources of a value: the highest wins."""
PROFILE = "mqttpub.profile"
"""Key in `Context.meta` under which the Profile in use is kept."""


class Profile(NamedTuple):
    """A named set of values in the configuration file."""

    path: str
    name: str
    keys: dict[str, str]
    """For each parameter it sets, the key it is written under."""


class PlainOption(click.Option):
    """An option whose help is as it is written; click would import `inspect`, in 5 ms, to look for indentation."""

    def __init__(self, *given: Any, help: str | None = None, **attributes: Any) -> None:
        super().__init__(*given, **attributes)
        self.help = help


class Flag(PlainOption):
    """An option that answers to more names than its help shows.

    `group` is the heading of the help under which it stands. `--help` shows the flags that are `common`, and
    `--help-all` shows all; a command without a common flag has one help with everything.
    """

    def __init__(
        self,
        names: Iterable[str],
        *,
        aliases: Iterable[str] = (),
        group: str = "",
        common: bool = False,
        **attributes: Any,
    ) -> None:
        aliases = list(aliases)
        # click names the parameter after the first long option, so the shown names come first.
        super().__init__([*names, *aliases], **attributes)
        self.aliases = frozenset(alias.lstrip(" /") for alias in aliases)
        self.group = group
        self.common = common
        self.optional = attributes.get("is_flag") is False
        """Whether the value is optional."""

    def shown(self) -> list[str]:
        """Return the names shown in help and completion."""
        return [name for name in (*self.opts, *self.secondary_opts) if name not in self.aliases]

    @property
    def long(self) -> str:
        """The long name, used in messages and to form the environment variable."""
        shown = [name for name in self.shown() if name not in self.secondary_opts]
        return next((name for name in shown if name.startswith("--")), shown[-1])

    @property
    def variable(self) -> str:
        """The environment variable that commands which connect read its value from."""
        return f"MQTTPUB_{self.long.lstrip('-').replace('-', '_').upper()}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the row of the help, without the aliases."""
        every = self.opts, self.secondary_opts
        self.opts, self.secondary_opts = ([name for name in names if name not in self.aliases] for names in every)
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts, self.secondary_opts = every

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return the value of the environment variable, for commands that read the environment."""
        if ctx.auto_envvar_prefix is None:
            return None
        return os.environ.get(self.variable) or None

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """Return the value from the environment; for a repeatable flag, each line is one value."""
        value = super().value_from_envvar(ctx) if not self.multiple else self.resolve_envvar_value(ctx)
        return value.split("\n") if self.multiple and value is not None else value

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """Return the value and its source; record the source before conversion, as click does since 8.5."""
        value, source = super().consume_value(ctx, opts)
        ctx.set_parameter_source(self.name, source)
        return value, source

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the converted value; an error names where the value came from."""
        try:
            return super().process_value(ctx, value)
        except click.BadParameter as error:
            error.param_hint = error.param_hint or origin(ctx, self)
            raise


def has_short_help(command: click.Command) -> bool:
    """Return whether `--help` of a command leaves out the flags that are not common."""
    return any(isinstance(param, Flag) and param.common for param in command.params)


class PlainHelp(click.Command):
    """A command whose --help is a PlainOption, and whose help ends with examples."""

    _own_help: click.Option | None = None

    def __init__(self, *given: Any, examples: Iterable[str] = (), **more: Any) -> None:
        self.examples = tuple(examples)
        super().__init__(*given, **more)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option, which is made once; None if the command has a flag of that name."""
        names = self.get_help_option_names(ctx)
        if names and self._own_help is None:
            self._own_help = PlainOption(
                names, is_flag=True, is_eager=True, expose_value=False, callback=_show_help,
                help="Show this message and exit.",
            )  # fmt: skip
        return self._own_help

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in self.examples))


class CommandGroup(PlainHelp, click.Group):
    """A command with subcommands."""


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Command(PlainHelp):
    """A command whose help has a heading for each group of options."""

    def __init__(self, *given: Any, **more: Any) -> None:
        more["context_settings"] = {
            "help_option_names": ["--help"], "max_content_width": 100, **more.get("context_settings", {})
        }  # fmt: skip
        super().__init__(*given, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; every error of usage knows the command, so that its message begins with it."""
        with augment_usage_errors(ctx):
            return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group: all of them, or those that are common."""
        short = has_short_help(self) and not ctx.meta.get(ALL_FLAGS)
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if not isinstance(param, click.Option) or not (record := param.get_help_record(ctx)):
                continue
            rest = "Options" if not groups or "Options" in groups else "Other"
            shown = groups.setdefault(getattr(param, "group", "") or rest, [])
            if not short or getattr(param, "common", False):
                shown.append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if short:
            others = ", ".join(title for title, records in groups.items() if not records and title != "Other")
            formatter.write_paragraph()
            formatter.write_text(f"More flags: --help-all{f' (also {others})' if others else ''}.")


def flag(*names: str, aliases: Iterable[str] = (), **attributes: Any) -> Callable[[F], F]:
    """Declare a Flag."""
    return click.option(*names, cls=Flag, aliases=aliases, **attributes)


SECRETS_FLAG = flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data.")
FULL_FLAG = flag("--full", is_flag=True, help="Show every byte of a long field.")


def parameter(name: str) -> str:
    """Return the name of the parameter that click makes of a long flag such as --key-log."""
    return name.lstrip("-").replace("-", "_")


def together(*options: Callable[[F], F], group: str = "", common: bool = False) -> Callable[[F], F]:
    """Return one decorator for several options, shown in the order given.

    Those without a group of their own join `group`; `common` makes all of them common.
    """

    def decorate(function: F) -> F:
        before = len(getattr(function, "__click_params__", ()))
        for option in reversed(options):
            function = option(function)
        for made in function.__click_params__[before:]:  # type: ignore[attr-defined]
            made.group = made.group or group
            made.common = made.common or common
        return function

    return decorate


def ready(made: Iterable[Flag]) -> Callable[[F], F]:
    """Return a decorator that adds existing options, in this order."""
    options = list(made)

    def decorate(function: F) -> F:
        function.__click_params__ = [*getattr(function, "__click_params__", []), *reversed(options)]  # type: ignore[attr-defined]
        return function

    return decorate


def rank(ctx: click.Context, name: str) -> int:
    """Return the precedence of the source of a parameter; 0 for its default."""
    return RANKS[ctx.get_parameter_source(name) or ParameterSource.DEFAULT]


def origin(ctx: click.Context, flag: Flag) -> str | None:
    """Return where a value came from, for messages; None for the command line."""
    source = ctx.get_parameter_source(flag.name)
    if source is ParameterSource.ENVIRONMENT:
        return flag.variable
    profile: Profile | None = ctx.meta.get(PROFILE)
    if source is ParameterSource.DEFAULT_MAP and profile:
        return f"{profile.path}: profile {profile.name}: {profile.keys.get(flag.name, flag.long)}"
    return None


def settle(ctx: click.Context, what: str, names: Iterable[str]) -> None:
    """Of flags that set the same thing, keep the one whose source has the highest precedence.

    `what` names that thing in the message. Raises UsageError if two have the same precedence.
    """
    flags = {param.name: param for param in ctx.command.params if isinstance(param, Flag)}
    given = [name for name in names if ctx.params.get(name) not in (None, False, ()) and rank(ctx, name)]
    highest = max((rank(ctx, name) for name in given), default=0)
    strongest = [name for name in given if rank(ctx, name) == highest]
    if strongest[1:]:
        called = " and ".join(flags[name].shown()[0] for name in strongest)
        raise click.UsageError(f"only one {what} at a time, but {called} were given", ctx)
    for name in given:
        if name not in strongest:
            ctx.params[name] = False if flags[name].is_flag else None
