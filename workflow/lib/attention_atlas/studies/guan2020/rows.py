"""The rows of Tables 1 to 3: compared models, and interventions on the heads of some types, with intervals over passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, UNNAMED, VERTICAL
from attention_atlas.stats.intervals import bootstrap_ratio

STUDY_MODEL = "squad"
"""Name of the study's model, which answers questions, among the compared models."""
FITS = ("reused", "refitted")
"""Assignment of types to the heads of a compared model: nearest type of the study's model, or clusters of the model itself."""
_MODELS = {"pretrain": "Pre-trained", "squad": "SQuAD", "mrpc": "MRPC", "mnli": "MNLI", "qnli": "QNLI", "stsb": "STS-B"}
SCORES = ("em", "f1")

ZERO, UNIFORM, INTRA, INTER = "zero", "uniform", "intra", "inter"
SEGMENTS, SENTENCEX, STOPS, WHOLE = "segments", "sentencex", "stops", ""
"""Definitions of a sentence: question and passage; the question, and the sentences of the passage as sentencex splits them or
up to each full stop; none, for actions that do not depend on sentences."""
SPLITTERS = (SENTENCEX, STOPS)
SENTENCES = {
    SEGMENTS: "question and passage as the two sentences",
    SENTENCEX: "sentences of the passage, split by sentencex",
    STOPS: "sentences of the passage, split at full stops",
    WHOLE: "",
}
"""Definitions of a sentence, in words."""
BASELINE = 1
"""Number of the row in which no head is changed."""
TYPE, OTHERS, PERMUTED = "type", "others", "permuted"
"""Heads of a condition: those of the row's types; as many other heads of the same layers (the control); those that have the
types after a permutation of the types within each layer (the null distribution)."""


@dataclass(frozen=True)
class Row:
    """A row of Table 2 or 3 of the paper: its number, its table, the action, and the types whose heads are changed."""

    number: int
    item: str
    action: str
    types: tuple[str, ...]


ROWS = (
    Row(2, "Table 2", ZERO, (DENSE,)),
    Row(3, "Table 2", ZERO, (DIAGONAL,)),
    Row(4, "Table 2", ZERO, (DENSE_VERTICAL,)),
    Row(5, "Table 2", ZERO, (VERTICAL,)),
    Row(6, "Table 2", ZERO, (DENSE, VERTICAL)),
    Row(7, "Table 2", ZERO, (DENSE_VERTICAL, VERTICAL)),
    Row(8, "Table 2", UNIFORM, (DENSE,)),
    Row(9, "Table 2", UNIFORM, (DIAGONAL,)),
    Row(10, "Table 2", UNIFORM, (DENSE_VERTICAL,)),
    Row(11, "Table 2", UNIFORM, (VERTICAL,)),
    Row(12, "Table 3", INTRA, (DIAGONAL,)),
    Row(13, "Table 3", INTER, (DIAGONAL,)),
    Row(14, "Table 3", INTRA, (DENSE_VERTICAL,)),
    Row(15, "Table 3", INTER, (DENSE_VERTICAL,)),
    Row(16, "Table 3", INTRA, (DENSE, DENSE_VERTICAL, VERTICAL)),
    Row(17, "Table 3", INTER, (DENSE, DENSE_VERTICAL, VERTICAL)),
    Row(18, "Table 3", INTRA, (DENSE, DIAGONAL, VERTICAL)),
    Row(19, "Table 3", INTER, (DENSE, DIAGONAL, VERTICAL)),
)

PRUNED = {row.types[0]: row.number for row in ROWS if row.action == ZERO and len(row.types) == 1}
"""Type -> the row in which its heads alone are pruned."""
UNIFORMED = {row.types[0]: row.number for row in ROWS if row.action == UNIFORM}
"""Type -> the row in which its heads attend uniformly."""


def sentences_of(row: Row, splitter: str) -> tuple[str, ...]:
    """Definitions of a sentence under which a row is evaluated: two where its action depends on sentences."""
    return (SEGMENTS, splitter) if row.action in (INTRA, INTER) else (WHOLE,)


def crowded_layers(layers: Iterable[int], heads_a_layer: int) -> list[int]:
    """Layers that have too few other heads for a random set; layers: of each head of a row."""
    return sorted(layer for layer, size in Counter(layers).items() if 2 * size > heads_a_layer)


def model_title(name: str) -> str:
    """Title of a compared model in tables and figures."""
    return _MODELS.get(name, name)


def unnamed_clusters(head_types: pd.DataFrame) -> set[str]:
    """Clusters that do not fit the type that the naming leaves for them, of a table with columns type and cluster."""
    return set(head_types.loc[head_types["type"] == UNNAMED, "cluster"])


def passage_interval(
    values: npt.NDArray[np.float64], passages: npt.NDArray[np.integer], resamples: int, seed: int, level: float = 0.95
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Lower and upper ends, [column], of the means of [question, column] values over resampled passages [question]."""
    sums = pd.DataFrame(values).groupby(passages).sum().to_numpy(float)
    sizes = pd.Series(passages).groupby(passages).size().to_numpy(float)[:, None]
    return bootstrap_ratio(sums, sizes, resamples, seed, level)


def baselines(answer_baselines: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """windows, references, n, em and f1 with intervals: the unchanged model by the way of scoring, with all windows or the
    first, and all reference answers or the first; of the baselines of `ablations.answers`.
    """
    rows = []
    for (windows, references), scores in answer_baselines.groupby(["windows", "references"]):
        low, high = passage_interval(scores[list(SCORES)].to_numpy(float), scores["passage"].to_numpy(), resamples, seed)
        row: dict[str, Any] = {"windows": windows, "references": references, "n": len(scores)}
        for column, score in enumerate(SCORES):
            row |= {score: scores[score].mean(), f"{score}_ci_low": low[column], f"{score}_ci_high": high[column]}
        rows.append(row)
    return pd.DataFrame(rows)
