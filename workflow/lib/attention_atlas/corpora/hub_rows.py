"""Rows of a data set on the hub, sampled without reading the whole data set.

For Parquet files, only footers and the sampled row groups are read. Sampling cycles through the files in random order, takes
the next row group of each file (in random order), and a few rows of each row group (in random order), for as long as rows are
requested; a larger sample therefore contains the smaller ones. Data sets in other formats are loaded completely.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from attention_atlas.corpora.sampling import record_order

ROWS_OF_A_GROUP = 20
"""Rows drawn from a row group before the next one: a row group is read completely, and neighbouring rows are similar."""


@dataclass(frozen=True)
class HubRow:
    """A row and its origin: file, row group in the file, row in the row group, counted from 0."""

    content: Mapping[str, Any]
    file: str
    row_group: int
    row: int


def hub_rows(
    source: Mapping[str, Any], order: str, seed: int, columns: Collection[str] | None = None
) -> tuple[Iterator[HubRow], Mapping[str, Any]]:
    """Rows of a split in a seeded random order or in file order, and the features of its columns.

    Args:
        source: hub (a repository, or a local folder with the same layout), revision, config and split.
        order, seed: shuffled or file, see `record_order`.
        columns: read only those of these columns that the data set has, and `column` of the source; None for all.
    """
    import datasets
    import fsspec
    import pyarrow.parquet as pq

    options = {"name": source.get("config"), "revision": source.get("revision")}
    builder = datasets.load_dataset_builder(source["hub"], **options)
    if not type(builder).__module__.startswith("datasets.packaged_modules.parquet"):
        table = datasets.load_dataset(source["hub"], split=source["split"], **options)
        positions = record_order(len(table), order, seed).tolist()
        return (HubRow(table[k], source["split"], 0, k) for k in positions), table.features
    names = [str(name) for name in builder.config.data_files[source["split"]]]
    files = _ParquetFiles(names, lambda name: pq.ParquetFile(fsspec.open(name, "rb").open()))
    schema = files[0].schema_arrow
    if columns is not None and source["column"] in schema.names:
        files.columns = [name for name in schema.names if name in columns]
    return files.rows(order, seed), builder.info.features or datasets.Features.from_arrow_schema(schema)


class _ParquetFiles:
    """Parquet files, opened on first use."""

    def __init__(self, names: Sequence[str], opened: Callable[[str], Any]) -> None:
        self.columns: list[str] | None = None
        self._names = names
        self._opened = opened
        self._files: dict[int, Any] = {}

    def __getitem__(self, file: int) -> Any:
        if file not in self._files:
            self._files[file] = self._opened(self._names[file])
        return self._files[file]

    def rows(self, order: str, seed: int) -> Iterator[HubRow]:
        if order == "file":
            for file in range(len(self._names)):
                for group in range(self[file].num_row_groups):
                    yield from self._of_group(file, group, range(self._size(file, group)))
            return
        for visit in count():
            taken = 0
            for file, group in self._groups_in_turn(seed):
                generator = np.random.default_rng([seed, file + 1, group + 1])
                positions = generator.permutation(self._size(file, group))
                chosen = positions[visit * ROWS_OF_A_GROUP : (visit + 1) * ROWS_OF_A_GROUP].tolist()
                taken += len(chosen)
                yield from self._of_group(file, group, chosen)
            if not taken:
                return

    def _groups_in_turn(self, seed: int) -> Iterator[tuple[int, int]]:
        """All row groups: the first of each file, then the second of each, and so on, in random orders."""
        file_order = np.random.default_rng(seed).permutation(len(self._names)).tolist()
        for turn in count():
            has_more = False
            for file in file_order:
                groups = np.random.default_rng([seed, file + 1]).permutation(self[file].num_row_groups)
                if turn < len(groups):
                    has_more = True
                    yield file, int(groups[turn])
            if not has_more:
                return

    def _size(self, file: int, group: int) -> int:
        return int(self[file].metadata.row_group(group).num_rows)

    def _of_group(self, file: int, group: int, positions: Sequence[int]) -> Iterator[HubRow]:
        if not positions:
            return
        table = self[file].read_row_group(group, columns=self.columns)
        for position, content in zip(positions, table.take(list(positions)).to_pylist(), strict=True):
            yield HubRow(content, self._names[file], group, position)
