"""Faults on request between real clients and a broker: what a client makes of each, and that a seed repeats them."""

import json
import subprocess

import pytest

from tests.build.proxies import running_proxy
from tests.program import run

FAULTS = [
    ("type=PUBACK drop", "pub -q 1 --timeout 1", 6, "no PUBACK", "dropped PUBACK i=1"),
    ("type=PUBREC set reason_code=0x97", "pub -q 2", 5, "0x97 Quota exceeded", "set reason_code=0x97 in PUBREC i=1"),
    ("type=PUBACK reset", "pub -q 1", 6, "", "reset the connection instead of sending PUBACK i=1"),
    ("type=PUBLISH close", "pub -q 1", 6, "closed the connection", "closed the connection instead of sending PUBLISH"),
    ("type=PUBREC silence", "pub -q 2 --timeout 1", 6, "no PUBREC", "silent from PUBREC i=1 on"),
    ("type=CONNACK cut 2", "pub -q 1 --timeout 1", 3, "", "cut 2 bytes off CONNACK"),
    ("slice 1", "pub -q 2 -up name=value", 0, "", "sent PUBREC i=1 in 4 pieces"),
    ("type=PUBLISH twice", "pub -q 0", 0, "", "sent PUBLISH t=faulty twice"),
    ("type=PUBLISH,PUBACK delay 200ms", "pub -q 1", 0, "", "delayed PUBACK i=1 by 200 ms"),
]


@pytest.mark.broker
@pytest.mark.parametrize(("rule", "command", "status", "said", "done"), FAULTS, ids=[each[0] for each in FAULTS])
def test_what_a_client_makes_of_a_fault(
    rule: str, command: str, status: int, said: str, done: str, mosquitto: int
) -> None:
    with running_proxy("-p", mosquitto, "--fault", rule) as proxy:
        ran = run(*command.split(), "-p", proxy.port, "-t", "faulty", "-m", "x", "-i", "me")
        proxy.await_said("bytes of the client")
        assert proxy.end() == 0
    assert (ran.returncode, said in ran.stderr.decode()) == (status, True), ran.stderr
    assert done in proxy.said
    assert f"  (rule: {rule})" in proxy.said


def passed(mosquitto: int, messages: int, *flags: str) -> list[str]:
    """Publish the numbers from 0 on through a proxy, and return those that it passed on, in their order."""
    with running_proxy("-p", mosquitto, "--json", "--inspect", *flags) as proxy:
        command = ["mosquitto_pub", "-p", str(proxy.port), "-t", "faulty", "-l"]
        subprocess.run(command, input="\n".join(map(str, range(messages))), text=True, check=True, timeout=20)
        proxy.await_said('"event":"closed"')
        assert proxy.end() == 0
    records = [json.loads(line) for line in proxy.said.splitlines()]
    return [each["payload"]["text"] for each in records if each.get("type") == "PUBLISH"]


@pytest.mark.broker
def test_a_seed_repeats_the_chance(mosquitto: int) -> None:
    one, again, other = (
        passed(mosquitto, 20, "--fault", "type=PUBLISH drop 50%", "--seed", seed) for seed in ("7", "7", "8")
    )
    assert one == again != other
    assert 3 < len(one) < 17


@pytest.mark.broker
def test_messages_change_their_order(mosquitto: int) -> None:
    assert passed(mosquitto, 4, "--fault", "payload=0 reorder 2") == ["1", "2", "0", "3"]
