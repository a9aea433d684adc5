"""The coreference head in Figure 5: stretches of text in which it selects antecedents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.attention.pairing import with_attention
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table
from attention_atlas.studies.clark2019.antecedents import Task, head_rule_for, options_of, task_of
from attention_atlas.studies.clark2019.coreference import COLUMNS, DIRECTIONS, TO_ANTECEDENT, judge, picked_words
from attention_atlas.studies.clark2019.drawn_weights import labelled, renormalised, weights_frame
from attention_atlas.studies.clark2019.systems import BEST_HEAD

COREFERENCE = "coreference"
_SHORTEST, _LONGEST = 8, 16
_STRETCHES = 2


@dataclass(frozen=True)
class Stretch:
    """A stretch of a window, and how often the head is right in it.

    Attributes:
        example: the window.
        start, stop: the stretch is words start .. stop - 1.
        right, wrong: mentions for which the head selects an antecedent in the stretch, and for which it does not.
        words: names of the rows: the words of the stretch, and the window's special tokens, [CLS] and [SEP].
        weights: [row, row] attention, renormalised, since the other words of the window are left out.
        marked: [row, row] weights from (or to) scored mentions.
    """

    example: Example
    start: int
    stop: int
    right: int
    wrong: int
    words: tuple[str, ...]
    weights: npt.NDArray[np.float32]
    marked: npt.NDArray[np.bool_]


def drawn_stretches(
    shard: str | Path,
    examples_path: str | Path,
    table2_path: str | Path,
    options: Mapping[str, Any],
    head: Sequence[int] | None = None,
) -> tuple[list[Stretch], tuple[int, int], str, float]:
    """Stretches of whole sentences in which the coreference head is right most often, one for each document.

    A mention is scored if one of its antecedents is in the stretch; the head selects among all candidates of the window.

    Args:
        shard, examples_path: first attention shard of the coreference corpus and its examples.
        table2_path: Table 2.
        options: `CoreferenceOptions` of the run.
        head: [layer, head] from 1 to draw; None takes the best head.

    Returns:
        The stretches; layer and head; direction; accuracy of the head on all mentions (NaN unless it is the best head).

    Raises:
        AtlasError: a file cannot be used, or the model has no such head.
    """
    table = read_table(table2_path, list(COLUMNS))
    best = table[(table["system"] == BEST_HEAD) & (table["mention_type"] == "all")].iloc[0]
    shown_head = (int(best["layer"]), int(best["head"])) if head is None else (int(head[0]), int(head[1]))
    direction = str(best["direction"])
    coreference = options_of(options)
    examples = list(read_examples([examples_path]))
    rule = head_rule_for(examples, coreference.head_rule)
    stretches: list[Stretch] = []
    for example, maps in with_attention(examples, read_attention([shard])):
        task = task_of(example, coreference, rule)
        if len(task.heads):
            stretches += _stretches(example, maps, task, shown_head, direction)
    stretches.sort(key=lambda s: (s.wrong - s.right, s.stop - s.start, s.example.record))
    by_document: dict[str, Stretch] = {}
    for stretch in stretches:
        by_document.setdefault(stretch.example.id, stretch)
    is_best = shown_head == (int(best["layer"]), int(best["head"]))
    return list(by_document.values())[:_STRETCHES], shown_head, direction, float(best["accuracy"]) if is_best else float("nan")


def _stretches(
    example: Example, cached: CachedExample, task: Task, shown_head: tuple[int, int], direction: str
) -> list[Stretch]:
    layers, heads = cached.maps.shape[:2]
    if not (1 <= shown_head[0] <= layers and 1 <= shown_head[1] <= heads):
        raise AtlasError(f"figure5_heads: the model has no head {shown_head[0]}-{shown_head[1]}.")
    by_word = cached.word_maps()[shown_head[0] - 1, shown_head[1] - 1]
    special = cached.special_units
    picked = picked_words(by_word[None, None], special, task)[:, DIRECTIONS.index(direction), 0, 0]
    right = judge(picked, task)
    sentence = example.layers["sentence"]
    edges = [k for k in range(len(sentence) + 1) if k in (0, len(sentence)) or sentence[k] != sentence[k - 1]]
    words = np.arange(len(sentence))
    row_of_word = np.flatnonzero(~special)
    stretches = []
    for start in edges:
        for stop in edges:
            if not _SHORTEST <= stop - start <= _LONGEST:
                continue
            inside = (words >= start) & (words < stop)
            scored = inside[task.heads] & (task.correct & inside).any(axis=1)
            if not scored.any():
                continue
            rows = np.sort(np.concatenate([np.flatnonzero(special), row_of_word[start:stop]]))
            shown_words = tuple(cached.words[row] for row in rows)
            weights = renormalised(by_word[np.ix_(rows, rows)])
            marked = np.zeros(weights.shape, dtype=bool)
            scored_rows = np.searchsorted(rows, row_of_word[task.heads[scored]])
            if direction == TO_ANTECEDENT:
                marked[scored_rows] = True
            else:
                marked[:, scored_rows] = True
            hits = (right & inside[np.maximum(picked, 0)])[scored]
            counts = int(hits.sum()), int((~hits).sum())
            stretches.append(Stretch(example, start, stop, *counts, shown_words, weights, marked))
    return stretches


def coreference_frames(
    stretches: Sequence[Stretch], shown_head: tuple[int, int], direction: str, accuracy: float
) -> list[pd.DataFrame]:
    """Tables of weights in the form of figure5.tsv, one for each stretch."""
    frames = []
    for number, stretch in enumerate(stretches, start=1):
        frame = weights_frame(stretch.weights, stretch.words, "word")
        frame["marked"] = stretch.marked.ravel().astype(int)
        labels = {
            "relation": COREFERENCE,
            "example": number,
            "sentence": f"{stretch.example.id}, words {stretch.start + 1} to {stretch.stop}",
            "layer": shown_head[0],
            "head": shown_head[1],
            "direction": direction,
            "accuracy": accuracy,
        }
        frames.append(labelled(frame, **labels))
    return frames
