"""TLS: the context that wraps a socket, the agreed parameters, and the causes of failure."""

import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

from ...common.words import counted
from ..failures import NotConnected
from .deadline import left
from .target import Target
from .tls_settings import apply
from .transport import Tls

DAY_S = 86400


def context(target: Target) -> ssl.SSLContext:
    """Return the context for a target; raises Unusable for files and names that cannot be used."""
    tls = target.transport.tls or Tls()
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    apply(made, tls)
    made.check_hostname = tls.verifies_name
    if not tls.verifies_chain:
        made.verify_mode = ssl.CERT_NONE
    elif not (tls.ca_file or tls.ca_path):
        made.load_default_certs()
    return made


def secured(
    made: ssl.SSLContext, plain: socket.socket, target: Target, until_s: float, timeout_s: float
) -> ssl.SSLSocket:
    """Return a TCP connection with TLS, after the handshake; one that fails closes the connection.

    Raises NotConnected for the handshake, and ValueError for a name that cannot be asked for.
    """
    tls = target.transport.tls or Tls()
    try:
        sock = made.wrap_socket(plain, server_hostname=tls.server_name or target.host, do_handshake_on_connect=False)
    except BaseException:
        plain.close()
        raise
    try:
        sock.settimeout(left(until_s))
        sock.do_handshake()
    except (OSError, ValueError) as error:
        sock.close()
        raise NotConnected(explain(error, target, timeout_s)) from error
    except BaseException:
        sock.close()
        raise
    return sock


def check(tls: Tls) -> None:
    """Raise Unusable for files and names that no connection could use."""
    apply(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls)


# the agreed parameters


def describe(sock: ssl.SSLSocket, tls: Tls) -> list[str]:
    """Return a line with version, cipher, peer and whether the peer was verified."""
    agreed = [(sock.version() or "").replace("TLSv", "TLS "), (sock.cipher() or ("no cipher",))[0]]
    if name := sock.selected_alpn_protocol():
        agreed.append(f"ALPN {name}")
    verified = "verified" if tls.verifies_name else "verified but for its name"
    checked = verified if tls.verifies_chain else "NOT verified (--insecure)"
    return [", ".join([*agreed, *_peer(_certificate(sock)), checked])]


def _certificate(sock: Any) -> dict[str, Any]:
    """Return the peer's certificate. For one that was not verified, only a private method of Python has its fields."""
    if verified := sock.getpeercert():
        return dict(verified)
    chain = sock._sslobj.get_unverified_chain()
    return dict(chain[0].get_info()) if chain else {}


def _peer(certificate: dict[str, Any]) -> Iterator[str]:
    names = {key: value for part in certificate.get("subject", ()) for key, value in part}
    others = [value for _, value in certificate.get("subjectAltName", ())]
    if name := names.get("commonName") or next(iter(others), ""):
        yield f"peer CN={name}" if "commonName" in names else f"peer {name}"
    if "notAfter" in certificate:
        yield _validity(certificate)


def _validity(certificate: dict[str, Any]) -> str:
    now = time.time()
    begins, ends = (ssl.cert_time_to_seconds(certificate[key]) for key in ("notBefore", "notAfter"))
    if now < begins:
        return f"not valid before {certificate['notBefore']}"
    days = int(abs(ends - now) // DAY_S)
    if now < ends:
        return f"valid for {counted(days, 'more day')}"
    return f"expired {counted(days, 'day')} ago"


# why it failed

VERIFYING = {
    9: "the certificate of {place} is not valid yet",
    10: "the certificate of {place} has expired",
    62: "the certificate of {place} is not for '{name}'",
    64: "the certificate of {place} is not for '{name}'",
}
"""Sentences for the errors of X509_verify_cert, by number; any other means that the certificate is not trusted."""
UNTRUSTED = "the certificate of {place} is not trusted: {words}"

REASONS = {
    "WRONG_VERSION_NUMBER": "{place} does not speak TLS",
    "UNEXPECTED_EOF_WHILE_READING": "{place} closed the connection during the TLS handshake; is it a port without TLS?",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "{place} asks for a client certificate",
    "TLSV1_ALERT_UNKNOWN_CA": "{place} does not trust the client certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "{place} says that the client certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "{place} says that the client certificate is revoked",
    "SSLV3_ALERT_BAD_CERTIFICATE": "{place} rejected the client certificate",
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "{place} supports none of the ALPN protocols",
    "TLSV1_ALERT_PROTOCOL_VERSION": "{place} refused the TLS handshake: no TLS version in common",
    "UNSUPPORTED_PROTOCOL": "{place} refused the TLS handshake: no TLS version in common",
}
"""Sentences for OpenSSL's reasons."""
KINDS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no answer to the TLS handshake from {place} within {timeout_s:g} s"),
    (ConnectionError, REASONS["UNEXPECTED_EOF_WHILE_READING"]),
    (ssl.SSLEOFError, REASONS["UNEXPECTED_EOF_WHILE_READING"]),
    (ValueError, "'{name}' cannot be asked for in TLS: {words}"),
)
REFUSED = "{place} refused the TLS handshake: {words}"
FAILED = "the TLS handshake with {place} failed: {words}"


def explain(error: Exception, target: Target, timeout_s: float) -> str:
    """Return why a handshake failed, as one sentence."""
    tls = target.transport.tls or Tls()
    return _saying(error).format(
        place=target.place, name=tls.server_name or target.host, words=_words(error), timeout_s=timeout_s
    )


def late_cause(error: OSError, target: Target, timeout_s: float) -> str | None:
    """Return why TLS was refused after the handshake, as TLS 1.3 does it; None for another error."""
    return explain(error, target, timeout_s) if isinstance(error, ssl.SSLError) else None


def _saying(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return VERIFYING.get(error.verify_code, UNTRUSTED)
    reason = str(getattr(error, "reason", None) or "")
    if reason in REASONS:
        return REASONS[reason]
    refused = REFUSED if "ALERT" in reason else FAILED
    return next((saying for kind, saying in KINDS if isinstance(error, kind)), refused)


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if reason := getattr(error, "reason", None):
        return str(reason).replace("_", " ").lower()
    if isinstance(error, ssl.SSLError):
        return str(error.args[-1])
    return getattr(error, "strerror", None) or str(error)
