"""The server's half of SCRAM, computed from RFC 5802 without the library that the client uses."""

import base64
import hashlib
import hmac
from typing import NamedTuple


class ScramServer(NamedTuple):
    """What a server knows of a user, and the nonce that it adds."""

    method: str
    password: str
    salt: bytes = b"0123456789abcdef"
    iterations: int = 4096
    nonce: str = "3rfcNHYJY1ZVvWVs7j"

    @property
    def hash_name(self) -> str:
        """The name of the hash in hashlib."""
        return self.method.removeprefix("SCRAM-").replace("-", "").lower()

    def challenge(self, client_first: bytes) -> bytes:
        """Return the server-first-message."""
        nonce = fields(client_first.removeprefix(b"n,,"))["r"]
        return f"r={nonce}{self.nonce},s={base64.b64encode(self.salt).decode()},i={self.iterations}".encode()

    def signature(self, client_first: bytes, client_final: bytes) -> bytes:
        """Return the server-final-message; it begins with e= where the proof of the client is wrong."""
        message = b",".join(
            (client_first.removeprefix(b"n,,"), self.challenge(client_first), client_final.rpartition(b",p=")[0])
        )
        salted = hashlib.pbkdf2_hmac(self.hash_name, self.password.encode(), self.salt, self.iterations)
        client_key = self._hmac(salted, b"Client Key")
        proof = base64.b64decode(fields(client_final)["p"])
        own = self._hmac(hashlib.new(self.hash_name, client_key).digest(), message)
        if bytes(a ^ b for a, b in zip(proof, own, strict=True)) != client_key:
            return b"e=invalid-proof"
        return b"v=" + base64.b64encode(self._hmac(self._hmac(salted, b"Server Key"), message))

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self.hash_name).digest()


def fields(message: bytes) -> dict[str, str]:
    """Return the fields of a SCRAM message by their letters."""
    return {part[0]: part[2:] for part in message.decode().split(",")}
