"""The options of the mosquitto clients: which client has them, and what each does to the settings."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ....spec.versions import Version
from .numbers import leading_decimal, leading_integer
from .settings import PUB, RR, SUB, GrammarError, MosquittoSettings

ALL = frozenset((PUB, SUB, RR))
SENDING, RECEIVING, ONLY_PUB, ONLY_SUB, ONLY_RR = (
    frozenset(programs) for programs in ((PUB, RR), (SUB, RR), (PUB,), (SUB,), (RR,))
)
LONGEST_TOPIC = 65535
INFINITE_S = 0xFFFF_FFFF
INFINITE = ("-1", "∞")
VERSIONS = {
    **dict.fromkeys(("mqttv31", "31"), Version.V31),
    **dict.fromkeys(("mqttv311", "311"), Version.V311),
    **dict.fromkeys(("mqttv5", "5"), Version.V5),
}
SCHEMES = {"mqtt": (False, False), "mqtts": (False, True), "ws": (True, False), "wss": (True, True)}
"""For each scheme of -L: whether it is WebSocket, and whether it is TLS."""
PORTS = {"mqtt": 1883, "mqtts": 8883, "ws": 1883, "wss": 8883}
"""The port of each scheme; for WebSocket the manual has others than the clients."""
RETAIN_HANDLING = {"always": 0, "new": 1, "never": 2}

Take = Callable[[MosquittoSettings, str], None]


class Switch(NamedTuple):
    """An option without a value."""

    field: str
    value: Any
    programs: frozenset[str] = ALL


class Valued(NamedTuple):
    """An option with a value."""

    take: Take
    missing: str
    """What the sentence about a missing value says, such as `no topic`."""
    programs: frozenset[str] = ALL
    blamed: str = ""
    """The name in that sentence; the option itself where it is empty."""


# what a value does


def _stores(field: str) -> Take:
    def take(settings: MosquittoSettings, text: str) -> None:
        setattr(settings, field, text)

    return take


def _stores_bytes(field: str) -> Take:
    def take(settings: MosquittoSettings, text: str) -> None:
        setattr(settings, field, text.encode("utf-8", "surrogateescape"))

    return take


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"


def check_utf8(text: str, option: str) -> None:
    """Raise GrammarError for text that is not UTF-8 or cannot be in a packet."""
    try:
        valid = len(text.encode()) <= LONGEST_TOPIC and not any(map(_is_control, text))
    except UnicodeEncodeError:
        valid = False
    if not valid:
        raise GrammarError(f"Error: Malformed UTF-8 in {option} argument.", gap=1)


def is_topic(text: str) -> bool:
    """Whether a text can be the topic of a message."""
    return not {"+", "#"} & set(text) and len(text.encode()) <= LONGEST_TOPIC


def is_filter(text: str) -> bool:
    """Whether a text can be the filter of a subscription (5.0: 4.7.1)."""
    levels = text.split("/")
    whole = all(level in ("+", "#") or not {"+", "#"} & set(level) for level in levels)
    return whole and "#" not in levels[:-1] and len(text.encode()) <= LONGEST_TOPIC


def _add_topic(settings: MosquittoSettings, text: str, option: str = "-t") -> None:
    check_utf8(text, option)
    if settings.program == SUB:
        if not is_filter(text):
            raise GrammarError(f"Error: Invalid subscription topic '{text}', are all '+' and '#' wildcards correct?")
        settings.topics.append(text)
    elif not is_topic(text):
        raise GrammarError(f"Error: Invalid publish topic '{text}', does it contain '+' or '#'?")
    else:
        settings.topic = text


def _response_topic(settings: MosquittoSettings, text: str) -> None:
    check_utf8(text, "-e")
    if not is_topic(text):
        raise GrammarError(f"Error: Invalid response topic '{text}', does it contain '+' or '#'?")
    settings.response_topic = text


def _filter(field: str, option: str, what: str) -> Take:
    def take(settings: MosquittoSettings, text: str) -> None:
        check_utf8(text, option)
        if not is_filter(text):
            raise GrammarError(f"Error: Invalid {what} topic '{text}', are all '+' and '#' wildcards correct?")
        getattr(settings, field).append(text)

    return take


def _will_topic(settings: MosquittoSettings, text: str) -> None:
    check_utf8(text, "--will-topic")
    if not is_topic(text):
        raise GrammarError(f"Error: Invalid will topic '{text}', does it contain '+' or '#'?")
    settings.will_topic = text


def _port(settings: MosquittoSettings, text: str) -> None:
    port = leading_integer(text)
    if not 0 <= port <= 65535:
        raise GrammarError(f"Error: Invalid port given: {port}")
    settings.port = port


def _keep_alive(settings: MosquittoSettings, text: str) -> None:
    settings.keep_alive_s = leading_integer(text)
    if not 5 <= settings.keep_alive_s <= 65535:
        raise GrammarError("Error: Invalid keepalive given, it must be between 5 and 65535 inclusive.", gap=1)


def _qos(settings: MosquittoSettings, text: str) -> None:
    settings.qos = leading_integer(text)
    if not 0 <= settings.qos <= 2:
        raise GrammarError(f"Error: Invalid QoS given: {settings.qos}")


def _will_qos(settings: MosquittoSettings, text: str) -> None:
    settings.will_qos = leading_integer(text)
    if not 0 <= settings.will_qos <= 2:
        raise GrammarError(f"Error: Invalid will QoS {settings.will_qos}.", gap=1)


def _max_inflight(settings: MosquittoSettings, text: str) -> None:
    count = leading_integer(text)
    if count < 1:
        raise GrammarError("Error: Maximum inflight messages must be greater than 0.", gap=1)
    settings.max_inflight = min(count, 65535)


def _version(settings: MosquittoSettings, text: str) -> None:
    if text not in VERSIONS:
        raise GrammarError("Error: Invalid protocol version argument given.", gap=1)
    settings.version = VERSIONS[text]


def _session_expiry(settings: MosquittoSettings, text: str) -> None:
    if text in INFINITE:
        seconds = INFINITE_S
    elif not text or (not text[0].isdigit() and text[0] not in " +-"):
        raise GrammarError("Error: session-expiry-interval not a number.", gap=1)
    else:
        seconds = leading_integer(text)
    if not 0 <= seconds <= INFINITE_S:
        raise GrammarError("Error: session-expiry-interval out of range.", gap=1)
    settings.session_expiry_s = seconds
    settings.version = Version.V5


def _client_id(settings: MosquittoSettings, text: str) -> None:
    if settings.id_prefix is not None:
        raise GrammarError("Error: -i and -I argument cannot be used together.", gap=1)
    settings.client_id = text


def _id_prefix(settings: MosquittoSettings, text: str) -> None:
    if settings.client_id is not None:
        raise GrammarError("Error: -i and -I argument cannot be used together.", gap=1)
    settings.id_prefix = text


def choose_source(settings: MosquittoSettings, source: str) -> None:
    """Set where the payload comes from; raises GrammarError where that is set already."""
    if settings.source:
        raise GrammarError("Error: Only one type of message can be sent at once.", gap=1)
    settings.source = source


def _message(settings: MosquittoSettings, text: str) -> None:
    choose_source(settings, "message")
    settings.payload = text.encode("utf-8", "surrogateescape")


def _file(settings: MosquittoSettings, text: str) -> None:
    choose_source(settings, "file")
    settings.file = text


def _url(settings: MosquittoSettings, text: str) -> None:
    """Take a URL as it is: the clients decode no percent signs."""
    scheme, found, rest = text.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in SCHEMES:
        raise GrammarError("Error: Unsupported URL scheme.", gap=1)
    place, slash, topic = rest.partition("/")
    if not slash:
        raise GrammarError("Error: Invalid URL for -L argument specified - topic missing.")
    settings.websocket, secure = SCHEMES[scheme]
    settings.port = PORTS[scheme]
    settings.os_certs = settings.os_certs or secure
    _add_topic(settings, topic, "-L")
    user, at, address = place.partition("@")
    if at:
        name, colon, password = user.partition(":")
        settings.username = name
        if colon:
            settings.password = password.encode("utf-8", "surrogateescape")
    _address(settings, address if at else place)


def _address(settings: MosquittoSettings, address: str) -> None:
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = address.partition(":")
    settings.host = host
    if port:
        _port(settings, port)


def _proxy(settings: MosquittoSettings, text: str) -> None:
    scheme, found, rest = text.partition("://")
    if not found or scheme != "socks5h":
        raise GrammarError(f"Error: Unsupported proxy protocol: {text}")
    if not rest:
        raise GrammarError("Error: Invalid proxy.")
    settings.proxy = text


def _count(settings: MosquittoSettings, text: str) -> None:
    settings.count = leading_integer(text)
    if settings.count < 1:
        raise GrammarError(f'Error: Invalid message count "{settings.count}".', gap=1)


def _wait(settings: MosquittoSettings, text: str) -> None:
    settings.wait_s = leading_integer(text)
    if settings.wait_s < 1:
        raise GrammarError(f'Error: Invalid timeout "{settings.wait_s}".', gap=1)


def _repeat(settings: MosquittoSettings, text: str) -> None:
    settings.repeat = leading_integer(text)
    if settings.repeat < 1:
        raise GrammarError("Error: --repeat argument must be >0.", gap=1)


def _repeat_delay(settings: MosquittoSettings, text: str) -> None:
    settings.repeat_delay_s = leading_decimal(text)
    if settings.repeat_delay_s < 0:
        raise GrammarError("Error: --repeat-delay argument must be >=0.0.", gap=1)


def _random_filter(settings: MosquittoSettings, text: str) -> None:
    settings.random_filter = int(10 * leading_decimal(text)) * 10
    if not 10 <= settings.random_filter <= 10_000:
        raise GrammarError("Error: --random-filter chance must be between 0.1-100.0", gap=1)


def _retain_handling(settings: MosquittoSettings, text: str) -> None:
    if text not in RETAIN_HANDLING:
        raise GrammarError(f"Error: Unknown value '{text}' for --retain-handling.", gap=1)
    settings.retain_handling = RETAIN_HANDLING[text]


def _format(settings: MosquittoSettings, text: str) -> None:
    from ...sub.format_string import FormatError, FormatString

    try:
        FormatString(text)
    except FormatError as error:
        raise GrammarError(f"Error: {error}") from None
    settings.format = text


SWITCHES: dict[str, Switch] = {
    **dict.fromkeys(("-c", "--disable-clean-session"), Switch("clean", False)),
    **dict.fromkeys(("-d", "--debug"), Switch("debug", True)),
    "--quiet": Switch("quiet", True),
    "--nodelay": Switch("nodelay", True),
    "--insecure": Switch("insecure", True),
    "--tls-use-os-certs": Switch("os_certs", True),
    "--no-tls": Switch("no_tls", True),
    "--ws": Switch("websocket", True),
    "--will-retain": Switch("will_retain", True),
    **dict.fromkeys(("-r", "--retain"), Switch("retain", True, ONLY_PUB)),
    "-E": Switch("exit_after_suback", True, ONLY_SUB),
    "-N": Switch("newline", False, RECEIVING),
    "-R": Switch("no_retain", True, RECEIVING),
    **dict.fromkeys(("-v", "--verbose"), Switch("verbose", True, RECEIVING)),
    "--pretty": Switch("pretty", True, RECEIVING),
    "--retain-as-published": Switch("retain_as_published", True, RECEIVING),
    "--retained-only": Switch("retained_only", True, ONLY_SUB),
    "--remove-retained": Switch("remove_retained", True, ONLY_SUB),
    **dict.fromkeys(("-w", "--watch"), Switch("watch", True, ONLY_SUB)),
    "--message-rate": Switch("message_rate", True, ONLY_SUB),
    "--latency": Switch("latency", True, ONLY_RR),
}  # fmt: skip
"""Options without a value."""
SOURCES: dict[str, tuple[str, frozenset[str]]] = {
    **dict.fromkeys(("-l", "--stdin-line"), ("lines", ONLY_PUB)),
    **dict.fromkeys(("-s", "--stdin-file"), ("stdin", SENDING)),
    **dict.fromkeys(("-n", "--null-message"), ("null", SENDING)),
}  # fmt: skip
"""Options without a value that name the source of the payload."""
VALUED: dict[str, Valued] = {
    "-A": Valued(_stores("bind"), "no address"),
    "--cafile": Valued(_stores("ca_file"), "no file"),
    "--capath": Valued(_stores("ca_path"), "no directory"),
    "--cert": Valued(_stores("cert"), "no file"),
    "--ciphers": Valued(_stores("ciphers"), "no ciphers"),
    "-C": Valued(_count, "no count", ONLY_SUB),
    "-e": Valued(_response_topic, "no response topic", ONLY_RR),
    **dict.fromkeys(("-f", "--file"), Valued(_file, "no file", SENDING, "-f")),
    "-F": Valued(_format, "no format", RECEIVING),
    **dict.fromkeys(("-h", "--host"), Valued(_stores("host"), "no host", blamed="-h")),
    **dict.fromkeys(("-i", "--id"), Valued(_client_id, "no id", blamed="-i")),
    **dict.fromkeys(("-I", "--id-prefix"), Valued(_id_prefix, "no id prefix", blamed="-I")),
    **dict.fromkeys(("-k", "--keepalive"), Valued(_keep_alive, "no keepalive", blamed="-k")),
    "--key": Valued(_stores("key"), "no file"),
    "--keyform": Valued(_stores("key_form"), "no keyform"),
    **dict.fromkeys(("-L", "--url"), Valued(_url, "no URL", blamed="-L")),
    **dict.fromkeys(("-m", "--message"), Valued(_message, "no message", SENDING, "-m")),
    "-M": Valued(_max_inflight, "max_inflight not"),
    **dict.fromkeys(("-p", "--port"), Valued(_port, "no port", blamed="-p")),
    **dict.fromkeys(("-P", "--pw"), Valued(_stores_bytes("password"), "no password", blamed="-P")),
    "--proxy": Valued(_proxy, "no proxy url"),
    "--psk": Valued(_stores("psk"), "no key"),
    "--psk-identity": Valued(_stores("psk_identity"), "no identity"),
    **dict.fromkeys(("-q", "--qos"), Valued(_qos, "no QoS", blamed="-q")),
    "--random-filter": Valued(_random_filter, "no chance", ONLY_SUB),
    "--repeat": Valued(_repeat, "no count", ONLY_PUB),
    "--repeat-delay": Valued(_repeat_delay, "no time", ONLY_PUB),
    "--retain-handling": Valued(_retain_handling, "no option", RECEIVING),
    **dict.fromkeys(("-t", "--topic"), Valued(_add_topic, "no topic", blamed="-t")),
    **dict.fromkeys(
        ("-T", "--filter-out"), Valued(_filter("filter_out", "-T", "filter"), "no topic filter", ONLY_SUB, "-T")
    ),
    "--tls-alpn": Valued(_stores("alpn"), "no protocol"),
    "--tls-engine": Valued(_stores("engine"), "no engine_id"),
    "--tls-engine-kpass-sha1": Valued(_stores("engine_password_sha1"), "no kpass sha1"),
    "--tls-keylog": Valued(_stores("key_log"), "no file"),
    "--tls-version": Valued(_stores("tls_version"), "no version"),
    **dict.fromkeys(
        ("-U", "--unsubscribe"),
        Valued(_filter("unsubscribe", "-U", "unsubscribe"), "no unsubscribe topic", ONLY_SUB, "-U"),
    ),
    **dict.fromkeys(("-u", "--username"), Valued(_stores("username"), "no username", blamed="-u")),
    "--unix": Valued(_stores("unix"), "no socket path"),
    **dict.fromkeys(("-V", "--protocol-version"), Valued(_version, "no version", blamed="--protocol-version")),
    "-W": Valued(_wait, "no timeout", RECEIVING),
    "--will-payload": Valued(_stores_bytes("will_payload"), "no will payload"),
    "--will-qos": Valued(_will_qos, "no will QoS"),
    "--will-topic": Valued(_will_topic, "no will topic"),
    "-x": Valued(_session_expiry, "no session expiry interval"),
}  # fmt: skip
"""Options with a value."""
