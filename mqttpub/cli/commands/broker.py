"""`mqttpub broker`."""

from typing import Any

import click

from ..flags.base import Command, flag
from ..flags.types import U16_NUMBER


@click.command(name="broker", cls=Command, examples=("mqttpub broker", "mqttpub broker -p 18883 --quiet"))
@flag("-p", "--port", type=U16_NUMBER, default=1883, show_default=True, help="Port; 0 picks a free one.")
@flag("-A", "--bind", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Loopback address to listen on.")
@flag("-q", "--quiet", is_flag=True, help="Do not print events.")
def command(**given: Any) -> int:
    """Run a small local broker for experiments and tests.

    It supports MQTT 3.1, 3.1.1 and 5, listens on loopback only, requires no password and
    stores nothing on disk. It is not for production use.
    """
    from ...common.escape import escape
    from ...lab.broker.server import Broker

    def event(kind: str, client_id: str, text: str) -> None:
        click.echo(f"{kind:<10} {escape(client_id)}  {escape(text)}")

    try:
        broker = Broker(given["bind"], given["port"], on_event=None if given["quiet"] else event)
        broker.open()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"cannot listen on {given['bind']}:{given['port']}: {error.strerror}") from None
    click.echo(f"listening on {given['bind']}:{broker.port}; press Ctrl-C to stop")
    try:
        broker.serve()
    finally:
        broker.stop()
    return 0
