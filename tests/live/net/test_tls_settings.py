"""Settings of TLS that no connection could use: each is blamed by itself, before anything is sent."""

import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mqttpub.live.failures import Exit, Unusable
from mqttpub.live.net.target import Target
from mqttpub.live.net.tls import check
from mqttpub.live.net.transport import Tls, Transport
from tests.build.brokers import free_port
from tests.build.certificates import PASSWORD, Authority, Pair, encrypted, openssl
from tests.live.ways import publish


class Files(NamedTuple):
    """Files that fit together, and some that fit nowhere."""

    folder: Path
    ca: Authority
    pair: Pair
    locked: Pair
    junk: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("tls")
    ca = Authority(folder / "ca")
    pair = ca.signed("client")
    junk = folder / "junk"
    junk.write_text("no certificate\n")
    openssl("x509", "-in", str(pair.cert), "-outform", "DER", "-out", str(folder / "der"))
    (folder / "broken").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    (folder / "both").write_text(pair.cert.read_text() + pair.key.read_text())
    (folder / "hashed").mkdir()
    (folder / "hashed" / "0a1b2c3d.0").write_text(ca.cert.read_text())
    return Files(folder, ca, pair, encrypted(pair), junk)


Make = Callable[[Files], Tls]
USABLE: dict[str, Make] = {
    "CA": lambda files: Tls(ca_file=str(files.ca.cert)),
    "folder": lambda files: Tls(ca_path=str(files.folder / "hashed")),
    "pair": lambda files: Tls(cert=str(files.pair.cert), key=str(files.pair.key)),
    "pair in one file": lambda files: Tls(cert=str(files.folder / "both")),
    "locked": lambda files: locked(files, PASSWORD.encode()),
    "names": lambda files: Tls(alpn=("mqtt", "x" * 255), server_name="ä.example", ciphers="HIGH:!aNULL"),
    "versions": lambda files: Tls(minimum="1.2", maximum="1.2"),
    "key log": lambda files: Tls(key_log=str(files.folder / "keys")),
}


@pytest.mark.parametrize("name", USABLE)
def test_a_usable_setting_passes(name: str, files: Files) -> None:
    check(USABLE[name](files))


def locked(files: Files, password: bytes | None) -> Tls:
    return Tls(cert=str(files.locked.cert), key=str(files.locked.key), key_password=password)


UNUSABLE: dict[str, tuple[Make, str, str]] = {
    "CA, junk": (
        lambda files: Tls(ca_file=str(files.junk)), "ca_file", "'{}/junk' holds no certificate in PEM",
    ),
    "CA, DER": (
        lambda files: Tls(ca_file=str(files.folder / "der")), "ca_file", "'{}/der' holds no certificate in PEM",
    ),
    "CA, broken": (
        lambda files: Tls(ca_file=str(files.folder / "broken")), "ca_file", "'{}/broken' holds no certificate in PEM",
    ),
    "CA, a key": (
        lambda files: Tls(ca_file=str(files.pair.key)), "ca_file", "'{}/ca/client.key' holds no certificate in PEM",
    ),
    "CA, gone": (
        lambda files: Tls(ca_file=str(files.folder / "gone")), "ca_file",
        "cannot read '{}/gone': No such file or directory",
    ),
    "folder without hashes": (
        lambda files: Tls(ca_path=str(files.folder)), "ca_path",
        "'{}' has no certificate under a name that openssl rehash gives",
    ),
    "folder, gone": (
        lambda files: Tls(ca_path=str(files.folder / "gone")), "ca_path",
        "cannot read '{}/gone': No such file or directory",
    ),
    "certificate, junk": (
        lambda files: Tls(cert=str(files.junk), key=str(files.pair.key)), "cert",
        "'{}/junk' holds no certificate in PEM",
    ),
    "no key": (
        lambda files: Tls(cert=str(files.pair.cert)), "cert",
        "'{}/ca/client.crt' holds no private key, and no other file was named for it",
    ),
    "key, junk": (
        lambda files: Tls(cert=str(files.pair.cert), key=str(files.junk)), "key",
        "'{}/junk' holds no private key in PEM that goes with '{}/ca/client.crt'",
    ),
    "key, gone": (
        lambda files: Tls(cert=str(files.pair.cert), key=str(files.folder / "gone")), "key",
        "cannot read '{}/gone': No such file or directory",
    ),
    "another key": (
        lambda files: Tls(cert=str(files.pair.cert), key=str(files.ca.cert.with_suffix(".key"))), "key",
        "'{}/ca/ca.key' is not the key of '{}/ca/client.crt'",
    ),
    "locked, no password": (
        lambda files: locked(files, None), "key", "'{}/ca/client.enc' is encrypted, and no password was given",
    ),
    "locked, wrong password": (
        lambda files: locked(files, b"wrong"), "key_password", "the password does not open '{}/ca/client.enc'",
    ),
    "locked, endless password": (
        lambda files: locked(files, b"x" * 5000), "key_password", "the password does not open '{}/ca/client.enc'",
    ),
    "ciphers": (
        lambda files: Tls(ciphers="NONE"), "ciphers", "'NONE' names no cipher of TLS 1.2 that OpenSSL has",
    ),
    "no ciphers": (
        lambda files: Tls(ciphers=""), "ciphers", "'' names no cipher of TLS 1.2 that OpenSSL has",
    ),
    "long ALPN": (
        lambda files: Tls(alpn=("ok", "x" * 256)), "alpn",
        f"'{'x' * 256}' is not an ALPN name: 1 to 255 ASCII characters",
    ),
    "empty ALPN": (lambda files: Tls(alpn=("",)), "alpn", "'' is not an ALPN name: 1 to 255 ASCII characters"),
    "ALPN, not ASCII": (lambda files: Tls(alpn=("ä",)), "alpn", "'ä' is not an ALPN name: 1 to 255 ASCII characters"),
    "versions": (
        lambda files: Tls(minimum="1.3", maximum="1.2"), "maximum", "1.2 is below the lowest version, 1.3",
    ),
    "name": (lambda files: Tls(server_name=".x"), "server_name", "'.x' is not a name that TLS can ask for"),
    "no name": (lambda files: Tls(server_name=""), "server_name", "'' is not a name that TLS can ask for"),
    "key log, a certificate": (
        lambda files: Tls(key_log=str(files.pair.cert)), "key_log",
        "'{}/ca/client.crt' exists and is not a key log; choose another name",
    ),
    "key log, a folder": (
        lambda files: Tls(key_log=str(files.folder)), "key_log", "cannot write '{}': Is a directory",
    ),
    "key log, no folder": (
        lambda files: Tls(key_log=str(files.folder / "gone" / "x")), "key_log",
        "cannot write '{}/gone/x': No such file or directory",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_setting_is_named(name: str, files: Files) -> None:
    make, part, sentence = UNUSABLE[name]
    with pytest.raises(Unusable) as caught:
        check(make(files))
    assert str(caught.value) == sentence.replace("{}", str(files.folder))
    assert caught.value.part == part
    assert caught.value.status is Exit.USAGE


def test_every_part_that_can_be_wrong_is_wrong_once() -> None:
    parts = {part for _, part, _ in UNUSABLE.values()}
    assert parts == set(Tls._fields) - {"minimum", "insecure", "any_name"}


def test_a_connection_says_the_same(files: Files) -> None:
    with pytest.raises(Unusable, match="holds no certificate"):
        publish(Target("localhost", free_port(), transport=Transport(tls=Tls(ca_file=str(files.junk)))))


FLAGS: dict[str, tuple[str, str]] = {
    "cafile": ("--cafile {}/junk", "--cafile: '{}/junk' holds no certificate in PEM"),
    "alias": ("--ca {}/junk", "--cafile: '{}/junk' holds no certificate in PEM"),
    "capath": ("--capath {}", "--capath: '{}' has no certificate under a name that openssl rehash gives"),
    "cert": ("--cert {}/junk", "--cert: '{}/junk' holds no certificate in PEM"),
    "key": (
        "--cert {}/ca/client.crt --key {}/ca/ca.key",
        "--key: '{}/ca/ca.key' is not the key of '{}/ca/client.crt'",
    ),
    "key password": (
        "--cert {}/ca/client.crt --key {}/ca/client.enc --key-password-file {}/junk",
        "--key-password-file: the password does not open '{}/ca/client.enc'",
    ),
    "ciphers": ("--ciphers nonsense", "--ciphers: 'nonsense' names no cipher of TLS 1.2 that OpenSSL has"),
    "versions": (
        "--tls-version 1.3 --tls-max-version 1.2", "--tls-max-version: 1.2 is below the lowest version, 1.3",
    ),
    "sni": ("--sni .x", "--sni: '.x' is not a name that TLS can ask for"),
    "key log": ("--key-log {}/gone/x", "--key-log: cannot write '{}/gone/x': No such file or directory"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FLAGS)
def test_the_flag_is_named_and_the_exit_status_is_2(name: str, files: Files) -> None:
    line, sentence = (text.replace("{}", str(files.folder)) for text in FLAGS[name])
    command = [sys.executable, "-m", "mqttpub", "pub", "-t", "a", "-m", "x", "-p", str(free_port()), *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"mqttpub pub: {sentence}\n")


def test_what_openssl_says_of_keys_has_not_changed(files: Files) -> None:
    """The words of `tls_settings` hang on a reason of OpenSSL."""
    with pytest.raises(ssl.SSLError) as caught:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(files.pair.cert, files.ca.cert.with_suffix(".key"))
    assert caught.value.reason == "KEY_VALUES_MISMATCH"
