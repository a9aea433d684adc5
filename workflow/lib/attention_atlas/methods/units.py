"""The units that intervals and folds resample: documents, or examples if the corpus does not name its documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DOCUMENTS = "documents"
UNIT_COLUMNS = ("unit", "units")
"""What an interval resamples, and how many of them: columns beside an interval."""


@dataclass(frozen=True)
class Units:
    """The independent units of a list of items.

    Sentences, segments and windows of one document share its topic, words and author, so an interval that resamples them
    individually is too narrow.

    Attributes:
        of_item: [item] number of its unit, from 0 in the order of the items.
        count: number of units.
        name: documents, or the kind of the items themselves (segments, sentences, passages).
    """

    of_item: npt.NDArray[np.intp]
    count: int
    name: str

    def sums(self, values: npt.ArrayLike) -> Floats:
        """[unit, ...] sums of [item, ...] over the items of each unit."""
        array = np.asarray(values, dtype=np.float64)
        sums = np.zeros((self.count, *array.shape[1:]))
        np.add.at(sums, self.of_item, array)
        return sums

    def sizes(self) -> Floats:
        """[unit] number of items of each unit."""
        return np.bincount(self.of_item, minlength=self.count).astype(np.float64)

    def at(self, items: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Units:
        """The units of a subset of the items, such as those with a value; units without any of these items are dropped."""
        present, numbers = np.unique(self.of_item[items], return_inverse=True)
        return Units(numbers.astype(np.intp), len(present), self.name)


def independent_units(documents: Iterable[str | None], items: str) -> Units:
    """Documents as units; the items themselves if any document is unknown or all items come from one document.

    Args:
        documents: [item] name of its document, None if unknown.
        items: kind of the items (segments, sentences, passages), for the name of the units.
    """
    names = list(documents)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if None in numbers or len(numbers) < 2:
        return Units(np.arange(len(names)), len(names), items)
    return Units(np.asarray([numbers[name] for name in names], dtype=np.intp), len(numbers), DOCUMENTS)
