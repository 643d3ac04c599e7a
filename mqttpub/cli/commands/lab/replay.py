"""`mqttpub replay`: its flags, and the request that they make."""

import math
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ...flags.base import Flag, flag, together
from ...flags.client import ClientCommand
from ...flags.connect import connection_target, profile_flags, session_flags
from ...flags.connection import output_flags
from ...flags.reading import filter_flag, filter_of
from ...flags.types import MOST, REWRITE, FiniteRange, NumberType

if TYPE_CHECKING:
    from ...replay.request import ReplayRequest

AS_FAST_AS_IT_GOES = "max"
OF_ONE_CONNECT = ("client_id", "keep_alive", "clean", "mqtt_version")
OF_ONE_SESSION = ("Will", "CONNECT properties", "DISCONNECT", "Any property")
"""Flags that say something of one CONNECT or DISCONNECT, and groups of them."""


class SpeedType(FiniteRange):
    """How many times as fast as captured, or `max`."""

    name = "speed"
    suggestions = (AS_FAST_AS_IT_GOES,)

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the factor; infinity for `max`."""
        if value in (AS_FAST_AS_IT_GOES, math.inf):
            return math.inf
        return super().convert(value, param, ctx)


replay_flags = together(
    flag(
        "--publishes", is_flag=True, common=True,
        help="Send only the PUBLISH packets of clients, over one connection that the flags describe.",
    ),
    flag(
        "--received", is_flag=True, common=True,
        help="Send only what the server sent instead.",
    ),
    flag(
        "--speed", type=SpeedType(), default=1.0, metavar="N|max", common=True,
        help="So many times as fast as captured. [default: 1]",
    ),
    flag(
        "--rewrite-topic", multiple=True, type=REWRITE, metavar="s/../../", common=True,
        help="Rewrite topics as sed does. Repeatable.",
    ),
    flag("--count", type=NumberType(1, MOST), metavar="N", common=True, help="End after this many messages."),
    together(
        filter_flag("Play only what matches; see decode --help."), common=True
    ),
    group="What to play",
)  # fmt: skip


@click.command(
    name="replay",
    cls=ClientCommand,
    examples=(
        "mqttpub replay morning.pcapng",
        "mqttpub replay -h broker.example.org --speed 10 --id-prefix test- morning.pcapng",
        "mqttpub replay --publishes --speed max --rewrite-topic 's/^plant/test/' morning.pcapng",
    ),
)
@click.argument("source", metavar="CAPTURE")
@replay_flags
@session_flags
@output_flags
@profile_flags
def command(**given: Any) -> int:
    """Play the client sides of a capture again, against a broker, and say what it answers otherwise.

    CAPTURE is what `decode` reads; - is standard input. Each captured connection is played over one of its own, at the
    times of the capture, with real handshakes. User Name and password are those of the capture, unless flags give
    others; --id-prefix comes before each Client Identifier.

    Exit status 1: something went otherwise than in the capture.
    """
    from ...replay.run import replay

    return replay(replay_request(given))


def replay_request(given: dict[str, Any]) -> "ReplayRequest":
    """Return the request that the flags make; raises UsageError."""
    from ....lab.replay.replay import ReplayOptions
    from ....lab.replay.rewrite import in_turn
    from ....lab.replay.whole import User
    from ....spec.versions import Direction
    from ...observe.gate import admit
    from ...observe.shown import shown
    from ...replay.request import ReplayRequest

    if given["publishes"] and given["received"]:
        raise click.UsageError("--publishes and --received do not go together")
    sender = Direction.CLIENT if given["publishes"] else Direction.SERVER if given["received"] else None
    if sender is None:
        _check_of_one_connect()
    target = connection_target(given)
    if target.authentication:
        raise click.UsageError(f"replay does not authenticate by {target.authentication.method}")
    admit(target, force=None)
    options = ReplayOptions(
        target=target, timeout_s=given["timeout"], speed=given["speed"], picked=filter_of(given["filter"]),
        most=given["count"],
    )  # fmt: skip
    source = given["source"]
    return ReplayRequest(
        source=source, options=options, user=User(given["username"], given["password"], given["id_prefix"] or ""),
        rewrite=in_turn(given["rewrite_topic"]), sender=sender,
        shown=shown({**given, "file": None if source == "-" else source}),
    )  # fmt: skip


def _check_of_one_connect() -> None:
    """Raise UsageError for a flag that describes one CONNECT where those of the capture are sent."""
    ctx = click.get_current_context()
    for param in ctx.command.params:
        if not isinstance(param, Flag) or (param.group not in OF_ONE_SESSION and param.name not in OF_ONE_CONNECT):
            continue
        if ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{param.long} goes with --publishes; without it, each CONNECT is that of the capture"
            )
