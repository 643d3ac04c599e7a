"""The flags of CONNECT and DISCONNECT, and the packets they make."""

import click

from ...live.authentication import METHODS, ScramExchange, ScramUser
from ...live.failures import Unusable
from ...live.net.target import Target, client_id
from ...spec.packets import Connect, Disconnect
from ...spec.properties import AUTHENTICATION_DATA, AUTHENTICATION_METHOD, value_of
from ...spec.versions import Version
from .base import Flag, FlagValues, ready, together
from .connection import KEEP_ALIVE_S, connection_flags, scripted_connection_flags
from .profile import profile_flag
from .properties import chosen_properties, need_version_5, property_flags
from .properties_argument import property_argument
from .transport import port_of, transport_flags, transport_of
from .types import BYTE_NUMBER
from .unsupported import CONNECTION, refused_flags
from .will import will, will_bits, will_options

PROBLEM = "request_problem_information"


def connect_options() -> list[Flag]:
    """Return the flags of the CONNECT properties."""
    flags = property_flags("CONNECT")
    at = next(at for at, flag in enumerate(flags, 1) if flag.name == PROBLEM)
    no_problem = Flag(
        ["--no-request-problem-information", "no_problem_information"], is_flag=True,
        aliases=("--no-req-problem-info", "--no-reqProblemInfo"), help="Request Problem Information 0.",
    )  # fmt: skip
    return [*flags[:at], no_problem, *flags[at:]]


def disconnect_options() -> list[Flag]:
    """Return the flags of the DISCONNECT packet that ends the connection."""
    code = Flag(
        ["--disconnect-reason-code"], type=BYTE_NUMBER, metavar="CODE",
        help="Reason Code of DISCONNECT (since MQTT 5), such as 4 to publish the will. [default: 0]",
    )  # fmt: skip
    return [code, *property_flags("DISCONNECT")]


connect_flags = together(
    together(ready(will_options()), group="Will"),
    together(ready(connect_options()), group="CONNECT properties"),
    together(ready(disconnect_options()), group="DISCONNECT"),
)
broker_flags = together(connection_flags, transport_flags)
_sent_flags = together(connect_flags, together(ready([property_argument()]), group="Any property"))
session_flags = together(broker_flags, _sent_flags)
scripted_session_flags = together(scripted_connection_flags, transport_flags, _sent_flags)
"""The same for a command whose scripts name the version."""
profile_flags = together(profile_flag, refused_flags(CONNECTION))
"""--profile, and the flags of other clients that commands which connect refuse."""


def connect_packet(given: FlagValues, version: Version) -> Connect:
    """Return the CONNECT that the flags describe; raises UsageError for flags that contradict each other."""
    if given.get("no_problem_information"):
        given = {**given, PROBLEM: 0}
    # A command that names its sessions itself has no flags for these.
    named = {
        "client_id": _client_id(given),
        "keep_alive": given.get("keep_alive", KEEP_ALIVE_S),
        "clean_start": given.get("clean", True),
    }
    user = {key: given[key] for key in ("username", "password") if given[key] is not None}
    if "will_topic" not in given:
        return Connect(**named, **user)
    return Connect(
        **named, **user, **will_bits(given), will=will(given, version),
        properties=chosen_properties("CONNECT", given, version),
    )  # fmt: skip


def _client_id(given: FlagValues) -> str:
    if (prefix := given.get("id_prefix")) is not None:
        return client_id(prefix)
    chosen: str | None = given.get("client_id")
    return client_id() if chosen is None else chosen


def disconnect_packet(given: FlagValues, version: Version) -> Disconnect:
    """Return the DISCONNECT that the flags describe; raises UsageError for flags that need MQTT 5."""
    code = given.get("disconnect_reason_code")
    if code is not None:
        need_version_5("--disconnect-reason-code", version)
    properties = chosen_properties("DISCONNECT", given, version)
    if properties and code is None:
        code = 0
    return Disconnect(reason_code=code, properties=properties or None)


def connection_target(given: FlagValues) -> Target:
    """Return where to connect and with which CONNECT and DISCONNECT; raises UsageError."""
    target = plain_target(given)
    user = _authenticating_user(target.connect)
    return target.changed(password=None)._replace(authentication=user) if user else target


def plain_target(given: FlagValues) -> Target:
    """Return a target whose CONNECT has the password, whatever the Authentication Method; raises UsageError."""
    version: Version = given["mqtt_version"]
    transport = transport_of(given)
    return Target(
        host=given["host"], port=port_of(given, transport), version=version, connect=connect_packet(given, version),
        disconnect=disconnect_packet(given, version), transport=transport,
    )  # fmt: skip


def _authenticating_user(connect: Connect) -> ScramUser | None:
    """Return who is to authenticate in a SCRAM exchange, which proves the password instead of sending it.

    There is none without a method that is supported, a User Name and a password, and none where the flags give
    Authentication Data. Raises UsageError for a name or a password that SCRAM cannot use.
    """
    method = value_of(connect.properties, AUTHENTICATION_METHOD)
    if method not in METHODS or value_of(connect.properties, AUTHENTICATION_DATA) is not None:
        return None
    if connect.username is None or connect.password is None:
        return None
    try:
        user = ScramUser(method, connect.username, connect.password.decode())
        ScramExchange(user)
    except UnicodeDecodeError:
        raise click.UsageError(f"{method} needs a password of UTF-8 text") from None
    except Unusable as error:
        raise click.UsageError(str(error)) from None
    return user
