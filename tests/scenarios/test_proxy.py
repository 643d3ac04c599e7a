"""mosquitto_pub and mosquitto_sub through the proxy: nothing is lost or changed, and tshark reads what it recorded."""

import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from mqttpub.codec.stream import Stream
from mqttpub.spec.versions import Direction
from tests.build.brokers import mosquitto, plain
from tests.build.certificates import Authority
from tests.build.proxies import running_proxy
from tests.live.relays import relay, straight_to
from tests.scenarios.dissection import streams, tshark

C, S = Direction.CLIENT, Direction.SERVER
TOPIC = "proxied/#"
SUBSCRIBED = b"\x90"
"""First byte of SUBACK."""


def unlimited(port: int) -> list[str]:
    """Return the settings of a broker that drops nothing."""
    return [*plain(port), "max_queued_messages 0", "max_queued_bytes 0"]


def packet_types(data: bytes) -> Counter[int]:
    """Return how many packets of each type there are."""
    return Counter(frame.data[0] >> 4 for frame in Stream().feed(data))


def types_by_tshark(capture: Path) -> dict[tuple[int, Direction], Counter[int]]:
    """Return how many packets of each type tshark shows in each direction of each connection."""
    found: dict[tuple[int, Direction], Counter[int]] = {}
    columns = [word for name in ("tcp.stream", "tcp.dstport", "mqtt.msgtype") for word in ("-e", name)]
    for line in tshark(capture, "-Y", "mqtt", "-T", "fields", *columns).decode().splitlines():
        number, target, types = line.split("\t")
        counter = found.setdefault((int(number), C if target == "1883" else S), Counter())
        counter.update(map(int, types.split(",")))
    return found


@pytest.mark.broker
@pytest.mark.tshark
@pytest.mark.slow
@pytest.mark.parametrize("count", [2000, pytest.param(50_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("tls", [False, True], ids=["TCP", "TLS"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_nothing_is_lost_or_changed(qos: int, tls: bool, count: int, tmp_path: Path) -> None:
    lines = [b"message %d" % number for number in range(count)]
    capture = tmp_path / "proxy.pcapng"
    with ExitStack() as stack:
        (broker,) = stack.enter_context(mosquitto(tmp_path, unlimited))
        behind = stack.enter_context(relay(straight_to(broker)))
        flags: list[object] = ["-h", "127.0.0.1", "-p", behind.port, "--capture", capture]
        trust: list[str] = []
        if tls:
            ca = Authority(tmp_path / "ca")
            pair = ca.signed("proxy")
            flags += ["--listen-cert", pair.cert, "--listen-key", pair.key]
            trust = ["--cafile", str(ca.cert)]
        listen = "mqtts://localhost:0" if tls else "localhost:0"
        proxy = stack.enter_context(running_proxy(*flags, listen=listen))
        before = stack.enter_context(relay(straight_to(proxy.port)))
        # Of MQTT 5, mosquitto_sub 2.0.11 ends many QoS 2 messages with an error of its own, without a proxy too.
        here = ["-V", "311", "-h", "localhost", "-q", str(qos), *trust]
        listening = ["mosquitto_sub", *here, "-p", str(proxy.port), "-t", TOPIC, "-C", str(count)]
        subscriber = subprocess.Popen(listening, stdout=subprocess.PIPE)
        while not any(each.data.startswith(SUBSCRIBED) for each in behind.passed):
            assert subscriber.poll() is None
            time.sleep(0.01)
        publishing = ["mosquitto_pub", *here, "-p", str(before.port), "-t", "proxied/t", "-l"]
        subprocess.run(publishing, input=b"\n".join(lines), check=True, timeout=120)
        arrived, _ = subscriber.communicate(timeout=120)
        assert arrived.splitlines() == lines
        proxy.await_said(" closed by ", 2)
        assert proxy.end() == 0
    halves = behind.halves()
    if not tls:
        assert before.halves() == {(0, end): halves[1, end] for end in Direction}
    assert {half: stream.data for half, stream in streams(capture, (1883,)).items()} == halves
    assert types_by_tshark(capture) == {half: packet_types(data) for half, data in halves.items()}
