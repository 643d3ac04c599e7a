"""Options with aliases, and the groups of options that commands share."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from .types import HOST, OCTETS, PASSWORD, PATH, TEXT, U16_NUMBER, URL, VERSION, FiniteRange, NumberType

F = TypeVar("F", bound=Callable[..., Any])


class Flag(click.Option):
    """An option that answers to more names than its help shows.

    `group` is the heading of the help under which it stands.
    """

    def __init__(
        self, names: Iterable[str], *, aliases: Iterable[str] = (), group: str = "", **attributes: Any
    ) -> None:
        aliases = list(aliases)
        # click names the parameter after the longest of the first option's dashes; keep it the shown one.
        super().__init__([*names, *aliases], **attributes)
        self.aliases = frozenset(alias.lstrip(" /") for alias in aliases)
        self.group = group
        self.optional = attributes.get("is_flag") is False
        """Whether the value may be left away."""

    def shown(self) -> list[str]:
        """Return the names that help and completion show."""
        return [name for name in (*self.opts, *self.secondary_opts) if name not in self.aliases]

    @property
    def long(self) -> str:
        """The name that messages show and the environment variable is made of."""
        shown = [name for name in self.shown() if name not in self.secondary_opts]
        return next((name for name in shown if name.startswith("--")), shown[-1])

    @property
    def variable(self) -> str:
        """The environment variable that gives its value to commands that connect."""
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
        """Return what the environment says, to a command that asks it."""
        if ctx.auto_envvar_prefix is None:
            return None
        return os.environ.get(self.variable) or None

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """Return the value in the environment; of what may be repeated, each line is one."""
        value = super().value_from_envvar(ctx) if not self.multiple else self.resolve_envvar_value(ctx)
        return value.split("\n") if self.multiple and value is not None else value

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """Return the value and its source, which is noted before the value is looked at, as click does since 8.5."""
        value, source = super().consume_value(ctx, opts)
        ctx.set_parameter_source(self.name, source)
        return value, source

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value as the command gets it; what is wrong is said with the place it came from."""
        try:
            return super().process_value(ctx, value)
        except click.BadParameter as error:
            from .origin import origin

            error.param_hint = error.param_hint or origin(ctx, self)
            raise


class Command(click.Command):
    """A command whose help has a heading for each group of options."""

    def __init__(self, *given: Any, **more: Any) -> None:
        more["context_settings"] = {
            "help_option_names": ["--help"], "max_content_width": 100, **more.get("context_settings", {})
        }  # fmt: skip
        super().__init__(*given, **more)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                rest = "Options" if not groups or "Options" in groups else "Other"
                groups.setdefault(getattr(param, "group", "") or rest, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def flag(*names: str, aliases: Iterable[str] = (), **attributes: Any) -> Callable[[F], F]:
    """Declare a Flag."""
    return click.option(*names, cls=Flag, aliases=aliases, **attributes)


def together(*options: Callable[[F], F], group: str = "") -> Callable[[F], F]:
    """Return one decorator for several options, shown in the order given; they join `group` if they have none."""

    def decorate(function: F) -> F:
        before = len(getattr(function, "__click_params__", ()))
        for option in reversed(options):
            function = option(function)
        for made in function.__click_params__[before:]:  # type: ignore[attr-defined]
            made.group = made.group or group
        return function

    return decorate


def ready(made: Iterable[Flag]) -> Callable[[F], F]:
    """Return a decorator for options that exist already, shown in the order given."""
    options = list(made)

    def decorate(function: F) -> F:
        function.__click_params__ = [*getattr(function, "__click_params__", []), *reversed(options)]  # type: ignore[attr-defined]
        return function

    return decorate


def client_id(prefix: str = "mqttpub-") -> str:
    """Return a fresh client identifier."""
    return prefix + os.urandom(4).hex()


def payload_options() -> list[Flag]:
    """Return the options that name the source of a payload."""
    return [
        Flag(
            ["-m", "--message"], metavar="TEXT", type=TEXT,
            help="Payload: text, taken as it stands; - is standard input.",
        ),
        Flag(
            ["--payload", "payload_value"], metavar="VALUE", type=OCTETS,
            help="Payload: hex:..., base64:..., @file, or text; text: takes the rest as it stands.",
        ),
        Flag(
            ["-f", "--file"], aliases=("--file-read", "--message-file", "-m:file"), metavar="PATH",
            type=PATH, help="Payload: what the file holds, - for standard input.",
        ),
        Flag(["-s", "--stdin"], aliases=("--stdin-file",), is_flag=True, help="Payload: all of standard input."),
        Flag(
            ["-n", "--null-message"], aliases=("--message-empty", "-m:empty"), is_flag=True,
            help="Payload: none, zero bytes.",
        ),
    ]  # fmt: skip


version_flag = flag(
    "-V", "--mqtt-version", type=VERSION, default="5", show_default=True,
    aliases=("--protocol-version", "--mqttVersion"), metavar="VERSION",
    help="MQTT version: 3.1, 3.1.1 (also 3 or 4) or 5.",
)  # fmt: skip

connection_flags = together(
    flag(
        "-L", "--url", metavar="URL", type=URL,
        help="mqtt://user:password@host:port/topic, percent-encoded, or mqtts, ws, wss; other flags go before it.",
    ),
    flag(
        "-h", "--host", aliases=("--hostname",), type=HOST, default="localhost", show_default=True, metavar="HOST",
        help="Host name or address of the broker.",
    ),
    flag(
        "-p", "--port", type=NumberType(1, 65535), metavar="PORT",
        help="Port of the broker; 8883 turns TLS on. [default: 1883, with TLS 8883, for ws 80, for wss 443]",
    ),
    version_flag,
    flag(
        "-i", "--client-id", aliases=("--id", "--identifier"), metavar="ID",
        help="Client Identifier. [default: mqttpub- and 8 random hex digits]",
    ),
    flag(
        "-I", "--id-prefix", aliases=("--identifierPrefix", "-ip"), metavar="PREFIX",
        help="Client Identifier: this and 8 random hex digits.",
    ),
    flag("-u", "--username", aliases=("--user",), metavar="NAME", help="User Name."),
    flag(
        "-P", "--password", aliases=("--pw", "-pw"), metavar="PASSWORD", type=PASSWORD,
        help="Password; better given by one of the next two or MQTTPUB_PASSWORD: arguments can be seen by others.",
    ),
    flag(
        "--password-file", aliases=("-pw:file",), type=PATH, metavar="PATH",
        help="File whose first line is the password.",
    ),
    flag("--ask-password", is_flag=True, help="Ask for the password on the terminal."),
    flag(
        "-k", "--keep-alive", aliases=("--keepalive", "--keepAlive"), type=U16_NUMBER, default=60,
        show_default=True, metavar="SECONDS", help="Keep Alive, 0 to 65535 s; 0 turns it off.",
    ),
    flag(
        "--clean/--no-clean", "clean", " /-c", default=True, aliases=(" /--no-cleanStart", " /--disable-clean-session"),
        help="Clean Start, before 5.0 Clean Session: begin without an old session.",
    ),
    flag(
        "--timeout", type=FiniteRange(min=0, min_open=True), default=30.0, show_default=True,
        metavar="SECONDS", help="Give up when nothing moves on for so long.",
    ),
    flag("--nodelay", is_flag=True, hidden=True, expose_value=False, help="Nothing more: TCP_NODELAY is always set."),
    group="Connection",
)  # fmt: skip
