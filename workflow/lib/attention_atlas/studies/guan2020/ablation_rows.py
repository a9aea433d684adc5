"""The rows of Tables 2 and 3: interventions on the heads of some types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from attention_atlas.methods.head_type_names import DENSE, DENSE_VERTICAL, DIAGONAL, VERTICAL

ZERO, UNIFORM, INTRA, INTER = "zero", "uniform", "intra", "inter"
SEGMENTS, SENTENCEX, STOPS, WHOLE = "segments", "sentencex", "stops", ""
"""Definitions of a sentence: question and passage; the question, and the sentences of the passage as sentencex splits them or
up to each full stop; none, for actions that do not depend on sentences."""
SPLITTERS = (SENTENCEX, STOPS)
BASELINE = 1
"""Number of the row in which no head is changed."""
TYPE, OTHERS, PERMUTED = "type", "others", "permuted"
"""Heads of a condition: those of the row's types; as many other heads of the same layers (the control); those that have the
types after a permutation of the types within each layer (the null distribution)."""


@dataclass(frozen=True)
class Row:
    """A row of Table 2 or 3.

    Attributes:
        number: number of the row in the paper.
        table: table2 or table3.
        action: zero, uniform, intra or inter.
        types: types whose heads are changed.
    """

    number: int
    table: str
    action: str
    types: tuple[str, ...]


ROWS = (
    Row(2, "table2", ZERO, (DENSE,)),
    Row(3, "table2", ZERO, (DIAGONAL,)),
    Row(4, "table2", ZERO, (DENSE_VERTICAL,)),
    Row(5, "table2", ZERO, (VERTICAL,)),
    Row(6, "table2", ZERO, (DENSE, VERTICAL)),
    Row(7, "table2", ZERO, (DENSE_VERTICAL, VERTICAL)),
    Row(8, "table2", UNIFORM, (DENSE,)),
    Row(9, "table2", UNIFORM, (DIAGONAL,)),
    Row(10, "table2", UNIFORM, (DENSE_VERTICAL,)),
    Row(11, "table2", UNIFORM, (VERTICAL,)),
    Row(12, "table3", INTRA, (DIAGONAL,)),
    Row(13, "table3", INTER, (DIAGONAL,)),
    Row(14, "table3", INTRA, (DENSE_VERTICAL,)),
    Row(15, "table3", INTER, (DENSE_VERTICAL,)),
    Row(16, "table3", INTRA, (DENSE, DENSE_VERTICAL, VERTICAL)),
    Row(17, "table3", INTER, (DENSE, DENSE_VERTICAL, VERTICAL)),
    Row(18, "table3", INTRA, (DENSE, DIAGONAL, VERTICAL)),
    Row(19, "table3", INTER, (DENSE, DIAGONAL, VERTICAL)),
)

PRUNED = {row.types[0]: row.number for row in ROWS if row.action == ZERO and len(row.types) == 1}
"""Type -> the row in which its heads alone are pruned."""
UNIFORMED = {row.types[0]: row.number for row in ROWS if row.action == UNIFORM}
"""Type -> the row in which its heads attend uniformly."""


def sentences_of(row: Row, splitter: str) -> tuple[str, ...]:
    """Definitions of a sentence under which a row is evaluated: two where its action depends on sentences.

    Args:
        row: the row.
        splitter: one of `SPLITTERS`.
    """
    return (SEGMENTS, splitter) if row.action in (INTRA, INTER) else (WHOLE,)


def crowded_layers(layers: Iterable[int], heads_a_layer: int) -> list[int]:
    """Layers that have too few other heads for a random set.

    Args:
        layers: layer of each head of a row.
        heads_a_layer: heads of a layer.
    """
    return sorted(layer for layer, size in Counter(layers).items() if 2 * size > heads_a_layer)
