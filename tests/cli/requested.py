"""What the flags of `pub` ask for, without sending it and without reading files of TLS."""

from unittest.mock import patch

import click
import pytest

from mqttpub.cli.commands.pub import command, publish_request
from mqttpub.cli.main import main
from mqttpub.cli.pub.request import PublishRequest
from mqttpub.codec.encode import encode

PLAIN = ("-t", "a", "-m", "x", "-i", "me")


def requested(*arguments: str, plain: tuple[str, ...] = PLAIN) -> PublishRequest:
    """Return the request that `pub` makes of its arguments."""
    ctx = command.make_context("pub", [*plain, *arguments])
    with ctx, patch("mqttpub.cli.observe.gate.check"):
        return publish_request(ctx.params)


def connect(*arguments: str) -> str:
    """Return the bytes of the CONNECT, behind its protocol name, as hex."""
    target = requested(*arguments).target
    return encode(target.connect, target.version)[9:].hex(" ")


def publish(*arguments: str) -> str:
    """Return the bytes of the first PUBLISH as hex."""
    request = requested(*arguments)
    return encode(request.packets[0], request.target.version).hex(" ")


def disconnect(*arguments: str) -> str:
    """Return the bytes of the DISCONNECT as hex."""
    target = requested(*arguments).target
    return encode(target.disconnect, target.version).hex(" ")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line that `pub` says about wrong flags, with exit status 2."""
    assert main(["pub", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.endswith("\n")
    assert said.count("\n") == 1, said
    return said.removeprefix("mqttpub pub: ").rstrip("\n")


def names(flag: click.Parameter) -> list[str]:
    """Return every name of an option."""
    return [*flag.opts, *flag.secondary_opts]
