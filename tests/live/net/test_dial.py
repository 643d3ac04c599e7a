"""Sockets to a broker, where one cannot be opened."""

import resource
import socket
import time
from contextlib import suppress

import pytest

from mqttpub.live.failures import NotConnected
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_too_many_open_files_are_named(host: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[socket.socket] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        with suppress(OSError):
            while True:
                held.append(socket.socket())
        with pytest.raises(NotConnected, match=f"^cannot connect to {host}:1: too many open files"):
            open_socket(Target(host, 1), time.monotonic() + 5, 5)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in held:
            each.close()
