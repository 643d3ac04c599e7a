"""`mqttpub proxy`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ....live.net.target import Target
from ...fault_flags import fault_flags, faults_of, show_fault
from ...flags.base import FlagValues, flag, together
from ...flags.client import ClientCommand
from ...flags.connect import profile_flags
from ...flags.connection import output_flags, place_flags, timeout_flag
from ...flags.transport import FILE, check, port_of, transport_flags, transport_of
from ...flags.types import NumberType, PathWord
from ...proxy.listen import ListenType

if TYPE_CHECKING:
    from ....lab.serving.layers import Layers
    from ....traffic.query import PacketFilter
    from ...proxy.listen import Listen
    from ...proxy.request import ProxyRequest

MOST_CONNECTIONS = 100_000

listen_flags = together(
    flag(
        "--listen", type=ListenType(), required=True, common=True, metavar="[HOST:]PORT",
        help="Where clients connect, on loopback; with mqtts://, ws:// or wss:// before it, over TLS or WebSocket. "
        "Port 0 picks a free one.",
    ),
    flag(
        "--expose", is_flag=True, common=True,
        help="Listen on an address that other machines reach too: they then reach the broker as this one does.",
    ),
    flag("--listen-cert", type=FILE, metavar="PATH", help="Certificate to show to clients, with the chain above it."),
    flag("--listen-key", type=FILE, metavar="PATH", help="Private key of --listen-cert."),
    flag(
        "--listen-ca", type=PathWord(dir_okay=False), common=True, metavar="PATH",
        help="Make a certificate, and write it to this file for clients to trust. It needs the extra `proxy`.",
    ),
    flag(
        "--max-connections", type=NumberType(1, MOST_CONNECTIONS), default=1000, show_default=True, metavar="N",
        help="Turn further clients away while so many are connected.",
    ),
    group="Clients",
)  # fmt: skip


intercept_flag = flag(
    "--intercept", metavar="TERMS", common=True, group="Faults",
    help="Hold the packets that these terms of --filter choose, and ask on the terminal what becomes of each.",
)  # fmt: skip


@click.command(
    name="proxy",
    cls=ClientCommand,
    examples=(
        "mqttpub proxy --listen 1884 --inspect",
        "mqttpub proxy --listen 1884 -h broker.example.org --lint --capture session.pcapng",
        "mqttpub proxy --listen 1884 --fault 'type=PUBACK drop 10%' --fault 'direction=server delay 200ms'",
        "mqttpub proxy --listen mqtts://127.0.0.1:8884 --listen-ca proxy.pem -L wss://broker.example.org/mqtt",
    ),
)
@listen_flags
@place_flags
@transport_flags
@timeout_flag
@fault_flags
@intercept_flag
@output_flags
@profile_flags
def command(**given: Any) -> int:
    """Sit between clients and a broker: show, check, record and break what passes.

    Clients connect to --listen, and the proxy connects each of them to the broker. Bytes pass as they are unless
    --fault or --intercept says otherwise.

    Ctrl-C ends it. Exit status 7: with --lint, a client or the broker broke the protocol.
    """
    from ...proxy.run import proxy

    return proxy(proxy_request(given))


def proxy_request(given: FlagValues) -> "ProxyRequest":
    """Return the request that the flags make; raises UsageError."""
    from ....lab.serving.server import anywhere, loopback
    from ...observe.shown import shown
    from ...proxy.request import ProxyRequest

    listen: Listen = given["listen"]
    if (url := given["url"]) and (url.username, url.password, url.topic) != (None, None, None):
        raise click.UsageError("--url: host and port are enough, as clients bring their own user, password and topics")
    transport = transport_of(given)
    check(transport)
    try:
        if given["expose"]:
            address = anywhere(listen.host, listen.port)
        else:
            address = loopback(listen.host, listen.port, "without --expose, the proxy")
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from None
    return ProxyRequest(
        listen=listen, address=address, layers=_layers(given, listen),
        target=Target(given["host"], port_of(given, transport), transport=transport),
        timeout_s=given["timeout"], most_connections=given["max_connections"],
        faults=faults_of(given, show_fault), intercept=_intercept(given), shown=shown(given),
    )  # fmt: skip


def _intercept(given: FlagValues) -> "PacketFilter | None":
    """Return the filter of --intercept; raises UsageError."""
    from ....common.standard_input import is_interactive
    from ....traffic.query import PacketFilter

    if given["intercept"] is None:
        return None
    for name, flag_name in (("inspect", "--inspect"), ("lint", "--lint"), ("as_json", "--json")):
        if given[name]:
            raise click.UsageError(f"--intercept shows packets and findings itself; {flag_name} does not go with it")
    if not is_interactive():
        raise click.UsageError("--intercept asks on a terminal, and standard input is none")
    try:
        return PacketFilter.parse(given["intercept"])
    except ValueError as error:
        raise click.UsageError(f"--intercept: {error}") from None


def _layers(given: FlagValues, listen: "Listen") -> "Layers":
    """Return what lies between TCP and MQTT on the side of the clients; raises UsageError."""
    from ....lab.serving.layers import Layers, server_context
    from ....live.failures import Unusable
    from ....live.net.transport import Tls

    cert, key, ca = (given[f"listen_{name}"] for name in ("cert", "key", "ca"))
    if not listen.is_secure:
        if cert or key or ca:
            raise click.UsageError("--listen-cert, --listen-key and --listen-ca need --listen mqtts:// or wss://")
        return Layers(websocket=listen.is_websocket)
    if bool(cert) == bool(ca) or (key and not cert):
        raise click.UsageError(
            f"{listen.protocol}:// needs a certificate: --listen-cert and --listen-key, or --listen-ca to make one"
        )
    try:
        tls = _made(ca, listen) if ca else server_context(Tls(cert=cert, key=key))
    except Unusable as error:
        name = "key" if error.part.startswith("key") else error.part
        raise click.BadParameter(str(error), param_hint=f"--listen-{name}") from None
    return Layers(tls, listen.is_websocket)


def _made(path: str, listen: "Listen") -> Any:
    """Return the context with a certificate that is made, and write that to a file; raises Unusable and UserError."""
    from ....common.files import Kind, check_place, replacing
    from ....lab.serving.certificate import make_certificate

    check_place("--listen-ca", path, Kind("a certificate in PEM", b"-----BEGIN CERTIFICATE"), ())
    made = make_certificate(listen.host)
    with replacing(path, binary=True) as file:
        file.write(made.cert)
    return made.context()
