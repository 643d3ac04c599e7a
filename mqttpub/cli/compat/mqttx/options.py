"""The options of each command of MQTTX, with their defaults."""

import os
from typing import Any

from ....spec.versions import Version
from ...flags.mqttx_letters import FORMATS
from ...flags.transport import PROTOCOLS
from .grammar import NONE, OPTIONAL, REQUIRED, Option, Parse

MESSAGE = "Hello From MQTTX CLI"
"""The payload of a publisher that is given none."""
VERSIONS = {"3.1": 3, "3.1.1": 4, "5": 5, "5.0": 5}
NO_SAVING = "`mqttpub profile save NAME -h HOST ...` keeps flags for `mqttpub pub --profile NAME`"
NO_LOADING = "`mqttpub profile import NAME mqttx FILE` makes a profile of a file, for `mqttpub pub --profile NAME`"
METHODS = ("SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512")


def number(word: str, before: Any) -> int | float:
    """Return the number that a word is; raises ValueError."""
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{word} is not a number.") from None
    return int(value) if value.is_integer() else value


def numbers(word: str, before: Any) -> list[int | float]:
    """Return the numbers so far and one more."""
    return [*(before or ()), number(word, None)]


def qos(word: str, before: Any) -> int:
    """Return a QoS; raises ValueError."""
    value = number(word, before)
    if value not in (0, 1, 2):
        raise ValueError(f"{word} is not a valid QoS: 0, 1 or 2.")
    return int(value)


def several_qos(word: str, before: Any) -> list[int]:
    """Return the values of 0, 1 and 2 so far and one more."""
    return [*(before or ()), qos(word, None)]


def flags(word: str, before: Any) -> list[bool]:
    """Return the flags so far and one more; raises ValueError."""
    if word not in ("true", "false"):
        raise ValueError(f"{word} is not true or false.")
    return [*(before if isinstance(before, list) else ()), word == "true"]


def pairs(word: str, before: Any) -> list[tuple[str, str]]:
    """Return the pairs so far and one more: `key: value`; raises ValueError."""
    name, found, value = word.partition(": ")
    if not found:
        raise ValueError(f"{word} is not a valid pair, such as 'name: value'.")
    return [*(before or ()), (name, value)]


def version(word: str, before: Any) -> int:
    """Return a protocol level; raises ValueError."""
    if word not in VERSIONS:
        raise ValueError("Not a valid MQTT version: 3.1, 3.1.1 or 5.")
    return VERSIONS[word]


def one_of(*words: str) -> Parse:
    """Return the parser of an option whose value is one of some words."""

    def parse(word: str, before: Any) -> str:
        if word not in words:
            raise ValueError(f"{word} is not supported: use {', '.join(words)}.")
        return word

    return parse


def topic(word: str, before: Any) -> str:
    """Return a topic to publish to; raises ValueError."""
    if {"+", "#"} & set(word):
        raise ValueError("You cannot publish the message to a Topic that contains wildcards characters #, +")
    return word


def _option(*names: str, key: str = "", ours: str = "", value: str = NONE, **more: Any) -> Option:
    """Return an option; without a key it has that of the flag of `ours`, otherwise that of its own long name."""
    long = ours or names[-1].removeprefix("--")
    return Option(names, key or long.replace("-", "_"), value, ours=ours, **more)


def _valued(*names: str, metavar: str = "VALUE", value: str = REQUIRED, **more: Any) -> Option:
    return _option(*names, metavar=metavar, value=value, **more)


def _number(*names: str, **more: Any) -> Option:
    return _valued(*names, metavar="NUMBER", parse=number, **more)


def _pairs(*names: str, key: str) -> Option:
    return _valued(*names, key=key, metavar="PAIR", parse=pairs, variadic=True)


KEEP_ALIVE = _number("-k", "--keepalive", ours="keep-alive", default=30)
CLIENT_ID = _valued("-i", "--client-id", ours="client-id", metavar="ID")
PLACE = (
    _valued("-V", "--mqtt-version", metavar="5/3.1.1/3.1", parse=version, default=5),
    _valued("-h", "--hostname", ours="host", metavar="HOST", default="localhost"),
    _number("-p", "--port", ours="port", default=1883),
    _option("--no-clean", ours="clean", default=True),
    _valued("-u", "--username", ours="username", metavar="USER"),
    _valued("-P", "--password", ours="password", metavar="PASS"),
    _valued("-l", "--protocol", ours="protocol", metavar="PROTO", parse=one_of(*PROTOCOLS), default="mqtt"),
    _valued("--path", ours="ws-path", metavar="PATH", default="/mqtt"),
    _pairs("-wh", "--ws-headers", key="headers"),
    _valued("--key", ours="key", metavar="PATH"),
    _valued("--cert", ours="cert", metavar="PATH"),
    _valued("--ca", ours="cafile", metavar="PATH"),
    _option("--insecure", ours="insecure"),
    _valued("--alpn", ours="alpn", metavar="PROTO", variadic=True),
    _number("-rp", "--reconnect-period", default=1000),
    _number("--maximum-reconnect-times", default=10),
    _number("-se", "--session-expiry-interval", ours="session-expiry-interval"),
    _number("--rcv-max", "--receive-maximum"),
    _number("--maximum-packet-size"),
    _number("--topic-alias-maximum"),
    _option("--req-response-info", key="request_response_information"),
    _option("--no-req-problem-info", key="request_problem_information", default=True),
    _valued("-am", "--authentication-method", metavar="METHOD", parse=one_of(*METHODS)),
    _valued("-Wt", "--will-topic", ours="will-topic", metavar="TOPIC"),
    _valued("-Wm", "--will-message", ours="will-payload", metavar="BODY"),
    _valued("-Wq", "--will-qos", ours="will-qos", metavar="0/1/2", parse=qos),
    _option("-Wr", "--will-retain", ours="will-retain"),
    _number("-Wd", "--will-delay-interval"),
    _option("-Wpf", "--will-payload-format-indicator"),
    _number("-We", "--will-message-expiry-interval"),
    _valued("-Wct", "--will-content-type", metavar="TYPE"),
    _valued("-Wrt", "--will-response-topic", metavar="TOPIC"),
    _valued("-Wcd", "--will-correlation-data", metavar="DATA"),
    _pairs("-Wup", "--will-user-properties", key="will_user_property"),
    Option(("-so", "--save-options"), "save_options", OPTIONAL, "PATH", refusal=NO_SAVING),
    Option(("-lo", "--load-options"), "load_options", OPTIONAL, "PATH", refusal=NO_LOADING),
    _option("--help"),
)  # fmt: skip
"""Options of every command that connects."""
CONNECT_PAIRS = _pairs("-Cup", "--conn-user-properties", key="connect_user_property")
DEBUG = _option("--debug")
SCHEMAS = (
    _valued("-Pp", "--protobuf-path", metavar="PATH"),
    _valued("-Pmn", "--protobuf-message-name", metavar="NAME"),
    _valued("-Ap", "--avsc-path", metavar="PATH"),
)  # fmt: skip
FORMAT = _valued("-f", "--format", ours="format", metavar="TYPE", parse=one_of(*FORMATS))
PUBLISHING = (
    _valued("-t", "--topic", ours="topic", metavar="TOPIC", parse=topic),
    _valued("-m", "--message", ours="message", metavar="BODY", default=MESSAGE),
    _valued("-q", "--qos", ours="qos", metavar="0/1/2", parse=qos, default=0),
    _option("-r", "--retain", ours="retain"),
    _option("-d", "--dup"),
    _option("-pf", "--payload-format-indicator"),
    _number("-e", "--message-expiry-interval"),
    _number("-ta", "--topic-alias"),
    _valued("-rt", "--response-topic", ours="response-topic", metavar="TOPIC"),
    _valued("-cd", "--correlation-data", metavar="DATA"),
    _pairs("-up", "--user-properties", key="user_property"),
    _number("-si", "--subscription-identifier"),
    _valued("-ct", "--content-type", ours="content-type", metavar="TYPE"),
    _valued("--file-read", metavar="PATH"),
    _valued("-S", "--payload-size", metavar="SIZE"),
)  # fmt: skip
"""Options of a message."""
SUBSCRIBING = (
    _valued("-t", "--topic", ours="topic", metavar="TOPIC", variadic=True),
    _valued("-q", "--qos", ours="qos", metavar="0/1/2", parse=several_qos, variadic=True),
    _valued("-nl", "--no_local", metavar="FLAG", parse=flags, variadic=True, value=OPTIONAL),
    _valued("-rap", "--retain-as-published", metavar="FLAG", parse=flags, variadic=True, value=OPTIONAL),
    _valued("-rh", "--retain-handling", metavar="0/1/2", parse=several_qos, variadic=True),
    _valued("-si", "--subscription-identifier", parse=numbers, variadic=True),
    _pairs("-up", "--user-properties", key="user_property"),
    _option("-v", "--verbose"),
)  # fmt: skip
"""Options of subscriptions."""
OPTIONS: dict[str, tuple[Option, ...]] = {
    "pub": (
        *PUBLISHING, _option("-s", "--stdin"), _option("-M", "--multiline"),
        _option("-lm", "--line-mode"), FORMAT, *SCHEMAS, CLIENT_ID, KEEP_ALIVE, CONNECT_PAIRS, DEBUG,
        *PLACE,
    ),
    "sub": (
        *SUBSCRIBING, FORMAT, *SCHEMAS,
        _valued("--output-mode", parse=one_of("default", "clean"), default="default"),
        _valued("--file-write", metavar="PATH"),
        _valued("--file-save", metavar="PATH"),
        _valued("--delimiter", metavar="CHARACTER", value=OPTIONAL),
        CLIENT_ID, CONNECT_PAIRS, DEBUG, *PLACE,
    ),
    "conn": (CLIENT_ID, KEEP_ALIVE, _pairs("-up", "--user-properties", key="connect_user_property"), DEBUG, *PLACE),
}  # fmt: skip
"""The options of each command."""


def client_id() -> str:
    """Return a fresh Client Identifier."""
    return f"mqttx_{os.urandom(4).hex()}"


def version_of(level: Any) -> Version:
    """Return the version of a protocol level."""
    return Version(int(level))
