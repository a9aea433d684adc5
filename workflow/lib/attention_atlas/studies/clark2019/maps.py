"""Weights that Figures 1 and 5 draw: heads, examples on which they show what they do, and tidy tables of their weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, with_attention
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD, predicted_words

if TYPE_CHECKING:
    from attention_atlas.studies.clark2019.coreference import Task

Weights = npt.NDArray[np.float32]
ChosenHeads = str | Mapping[str, Sequence[int]]
WINDOW = 15
KINDS = {"broad": "entropy", "next token": "next", "[SEP]": "sep", "punctuation": "punct"}
FIGURE5_RELATIONS = ("dobj", "det", "poss", "auxpass", "pobj")
SINK_HIDDEN = ("pobj",)
"""Relations drawn without [CLS] and [SEP] (authors' notebook)."""
COREFERENCE = "coreference"
SEARCHED = 400
"""Sentences or windows, the first of a corpus, among which examples are sought."""
_SENTENCE, _STRETCH = (6, 12), (8, 16)
"""Fewest and most words of a sentence, and of a stretch of sentences for coreference."""
_LONGEST_WORD = 14  # letters, so that the columns of a panel do not run into each other


class Panel(NamedTuple):
    """An example that may illustrate a head: rows are words, [CLS] and [SEP]; marked: weights from (or to) the dependents.

    order sorts the examples: mentions or dependents that the head gets wrong minus those it gets right, then others.
    """

    order: tuple[float, ...]
    sentence: str
    words: tuple[str, ...]
    weights: Weights
    marked: npt.NDArray[np.bool_]


def figure1_weights(example: CachedExample, surface: pd.DataFrame, heads: str | Sequence[Sequence[int]]) -> pd.DataFrame:
    """The weights that Figure 1 draws: the last 15 tokens of a segment, rows renormalised (section 3).

    heads: `auto` (the strongest of each kind, by `surface`) or four [layer, head], from 1; value: its measure on all segments.
    """
    # Without the marks of word pieces (##, Ġ, ▁).
    tokens = ["...", *(without_space_mark(token.removeprefix("##") or token) for token in example.tokens[1 - WINDOW :])]
    frames = []
    for number, (kind, measure) in enumerate(KINDS.items()):
        values = surface[surface["measure"] == measure].set_index(["layer", "head"])["value"]
        if isinstance(heads, str) and values.empty:
            continue
        layer, head = map(int, values.idxmax() if isinstance(heads, str) else heads[number])
        index = head_index(example, (layer, head), "figure1_heads")
        weights = renormalised(np.array(example.maps[index], dtype=np.float32)[-WINDOW:, -WINDOW:])
        weights[0, :] = weights[:, 0] = np.nan
        labels = {"kind": kind, "layer": layer, "head": head, "value": values.get((layer, head), np.nan), "example": example.id}
        frames.append(weights_frame(weights, tokens, "token", **labels))
    return joined(frames)


def relation_weights(
    examples: Sequence[Example], attention: Iterable[CachedExample], dependencies: pd.DataFrame, heads: ChosenHeads
) -> pd.DataFrame:
    """The weights that Figure 5 draws of dependency relations: for each its head on two sentences where it works best.

    heads: `auto` (the best head of each of the paper's relations) or relation -> [layer, head], from 1.
    """
    best: dict[Any, Any] = dependencies.set_index("relation").to_dict("index")
    if isinstance(heads, str):
        heads = {name: [best[name]["layer"], best[name]["head"]] for name in FIGURE5_RELATIONS if name in best}
    places = {relation: (int(layer), int(head)) for relation, (layer, head) in heads.items() if relation != COREFERENCE}
    best = {relation: {"direction": DEPENDENT_TO_HEAD, "layer": 0} for relation in places} | best
    panels: dict[str, list[Panel]] = {relation: [] for relation in places}
    for example, cached in with_attention(examples[:SEARCHED], attention):
        if not (_SENTENCE[0] <= len(example.words) <= _SENTENCE[1] and max(map(len, example.words)) <= _LONGEST_WORD):
            continue
        by_word = cached.word_maps()
        for relation in [relation for relation in places if relation in example.layers["relations"]]:
            of_head = by_word[head_index(cached, places[relation], "figure5_heads")]
            panel = _panel(example, cached, of_head, relation, best[relation]["direction"])
            panels[relation] = _first([*panels[relation], panel])
    return joined(frame for r, place in places.items() for frame in panel_frames(panels[r], r, place, best[r]))


def _panel(example: Example, cached: CachedExample, by_word: Weights, relation: str, direction: str) -> Panel:
    """A sentence with the relation; mean attention on the correct words decides among those with as many right ones."""
    tokens = np.flatnonzero(np.asarray(example.layers["relations"]) == relation)
    special = cached.special_units
    forward = direction == DEPENDENT_TO_HEAD
    picked = predicted_words(by_word, special)[:, 0 if forward else 1]
    gold = np.asarray(example.layers["heads"])
    right = int((picked[tokens] == gold[tokens]).sum())
    over_words = renormalised(by_word[~special][:, ~special])
    mass = (over_words[tokens, gold[tokens] - 1] if forward else over_words[gold[tokens] - 1, tokens]).mean()
    hidden = relation in SINK_HIDDEN
    words, weights = (example.words, over_words) if hidden else (cached.words, by_word)
    rows = tokens if hidden else np.flatnonzero(~special)[tokens]
    order = (len(tokens) - 2 * right, -float(mass), example.record)
    return Panel(order, example.id, words, weights, _marked(len(weights), rows, forward))


def stretch_panels(
    example: Example, cached: CachedExample, by_word: Weights, task: Task, picked: npt.NDArray[np.intp], forward: bool
) -> list[Panel]:
    """Of a window the stretch of whole sentences in which a coreference head is right most often; the shorter of equal ones.

    A mention is scored if one of its antecedents is in the stretch; picked: [mention] the head's choice in the window.
    """
    special = cached.special_units
    right = task.judge(picked)
    sentence = example.layers["sentence"]
    edges = [k for k in range(len(sentence) + 1) if k in (0, len(sentence)) or sentence[k] != sentence[k - 1]]
    words = np.arange(len(sentence))
    row_of_word = np.flatnonzero(~special)
    panels = []
    for start, stop in combinations(edges, 2):
        inside = (words >= start) & (words < stop)
        scored = inside[task.heads] & (task.correct & inside).any(axis=1)
        if not (_STRETCH[0] <= stop - start <= _STRETCH[1] and scored.any()):
            continue
        rows = np.sort(np.concatenate([np.flatnonzero(special), row_of_word[start:stop]]))
        weights = renormalised(by_word[np.ix_(rows, rows)])
        marked = _marked(len(rows), np.searchsorted(rows, row_of_word[task.heads[scored]]), forward)
        hits = (right & inside[np.maximum(picked, 0)])[scored]
        order = (int((~hits).sum()) - int(hits.sum()), stop - start, example.record)
        name = f"{example.id}, words {start + 1} to {stop}"
        panels.append(Panel(order, name, tuple(cached.words[row] for row in rows), weights, marked))
    return _first(panels, 1)


def _marked(size: int, rows: npt.NDArray[np.intp], forward: bool) -> npt.NDArray[np.bool_]:
    """[size, size] weights from some rows, or to them."""
    marked = np.zeros((size, size), dtype=bool)
    marked[rows] = True
    return marked if forward else marked.T


def _first(panels: Iterable[Panel], count: int = 2) -> list[Panel]:
    return sorted(panels, key=lambda panel: panel.order)[:count]


def panel_frames(panels: Iterable[Panel], relation: str, place: tuple[int, int], best: Mapping[str, Any]) -> list[pd.DataFrame]:
    """The first two panels of a head; its accuracy is known where it is the `best` one of the relation."""
    accuracy = float(best["accuracy"]) if place == (best["layer"], best.get("head")) else np.nan
    frames = []
    for number, panel in enumerate(_first(panels), start=1):
        labels = {"relation": relation, "example": number, "sentence": panel.sentence, "layer": place[0], "head": place[1]}
        labels |= {"direction": best["direction"], "accuracy": accuracy}
        frame = weights_frame(panel.weights, panel.words, "word", **labels)
        frames.append(frame.assign(marked=panel.marked.ravel().astype(int)))
    return frames


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Weights of several panels, or a frame without rows."""
    return pd.concat([*frames] or [pd.DataFrame(columns=["relation"])], ignore_index=True)


def renormalised(weights: Weights) -> Weights:
    """Rows divided by their sums; a row of zeros stays 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def weights_frame(weights: npt.NDArray[np.floating], names: Sequence[str], unit: str, **labels: Any) -> pd.DataFrame:
    """[n, n] weights as a frame: constant columns `labels`, from_position (from 1), from_{unit}, the same of to_, weight."""
    rows, columns = (indices.ravel() for indices in np.indices(weights.shape))
    words = np.asarray(names, dtype=object)
    ends = {"from_position": rows + 1, f"from_{unit}": words[rows]}
    ends |= {"to_position": columns + 1, f"to_{unit}": words[columns]}
    return pd.DataFrame({**ends, "weight": weights.ravel()}).assign(**labels)[[*labels, *ends, "weight"]]


def head_index(example: CachedExample, place: tuple[int, int], setting: str) -> tuple[int, int]:
    """Layer and head from 0, of those from 1; an error if the model has no such head."""
    if any(not 1 <= number <= count for number, count in zip(place, example.maps.shape, strict=False)):
        raise AtlasError(f"{setting}: the model has no head {place[0]}-{place[1]}.")
    return place[0] - 1, place[1] - 1
