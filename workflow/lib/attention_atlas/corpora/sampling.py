"""Samples of a corpus: records are numbered in a seeded random order of the whole file, or in file order.

A sample of size N is the first N records of that order, so a larger sample contains the smaller ones, and no part of the file,
such as its first genre, is preferred. If a file has several (official or random) parts, the order is over the
records of the corpus's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Record = TypeVar("_Record")
ORDERS = ("shuffled", "file")


def record_order(size: int, order: str, seed: int) -> NDArray[np.int64]:
    """Position in the file of record 0, 1, ... of a corpus.

    Args:
        size: number of records in the file.
        order: shuffled: a random permutation that depends on size and seed alone; file: the order of the file.
        seed: seed of the permutation.
    """
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}: {order!r}")
    positions = np.arange(size, dtype=np.int64)
    return np.random.default_rng(seed).permutation(positions) if order == "shuffled" else positions


def in_record_order(items: Sequence[_Record], order: str, seed: int) -> Iterator[_Record]:
    """All items of a file in the order of their records, see `record_order`."""
    return (items[position] for position in record_order(len(items), order, seed).tolist())


def sampled(
    read: Callable[[], Iterable[_Record]], order: str, seed: int, start: int, stop: int
) -> Iterator[tuple[int, _Record]]:
    """Records start .. stop - 1 of a corpus, each with its position in the file.

    Args:
        read: reads the file from its start. In random order it is called twice, to count the records and to read the requested
            ones, so that only these are in memory.
        order, seed: see `record_order`.
        start, stop: range of records; numbers beyond the last record are ignored.
    """
    if order == "file":
        yield from islice(enumerate(read()), start, stop)
        return
    size = sum(1 for _ in read())
    positions = record_order(size, order, seed)[start:stop].tolist()
    wanted = frozenset(positions)
    last = max(positions, default=-1)
    records = {position: record for position, record in enumerate(islice(read(), last + 1)) if position in wanted}
    yield from ((position, records[position]) for position in positions)
