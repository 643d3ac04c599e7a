"""The client of a case: a command that is started, its output read in the loop of the server."""

import subprocess
from collections.abc import Sequence
from types import TracebackType

from ...common.errors import UserError
from ...common.processes import end_groups, has_ended
from ...common.system import waitable
from ..serving.served_socket import READ
from ..serving.server import Server

MOST_KEPT_BYTES = 4096
"""Bytes of the end of its output that are kept."""
CHUNK = 65536
CA_FILE = "{cafile}"
"""Stands for the file with the certificate that the server shows to a client that begins TLS."""


class RunningClient:
    """A command with `{host}`, `{port}` and `{cafile}` in its words, run once against a server; use it in a `with`."""

    def __init__(self, words: Sequence[str], server: Server, ca_file: str = "") -> None:
        self._words = [
            word.replace("{host}", server.host).replace("{port}", str(server.port)).replace(CA_FILE, ca_file)
            for word in words
        ]
        self._server = server
        self.output = b""
        """The end of what it printed, on both of its streams."""

    def __enter__(self) -> "RunningClient":
        """Start it; raises UserError."""
        try:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                start_new_session=True, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            raise UserError(f"cannot run '{self._words[0]}': {error.strerror or error}") from None
        assert self._process.stdout
        self._pipe = self._process.stdout
        self._descriptor, self._next = waitable(self._pipe.fileno())
        self._server.selector.register(self._descriptor, READ, self._read)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, with all that it started."""
        end_groups(self._process)
        self._pipe.close()

    def _read(self, mask: int) -> None:
        chunk = self._next(CHUNK)
        self.output = (self.output + chunk)[-MOST_KEPT_BYTES:]
        if not chunk:
            self._server.selector.unregister(self._descriptor)

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return has_ended(self._process)
