"""`mqttpub conn`: its flags, and the request that they make."""

from math import inf
from typing import TYPE_CHECKING, Any

import click

from ...live.authentication import METHODS
from ..flags.base import FlagValues, flag, together
from ..flags.client import ClientCommand
from ..flags.connect import connection_target, profile_flags, session_flags
from ..flags.connection import output_flags
from ..flags.types import MOST, FiniteRange, NumberType

if TYPE_CHECKING:
    from ..conn.request import ConnectionRequest

FOREVER = "forever"


class StayType(FiniteRange):
    """A number of seconds, or the word for no end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds, which may be infinite."""
        return inf if value == FOREVER else super().convert(value, param, ctx)


work_flags = together(
    flag(
        "--stay", is_flag=False, flag_value=FOREVER, type=StayType(min=0, min_open=True), common=True,
        metavar="[SECONDS]", help="Stay connected for this long. [default: disconnect at once; until Ctrl-C]",
    ),
    flag(
        "--ping", type=NumberType(1, MOST), common=True, metavar="N",
        help="Send N PINGREQ packets, and show how long each answer takes.",
    ),
    flag(
        "--ping-interval", type=FiniteRange(min=0), default=1.0, show_default=True, metavar="SECONDS",
        help="Wait this long between the pings.",
    ),
    flag(
        "--reauthenticate", is_flag=True,
        help="Authenticate again once connected (MQTT 5, with a SCRAM method).",
    ),
    group="What to do",
)  # fmt: skip


@click.command(
    name="conn",
    cls=ClientCommand,
    examples=(
        "mqttpub conn -h broker.example.org",
        "mqttpub conn -h broker.example.org --ping 5 --stay",
        "mqttpub conn -h broker.example.org --json",
    ),
)
@work_flags
@session_flags
@output_flags
@flag("--force", is_flag=True, help="Send even what the specification forbids.")
@profile_flags
def command(**given: Any) -> int:
    """Connect, and show what the broker allows.

    That is what its CONNACK declares; `mqttpub conform limits` tries it.
    """
    from ..conn.run import connect

    return connect(connection_request(given))


def connection_request(given: FlagValues) -> "ConnectionRequest":
    """Return the request that the flags make; raises UsageError."""
    from ..conn.request import ConnectionRequest
    from ..observe.gate import admit
    from ..observe.shown import shown

    target = connection_target(given)
    if given["reauthenticate"] and not target.authentication:
        methods = ", ".join(METHODS)
        raise click.UsageError(f"--reauthenticate needs --authentication-method ({methods}), -u and a password")
    admit(target, force=given["force"], ends_session=True)
    return ConnectionRequest(
        target=target, timeout_s=given["timeout"], pings=given["ping"] or 0, ping_interval_s=given["ping_interval"],
        stay_s=given["stay"], reauthenticate=given["reauthenticate"], shown=shown(given),
    )  # fmt: skip
