"""A certificate for a server of the laboratory, where the user has none."""

import datetime
import ipaddress
import socket
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from ...common.extras import needs
from ...common.files import lent
from ...live.failures import Unusable
from ...live.net.transport import Tls
from .layers import server_context

if TYPE_CHECKING:
    import ssl

    from cryptography.x509 import GeneralName

COMMON_NAME = "mqttpub"
DAYS = 365
OF_HERE = ("localhost", "127.0.0.1", "::1")


class MadeCertificate(NamedTuple):
    """A certificate that is its own CA, and its private key, as PEM."""

    cert: bytes
    key: bytes

    def context(self) -> "ssl.SSLContext":
        """Return the context of a server with this certificate."""
        # Python reads a key from a file only; this one is the owner's, and gone at once.
        with lent(BytesIO(self.key + self.cert), "key.pem") as path:
            return server_context(Tls(cert=path))


def make_certificate(*names: str) -> MadeCertificate:
    """Return a certificate for this machine and for more names and addresses.

    A client trusts it as it trusts a CA, so it is marked as one (RFC 5280, 4.2.1.9). Raises Unusable without the
    package cryptography.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise Unusable(needs("making a certificate", ["cryptography"], "proxy"), "ca") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, COMMON_NAME)])
    now = datetime.datetime.now(datetime.UTC)
    usage = dict.fromkeys((
        "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign", "encipher_only",
        "decipher_only",
    ), False)  # fmt: skip
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        # A clock of a device may be a day behind.
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.SubjectAlternativeName(_general_names({*OF_HERE, socket.gethostname(), *names})), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return MadeCertificate(made.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


def _general_names(names: Iterable[str]) -> "Iterator[GeneralName]":
    from cryptography import x509

    for name in sorted(names):
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            yield x509.DNSName(name)
        else:
            if not address.is_unspecified:
                yield x509.IPAddress(address)
