"""The options of the mosquitto clients: which client has them, and what each does to the settings."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from ....spec.versions import Version
from ...flags.transport import PROTOCOLS
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
PORTS = {"mqtt": 1883, "mqtts": 8883, "ws": 1883, "wss": 8883}
"""The port of each scheme; for WebSocket the manual has others than the clients."""
RETAIN_HANDLING = {"always": 0, "new": 1, "never": 2}

Take = Callable[[MosquittoSettings, str], None]


class LineOption(NamedTuple):
    """An option of the clients, and the flag of ours that says the same."""

    names: tuple[str, ...]
    take: Take
    """Takes the value into the settings; an empty one for an option without a value."""
    missing: str = ""
    """What the sentence about a missing value says, such as `no topic`; empty for an option without a value."""
    ours: str = ""
    """The long name of our flag in a profile; empty where there is none."""
    flag: bool = True
    """For an option without a value: what it sets our flag to."""
    programs: frozenset[str] = ALL
    blamed: str = ""
    """The name in the sentence about a missing value; the first one where it is empty."""

    @property
    def metavar(self) -> str:
        """The name of the value in the usage; empty for none."""
        return self.missing.removeprefix("no ").removesuffix(" not").replace(" ", "_").upper()


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


def _filter(field: str, option: str, what: str) -> Take:
    def take(settings: MosquittoSettings, text: str) -> None:
        check_utf8(text, option)
        if not is_filter(text):
            raise GrammarError(f"Error: Invalid {what} topic '{text}', are all '+' and '#' wildcards correct?")
        getattr(settings, field).append(text)

    return take


def _topic(field: str, option: str, what: str) -> Take:
    def take(settings: MosquittoSettings, text: str) -> None:
        check_utf8(text, option)
        if not is_topic(text):
            raise GrammarError(f"Error: Invalid {what} topic '{text}', does it contain '+' or '#'?")
        setattr(settings, field, text)

    return take


def _number(
    field: str, least: int, most: float, wrong: str, *, gap: int = 1,
    read: Callable[[str], float] = leading_integer,
) -> Take:  # fmt: skip
    """Return what stores a number within limits; in the sentence about any other, {} stands for the number."""

    def take(settings: MosquittoSettings, text: str) -> None:
        number = read(text)
        if not least <= number <= most:
            raise GrammarError(f"Error: {wrong.format(number)}", gap=gap)
        setattr(settings, field, number)

    return take


def _name(field: str, other: str) -> Take:
    def take(settings: MosquittoSettings, text: str) -> None:
        if getattr(settings, other) is not None:
            raise GrammarError("Error: -i and -I argument cannot be used together.", gap=1)
        setattr(settings, field, text)

    return take


_keep_alive = _number("keep_alive", 5, 65535, "Invalid keepalive given, it must be between 5 and 65535 inclusive.")
_repeat = _number("repeat", 1, inf, "--repeat argument must be >0.")
_repeat_delay = _number("repeat_delay_s", 0, inf, "--repeat-delay argument must be >=0.0.", read=leading_decimal)
_port = _number("port", 0, 65535, "Invalid port given: {}", gap=0)


def _max_inflight(settings: MosquittoSettings, text: str) -> None:
    count = leading_integer(text)
    if count < 1:
        raise GrammarError("Error: Maximum inflight messages must be greater than 0.", gap=1)
    settings.max_inflight = min(count, 65535)


def _version(settings: MosquittoSettings, text: str) -> None:
    if text not in VERSIONS:
        raise GrammarError("Error: Invalid protocol version argument given.", gap=1)
    settings.mqtt_version = VERSIONS[text]


def _session_expiry(settings: MosquittoSettings, text: str) -> None:
    if text in INFINITE:
        seconds = INFINITE_S
    elif not text or (not text[0].isdigit() and text[0] not in " +-"):
        raise GrammarError("Error: session-expiry-interval not a number.", gap=1)
    else:
        seconds = leading_integer(text)
    if not 0 <= seconds <= INFINITE_S:
        raise GrammarError("Error: session-expiry-interval out of range.", gap=1)
    settings.session_expiry_interval = seconds
    settings.mqtt_version = Version.V5


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
    if not found or scheme not in PROTOCOLS:
        raise GrammarError("Error: Unsupported URL scheme.", gap=1)
    place, slash, topic = rest.partition("/")
    if not slash:
        raise GrammarError("Error: Invalid URL for -L argument specified - topic missing.")
    settings.ws, secure = PROTOCOLS[scheme]
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


def _sets(field: str, value: object = True) -> Take:
    return lambda settings, text: setattr(settings, field, value)


def _source(source: str) -> Take:
    return lambda settings, text: choose_source(settings, source)


_ROWS = (
    LineOption(("-c", "--disable-clean-session"), _sets("clean", value=False), ours="clean", flag=False),
    LineOption(("-d", "--debug"), _sets("debug"), ours="inspect"),
    LineOption(("--quiet",), _sets("quiet"), ours="quiet"),
    # TCP_NODELAY is always set.
    LineOption(("--nodelay",), lambda settings, text: None),
    LineOption(("--insecure",), _sets("no_verify_hostname"), ours="no-verify-hostname"),
    LineOption(("--tls-use-os-certs",), _sets("os_certs"), ours="tls"),
    LineOption(("--no-tls",), _sets("no_tls"), ours="tls", flag=False),
    LineOption(("--ws",), _sets("ws"), ours="ws"),
    LineOption(("--will-retain",), _sets("will_retain"), ours="will-retain"),
    LineOption(("-r", "--retain"), _sets("retain"), ours="retain", programs=ONLY_PUB),
    LineOption(("-E",), _sets("exit_after_suback"), programs=ONLY_SUB),
    LineOption(("-N",), _sets("newline", value=False), programs=RECEIVING),
    LineOption(("-R",), _sets("no_retain"), programs=RECEIVING),
    LineOption(("-v", "--verbose"), _sets("verbose"), programs=RECEIVING),
    LineOption(("--pretty",), _sets("pretty"), programs=RECEIVING),
    LineOption(("--retain-as-published",), _sets("retain_as_published"), programs=RECEIVING),
    LineOption(("--retained-only",), _sets("retained_only"), programs=ONLY_SUB),
    LineOption(("--remove-retained",), _sets("remove_retained"), programs=ONLY_SUB),
    LineOption(("-w", "--watch"), _sets("watch"), programs=ONLY_SUB),
    LineOption(("--message-rate",), _sets("message_rate"), programs=ONLY_SUB),
    LineOption(("--latency",), _sets("latency"), programs=ONLY_RR),
    LineOption(("-l", "--stdin-line"), _source("lines"), ours="stdin-line", programs=ONLY_PUB),
    LineOption(("-s", "--stdin-file"), _source("stdin"), ours="stdin", programs=SENDING),
    LineOption(("-n", "--null-message"), _source("null"), ours="null-message", programs=SENDING),
    LineOption(("-A",), _stores("bind"), "no address", "bind"),
    LineOption(("--cafile",), _stores("cafile"), "no file", "cafile"),
    LineOption(("--capath",), _stores("capath"), "no directory", "capath"),
    LineOption(("--cert",), _stores("cert"), "no file", "cert"),
    LineOption(("--ciphers",), _stores("ciphers"), "no ciphers", "ciphers"),
    LineOption(("-C",), _number("count", 1, inf, 'Invalid message count "{}".'), "no count", programs=ONLY_SUB),
    LineOption(("-e",), _topic("response_topic", "-e", "response"), "no response topic", programs=ONLY_RR),
    LineOption(("-f", "--file"), _file, "no file", "file", programs=SENDING),
    LineOption(("-F",), _format, "no format", programs=RECEIVING),
    LineOption(("-h", "--host"), _stores("host"), "no host", "host"),
    LineOption(("-i", "--id"), _name("client_id", "id_prefix"), "no id", "client-id"),
    LineOption(("-I", "--id-prefix"), _name("id_prefix", "client_id"), "no id prefix", "id-prefix"),
    LineOption(("-k", "--keepalive"), _keep_alive, "no keepalive", "keep-alive"),
    LineOption(("--key",), _stores("key"), "no file", "key"),
    LineOption(("--keyform",), _stores("key_form"), "no keyform"),
    LineOption(("-L", "--url"), _url, "no URL", "url"),
    LineOption(("-m", "--message"), _message, "no message", "message", programs=SENDING),
    LineOption(("-M",), _max_inflight, "max_inflight not", "max-inflight"),
    LineOption(("-p", "--port"), _port, "no port", "port"),
    LineOption(("-P", "--pw"), _stores_bytes("password"), "no password", "password"),
    LineOption(("--proxy",), _proxy, "no proxy url", "proxy"),
    LineOption(("--psk",), _stores("psk"), "no key"),
    LineOption(("--psk-identity",), _stores("psk_identity"), "no identity"),
    LineOption(("-q", "--qos"), _number("qos", 0, 2, "Invalid QoS given: {}", gap=0), "no QoS", "qos"),
    LineOption(("--random-filter",), _random_filter, "no chance", programs=ONLY_SUB),
    LineOption(("--repeat",), _repeat, "no count", "repeat", programs=ONLY_PUB),
    LineOption(("--repeat-delay",), _repeat_delay, "no time", "repeat-delay", programs=ONLY_PUB),
    LineOption(("--retain-handling",), _retain_handling, "no option", programs=RECEIVING),
    LineOption(("-t", "--topic"), _add_topic, "no topic", "topic"),
    LineOption(("-T", "--filter-out"), _filter("filter_out", "-T", "filter"), "no topic filter", programs=ONLY_SUB),
    LineOption(("--tls-alpn",), _stores("tls_alpn"), "no protocol", "alpn"),
    LineOption(("--tls-engine",), _stores("engine"), "no engine_id"),
    LineOption(("--tls-engine-kpass-sha1",), _stores("engine_password_sha1"), "no kpass sha1"),
    LineOption(("--tls-keylog",), _stores("key_log"), "no file", "key-log"),
    LineOption(("--tls-version",), _stores("tls_version"), "no version", "tls-version"),
    LineOption(
        ("-U", "--unsubscribe"), _filter("unsubscribe", "-U", "unsubscribe"), "no unsubscribe topic", programs=ONLY_SUB
    ),
    LineOption(("-u", "--username"), _stores("username"), "no username", "username"),
    LineOption(("--unix",), _stores("unix"), "no socket path", "unix"),
    LineOption(("-V", "--protocol-version"), _version, "no version", "mqtt-version", blamed="--protocol-version"),
    LineOption(("-W",), _number("wait_s", 1, inf, 'Invalid timeout "{}".'), "no timeout", programs=RECEIVING),
    LineOption(("--will-payload",), _stores_bytes("will_payload"), "no will payload", "will-payload"),
    LineOption(("--will-qos",), _number("will_qos", 0, 2, "Invalid will QoS {}."), "no will QoS", "will-qos"),
    LineOption(("--will-topic",), _topic("will_topic", "--will-topic", "will"), "no will topic", "will-topic"),
    LineOption(("-x",), _session_expiry, "no session expiry interval", "session-expiry-interval"),
)  # fmt: skip
OPTIONS = {name: row for row in _ROWS for name in row.names}
"""The options by each of their names; -D, -o, --help and --version are read on their own."""
