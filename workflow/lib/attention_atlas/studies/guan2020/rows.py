"""The rows of Tables 2 and 3: interventions on the heads of some types, with intervals over passages."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, UNNAMED, VERTICAL
from attention_atlas.stats.intervals import bootstrap_ratio

MODEL_TITLES = {"pretrain": "Pre-trained", "squad": "SQuAD", "mrpc": "MRPC", "mnli": "MNLI", "qnli": "QNLI", "stsb": "STS-B"}
"""Titles of compared models; squad is the study's model."""
SCORES = ("em", "f1")
SENTENCES = {
    "segments": "question and passage as the two sentences",
    "sentencex": "sentences of the passage, split by sentencex",
    "stops": "sentences of the passage, split at full stops",
    "": "",
}
"""Definitions of a sentence, in words; none for actions that do not depend on sentences."""
BASELINE = 1
"""Number of the row in which no head is changed."""
Action = Literal["zero", "uniform", "intra", "inter"]


class Row(NamedTuple):
    """A row of Table 2 or 3 of the paper: its number, its table, the action, and the types whose heads are changed."""

    number: int
    item: str
    action: Action
    types: tuple[str, ...]


ROWS = (
    Row(2, "Table 2", "zero", (DENSE,)),
    Row(3, "Table 2", "zero", (DIAGONAL,)),
    Row(4, "Table 2", "zero", (DENSE_VERTICAL,)),
    Row(5, "Table 2", "zero", (VERTICAL,)),
    Row(6, "Table 2", "zero", (DENSE, VERTICAL)),
    Row(7, "Table 2", "zero", (DENSE_VERTICAL, VERTICAL)),
    Row(8, "Table 2", "uniform", (DENSE,)),
    Row(9, "Table 2", "uniform", (DIAGONAL,)),
    Row(10, "Table 2", "uniform", (DENSE_VERTICAL,)),
    Row(11, "Table 2", "uniform", (VERTICAL,)),
    Row(12, "Table 3", "intra", (DIAGONAL,)),
    Row(13, "Table 3", "inter", (DIAGONAL,)),
    Row(14, "Table 3", "intra", (DENSE_VERTICAL,)),
    Row(15, "Table 3", "inter", (DENSE_VERTICAL,)),
    Row(16, "Table 3", "intra", (DENSE, DENSE_VERTICAL, VERTICAL)),
    Row(17, "Table 3", "inter", (DENSE, DENSE_VERTICAL, VERTICAL)),
    Row(18, "Table 3", "intra", (DENSE, DIAGONAL, VERTICAL)),
    Row(19, "Table 3", "inter", (DENSE, DIAGONAL, VERTICAL)),
)

PRUNED = {row.types[0]: row.number for row in ROWS if row.action == "zero" and len(row.types) == 1}
"""Type -> the row in which its heads alone are pruned."""
UNIFORMED = {row.types[0]: row.number for row in ROWS if row.action == "uniform"}
"""Type -> the row in which its heads attend uniformly."""


def sentences_of(row: Row, splitter: str) -> tuple[str, ...]:
    """Definitions of a sentence under which a row is evaluated: two where its action depends on sentences."""
    return ("segments", splitter) if row.item == "Table 3" else ("",)


def unnamed_clusters(head_types: pd.DataFrame) -> set[str]:
    """Clusters that do not fit the type that the naming leaves for them."""
    return set(head_types.loc[head_types["type"] == UNNAMED, "cluster"])


def passage_interval(
    values: npt.NDArray[np.float64], passages: npt.NDArray[np.integer], resamples: int, seed: int, level: float = 0.95
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Lower and upper ends, [column], of the means of [question, column] values over resampled passages [question]."""
    sums = pd.DataFrame(values).groupby(passages).sum().to_numpy(float)
    sizes = pd.Series(passages).groupby(passages).size().to_numpy(float)[:, None]
    return bootstrap_ratio(sums, sizes, resamples, seed, level)
