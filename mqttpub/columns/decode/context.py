"""What is known of each connection from earlier packets: its Client Identifier, and its Topic Aliases."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...common.lru import WeightedLru
from ..arrays import Mask, Rows, latest
from ..arrow import coded, indices, numbers, values

CLIENTS_MEMORY = 16 << 20
"""Characters of Client Identifiers that are remembered, plus `_ENTRY` for each."""
TOPICS_MEMORY = 64 << 20
"""The same for Topic Names that have an alias."""
_ENTRY = 128


class Memory:
    """State of `decode` from one batch to the next, by the keys of connections; can be pickled.

    Each direction of a connection has its own aliases (5.0: 3.3.2.3.4). What was used longest
    ago is forgotten when there is too much. A name that is not UTF-8 is None, as it is null in the tables.
    """

    def __init__(self) -> None:
        self._clients: WeightedLru[str, str | None] = WeightedLru(CLIENTS_MEMORY)
        self._topics: WeightedLru[tuple[str, int], str | None] = WeightedLru(TOPICS_MEMORY)

    def client(self, key: str) -> str | None:
        """Return the Client Identifier of a connection; None if no packet had it, or it is not UTF-8."""
        return self._clients.get(key)

    def clients(
        self, keys: Sequence[str], connection: NDArray[Any], named: Sequence[tuple[int, str | None]]
    ) -> pa.Array:
        """Return the Client Identifier of each row; `named` maps the rows that have one, which holds from there on."""
        present = np.flatnonzero(np.bincount(connection)).tolist()
        places = np.zeros(len(keys), np.int64)
        places[present] = np.arange(len(present))
        words = [self._clients.get(keys[number]) for number in present]
        numbers = places[connection]
        if named:
            says, names = np.zeros(len(connection), np.bool_), np.zeros(len(connection), np.int64)
            rows = [row for row, _ in named]
            says[rows], names[rows] = True, len(words) + np.arange(len(rows))
            last, _ = latest(connection, says)
            numbers = np.where(last >= 0, names[last], numbers)
            words += [name for _, name in named]
            for row, name in named:
                self._clients.put(keys[connection[row]], name, _weight(name))
        return coded(words, numbers)

    def topics(
        self, keys: Sequence[str], connection: Rows, direction: Rows, rows: Rows, aliases: Rows, sent: pa.Array
    ) -> pa.Array:
        """Return the topic of each row: the Topic Name, or in `rows`, which have `aliases`, what the alias stands for.

        `sent` is a dictionary. All others have an element for each of these rows only, which ascend.
        """
        if not len(rows):
            return sent
        own = _filled(sent.take(numbers(rows)))
        slot = direction << 16 | aliases
        number = connection * (3 << 16) + slot
        last, order = latest(number, own & (aliases > 0))
        group = number[order]
        begins = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
        lengths = np.diff(np.append(begins, len(order)))
        first = order[begins]
        places = [(keys[one], at) for one, at in zip(connection[first].tolist(), slot[first].tolist(), strict=True)]
        before = [] if own.all() else [self._topics.get(place) for place in places]
        self._keep(places, last[order[begins + lengths - 1]], rows, sent)
        if own.all():
            return sent
        earlier = np.empty(len(rows), np.int64)
        earlier[order] = np.repeat(len(sent) + np.arange(len(begins)), lengths)
        source = np.arange(len(sent))
        source[rows] = np.where(own, rows, np.where(last >= 0, rows[last], earlier))
        return pa.concat_arrays([sent, pa.array(before, sent.type)]).take(numbers(source))

    def _keep(self, places: list[tuple[str, int]], last: Rows, rows: Rows, sent: pa.Array) -> None:
        """Remember the aliases that rows of the batch set, as they are at its end."""
        found = np.flatnonzero(last >= 0)
        names = sent.take(numbers(rows[last[found]])).cast(pa.string()).to_pylist()
        for at, name in zip(found.tolist(), names, strict=True):
            self._topics.put(places[at], name, _weight(name))


def _weight(name: str | None) -> int:
    return len(name or "") + _ENTRY


def _filled(sent: pa.DictionaryArray) -> Mask:
    """Return which Topic Names are not empty; one that is not UTF-8, and so null, is not."""
    length = np.append(values(pc.binary_length(sent.dictionary)), 1)
    filled: Mask = length[indices(sent)] > 0
    return filled
