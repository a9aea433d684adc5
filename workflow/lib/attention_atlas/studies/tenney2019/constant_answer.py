"""The best constant answer: the F1 that label frequencies alone give, without any input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.names import EARLY
from attention_atlas.studies.tenney2019.scores import f1_of
from attention_atlas.studies.tenney2019.targets import TaskTargets

ANSWERS = ["record", "unit_number", "true", "false", "missed"]


@dataclass(frozen=True)
class ConstantAnswer:
    """The set of labels that, given to every evaluated target, has the highest micro-F1.

    It is chosen on the evaluated targets themselves, so that no other constant answer does better.

    Attributes:
        labels: of the answer, the most frequent first.
        counts: `ANSWERS`, the numbers of its right and wrong labels and misses in each sentence.
    """

    labels: tuple[str, ...]
    counts: pd.DataFrame

    @property
    def f1(self) -> float:
        """Micro-F1 in percent."""
        return float(f1_of(self.counts[["true", "false", "missed"]].sum()))


def constant_answer(task: str, examples: Iterable[Example], counts: pd.DataFrame) -> ConstantAnswer:
    """The best constant answer to the targets of a task.

    Of k labels, the k most frequent ones have the highest F1, so one k after the other is tried.

    Args:
        task: name of the task.
        examples: those that its probes are evaluated on.
        counts: answers of its probes, `scores.COUNTS`: for the units that intervals resample.

    Raises:
        AtlasError: the examples do not have the labels that the probes were evaluated on.
    """
    targets = [(example.record, target.labels) for example in examples for target in example.edges or () if target.task == task]
    names = sorted({label for _, labels in targets for label in labels})
    scored = TaskTargets(task, tuple(names), pairs=False, training=(), development=()).scored
    kept = {name for name, is_scored in zip(names, scored, strict=True) if is_scored}
    # Labels are counted as sets: a target has each of its labels once.
    gold = [(record, kept & set(labels)) for record, labels in targets]
    frequencies = Counter(label for _, labels in gold for label in sorted(labels))
    ranked = [label for label, _ in frequencies.most_common()]
    right = np.cumsum([0, *(frequencies[label] for label in ranked)])
    given = len(gold) * np.arange(len(right))
    best = f1_of(np.stack([right, given - right, right[-1] - right], axis=-1)).argmax()
    answer = tuple(ranked[: int(best)])
    rows = [[record, n := len(labels & set(answer)), len(answer) - n, len(labels) - n] for record, labels in gold]
    summed = pd.DataFrame(rows, columns=["record", "true", "false", "missed"]).groupby("record", sort=False).sum()
    probes = counts[counts["condition"] == EARLY].drop_duplicates("record").set_index("record")
    labels_of_probes = probes["true"] + probes["missed"]
    if not (summed["true"] + summed["missed"]).sort_index().equals(labels_of_probes.sort_index()):
        raise AtlasError(
            f"{task}: the examples do not have the labels that the probes were evaluated on. Build the probes of this task "
            "again."
        )
    return ConstantAnswer(answer, summed.join(probes["unit_number"]).reset_index()[ANSWERS])
