"""A mosquitto as the tests of the data sources need it: queues without end, a log, users and rights."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.conftest import free_port, mosquitto_program, wait_for_port
from tests.live.certificates import Authority

CONFIG = """\
per_listener_settings false
allow_anonymous true
max_queued_messages 0
max_inflight_messages 0
acl_file {folder}/acl
listener {port} 127.0.0.1
listener {tls} 127.0.0.1
cafile {authority}
certfile {certificate}
keyfile {key}
log_dest file {folder}/log
log_type all
"""
RIGHTS = """\
topic readwrite #
topic deny forbidden/#
"""


class Broker(NamedTuple):
    """Where it listens, and whom to trust."""

    port: int
    tls: int
    authority: Path
    log: Path


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """Run a mosquitto on which nobody may use what is below forbidden/."""
    authority = Authority(folder / "ca")
    pair = authority.signed("server")
    made = Broker(free_port(), free_port(), authority.cert, folder / "log")
    (folder / "acl").write_text(RIGHTS)
    config = folder / "mosquitto.conf"
    settings = CONFIG.format(
        folder=folder, port=made.port, tls=made.tls, authority=made.authority, certificate=pair.cert, key=pair.key
    )
    config.write_text(settings + "user root\n" * (os.getuid() == 0))
    process = subprocess.Popen([mosquitto_program(), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        wait_for_port(made.port)
        wait_for_port(made.tls)
        yield made
    finally:
        process.terminate()
        process.wait(10)
