"""gzip and Zstandard: several members, cuts, damage, and bombs."""

import random
import struct
import subprocess
import tracemalloc
from collections.abc import Callable
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.containers import compressed
from mqttpub.capture.containers.compressed import Decompressed, form
from mqttpub.capture.types import BadCapture
from tests.build.containers import ZSTD, zipped, zstd

LIBRARIES = (ZSTD, "zstandard")
SKIPPABLE = struct.pack("<II", 0x184D2A5C, 3) + b"abc"
NOISE = random.Random(4).randbytes(150_000)
PRESSED: dict[str, Callable[..., bytes]] = {"gzip": zipped, "zstd": zstd}


@pytest.fixture(params=["gzip", *LIBRARIES])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read with one library and no other."""
    if request.param == "gzip":
        return "gzip"
    monkeypatch.setattr(compressed, "ZSTD_LIBRARIES", (request.param,))
    return "zstd"


def read(kind: str, data: bytes, size: int = 1 << 16) -> tuple[bytes, BadCapture | None]:
    """Return what data in a form hold, and what is wrong after it."""
    found = bytearray()
    reader = Decompressed(kind, BytesIO(data).read)
    try:
        while piece := reader.read(size):
            found += piece
    except BadCapture as error:
        return bytes(found), error
    assert reader.read(size) == b""
    return bytes(found), None


def said(kind: str, data: bytes) -> str:
    """Return the place and the message of the only error."""
    error = read(kind, data)[1]
    assert error
    return str(error)


def test_forms() -> None:
    assert form(zipped(b"")[:12]) == "gzip"
    assert form(zstd(b"")[:12]) == "zstd"
    assert form(SKIPPABLE) == "zstd"
    assert [form(first) for first in (b"", b"\x1f\x8b", b"`*M\x18", b"\xd4\xc3\xb2\xa1", b"P*M")] == [""] * 5


@pytest.mark.parametrize("data", [b"", b"short", b"again" * 90_000, NOISE])
@pytest.mark.parametrize("members", [1, 3])
def test_compressed_files_are_read(kind: str, data: bytes, members: int) -> None:
    assert read(kind, PRESSED[kind](data, members)) == (data, None)


@given(data=st.binary(max_size=300), times=st.integers(1, 300), members=st.integers(1, 4), size=st.integers(1, 5000))
def test_pieces_of_any_size(data: bytes, times: int, members: int, size: int) -> None:
    for kind, press in PRESSED.items():
        assert read(kind, press(data * times, members), size) == (data * times, None)


def test_a_source_may_give_single_bytes(kind: str) -> None:
    source = BytesIO(PRESSED[kind](b"again and again", 3))
    reader = Decompressed(kind, lambda size: source.read(1))
    assert b"".join(iter(lambda: reader.read(99), b"")) == b"again and again"


def test_pieces_have_a_bound(kind: str) -> None:
    reader = Decompressed(kind, BytesIO(PRESSED[kind](bytes(1 << 20))).read)
    largest = len(reader.read(1000))
    assert largest <= (1000 if "zstandard" not in compressed.ZSTD_LIBRARIES else 32 << 20) or kind == "gzip"


def test_zeros_may_fill_up_the_file(kind: str) -> None:
    data = PRESSED[kind](b"one", 1)
    assert read(kind, data + bytes(5000)) == (b"one", None)
    assert said(kind, data + bytes(5) + b"x") == f"offset 3: the {kind} data are followed by something else"
    assert said(kind, data + b"x") == f"offset 3: the {kind} data are followed by something else"


def test_frames_for_others_are_passed_over() -> None:
    assert read("zstd", SKIPPABLE + zstd(b"one") + SKIPPABLE * 2 + zstd(b"two") + SKIPPABLE) == (b"onetwo", None)


def test_a_cut_leaves_the_bytes_before_it(kind: str) -> None:
    for whole in (NOISE[:3000], b"again" * 300):
        data = PRESSED[kind](whole, 2)
        half = len(PRESSED[kind](whole[: len(whole) // 2]))
        for size in range(4, len(data)):
            found, error = read(kind, data[:size])
            assert whole.startswith(found)
            assert (error is None) == (size == half)
            assert error is None or str(error) == f"offset {len(found)}: the {kind} data end too early"
            assert kind == "zstd" or len(found) > (size - 60 if whole == NOISE[:3000] else -1)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_truncated_file_gives_the_same_in_pieces_of_any_size(kind: str) -> None:
    data = PRESSED[kind](bytes(3000) + b"again" * 300)
    for size in range(4, len(data)):
        assert read(kind, data[:size], 7)[0] == read(kind, data[:size])[0]


def test_damage_leaves_the_bytes_before_it() -> None:
    data = bytearray(zipped(NOISE))
    data[-6] ^= 1
    found, error = read("gzip", bytes(data))
    assert (found, str(error)) == (
        NOISE,
        "offset 150000: the gzip data are damaged (Error -3 while decompressing data: incorrect data check)",
    )
    words = [b"%d " % number for number in range(100_000)]
    data = bytearray(zipped(b"".join(words)))
    place = len(data) // 2
    data[place : place + 40] = b"\xff" * 40
    found, error = read("gzip", bytes(data))
    cut = read("gzip", bytes(data[:place]))[0]
    assert found.startswith(cut)
    assert len(cut) > 200_000
    assert b"".join(words).startswith(cut)
    assert error
    assert error.offset == len(found)


def test_damage_is_reported(kind: str) -> None:
    for at in range(4, 60):
        data = bytearray(PRESSED[kind](b"again and again, " * 20))
        if at < len(data):
            data[at] ^= 0x55
            found, error = read(kind, bytes(data))
            assert error is None or f"the {kind} data" in str(error)
            assert error is not None or len(found) == 340


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(4, 200), st.integers(0, 255)), max_size=4))
def test_mutations_are_bytes_or_a_broken_capture(data: bytes, changes: list[tuple[int, int]]) -> None:
    for kind, press in PRESSED.items():
        mutated = bytearray(press(data * 5, 2))
        for at, value in changes:
            mutated[at % (len(mutated) - 4) + 4] = value
        found, error = read(kind, bytes(mutated))
        assert error is None or error.offset == len(found)


def test_a_bomb_takes_no_memory(kind: str) -> None:
    data = PRESSED[kind](bytes(24 << 20))
    reader = Decompressed(kind, BytesIO(data).read)
    bound = 20 << 20 if "zstandard" in compressed.ZSTD_LIBRARIES and kind == "zstd" else 1 << 20
    tracemalloc.start()
    try:
        total = 0
        while piece := reader.read(1 << 16):
            total += len(piece)
        assert total == 24 << 20
        assert tracemalloc.get_traced_memory()[1] < bound
    finally:
        tracemalloc.stop()


def test_without_a_library_zstd_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "ZSTD_LIBRARIES", ("no_such_library.zstd",))
    with pytest.raises(
        BadCapture, match=r"zstd needs Python 3\.14 or backports\.zstd: (uv )?pip install 'mqttpub\[captures\]'"
    ):
        Decompressed("zstd", BytesIO(zstd(b"one")).read)


def test_the_program_gzip() -> None:
    data = subprocess.run(["gzip", "-c"], input=NOISE, check=True, capture_output=True).stdout
    assert read("gzip", data) == (NOISE, None)
