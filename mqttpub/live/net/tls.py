"""TLS: the context that paho wraps its socket with, what was agreed on, and why it failed."""

import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

from ...common.words import counted
from ..failures import NotConnected
from .deadline import left
from .target import Target
from .tls_settings import settle
from .transport import Tls

DAY = 86400


class Context(ssl.SSLContext):
    """A context that asks for the name we want, and whose handshake keeps to the deadline."""

    target: Target
    until: float
    timeout: float

    def wrap_socket(self, sock: socket.socket, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        """Wrap a socket of paho's, who only knows the name of the host."""
        assert self.target.transport.tls
        kwargs["server_hostname"] = self.target.transport.tls.server_name or self.target.host
        return super().wrap_socket(sock, *args, **kwargs)


class Socket(ssl.SSLSocket):
    """A socket that closes when its handshake fails, which paho leaves undone."""

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands; raises NotConnected."""
        context: Any = self.context
        try:
            self.settimeout(left(context.until))
            super().do_handshake(block)
        except (OSError, ValueError) as error:
            self.close()
            raise NotConnected(cause(error, context.target, context.timeout)) from error


Context.sslsocket_class = Socket


def context(target: Target, until: float, timeout: float) -> Context:
    """Return the context for a target; raises Unusable for files and names that cannot be used."""
    tls = target.transport.tls or Tls()
    made = Context(ssl.PROTOCOL_TLS_CLIENT)
    made.target, made.until, made.timeout = target, until, timeout
    settle(made, tls)
    made.check_hostname = tls.verifies_name
    if not tls.verifies_chain:
        made.verify_mode = ssl.CERT_NONE
    elif not (tls.ca_file or tls.ca_path):
        made.load_default_certs()
    return made


def check(tls: Tls) -> None:
    """Raise Unusable for files and names that no connection could use."""
    settle(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls)


# what was agreed on


def describe(sock: ssl.SSLSocket, tls: Tls) -> list[str]:
    """Return lines that tell the version, the cipher, the peer and whether it was verified."""
    agreed = [(sock.version() or "").replace("TLSv", "TLS "), (sock.cipher() or ("no cipher",))[0]]
    if name := sock.selected_alpn_protocol():
        agreed.append(f"ALPN {name}")
    verified = "verified" if tls.verifies_name else "verified but for its name"
    checked = verified if tls.verifies_chain else "NOT verified (--insecure)"
    return [", ".join([*agreed, *_peer(_certificate(sock)), checked])]


def _certificate(sock: Any) -> dict[str, Any]:
    """Return the peer's certificate; Python tells no fields of one that it did not verify, save here."""
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
    days = int(abs(ends - now) // DAY)
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
"""What X509_verify_cert finds wrong, by its number; all else is a lack of trust."""
UNTRUSTED = "the certificate of {place} is not trusted: {words}"

REASONS = {
    "WRONG_VERSION_NUMBER": "{place} does not speak TLS",
    "UNEXPECTED_EOF_WHILE_READING": "{place} closed the connection at the TLS handshake, as a port without TLS does",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "{place} asks for a client certificate",
    "TLSV1_ALERT_UNKNOWN_CA": "{place} does not trust the client certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "{place} says that the client certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "{place} says that the client certificate is revoked",
    "SSLV3_ALERT_BAD_CERTIFICATE": "{place} takes the client certificate for bad",
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "{place} knows none of the ALPN names",
    "TLSV1_ALERT_PROTOCOL_VERSION": "{place} refused the TLS handshake: the versions do not meet",
    "UNSUPPORTED_PROTOCOL": "{place} refused the TLS handshake: the versions do not meet",
}
"""What OpenSSL's reasons mean."""
KINDS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no answer to the TLS handshake from {place} within {timeout:g} s"),
    (ConnectionError, REASONS["UNEXPECTED_EOF_WHILE_READING"]),
    (ssl.SSLEOFError, REASONS["UNEXPECTED_EOF_WHILE_READING"]),
    (ValueError, "'{name}' cannot be asked for in TLS: {words}"),
)
REFUSED = "{place} refused the TLS handshake: {words}"
FAILED = "the TLS handshake with {place} failed: {words}"


def cause(error: Exception, target: Target, timeout: float) -> str:
    """Return why a handshake failed, as one sentence."""
    tls = target.transport.tls or Tls()
    return _saying(error).format(
        place=target.place, name=tls.server_name or target.host, words=_words(error), timeout=timeout
    )


def late_cause(error: OSError, target: Target, timeout: float) -> str | None:
    """Return why TLS was refused after the handshake, which is when TLS 1.3 tells it."""
    return cause(error, target, timeout) if isinstance(error, ssl.SSLError) else None


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
