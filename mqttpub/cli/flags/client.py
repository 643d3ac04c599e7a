"""Commands that connect: their flags can also come from the environment, a profile or a URL."""

import os
from contextlib import redirect_stderr
from typing import Any

import click
from click.core import augment_usage_errors

from . import passwords
from .base import Command, settle
from .properties_argument import joined

QUIET = "--quiet"
ONE_OF = {
    "payload": ("message", "payload_value", "file", "stdin", "null_message", "payload_size", "lines", "nul", "jsonl"),
    "password": ("password", "password_file", "ask_password"),
    "password of --key": ("key_password", "key_password_file"),
    "Client Identifier": ("client_id", "id_prefix"),
    "Request Problem Information": ("request_problem_information", "no_problem_information"),
}
"""Groups of flags that set the same thing."""


class ClientCommand(Command):
    """A command whose flags can be set by environment variables and profiles, under their long names."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(
            *given, context_settings={"auto_envvar_prefix": "MQTTPUB", "allow_extra_args": True}, **more
        )  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments and resolve flags that set the same thing."""
        words = list(args)
        try:
            return self._parsed(ctx, args)
        except click.UsageError as error:
            if QUIET in words:
                raise click.exceptions.Exit(error.exit_code) from None
            from .mqttx_letters import meant

            if sentence := meant(error, words):
                raise click.UsageError(sentence, ctx) from None
            raise

    def _parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = joined(args, self)
        rest = super().parse_args(ctx, list(words))
        if rest:
            # click would repeat the surplus arguments, and one may be the second word of a password.
            from ..surplus import too_many

            raise click.UsageError(too_many(ctx, rest, words), ctx)
        with augment_usage_errors(ctx):
            if ctx.params.get("lines"):
                # MQTTX writes --stdin --multiline.
                ctx.params["stdin"] = False
            if ctx.params.get("url"):
                from .url import apply

                apply(ctx)
            if ctx.params.get("file"):
                from .mqttx_letters import check_file

                check_file(ctx)
            for what, names in ONE_OF.items():
                settle(ctx, what, names)
            passwords.warn(ctx)
            passwords.take(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; with --quiet, a failure is reported by the exit status only."""
        if not ctx.params.pop("quiet", False):
            return super().invoke(ctx)
        with open(os.devnull, "w") as nothing, redirect_stderr(nothing):
            return self._status(ctx)

    def _status(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            status = getattr(error, "status", getattr(error, "exit_code", None))
            if status is None:
                raise
            return int(status)
        except KeyboardInterrupt:
            from .. import signals

            return signals.status()
