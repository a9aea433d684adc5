"""Weights that Figures 1 and 5 draw: heads, examples on which they show what they do, and tidy tables of their weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import Attention, CachedExample, with_attention
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD, predicted_words
from attention_atlas.studies.clark2019.coreference import (
    BEST_HEAD,
    DIRECTIONS,
    TO_ANTECEDENT,
    CoreferenceOptions,
    Task,
    head_rule_for,
    judge,
    picked_words,
    task_of,
)

Weights = npt.NDArray[np.float32]
WINDOW = 15
KINDS = {"broad": "entropy", "next token": "next", "[SEP]": "sep", "punctuation": "punct"}
FIGURE5_RELATIONS = ("dobj", "det", "poss", "auxpass", "pobj")
SINK_HIDDEN = ("pobj",)
"""Relations drawn without [CLS] and [SEP] (authors' notebook)."""
COREFERENCE = "coreference"
_EXAMPLES = 2
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

    heads: `auto` (the strongest head of each kind, by the `surface` measures) or four [layer, head], from 1. value: the measure
    of this kind over all segments.
    """
    tokens = ["...", *(display_token(token) for token in example.tokens[1 - WINDOW :])]
    frames = []
    for number, (kind, measure) in enumerate(KINDS.items()):
        values = surface[surface["measure"] == measure].set_index(["layer", "head"])["value"]
        if isinstance(heads, str) and values.empty:
            continue
        layer, head = map(int, values.idxmax() if isinstance(heads, str) else heads[number])
        _check_head(example, layer, head, "figure1_heads")
        weights = renormalised(np.array(example.maps[layer - 1, head - 1], dtype=np.float32)[-WINDOW:, -WINDOW:])
        weights[0, :] = weights[:, 0] = np.nan
        labels = {"kind": kind, "layer": layer, "head": head, "value": values.get((layer, head), np.nan), "example": example.id}
        frames.append(weights_frame(weights, tokens, "token", **labels))
    return pd.concat(frames, ignore_index=True)


def display_token(token: str) -> str:
    """A vocabulary entry without the marks of word pieces (##, Ġ, ▁)."""
    return without_space_mark(token.removeprefix("##") or token)


def figure5_weights(
    attention: Attention,
    examples: Examples,
    dependencies: pd.DataFrame,
    heads: str | Mapping[str, Sequence[int]],
    coreference_options: Mapping[str, Any],
    coreference: pd.DataFrame | None = None,
    coreference_attention: Attention | None = None,
    coreference_examples: Examples | None = None,
) -> pd.DataFrame:
    """The weights that Figure 5 draws: for each relation its head on two sentences where it works best (section 4.2).

    Sentences of 6 to 12 words in the first shard are ranked by the number of dependents that the head gets right minus those it
    gets wrong, then by attention on the correct words. [CLS] and [SEP] show where a head attends if its relation does not hold.
    heads: `auto` (the best head of each of the paper's relations, and of coreference) or relation -> [layer, head], from 1.
    marked: a line of the relation.
    """
    relations = dependencies.set_index("relation")
    if isinstance(heads, str):
        present = [relation for relation in FIGURE5_RELATIONS if relation in relations.index]
        heads = {r: (int(relations.loc[r, "layer"]), int(relations.loc[r, "head"])) for r in present} | {COREFERENCE: ()}
    short = [
        (example, cached)
        for example, cached in with_attention(examples, attention)
        if _SENTENCE[0] <= len(example.words) <= _SENTENCE[1] and max(map(len, example.words)) <= _LONGEST_WORD
    ]
    frames = []
    for relation, place in heads.items():
        if relation == COREFERENCE:
            continue
        best: Any = relations.loc[relation] if relation in relations.index else {"direction": DEPENDENT_TO_HEAD, "layer": 0}
        layer, head = map(int, place)
        panels = [_panel(example, cached, relation, layer, head, best["direction"]) for example, cached in short]
        frames += _panel_frames([panel for panel in panels if panel is not None], relation, (layer, head), best)
    if coreference is not None and COREFERENCE in heads:
        best = coreference[(coreference["system"] == BEST_HEAD) & (coreference["mention_type"] == "all")].iloc[0]
        layer, head = map(int, heads[COREFERENCE] or (best["layer"], best["head"]))
        windows = coreference_examples or (), coreference_attention or iter(())
        options = CoreferenceOptions(**coreference_options)
        stretches = coreference_panels(*windows, options, (layer, head), best["direction"])
        frames += _panel_frames(stretches, COREFERENCE, (layer, head), best)
    if not frames:
        shortest, longest = _SENTENCE
        raise AtlasError(f"no sentence of {shortest} to {longest} words has a relation that Figure 5 draws.")
    return pd.concat(frames, ignore_index=True)


def _panel(example: Example, cached: CachedExample, relation: str, layer: int, head: int, direction: str) -> Panel | None:
    """A sentence with the relation; mean attention on the correct words decides among those with as many right ones."""
    tokens = np.flatnonzero(np.asarray(example.layers["relations"]) == relation)
    if not len(tokens):
        return None
    _check_head(cached, layer, head, "figure5_heads")
    special = cached.special_units
    by_word = cached.word_maps()[layer - 1, head - 1]
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


def coreference_panels(
    examples: Examples, attention: Attention, options: CoreferenceOptions, shown_head: tuple[int, int], direction: str
) -> list[Panel]:
    """Of each window the stretch of whole sentences in which a coreference head is right most often.

    A mention is scored if one of its antecedents is in the stretch; the head selects among all candidates of the window.
    """
    rule = head_rule_for(examples, options.head_rule)
    panels = []
    for example, cached in with_attention(examples, attention):
        task = task_of(example, options, rule)
        stretches = list(_stretches(example, cached, task, shown_head, direction)) if len(task.heads) else []
        panels += [min(stretches, key=lambda stretch: stretch.order)] if stretches else []
    return panels


def _stretches(
    example: Example, cached: CachedExample, task: Task, shown_head: tuple[int, int], direction: str
) -> Iterator[Panel]:
    """The stretches of a window, the shorter first among those with as many right mentions."""
    _check_head(cached, *shown_head, "figure5_heads")
    by_word = cached.word_maps()[shown_head[0] - 1, shown_head[1] - 1]
    special = cached.special_units
    picked = picked_words(by_word[None, None], special, task)[:, DIRECTIONS.index(direction), 0, 0]
    right = judge(picked, task)
    sentence = example.layers["sentence"]
    edges = [k for k in range(len(sentence) + 1) if k in (0, len(sentence)) or sentence[k] != sentence[k - 1]]
    words = np.arange(len(sentence))
    row_of_word = np.flatnonzero(~special)
    for start, stop in combinations(edges, 2):
        inside = (words >= start) & (words < stop)
        scored = inside[task.heads] & (task.correct & inside).any(axis=1)
        if not (_STRETCH[0] <= stop - start <= _STRETCH[1] and scored.any()):
            continue
        rows = np.sort(np.concatenate([np.flatnonzero(special), row_of_word[start:stop]]))
        weights = renormalised(by_word[np.ix_(rows, rows)])
        marked = _marked(len(rows), np.searchsorted(rows, row_of_word[task.heads[scored]]), direction == TO_ANTECEDENT)
        hits = (right & inside[np.maximum(picked, 0)])[scored]
        order = (int((~hits).sum()) - int(hits.sum()), stop - start, example.record)
        name = f"{example.id}, words {start + 1} to {stop}"
        yield Panel(order, name, tuple(cached.words[row] for row in rows), weights, marked)


def _marked(size: int, rows: npt.NDArray[np.intp], forward: bool) -> npt.NDArray[np.bool_]:
    """[size, size] weights from some rows, or to them."""
    marked = np.zeros((size, size), dtype=bool)
    marked[rows] = True
    return marked if forward else marked.T


def _panel_frames(panels: Sequence[Panel], relation: str, place: tuple[int, int], best: Any) -> list[pd.DataFrame]:
    """The first two panels of a head; its accuracy is known where it is the `best` one of the relation."""
    accuracy = float(best["accuracy"]) if place == (best["layer"], best.get("head")) else np.nan
    frames = []
    for number, panel in enumerate(sorted(panels, key=lambda panel: panel.order)[:_EXAMPLES], start=1):
        labels = {"relation": relation, "example": number, "sentence": panel.sentence, "layer": place[0], "head": place[1]}
        labels |= {"direction": best["direction"], "accuracy": accuracy}
        frame = weights_frame(panel.weights, panel.words, "word", **labels)
        frames.append(frame.assign(marked=panel.marked.ravel().astype(int)))
    return frames


def renormalised(weights: Weights) -> Weights:
    """Rows divided by their sums; a row of zeros stays 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def weights_frame(weights: npt.NDArray[np.floating], names: Sequence[str], unit: str, **labels: Any) -> pd.DataFrame:
    """[n, n] weights as a frame: constant columns `labels`, from_position (from 1), from_{unit}, the same of to_, weight."""
    rows, columns = (indices.ravel() for indices in np.indices(weights.shape))
    words = np.asarray(names, dtype=object)
    ends = {
        **{"from_position": rows + 1, f"from_{unit}": words[rows]},
        **{"to_position": columns + 1, f"to_{unit}": words[columns]},
    }
    return pd.DataFrame({**ends, "weight": weights.ravel()}).assign(**labels)[[*labels, *ends, "weight"]]


def _check_head(example: CachedExample, layer: int, head: int, setting: str) -> None:
    layers, heads = example.maps.shape[:2]
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise AtlasError(f"{setting}: the model has no head {layer}-{head}.")
