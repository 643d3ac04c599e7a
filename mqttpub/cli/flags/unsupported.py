"""Flags of the other clients that this one does not have: each is known, and says what there is instead."""

from collections.abc import Callable
from typing import NoReturn

import click

from .base import F, Flag, ready, together

_ENGINE = "keys in OpenSSL engines cannot be used; --key takes a PEM file"
_STORE = "key stores of Java cannot be read; --cafile, --cert and --key take PEM files"
_OPTIONS_FILE = "there are no files of options; --profile takes flags from the configuration file"
CONNECTION = {
    "-S": "SRV records are not looked up, -h and -p name the broker; for random bytes there is --payload-size",
    "--psk": "TLS with a pre-shared key is not supported; --cert and --key are",
    "--psk-identity": "TLS with a pre-shared key is not supported; --cert and --key are",
    "--keyform": _ENGINE,
    "--tls-engine": _ENGINE,
    "--tls-engine-kpass-sha1": _ENGINE,
    **dict.fromkeys(("--ks", "--keystore", "--kspw", "--keystore-password", "--kspkpw"), _STORE),
    **dict.fromkeys(("--keystore-private-key-password", "--ts", "--truststore"), _STORE),
    **dict.fromkeys(("--tspw", "--truststore-password"), _STORE),
    "-pw:env": "the password is taken from MQTTPUB_PASSWORD without a flag",
    "-o": _OPTIONS_FILE,
    **dict.fromkeys(("-lo", "--load-options", "-so", "--save-options"), _OPTIONS_FILE),
}
"""Flags of commands that connect, and what is said of them."""
PUBLISHING = {
    **dict.fromkeys(("-rp", "--reconnect-period"), "the pauses grow by themselves; --reconnect takes how often to try"),
    "--sendMaxPacketSize": "the broker's Maximum Packet Size is kept to, and nothing else limits a message",
    "--sendTopicAliasMax": "the broker's Topic Alias Maximum is kept to; --topic-alias auto uses aliases",
    "--version": "it belongs before the command: mqttpub --version",
}
"""Flags of `pub`."""
BENCHING = {
    "-d": "a message is not marked as sent before, which DUP would say; --inspect is for pub",
    **dict.fromkeys(("-im", "--message-interval"), "--rate takes the messages a second of each connection"),
    "--interval": "all connections are opened at once; --rate limits the messages a second of each",
    "--limit": "--messages takes the number for each connection",
}
"""Flags of `bench`."""


def foreign_flags(*tables: dict[str, str]) -> Callable[[F], F]:
    """Return a decorator with the flags of tables."""
    return together(ready([_foreign(name, sentence) for table in tables for name, sentence in table.items()]))


def _foreign(name: str, sentence: str) -> Flag:
    def refuse(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None and not ctx.resilient_parsing:
            _refuse(ctx, param, sentence)

    key = "foreign_" + name.strip("-").replace("-", "_").replace(":", "_")
    return Flag(
        [name, key], is_flag=False, flag_value="", hidden=True, is_eager=True, expose_value=False, callback=refuse,
        help=sentence,
    )  # fmt: skip


def _refuse(ctx: click.Context, param: click.Parameter, sentence: str) -> NoReturn:
    raise click.BadParameter(sentence, ctx, param)
