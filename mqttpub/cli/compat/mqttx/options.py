"""The options of each command of MQTTX, with their defaults."""

import os
from typing import Any

from ....spec.versions import Version
from .grammar import NONE, OPTIONAL, REQUIRED, Option, Parse

MESSAGE = "Hello From MQTTX CLI"
"""The payload of a publisher that is given none."""
PROTOCOLS = ("mqtt", "mqtts", "ws", "wss")
FORMATS = ("base64", "json", "hex", "binary", "cbor", "msgpack")
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


def _flag(*names: str, key: str, default: Any = None) -> Option:
    return Option(names, key, NONE, default=default)


def _valued(*names: str, key: str, metavar: str = "VALUE", parse: Parse | None = None, **more: Any) -> Option:
    return Option(names, key, more.pop("value", REQUIRED), metavar, parse, **more)


def _number(*names: str, key: str, default: Any = None) -> Option:
    return _valued(*names, key=key, metavar="NUMBER", parse=number, default=default)


def _pairs(*names: str, key: str) -> Option:
    return _valued(*names, key=key, metavar="PAIR", parse=pairs, variadic=True)


KEEP_ALIVE = _number("-k", "--keepalive", key="keepalive", default=30)
CLIENT_ID = _valued("-i", "--client-id", key="clientId", metavar="ID")
PLACE = (
    _valued("-V", "--mqtt-version", key="mqttVersion", metavar="5/3.1.1/3.1", parse=version, default=5),
    _valued("-h", "--hostname", key="hostname", metavar="HOST", default="localhost"),
    _number("-p", "--port", key="port", default=1883),
    _flag("--no-clean", key="clean", default=True),
    _valued("-u", "--username", key="username", metavar="USER"),
    _valued("-P", "--password", key="password", metavar="PASS"),
    _valued("-l", "--protocol", key="protocol", metavar="PROTO", parse=one_of(*PROTOCOLS), default="mqtt"),
    _valued("--path", key="path", metavar="PATH", default="/mqtt"),
    _pairs("-wh", "--ws-headers", key="wsHeaders"),
    _valued("--key", key="key", metavar="PATH"),
    _valued("--cert", key="cert", metavar="PATH"),
    _valued("--ca", key="ca", metavar="PATH"),
    _flag("--insecure", key="insecure"),
    _valued("--alpn", key="alpn", metavar="PROTO", variadic=True),
    _number("-rp", "--reconnect-period", key="reconnectPeriod", default=1000),
    _number("--maximum-reconnect-times", key="maximumReconnectTimes", default=10),
    _number("-se", "--session-expiry-interval", key="sessionExpiryInterval"),
    _number("--rcv-max", "--receive-maximum", key="receiveMaximum"),
    _number("--maximum-packet-size", key="maximumPacketSize"),
    _number("--topic-alias-maximum", key="topicAliasMaximum"),
    _flag("--req-response-info", key="reqResponseInfo"),
    _flag("--no-req-problem-info", key="reqProblemInfo", default=True),
    _valued("-am", "--authentication-method", key="authenticationMethod", metavar="METHOD", parse=one_of(*METHODS)),
    _valued("-Wt", "--will-topic", key="willTopic", metavar="TOPIC"),
    _valued("-Wm", "--will-message", key="willMessage", metavar="BODY"),
    _valued("-Wq", "--will-qos", key="willQos", metavar="0/1/2", parse=qos),
    _flag("-Wr", "--will-retain", key="willRetain"),
    _number("-Wd", "--will-delay-interval", key="willDelayInterval"),
    _flag("-Wpf", "--will-payload-format-indicator", key="willPayloadFormatIndicator"),
    _number("-We", "--will-message-expiry-interval", key="willMessageExpiryInterval"),
    _valued("-Wct", "--will-content-type", key="willContentType", metavar="TYPE"),
    _valued("-Wrt", "--will-response-topic", key="willResponseTopic", metavar="TOPIC"),
    _valued("-Wcd", "--will-correlation-data", key="willCorrelationData", metavar="DATA"),
    _pairs("-Wup", "--will-user-properties", key="willUserProperties"),
    Option(("-so", "--save-options"), "saveOptions", OPTIONAL, "PATH", refusal=NO_SAVING),
    Option(("-lo", "--load-options"), "loadOptions", OPTIONAL, "PATH", refusal=NO_LOADING),
    _flag("--help", key="help"),
)  # fmt: skip
"""Options of every command that connects."""
CONNECT_PAIRS = _pairs("-Cup", "--conn-user-properties", key="connUserProperties")
DEBUG = _flag("--debug", key="debug")
SCHEMAS = (
    _valued("-Pp", "--protobuf-path", key="protobufPath", metavar="PATH"),
    _valued("-Pmn", "--protobuf-message-name", key="protobufMessageName", metavar="NAME"),
    _valued("-Ap", "--avsc-path", key="avscPath", metavar="PATH"),
)  # fmt: skip
FORMAT = _valued("-f", "--format", key="format", metavar="TYPE", parse=one_of(*FORMATS))
PUBLISHING = (
    _valued("-t", "--topic", key="topic", metavar="TOPIC", parse=topic),
    _valued("-m", "--message", key="message", metavar="BODY", default=MESSAGE),
    _valued("-q", "--qos", key="qos", metavar="0/1/2", parse=qos, default=0),
    _flag("-r", "--retain", key="retain"),
    _flag("-d", "--dup", key="dup"),
    _flag("-pf", "--payload-format-indicator", key="payloadFormatIndicator"),
    _number("-e", "--message-expiry-interval", key="messageExpiryInterval"),
    _number("-ta", "--topic-alias", key="topicAlias"),
    _valued("-rt", "--response-topic", key="responseTopic", metavar="TOPIC"),
    _valued("-cd", "--correlation-data", key="correlationData", metavar="DATA"),
    _pairs("-up", "--user-properties", key="userProperties"),
    _number("-si", "--subscription-identifier", key="subscriptionIdentifier"),
    _valued("-ct", "--content-type", key="contentType", metavar="TYPE"),
    _valued("--file-read", key="fileRead", metavar="PATH"),
    _valued("-S", "--payload-size", key="payloadSize", metavar="SIZE"),
)  # fmt: skip
"""Options of a message."""
SUBSCRIBING = (
    _valued("-t", "--topic", key="topic", metavar="TOPIC", variadic=True),
    _valued("-q", "--qos", key="qos", metavar="0/1/2", parse=several_qos, variadic=True),
    _valued("-nl", "--no_local", key="no_local", metavar="FLAG", parse=flags, variadic=True, value=OPTIONAL),
    _valued(
        "-rap", "--retain-as-published", key="retainAsPublished", metavar="FLAG", parse=flags, variadic=True,
        value=OPTIONAL,
    ),
    _valued("-rh", "--retain-handling", key="retainHandling", metavar="0/1/2", parse=several_qos, variadic=True),
    _valued("-si", "--subscription-identifier", key="subscriptionIdentifier", parse=numbers, variadic=True),
    _pairs("-up", "--user-properties", key="userProperties"),
    _flag("-v", "--verbose", key="verbose"),
)  # fmt: skip
"""Options of subscriptions."""
OPTIONS: dict[str, tuple[Option, ...]] = {
    "pub": (
        *PUBLISHING, _flag("-s", "--stdin", key="stdin"), _flag("-M", "--multiline", key="multiline"),
        _flag("-lm", "--line-mode", key="lineMode"), FORMAT, *SCHEMAS, CLIENT_ID, KEEP_ALIVE, CONNECT_PAIRS, DEBUG,
        *PLACE,
    ),
    "sub": (
        *SUBSCRIBING, FORMAT, *SCHEMAS,
        _valued("--output-mode", key="outputMode", parse=one_of("default", "clean"), default="default"),
        _valued("--file-write", key="fileWrite", metavar="PATH"),
        _valued("--file-save", key="fileSave", metavar="PATH"),
        _valued("--delimiter", key="delimiter", metavar="CHARACTER", value=OPTIONAL),
        CLIENT_ID, CONNECT_PAIRS, DEBUG, *PLACE,
    ),
    "conn": (CLIENT_ID, KEEP_ALIVE, _pairs("-up", "--user-properties", key="connUserProperties"), DEBUG, *PLACE),
}  # fmt: skip
"""The options of each command."""


def client_id() -> str:
    """Return a fresh Client Identifier."""
    return f"mqttx_{os.urandom(4).hex()}"


def version_of(level: Any) -> Version:
    """Return the version of a protocol level."""
    return Version(int(level))
