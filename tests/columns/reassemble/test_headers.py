"""Addresses and ports, numbered in order of their first appearance."""

import numpy as np
import pytest

from mqttpub.columns.reassemble.headers import numbered

ROWS = 2_000


@pytest.mark.parametrize("words", [3, 9], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("connections", [1, 40, 20_000])
def test_connections_are_numbered_by_their_first_appearance(words: int, connections: int) -> None:
    """Of 2,000 rows that differ, about thirty pairs share one of 65,536 hashes."""
    some = np.random.default_rng(connections).integers(0, 1 << 32, (connections, words), np.uint32)
    # The columns around them belong to other fields of the headers.
    header = np.zeros((ROWS, words + 2), np.uint32)
    header[:, 1:-1] = some[np.random.default_rng(words).integers(0, connections, ROWS)]
    known: dict[bytes, int] = {}
    expected = [known.setdefault(row.tobytes(), len(known)) for row in header[:, 1:-1]]
    numbers, keys = numbered(header[:, 1:-1])
    assert (numbers.tolist(), keys) == (expected, list(known))
