"""Enhanced authentication with SCRAM: client and server prove to each other that they know the password (5.0: 4.12).

The password itself is never sent. The computing is scramp's, the library of the extra `scram` (RFC 5802, RFC 7677).
"""

from typing import Any, NamedTuple

from .failures import Unusable

METHODS = ("SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Authentication Methods that are supported, weakest first."""
CONTINUE, REAUTHENTICATE = 0x18, 0x19
"""Reason Codes of AUTH."""


class ScramUser(NamedTuple):
    """Who authenticates, and with which method."""

    method: str
    name: str
    password: str

    def __repr__(self) -> str:
        return f"ScramUser({self.method!r}, {self.name!r}, {'*' * len(self.password)!r})"


class NotAuthentic(ValueError):
    """What the server sent is not the next step of the exchange, or does not prove that it knows the password."""


class ScramExchange:
    """The client's half of the exchanges of one connection; `begin` starts one, as often as the client authenticates.

    Raises Unusable where scramp is not installed, or where SASLprep forbids the name or the password (RFC 4013).
    """

    def __init__(self, user: ScramUser) -> None:
        self.method = user.method
        self.running = False
        """Whether the server has still to answer."""
        self._user = user
        self._client: Any = None
        self._is_challenged = False
        self.begin()

    def begin(self) -> bytes:
        """Start an exchange, with a fresh nonce, and return the first message of the client."""
        try:
            from scramp import ScramClient, ScramException
        except ImportError:
            from ..common.extras import needs

            raise Unusable(needs(self.method, ["scramp"], "scram"), "authentication_method") from None
        try:
            self._client = ScramClient([self.method], self._user.name, self._user.password)
            first: str = self._client.get_client_first()
        except ScramException as error:
            said = f"{self.method} cannot use this user name or password: {error}"
            raise Unusable(said, "authentication_method") from None
        self.running, self._is_challenged = True, False
        return first.encode()

    def answer(self, challenge: bytes | None) -> bytes:
        """Return the client's proof for the server's challenge: a nonce, a salt and an iteration count.

        Raises NotAuthentic, also for an iteration count that is too low to be safe or too high to be computed.
        """
        if not self.running or self._is_challenged:
            raise NotAuthentic("it is not the turn of the server")
        self._is_challenged = True
        self._take("set_server_first", challenge)
        proof: str = self._client.get_client_final()
        return proof.encode()

    def finish(self, signature: bytes | None) -> None:
        """Check the signature of the server, which ends the exchange; raises NotAuthentic."""
        if not self._is_challenged:
            raise NotAuthentic("it sent no challenge, so neither side has proved anything")
        self._take("set_server_final", signature)
        self.running = False

    def _take(self, step: str, message: bytes | None) -> None:
        from scramp import ScramException

        if message is None:
            raise NotAuthentic("there is no Authentication Data")
        try:
            getattr(self._client, step)(message.decode())
        except (ScramException, ValueError, LookupError) as error:
            # scramp raises the others for messages that it cannot take apart.
            raise NotAuthentic(str(error) or type(error).__name__) from None
