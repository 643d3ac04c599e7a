"""Records that were divided by bucket give the packets that they give as they stand in the capture."""

import io
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.types import BadCapture
from mqttpub.columns.arrays import NO_TIME
from mqttpub.columns.read import finish, read
from mqttpub.columns.reassemble.assembly import Batch
from mqttpub.columns.reassemble.divide import divided
from mqttpub.columns.reassemble.reassemble import reassemble
from mqttpub.columns.reassemble.state import SOURCE_BITS, State
from mqttpub.columns.reassemble.stretches import joined
from mqttpub.columns.scan.records import reader, records
from tests.build.containers import damaged
from tests.build.fleet import capture
from tests.build.frames import LINKS, UDP, Wire, fragments4, ipv4, pcap
from tests.build.frames import records as framed
from tests.build.known_captures import truth
from tests.build.pieces import CONNECTS, V5, publish
from tests.build.troubled_captures import troubled
from tests.columns.batches import ReadEvents, all_events

Blobs = list[tuple[int, memoryview]]


def blobs(data: bytes, buckets: int, block: int) -> tuple[list[Blobs], int, int | None]:
    """Return the blobs of each bucket, the number of records, and the time of the last."""
    found: list[Blobs] = [[] for _ in range(buckets)]
    count, last = 0, NO_TIME
    try:
        for some in records(reader(io.BytesIO(data)), Counter(), block=block):
            for bucket, blob in divided(some, count, buckets):
                found[bucket].append((0, memoryview(blob)))
            count += len(some)
            last = some.time[-1] if len(some) else last
    except BadCapture:
        pass
    return found, count, None if last == NO_TIME else int(last)


def of_blobs(data: bytes, buckets: int, *, block: int, together: int) -> list[ReadEvents]:
    """Return the events of each bucket."""
    found, count, last = blobs(data, buckets, block)

    def batches(bucket: int) -> Iterator[Batch]:
        state, given = State(bucket=(bucket, buckets)), found[bucket]
        for at in range(0, len(given), together):
            yield reassemble(joined(given[at : at + together]), state)
        if count:
            state.reassembler.passed(count, last)
        yield finish(state)

    return [all_events(batches(bucket)) for bucket in range(buckets)]


def of_records(data: bytes, buckets: int) -> list[ReadEvents]:
    """Return the same without blobs."""
    found = (all_events(read([io.BytesIO(data)], bucket=(bucket, buckets))) for bucket in range(buckets))
    return [each._replace(broken="") for each in found]


CUTS = (st.sampled_from((1, 2, 16)), st.sampled_from((1, 500, 10_000)), st.sampled_from((1, 3, 1_000)))


@pytest.mark.slow
@settings(max_examples=60)
@given(troubled(), *CUTS)
def test_any_records(data: bytes, buckets: int, block: int, together: int) -> None:
    assert of_blobs(data, buckets, block=block, together=together) == of_records(data, buckets)


@settings(max_examples=40)
@given(st.integers(0, 1 << 30), *CUTS)
def test_records_of_a_broken_file(seed: int, buckets: int, block: int, together: int) -> None:
    data = damaged(Random(seed), capture(seed % 5, clients=3, messages=8))
    assert of_blobs(data, buckets, block=block, together=together) == of_records(data, buckets)


@pytest.mark.parametrize("seed", range(4))
def test_records_of_a_network_with_faults(seed: int) -> None:
    (data,) = truth(seed, connections=6, messages=20, files=1).files
    assert of_blobs(data, 3, block=3_000, together=4) == of_records(data, 3)


def test_only_payloads_of_plain_segments_are_kept() -> None:
    wire, said = Wire(4), [CONNECTS[V5], *(publish(bytes([number]) * 100) for number in range(60))]
    packets, at = wire.opening(), 0
    for data in said:
        packets += [wire.packet(0, at, data), wire.packet(1, 0, b"", ack=at + len(data))]
        at += len(data)
    packets += [ipv4((bytes(4), bytes(4)), b"payload-of-udp" * 9, protocol=UDP)] * 20
    ((_, blob),) = divided(_read(packets), 0, 1)
    assert b"payload-of-udp" not in blob
    assert blob.count(bytes([7]) * 100) == 1
    # Of 28 bytes each are columns.
    assert len(blob) < at + 32 * len(packets)
    found = joined([(5 << SOURCE_BITS, memoryview(blob))])
    assert (found.number >> SOURCE_BITS).tolist() == [5] * (len(packets) - 20)


def test_a_fragment_is_in_all_buckets() -> None:
    ends = (bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    packet = Wire(4).packet(0, 0, publish(bytes(400)))
    parts = fragments4(ends, packet[20:], [104, 208, 312], 7)
    found = dict(divided(_read(parts), 0, 16))
    assert sorted(found) == list(range(16))
    assert {len(joined([(0, memoryview(blob))])) for blob in found.values()} == {len(parts)}


def _read(packets: list[bytes]):  # type: ignore[no-untyped-def]
    data = pcap(framed(packets, LINKS["Ethernet"]), LINKS["Ethernet"].type)
    (found,) = records(reader(io.BytesIO(data)), Counter())
    return found
