"""What `decode` and `lint` do grows with the input and no faster, counted in lines that the interpreter executes."""

import functools
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Publish, Subscribe, Subscription
from mqttpub.spec.versions import Version
from mqttpub.wire.types import VARIABLE
from tests.fuzz.raw import packet

COUNT = 6
"""Elements in the smallest input; the others have two and four times as many."""
FEWEST = 200
"""Lines by which a function has to grow to be looked at."""
STEEPEST = 3.0
"""Between 2, for what grows with the input, and 4, for what grows with its square."""
CONNECT = encode(Connect(client_id="c"), Version.V5)


def _publish(properties: bytes, payload: bytes = b"") -> bytes:
    return packet(0x30, b"\0\1a" + VARIABLE.write(len(properties)) + properties + payload)


def _named(count: int) -> list[bytes]:
    return [b"\0\4%04x" % each for each in range(count)]


def _will(properties: bytes) -> bytes:
    return packet(0x10, b"\0\4MQTT\5\4\0\0\0\0\1c" + VARIABLE.write(len(properties)) + properties + b"\0\1w\0\1p")


ONE_PACKET: dict[str, Callable[[int], bytes]] = {
    "filters": lambda n: packet(0x82, b"\0\1\0" + b"\1".join([*_named(n), b""])),
    "equal filters": lambda n: packet(0x82, b"\0\1\0" + b"\0\1a\1" * n),
    "wrong filters": lambda n: packet(0x82, b"\0\1\0" + b"\0\2a#\7" * n),
    "filters to leave": lambda n: packet(0xA2, b"\0\1\0" + b"".join(_named(n))),
    "reason codes": lambda n: packet(0x90, b"\0\1\0" + b"\1" * n),
    "unknown reason codes": lambda n: packet(0xB0, b"\0\1\0" + b"\x7f" * n),
    "user properties": lambda n: _publish(b"\x26\0\1k\0\1v" * n),
    "subscription identifiers": lambda n: _publish(b"".join(b"\x0b" + VARIABLE.write(each + 1) for each in range(n))),
    "wrong properties": lambda n: _publish(b"\1\7" * n + b"\x7f"),
    "will properties": lambda n: _will(b"\x26\0\1k\0\1v" * n),
    "levels of a topic": lambda n: packet(0x30, (40 * n + 1).to_bytes(2, "big") + b"a/" * 20 * n + b"a\0"),
    "members of JSON": lambda n: _publish(b"", b"[" + b'{"a":"\\u0007"},' * n + b"0]"),
    "characters to escape": lambda n: _publish(b"", "\u202e\x1b\u0085".encode() * n),
}
PACKETS: dict[str, Callable[[int], bytes]] = {
    "messages": lambda n: b"".join(encode(Publish(topic=f"a/{each}"), Version.V5) for each in range(n)),
    "exchanges": lambda n: b"".join(
        encode(Publish(topic="a", qos=1, packet_id=each + 1), Version.V5) + packet(0x40, (each + 1).to_bytes(2, "big"))
        for each in range(n)
    ),
    "wrong packets": lambda n: bytes.fromhex("36050001740061") * n,
    "subscriptions": lambda n: b"".join(
        encode(Subscribe(packet_id=each + 1, subscriptions=(Subscription(filter=f"a/{each}"),)), Version.V5)
        for each in range(n)
    ),
    "aliases": lambda n: b"".join(
        encode(Publish(topic=f"a/{each}", properties=(Property(0x23, each + 1),)), Version.V5) for each in range(n)
    ),
    "connections": lambda n: CONNECT * n,
}
VIEWS = (
    (), ("--json",), ("--summary",), ("--summary", "--json"), ("--flows",), ("--flows", "--json"), ("--stats",),
    ("--stats", "--json"), ("--ladder",), ("--svg",), ("--mermaid",), ("--html", "page.html"), ("--pdml",),
    ("--tshark-json",), ("--full", "--filter", "topic=a"),
)  # fmt: skip
FINDINGS = ((), ("--json",), ("--sarif",), ("--explain", "--report"))
COMMANDS = [("decode", *view) for view in VIEWS] + [("lint", "--limit", "0", *view) for view in FINDINGS]


def lines(*arguments: str) -> Counter[CodeType]:
    """Return how many lines each function of the package executes in a run, one of a loop once for each time."""
    counted: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            counted[frame.f_code] += 1
        return count

    def call(frame: FrameType, event: str, _: Any) -> Any:
        if "mqttpub" not in frame.f_code.co_filename and not frame.f_code.co_filename.startswith("<"):
            return None
        counted[frame.f_code] += 1
        return count

    before = sys.gettrace()
    sys.settrace(call)
    try:
        status = main([*arguments])
    finally:
        sys.settrace(before)
    assert status in (0, 1)
    return counted


def too_steep(path: Path, make: Callable[[int], bytes], command: tuple[str, ...]) -> list[str]:
    """Return the functions that grow faster than an input, whatever its size.

    What is remembered only of short fields and small packets begins to grow with a larger input, so what seems to grow
    too fast is looked at again from there on.
    """
    arguments = (*command, "-V", "5", "--form", "raw", "-f", str(path))
    path.write_bytes(CONNECT + make(3))
    main([*arguments])  # so that nothing is imported while lines are counted

    def run(times: int) -> Counter[CodeType]:
        path.write_bytes(CONNECT + make(COUNT * times))
        forget()
        return lines(*arguments)

    one, two, four = run(1), run(2), run(4)
    steep = _steep(one, two, four)
    if steep:
        steep &= _steep(four, run(8), run(16))
    return [f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_name}" for code in steep]


def forget() -> None:
    """Empty the caches of the program, so that a run does not profit from the one before it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("mqttpub."):
            for each in vars(module).values():
                if isinstance(each, functools._lru_cache_wrapper):
                    each.cache_clear()


def _steep(one: Counter[CodeType], two: Counter[CodeType], four: Counter[CodeType]) -> set[CodeType]:
    return {code for code in four if four[code] - two[code] > max(FEWEST, STEEPEST * (two[code] - one[code]))}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_work_grows_with_the_fields_and_packets(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bytes"

    def packets(count: int) -> bytes:
        return b"".join(make(count) for make in (*ONE_PACKET.values(), *PACKETS.values()))

    assert too_steep(path, packets, command) == []
