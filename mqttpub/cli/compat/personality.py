"""The click command of a client with a grammar of its own."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click


class Personality(click.Command):
    """A command that hands its arguments on as they are, so that the client's own grammar reads them."""

    def __init__(self, name: str, run: Callable[[list[str]], int], help: str) -> None:
        super().__init__(name, help=help, add_help_option=False)
        self._run = run

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments for the client's own grammar."""
        ctx.args = list(args)
        return ctx.args

    def invoke(self, ctx: click.Context) -> Any:
        """Run the client and return its exit status."""
        return self._run(ctx.args)


MODULES = {
    "mosquitto_pub": "mosquitto.pub", "mosquitto_sub": "mosquitto.sub", "mosquitto_rr": "mosquitto.rr",
    "mqttx": "mqttx.run",
}  # fmt: skip
"""The module of each client, whose `run` takes the words of the line."""


def personality(name: str, help: str) -> Personality:
    """Return the command of a client."""

    def run(words: list[str]) -> int:
        work: Callable[[list[str]], int] = import_module(f".{MODULES[name]}", __package__).run
        return work(words)

    return Personality(name, run, help)
