"""The flags of a Network Connection that commands share: broker, version, Client Identifier, user, what is shown."""

from collections.abc import Callable

import click
from click.core import ParameterSource

from ...spec.versions import Version
from .base import FULL_FLAG, SECRETS_FLAG, F, FlagValues, flag, together
from .types import HOST, MOST, PASSWORD, PATH, U16_NUMBER, VERSION, FiniteRange, NumberType, PathWord
from .url import URL

KEEP_ALIVE_S = 60
ALWAYS = -1
"""What --reconnect without a number stands for."""


def _version_flag(shown_default: bool | str) -> Callable[[F], F]:
    return flag(
        "-V", "--mqtt-version", type=VERSION, default="5", show_default=shown_default,
        aliases=("--protocol-version", "--mqttVersion"), metavar="VERSION",
        common=True, help="3.1, 3.1.1 (also 3 or 4) or 5.",
    )  # fmt: skip


_BROKER = (
    flag(
        "-L", "--url", common=True, metavar="URL", type=URL,
        help="mqtt://user@host:port/topic, or mqtts, ws, wss.",
    ),
    flag(
        "-h", "--host", aliases=("--hostname",), type=HOST, default="localhost", show_default=True, metavar="HOST",
        common=True, help="Host name or address.",
    ),
    flag(
        "-p", "--port", common=True, type=NumberType(1, 65535), metavar="PORT",
        help="Port. [default: 1883; TLS 8883, ws 80, wss 443]",
    ),
)  # fmt: skip
place_flags = together(*_BROKER, group="Connection")
timeout_flag = flag(
    "--timeout", type=FiniteRange(min=0, min_open=True), default=30, show_default=True,
    metavar="SECONDS", help="Give up after this long without progress.",
)  # fmt: skip
_NAMES = (
    flag(
        "-i", "--client-id", aliases=("--id", "--identifier"), common=True, metavar="ID",
        help="Client Identifier. [default: mqttpub-XXXXXXXX]",
    ),
    flag(
        "-I", "--id-prefix", aliases=("--identifierPrefix", "-ip"), metavar="PREFIX",
        help="Client Identifier: this prefix and 8 random hex digits.",
    ),
)  # fmt: skip
_USER = (
    flag("-u", "--username", aliases=("--user",), common=True, metavar="NAME", help="User Name."),
    flag(
        "-P", "--password", aliases=("--pw", "-pw"), metavar="PASSWORD", type=PASSWORD,
        help="Password; other users can see arguments, so prefer --password-file, --ask-password or MQTTPUB_PASSWORD.",
    ),
    flag(
        "--password-file", aliases=("-pw:file",), common=True, type=PATH, metavar="PATH",
        help="File whose first line is the password.",
    ),
    flag("--ask-password", is_flag=True, help="Ask for the password on the terminal."),
)  # fmt: skip
_SESSION = (
    *_NAMES,
    *_USER,
    flag(
        "-k", "--keep-alive", aliases=("--keepalive", "--keepAlive"), type=U16_NUMBER, default=KEEP_ALIVE_S,
        show_default=True, metavar="SECONDS", help="Keep Alive, 0 to 65535 seconds; 0 disables it.",
    ),
    flag(
        "--clean/--no-clean", "clean", " /-c", default=True, aliases=(" /--no-cleanStart", " /--disable-clean-session"),
        help="Clean Start (Clean Session before 5.0): discard an existing session.",
    ),
    timeout_flag,
    flag("--nodelay", is_flag=True, hidden=True, expose_value=False, help="Ignored: TCP_NODELAY is always set."),
)  # fmt: skip


def reconnect_flag(help: str) -> Callable[[F], F]:
    """Return the decorator that adds --reconnect; `reconnects_of` reads it."""
    return flag(
        "--reconnect", "reconnects", aliases=("--maximum-reconnect-times",), is_flag=False, flag_value="always",
        type=NumberType(0, MOST, {"always": ALWAYS}), metavar="[N]", help=help,
    )  # fmt: skip


def reconnects_of(given: FlagValues) -> int | None:
    """Return how often to connect again: 0 without the flag, None for as often as it takes."""
    reconnects: int | None = given["reconnects"]
    return 0 if reconnects is None else None if reconnects == ALWAYS else reconnects


connection_flags = together(*_BROKER, _version_flag(True), *_SESSION, group="Connection")
scripted_connection_flags = together(*_BROKER, _version_flag("the script's, or 5"), *_SESSION, group="Connection")
"""The same for a command whose scripts name the version."""
ends_flags = together(_version_flag(True), *_SESSION, group="Connection")
"""The same for a command whose arguments name the brokers."""
user_flags = together(*_BROKER, _version_flag(True), *_USER, timeout_flag, group="Connection")
"""The same for a command that names its sessions itself."""

CAPTURE_FLAGS = (
    flag(
        "--capture", type=PathWord(dir_okay=False), metavar="PCAPNG",
        help="Record the connection as a capture, as plain MQTT also with TLS and WebSocket.",
    ),
    flag("--capture-masked", is_flag=True, help="Mask passwords and authentication data in the capture."),
    flag(
        "--capture-size", type=NumberType(1, 1_000_000), metavar="MB",
        help="Begin another file, PCAPNG-2 and so on, after this many megabytes.",
    ),
)  # fmt: skip
QUIET_FLAG = flag("--quiet", is_flag=True, help="Print nothing on standard error.")
LINT_FLAG = flag("--lint", is_flag=True, common=True, help="Check both ends against the specification.")
_SHOWN = (
    flag(
        "--json", "as_json", is_flag=True, common=True,
        help="Print JSON Lines: outcomes; with --inspect, also packets.",
    ),
    SECRETS_FLAG, FULL_FLAG, QUIET_FLAG, *CAPTURE_FLAGS,
)  # fmt: skip
watched_flags = together(LINT_FLAG, *_SHOWN, group="Output")
"""The flags of a command that always shows every byte."""
output_flags = together(
    flag(
        "-d", "--inspect", aliases=("--debug", "--verbose"), is_flag=True, common=True,
        help="Show every byte sent and received.",
    ),
    LINT_FLAG,
    *_SHOWN,
    group="Output",
)  # fmt: skip


def asked_version(given: FlagValues) -> Version | None:
    """Return the version that the user named; None where it is the default."""
    source = click.get_current_context().get_parameter_source("mqtt_version")
    version: Version = given["mqtt_version"]
    return None if source is ParameterSource.DEFAULT else version
