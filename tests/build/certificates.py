"""Certificates for the tests, made with the openssl program."""

import subprocess
from pathlib import Path
from typing import NamedTuple

NAMES = "DNS:localhost,IP:127.0.0.1,IP:::1"
PASSWORD = "open sesame"
YEAR = 365


class Pair(NamedTuple):
    """A certificate and its key."""

    cert: Path
    key: Path


class Authority:
    """A CA that signs certificates; all its files lie in one folder."""

    def __init__(self, folder: Path, name: str = "mqttpub test CA") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.cert, self._key = folder / "ca.crt", folder / "ca.key"
        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", str(self._key))
        openssl("req", "-x509", *new_key, "-subj", f"/CN={name}", "-days", str(YEAR), "-out", str(self.cert))

    def signed(self, name: str, names: str = NAMES, *, days: int = YEAR, common_name: str = "localhost") -> Pair:
        """Return a new certificate for the names; with -1 `days` it has expired."""
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", str(pair.key))
        openssl("req", "-new", *new_key, "-subj", f"/CN={common_name}", "-out", str(request))
        signer = ("-CA", str(self.cert), "-CAkey", str(self._key), "-CAcreateserial")
        openssl(
            "x509", "-req", "-in", str(request), *signer, "-days", str(days), "-extfile", str(extensions),
            "-out", str(pair.cert),
        )  # fmt: skip
        return pair


def encrypted(pair: Pair) -> Pair:
    """Return the pair with its key behind PASSWORD."""
    key = pair.key.with_suffix(".enc")
    openssl("ec", "-in", str(pair.key), "-aes256", "-passout", f"pass:{PASSWORD}", "-out", str(key))
    return Pair(pair.cert, key)


def openssl(*arguments: str) -> None:
    """Run the openssl program."""
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
