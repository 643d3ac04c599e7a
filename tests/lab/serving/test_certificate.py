"""The certificate that is made for a server, judged by openssl and by Python's strict verification."""

import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from mqttpub.lab.serving.certificate import make_certificate
from mqttpub.lab.serving.layers import Layers
from mqttpub.live.failures import NotConnected, Unusable
from mqttpub.live.net.transport import Tls, Transport
from tests.lab.serving.clients import connected
from tests.lab.serving.servers import Echo


def test_openssl_and_python_trust_it_for_its_names_only(tmp_path: Path) -> None:
    made, file = make_certificate("broker.example", "0.0.0.0"), tmp_path / "made.pem"
    file.write_bytes(made.cert)
    for name, trusted in (("broker.example", True), ("localhost", True), ("other.example", False)):
        judge = ["openssl", "verify", "-x509_strict", "-verify_hostname", name, "-CAfile", str(file), str(file)]
        assert (subprocess.run(judge, capture_output=True, check=False).returncode == 0) is trusted
    strict = ssl.create_default_context(cafile=str(file))
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    with Echo(Layers(made.context())) as echo:
        plain = socket.create_connection(("127.0.0.1", echo.port))
        with strict.wrap_socket(plain, server_hostname="localhost") as sock:
            sock.send(b"hello")
            assert sock.recv(5) == b"hello"
        with (
            pytest.raises(NotConnected, match="is not for 'elsewhere"),
            connected(echo.port, Transport(tls=Tls(str(file), server_name="elsewhere.example"))),
        ):
            pass


def test_without_the_package_a_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(Unusable, match=r"pip install 'mqttpub\[proxy\]'"):
        make_certificate()
