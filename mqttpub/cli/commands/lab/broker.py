"""`mqttpub broker`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ....spec.properties import BY_KEY
from ...fault_flags import fault_flags, faults_of, say_seed, show_fault
from ...flags.base import Command, flag, ready, together
from ...flags.properties import dashed, property_option
from ...flags.types import U16_NUMBER, FiniteRange

if TYPE_CHECKING:
    from ....lab.broker.limits import Limits

LIMITS = {
    "receive_maximum": "receive", "maximum_packet_size": "packet", "topic_alias_maximum": "aliases",
    "maximum_qos": "qos", "retain_available": "retain", "wildcard_subscription_available": "wildcards",
    "subscription_identifier_available": "identifiers", "shared_subscription_available": "shared",
    "server_keep_alive": "keep_alive", "session_expiry_interval": "expiry",
    "response_information": "response_information",
}  # fmt: skip
"""The field of Limits that each property of CONNACK announces."""
MOST_PACKET_BYTES = 8 << 20
"""Highest Maximum Packet Size: half of what the broker keeps for a client that does not read."""
TIMEOUT_S = 30
OF_SCRIPTS = ("once", "timeout")
"""Flags that go with --script only."""

limit_flags = together(
    ready(property_option(key, BY_KEY[key], session=False) for key in LIMITS),
    group="Limits, which CONNACK announces",
)
script_flags = together(
    flag(
        "--script", metavar="SCRIPT", common=True,
        help="Play the server's end of this script instead: a file, -, or a name of step --list.",
    ),
    flag("--once", is_flag=True, common=True, help="Play it once, and exit with 0 if all went as it says, else 1."),
    flag(
        "--timeout", type=FiniteRange(min=0, min_open=True), metavar="SECONDS", common=True,
        help=f"Longest wait for a packet that the script awaits, and with --once for a client.  [default: {TIMEOUT_S}]",
    ),
    group="Scripts",
)  # fmt: skip


@click.command(
    name="broker",
    cls=Command,
    examples=(
        "mqttpub broker",
        "mqttpub broker -p 18883 --quiet",
        "mqttpub broker --maximum-qos 1 --receive-maximum 5",
        "mqttpub broker --fault 'type=PUBACK drop 10%' --fault 'direction=server delay 200ms jitter 50ms'",
        "mqttpub broker --script pubrec-refused --once",
    ),
)
@flag("-p", "--port", type=U16_NUMBER, default=1883, show_default=True, common=True, help="Port; 0 picks a free one.")
@flag(
    "-A",
    "--bind",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    common=True,
    help="Loopback address to listen on.",
)
@flag("-q", "--quiet", is_flag=True, common=True, help="Do not print events.")
@fault_flags
@script_flags
@limit_flags
def command(**given: Any) -> int:
    """Run a small local broker for experiments and tests.

    It supports MQTT 3.1, 3.1.1 and 5, listens on loopback only, requires no password and
    stores nothing on disk. It is not for production use.

    It has neither TLS nor WebSocket, no Enhanced Authentication and no redirection, no $SYS topics, bridges or rights.
    --script plays what it does not do, such as AUTH.

    --fault breaks packets between a client and the broker, in both directions; `mqttpub help laboratory` lists the
    actions. --seed repeats the chance of a run.
    """
    return _play(given) if given["script"] else _run(given)


def _run(given: dict[str, Any]) -> int:
    """Run the embedded broker until a signal ends it."""
    from ....common.escape import escape
    from ....lab.broker.server import Broker

    if name := next((name for name in OF_SCRIPTS if given[name]), None):
        raise click.UsageError(f"--{name} is for --script")
    faults = faults_of(given, show_fault)

    def event(kind: str, client_id: str, text: str) -> None:
        click.echo(f"{kind:<10} {escape(client_id)}  {escape(text)}")

    with _listening(given):
        broker = Broker(
            given["bind"], given["port"], on_event=None if given["quiet"] else event, limits=_limits(given),
            faults=faults,
        )  # fmt: skip
        broker.open()
    say_seed(faults)
    click.echo(f"listening on {given['bind']}:{broker.port}; press Ctrl-C to stop")
    try:
        broker.serve()
    finally:
        broker.stop()
    return 0


def _play(given: dict[str, Any]) -> int:
    """Play a script to the clients that connect."""
    from ....lab.scripted import ScriptedServer
    from ...step.scripts import opened
    from ...step.serve import ServeRequest, serve

    flags = (*(("fault", given["faults"]), ("seed", given["seed"])), *((key, given[key]) for key in LIMITS))
    if name := next((name for name, value in flags if value not in (None, ())), None):
        raise click.UsageError(f"{dashed(name)} is for the embedded broker; a script says itself what the server does")
    request = ServeRequest(opened(given["script"]), given["timeout"] or TIMEOUT_S, given["once"], given["quiet"])
    with _listening(given):
        server = ScriptedServer(given["bind"], given["port"])
    with server:
        return serve(server, request)


@contextmanager
def _listening(given: dict[str, Any]) -> Iterator[None]:
    """Raise UsageError for an address on which nothing can listen."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"cannot listen on {given['bind']}:{given['port']}: {error.strerror}") from None


def _limits(given: dict[str, Any]) -> "Limits":
    """Return the limits that the flags name; raises UsageError."""
    from ....lab.broker.limits import LIMITS as DEFAULTS

    for key in (key for key in LIMITS if given[key] is not None):
        if wrong := next(filter(None, (limit.violation(given[key]) for limit in BY_KEY[key].limits)), ""):
            raise click.UsageError(f"{dashed(key)} {wrong}")
    size = given["maximum_packet_size"]
    if size and size > MOST_PACKET_BYTES:
        raise click.UsageError(
            f"--maximum-packet-size: this broker takes packets of {MOST_PACKET_BYTES:,} bytes at most"
        )
    chosen = {LIMITS[key]: given[key] for key in LIMITS if given[key] is not None}
    return DEFAULTS._replace(**chosen)
