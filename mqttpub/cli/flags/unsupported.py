"""Flags of other clients that mqttpub does not have: each is recognised and refused with the alternative."""

from collections.abc import Callable
from typing import NoReturn

import click

from .base import F, Flag, ready, together

_ENGINE = "keys in OpenSSL engines are not supported; --key takes a PEM file"
_STORE = "Java key stores are not supported; --cafile, --cert and --key take PEM files"
_OPTIONS_FILE = "options files are not supported; --profile reads flags from the configuration file"
CONNECTION = {
    "-S": "SRV records are not supported, use -h and -p; for random bytes use --payload-size",
    "--psk": "TLS with a pre-shared key is not supported; use --cert and --key",
    "--psk-identity": "TLS with a pre-shared key is not supported; use --cert and --key",
    "--keyform": _ENGINE,
    "--tls-engine": _ENGINE,
    "--tls-engine-kpass-sha1": _ENGINE,
    **dict.fromkeys(("--ks", "--keystore", "--kspw", "--keystore-password", "--kspkpw"), _STORE),
    **dict.fromkeys(("--keystore-private-key-password", "--ts", "--truststore"), _STORE),
    **dict.fromkeys(("--tspw", "--truststore-password"), _STORE),
    "-pw:env": "MQTTPUB_PASSWORD is read without a flag",
    "-o": _OPTIONS_FILE,
    **dict.fromkeys(("-lo", "--load-options", "-so", "--save-options"), _OPTIONS_FILE),
}
"""Flags of commands that connect, and the message for each."""
PUBLISHING = {
    **dict.fromkeys(
        ("-rp", "--reconnect-period"), "the delay backs off automatically; --reconnect takes the number of attempts"
    ),
    "--sendMaxPacketSize": "the broker's Maximum Packet Size is respected, and there is no other limit",
    "--sendTopicAliasMax": "the broker's Topic Alias Maximum is respected; --topic-alias auto uses aliases",
    "--version": "use it before the command: mqttpub --version",
}
"""Flags of `pub`."""
BENCHING = {
    "-d": "DUP cannot be set on new messages; --inspect is a flag of pub",
    **dict.fromkeys(("-im", "--message-interval"), "use --rate, the messages per second of each connection"),
    "--interval": "bench conn has --connect-interval; otherwise all connections open at once, and --rate limits the "
    "messages per second of each",
    "--limit": "use --messages, the number for each connection",
}
"""Flags of `bench`."""


def refused_flags(*tables: dict[str, str]) -> Callable[[F], F]:
    """Return a decorator that adds the flags of these tables."""
    return together(ready([_refused(name, sentence) for table in tables for name, sentence in table.items()]))


def _refused(name: str, sentence: str) -> Flag:
    def refuse(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None and not ctx.resilient_parsing:
            _refuse(ctx, param, sentence)

    key = "refused_" + name.strip("-").replace("-", "_").replace(":", "_")
    return Flag(
        [name, key], is_flag=False, flag_value="", hidden=True, is_eager=True, expose_value=False, callback=refuse,
        help=sentence,
    )  # fmt: skip


def _refuse(ctx: click.Context, param: click.Parameter, sentence: str) -> NoReturn:
    raise click.BadParameter(sentence, ctx, param)
