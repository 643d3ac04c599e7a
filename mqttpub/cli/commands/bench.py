"""`mqttpub bench`."""

from typing import Any

import click

from ..flags.base import Flag, flag, ready
from ..flags.client import Client
from ..flags.connection import connection_flags
from ..flags.payload import SizeType, converter_flags, payload_options
from ..flags.profile import profile_flag
from ..flags.transport import transport_flags
from ..flags.types import MOST, FiniteRange, NumberType
from ..flags.unsupported import BENCHING, CONNECTION, refused_flags


def payload_flags() -> list[Flag]:
    """Return the flags of a payload, as `pub` has them; -n is the number of messages here."""
    flags = payload_options()
    flags[-1] = Flag(["--null-message"], is_flag=True, help="Payload: empty, zero bytes.")
    return flags


@click.command(
    name="bench",
    cls=Client,
    examples=("mqttpub bench --connections 4 -q 1 -n 10000 --histogram", "mqttpub bench -q 2 --duration 10 --json"),
)
@flag(
    "-t",
    "--topic",
    common=True,
    default="bench/%c",
    show_default=True,
    metavar="TOPIC",
    help="Topic Name; %c is the number of the connection.",
)
@flag(
    "--connections",
    common=True,
    aliases=("--count",),
    type=NumberType(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Connections that publish at once, 1 to 1000.",
)
@flag(
    "-n",
    "--messages",
    common=True,
    type=NumberType(1, MOST),
    metavar="N",
    help="Messages of each connection. [default: 10000]",
)
@flag(
    "--duration",
    common=True,
    type=FiniteRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Publish for this long instead.",
)
@flag(
    "--rate",
    common=True,
    type=FiniteRange(min=0, min_open=True),
    metavar="N",
    help="Messages per second per connection. [default: unlimited]",
)
@flag("-q", "--qos", common=True, type=NumberType(0, 2), default=0, show_default=True, metavar="0|1|2", help="QoS.")
@flag("-r", "--retain", common=True, is_flag=True, help="Have the broker keep the last message for new subscribers.")
@ready(payload_flags())
@converter_flags
@flag(
    "-S",
    "--payload-size",
    common=True,
    type=SizeType(),
    metavar="SIZE",
    help="Payload: this many bytes x, such as 64 or 1.5K. [default: 64]",
)
@flag(
    "-M",
    "--max-inflight",
    type=NumberType(1, 65535),
    default=65535,
    metavar="N",
    help="Maximum number of unacknowledged messages, 1 to 65535; the broker may allow fewer.",
)
@flag("--histogram", common=True, is_flag=True, help="Draw a histogram of acknowledgement latency.")
@flag("--json", "as_json", common=True, is_flag=True, help="Print one JSON record instead of the table.")
@connection_flags
@transport_flags
@profile_flag
@refused_flags({name: said for name, said in CONNECTION.items() if name != "-S"}, BENCHING)
def command(**given: Any) -> int:
    """Publish from several connections and report rate and latency.

    The latency is the time from sending a message to its last acknowledgement, so QoS 0 has none.
    """
    from .bench_run import bench

    return bench(given)
