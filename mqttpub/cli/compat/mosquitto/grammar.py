"""A whole line of a mosquitto client: its options files, its words, and what the options say together."""

from collections import deque
from collections.abc import Iterable

from ....spec.properties import SESSION_EXPIRY_INTERVAL
from ....spec.versions import Version
from ...flags.properties_argument import Setting
from . import properties
from .files import option_lines
from .options import INFINITE_S, OPTIONS
from .settings import SUB, GrammarError, HelpAsked, MosquittoSettings, VersionAsked

_SRV = (
    "Error: -S cannot be used: Python has no way to look up SRV records, and mqttpub needs no DNS library for anything "
    "else. Look up _mqtt._tcp.HOST, and give what you find with -h and -p."
)
_PSK = (
    "Error: --psk cannot be used: TLS with a pre-shared key came to Python with version 3.13, and mqttpub supports "
    "older ones. Use --cafile, or --cert and --key."
)
REFUSED = {"-S": _SRV}
"""Options that are recognized and cannot be obeyed."""


def read(program: str, words: list[str]) -> MosquittoSettings:
    """Return what a line says; raises GrammarError, HelpAsked and VersionAsked."""
    settings = MosquittoSettings(program)
    for line in option_lines(settings.name, words):
        take(settings, line)
    take(settings, words)
    _check(settings)
    return settings


def take(settings: MosquittoSettings, words: Iterable[str]) -> None:
    """Take the words of the line, or of one line of a file, one option after the other."""
    rest = deque(words)
    while rest:
        _take_option(settings, rest.popleft(), rest)


def _take_option(settings: MosquittoSettings, word: str, rest: deque[str]) -> None:
    option = OPTIONS.get(word)
    if option and settings.program in option.programs:
        if option.missing and not rest:
            raise GrammarError(
                f"Error: {option.blamed or option.names[0]} argument given but {option.missing} specified.", gap=1
            )
        option.take(settings, rest.popleft() if option.missing else "")
    elif word in ("-D", "--property"):
        properties.take(settings, rest)
    elif word == "-o" and rest:
        # The file was read before the line.
        rest.popleft()
    elif word == "--help":
        raise HelpAsked
    elif word == "--version":
        raise VersionAsked
    else:
        raise GrammarError(REFUSED.get(word, f"Error: Unknown option '{word}'."))


# what the options say together


def _check(settings: MosquittoSettings) -> None:
    for wrong, sentence in _contradictions(settings):
        if wrong:
            raise GrammarError(sentence)
    _check_session(settings)
    if settings.program == SUB and not (settings.topics or settings.unsubscribe):
        raise GrammarError("Error: You must specify a topic to subscribe to (-t) or unsubscribe from (-U).")
    properties.check(settings)


def _contradictions(given: MosquittoSettings) -> Iterable[tuple[bool, str]]:
    """Yield pairs: whether options contradict one another, and the sentence about it, in the order of the checks."""
    without_will = given.will_topic is None
    yield without_will and given.will_payload is not None, "Error: Will payload given, but no will topic given."
    yield without_will and given.will_retain, "Error: Will retain given, but no will topic given."
    yield (
        (given.cert is None) != (given.key is None),
        "Error: Both certfile and keyfile must be provided if one of them is set.",
    )
    yield given.key_form is not None and given.key is None, "Error: If keyform is set, keyfile must be also specified."
    yield (
        given.engine_password_sha1 is not None and None in (given.key_form, given.engine),
        "Error: when using tls-engine-kpass-sha1, both tls-engine and keyform must also be provided.",
    )
    by_key = given.psk is not None
    yield (
        by_key and (given.cafile, given.capath) != (None, None),
        "Error: Only one of --psk or --cafile/--capath may be used at once.",
    )
    yield by_key and given.psk_identity is None, "Error: --psk-identity required if --psk used."
    yield by_key, _PSK


def _check_session(given: MosquittoSettings) -> None:
    """Complete the expiry of the session; raises GrammarError for a lasting session without a chosen Client Id."""
    nameless = given.client_id is None
    if given.mqtt_version < Version.V5:
        if not given.clean and nameless:
            raise GrammarError("Error: You must provide a client id if you are using the -c option.")
        return
    if not given.clean and given.session_expiry_interval is None:
        given.session_expiry_interval = INFINITE_S
    if given.session_expiry_interval == INFINITE_S and nameless:
        raise GrammarError("Error: You must provide a client id if you are using an infinite session expiry interval.")
    if given.session_expiry_interval:
        given.property.append(Setting("CONNECT", SESSION_EXPIRY_INTERVAL, given.session_expiry_interval))
