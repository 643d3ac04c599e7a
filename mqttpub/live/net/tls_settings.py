"""The settings of TLS, applied to an ssl context: versions, ciphers, names and files; an unusable one is named."""

import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from ..failures import Unusable
from .transport import Tls

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
HASHED_NAME = re.compile(r"[0-9a-f]{8}\.r?\d+")
"""Names by which OpenSSL finds certificates in a folder."""
_KEY_LOG = re.compile(rb"#|\s|[A-Z][A-Z0-9_]* [0-9A-Fa-f]{64} |\Z")
ANOTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH")
"""OpenSSL's reasons for a key that does not belong to the certificate."""


def apply(made: ssl.SSLContext, tls: Tls) -> None:
    """Apply the settings to a context; raises Unusable for one that cannot be used."""
    for step in (_versions, _alpn, _ciphers, _server_name, _trust, _identify, _log_keys):
        step(made, tls)


@contextmanager
def _blaming(part: str, sentence: str) -> Iterator[None]:
    """Replace the errors of Python and OpenSSL by Unusable with a sentence about a field of Tls."""
    try:
        yield
    except (ssl.SSLError, ValueError, TypeError):
        raise Unusable(sentence, part) from None


@contextmanager
def _reading(part: str, path: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError:
        raise
    except OSError as error:
        raise Unusable(f"cannot read '{path}': {error.strerror}", part) from None


# words


def _versions(made: ssl.SSLContext, tls: Tls) -> None:
    if tls.minimum:
        made.minimum_version = VERSIONS[tls.minimum]
    if tls.maximum:
        made.maximum_version = VERSIONS[tls.maximum]
    if tls.minimum and tls.maximum and VERSIONS[tls.minimum] > VERSIONS[tls.maximum]:
        raise Unusable(f"{tls.maximum} is below the lowest version, {tls.minimum}", "maximum")


def _alpn(made: ssl.SSLContext, tls: Tls) -> None:
    for name in tls.alpn:
        with _blaming("alpn", f"'{name}' is not an ALPN name: 1 to 255 ASCII characters"):
            made.set_alpn_protocols([name])
    if tls.alpn:
        made.set_alpn_protocols(tls.alpn)


def _ciphers(made: ssl.SSLContext, tls: Tls) -> None:
    if tls.ciphers is not None:
        with _blaming("ciphers", f"'{tls.ciphers}' names no cipher of TLS 1.2 that OpenSSL has"):
            made.set_ciphers(tls.ciphers)


def _server_name(made: ssl.SSLContext, tls: Tls) -> None:
    if tls.server_name is not None:
        with _blaming("server_name", f"'{tls.server_name}' is not a name that TLS can ask for"):
            made.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=tls.server_name)


# files


def _trust(made: ssl.SSLContext, tls: Tls) -> None:
    if tls.ca_file:
        _certificates(made, tls.ca_file, "ca_file")
    if tls.ca_path:
        with _reading("ca_path", tls.ca_path):
            if not any(HASHED_NAME.fullmatch(name) for name in os.listdir(tls.ca_path)):
                raise Unusable(f"'{tls.ca_path}' has no certificate under a name that openssl rehash gives", "ca_path")
        made.load_verify_locations(capath=tls.ca_path)


def _certificates(made: ssl.SSLContext, path: str, part: str) -> None:
    before = made.cert_store_stats()["x509"]
    with _reading(part, path), _blaming(part, f"'{path}' holds no certificate in PEM"):
        made.load_verify_locations(path)
        if made.cert_store_stats()["x509"] == before:
            raise ValueError


def _identify(made: ssl.SSLContext, tls: Tls) -> None:
    asked = False

    def password() -> bytes:
        nonlocal asked
        asked = True
        return tls.key_password or b""

    if not tls.cert:
        return
    _certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls.cert, "cert")
    with _reading("key", tls.key or tls.cert):
        try:
            made.load_cert_chain(tls.cert, tls.key, password)
        except (ssl.SSLError, ValueError) as error:
            raise _unidentified(tls, getattr(error, "reason", None), asked) from None


def _unidentified(tls: Tls, reason: str | None, asked: bool) -> Unusable:
    """Return the failure for an unusable private key; `asked` is whether OpenSSL asked for its password."""
    key = tls.key or tls.cert
    if reason in ANOTHER_KEY:
        return Unusable(f"'{key}' is not the key of '{tls.cert}'", "key")
    if asked and tls.key_password is None:
        return Unusable(f"'{key}' is encrypted, and no password was given", "key")
    if asked:
        return Unusable(f"the password does not open '{key}'", "key_password")
    if tls.key is None:
        return Unusable(f"'{key}' holds no private key, and no other file was named for it", "cert")
    words = f": {reason.replace('_', ' ').lower()}" if reason else ""
    return Unusable(f"'{key}' holds no private key in PEM that goes with '{tls.cert}'{words}", "key")


def _holds_keys(path: str) -> bool:
    """Return whether keys can be added to a file: it is empty, or begins like a key log."""
    with open(path, "rb") as file:
        return _KEY_LOG.match(file.read(128)) is not None


def _log_keys(made: ssl.SSLContext, tls: Tls) -> None:
    if not tls.key_log:
        return
    try:
        if os.path.isfile(tls.key_log) and not _holds_keys(tls.key_log):
            raise Unusable(f"'{tls.key_log}' exists and is not a key log; choose another name", "key_log")
        os.close(os.open(tls.key_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        made.keylog_filename = tls.key_log
    except OSError as error:
        raise Unusable(f"cannot write '{tls.key_log}': {error.strerror}", "key_log") from None
