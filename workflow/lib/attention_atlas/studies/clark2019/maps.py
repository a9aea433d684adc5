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
from attention_atlas.studies.clark2019.antecedents import CoreferenceOptions, Task, head_rule_for, task_of
from attention_atlas.studies.clark2019.coreference import DIRECTIONS, TO_ANTECEDENT, judge, picked_words
from attention_atlas.studies.clark2019.names import BEST_HEAD

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
    """An example that may illustrate a head.

    Attributes:
        order: sorts the examples: mentions or dependents that the head gets wrong minus those it gets right, then others.
        id, sentence: of the example, and what the table calls it.
        words: names of the rows: words, [CLS] and [SEP].
        weights: [row, row] attention; renormalised where words are left out.
        marked: [row, row] weights from (or to) the dependents or mentions.
    """

    order: tuple[float, ...]
    id: str
    sentence: str
    words: tuple[str, ...]
    weights: Weights
    marked: npt.NDArray[np.bool_]


def figure1_weights(
    attention: Attention, surface: pd.DataFrame, heads: str | Sequence[Sequence[int]], segment: str
) -> pd.DataFrame:
    """The weights that Figure 1 draws: the last 15 tokens of one segment, rows renormalised over them (section 3).

    heads: `auto` (the strongest head of each kind, by the `surface` measures) or four [layer, head], from 1; segment: `auto`
    (the first of at least 15 tokens) or its id.

    Returns:
        kind, layer, head, value (the measure of this kind over all segments), example, from_position, from_token, to_position,
        to_token, weight.
    """
    named = (example for example in attention if segment in ("auto", example.id))
    example = next((example for example in named if len(example.tokens) >= WINDOW), None)
    if example is None:
        which = "no segment" if segment == "auto" else f"figure1_segment: no segment '{segment}' is in the corpus that"
        raise AtlasError(f"{which} has {WINDOW} tokens, so Figure 1 cannot be drawn.")
    tokens = ["...", *(display_token(token) for token in example.tokens[1 - WINDOW :])]
    frames = []
    for number, (kind, measure) in enumerate(KINDS.items()):
        of_measure = surface[surface["measure"] == measure]
        if not isinstance(heads, str):
            layer, head = map(int, heads[number])
        elif of_measure.empty:
            continue
        else:
            layer, head = map(int, of_measure.loc[of_measure["value"].idxmax(), ["layer", "head"]])
        _check_head(example, layer, head, "figure1_heads")
        weights = renormalised(np.array(example.maps[layer - 1, head - 1], dtype=np.float32)[-WINDOW:, -WINDOW:])
        weights[0, :] = weights[:, 0] = np.nan
        of_head = of_measure[(of_measure["layer"] == layer) & (of_measure["head"] == head)]
        value = float(of_head["value"].iloc[0]) if len(of_head) else np.nan
        labels = {"kind": kind, "layer": layer, "head": head, "value": value, "example": example.id}
        frames.append(weights_frame(weights, tokens, "token", **labels))
    return pd.concat(frames, ignore_index=True)


def display_token(token: str) -> str:
    """A vocabulary entry without the marks of word pieces (##, Ġ, ▁)."""
    return without_space_mark(token.removeprefix("##") or token)


def figure5_weights(
    attention: Sequence[Attention],
    examples: Sequence[Examples],
    dependencies: pd.DataFrame,
    heads: str | Mapping[str, Sequence[int]],
    sentences: str | Mapping[str, Sequence[str]],
    coreference_options: Mapping[str, Any],
    coreference: pd.DataFrame | None = None,
    coreference_attention: Attention | None = None,
    coreference_examples: Examples | None = None,
) -> pd.DataFrame:
    """The weights that Figure 5 draws: for each relation its head on two sentences where it works best (section 4.2).

    For pobj, [CLS] and [SEP] are removed and rows renormalised, as in the authors' notebook; for other relations they are
    shown, so that a head can be seen to attend to [SEP] where its relation does not hold. Sentences of 6 to 12 words in the
    first shard are ranked by the number of dependents that the head gets right minus those it gets wrong, then by attention on
    the correct words.

    Args:
        attention, examples: of each shard of the treebank: the first shard, or all where the run names sentences.
        dependencies: the best heads.
        heads: `auto` (the best head of each of the paper's relations, and of coreference) or relation -> [layer, head], from 1.
        sentences: `auto`, or relation -> ids of sentences to draw, whatever the head does on them.
        coreference_options: `CoreferenceOptions` of the run.
        coreference: rows of Table 2, where the run has them.
        coreference_attention, coreference_examples: the first shard of the corpus of Table 2.

    Returns:
        relation, example, sentence, layer, head, direction, accuracy, from_position, from_word, to_position, to_word, weight,
        marked (a line of the relation).
    """
    relations = dependencies.set_index("relation")
    if isinstance(heads, str):
        present = [relation for relation in FIGURE5_RELATIONS if relation in relations.index]
        shown_heads = {r: (int(relations.loc[r, "layer"]), int(relations.loc[r, "head"])) for r in present}
    else:
        shown_heads = {relation: (int(layer), int(head)) for relation, (layer, head) in heads.items()}
    coreference_head = shown_heads.pop(COREFERENCE, None)
    named = {} if isinstance(sentences, str) else {relation: list(ids) for relation, ids in sentences.items()}
    for relation in named:
        if relation not in shown_heads:
            drawn = ", ".join(shown_heads) or "no relation"
            raise AtlasError(f"figure5_sentences.{relation}: sentences can be named for {drawn}, which the figure draws.")
    names = {identifier for ids in named.values() for identifier in ids}
    short, named_pairs = [], []
    for number, shard in enumerate(zip(examples, attention, strict=True)):
        for pair in with_attention(*shard):
            words = pair[0].words
            if number == 0 and _SENTENCE[0] <= len(words) <= _SENTENCE[1] and max(map(len, words)) <= _LONGEST_WORD:
                short.append(pair)
            if pair[0].id in names:
                named_pairs.append(pair)
    frames = []
    for relation, (layer, head) in shown_heads.items():
        direction = str(relations.loc[relation, "direction"]) if relation in relations.index else DEPENDENT_TO_HEAD
        ids = named.get(relation)
        shown = short if ids is None else [pair for pair in named_pairs if pair[0].id in ids]
        panels = [_panel(example, cached, relation, layer, head, direction) for example, cached in shown]
        ranked = sorted((panel for panel in panels if panel is not None), key=lambda panel: panel.order)
        if ids is not None:
            absent = sorted(set(ids) - {panel.id for panel in ranked})
            if absent:
                raise AtlasError(
                    f"figure5_sentences.{relation}: no sentence '{absent[0]}' with this relation is in the treebank."
                )
            ranked.sort(key=lambda panel: ids.index(panel.id))
        best = relation in relations.index and (layer, head) == tuple(relations.loc[relation, ["layer", "head"]])
        accuracy = float(relations.loc[relation, "accuracy"]) if best else np.nan
        frames += _panel_frames(ranked[: _EXAMPLES if ids is None else None], relation, (layer, head), direction, accuracy)
    if coreference is not None and (isinstance(heads, str) or coreference_head is not None):
        table = coreference[(coreference["system"] == BEST_HEAD) & (coreference["mention_type"] == "all")].iloc[0]
        best_head = int(table["layer"]), int(table["head"])
        shown_head, direction = coreference_head or best_head, str(table["direction"])
        accuracy = float(table["accuracy"]) if shown_head == best_head else np.nan
        windows = coreference_examples or (), coreference_attention or iter(())
        stretches = coreference_panels(*windows, CoreferenceOptions(**coreference_options), shown_head, direction)
        frames += _panel_frames(stretches, COREFERENCE, shown_head, direction, accuracy)
    if not frames:
        shortest, longest = _SENTENCE
        raise AtlasError(f"no sentence of {shortest} to {longest} words has a relation that Figure 5 draws.")
    return pd.concat(frames, ignore_index=True)


def _panel(example: Example, cached: CachedExample, relation: str, layer: int, head: int, direction: str) -> Panel | None:
    """A sentence with the relation; first by mean attention on the correct words among those with as many right ones."""
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
    return Panel(order, example.id, example.id, words, weights, _marked(len(weights), rows, forward))


def coreference_panels(
    examples: Examples, attention: Attention, options: CoreferenceOptions, shown_head: tuple[int, int], direction: str
) -> list[Panel]:
    """Stretches of whole sentences in which a coreference head is right most often, one for each document, the first two.

    A mention is scored if one of its antecedents is in the stretch; the head selects among all candidates of the window.
    """
    rule = head_rule_for(examples, options.head_rule)
    stretches: list[Panel] = []
    for example, cached in with_attention(examples, attention):
        task = task_of(example, options, rule)
        if len(task.heads):
            stretches += _stretches(example, cached, task, shown_head, direction)
    by_document: dict[str, Panel] = {}
    for stretch in sorted(stretches, key=lambda stretch: stretch.order):
        by_document.setdefault(stretch.id, stretch)
    return list(by_document.values())[:_EXAMPLES]


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
        yield Panel(order, example.id, name, tuple(cached.words[row] for row in rows), weights, marked)


def _marked(size: int, rows: npt.NDArray[np.intp], forward: bool) -> npt.NDArray[np.bool_]:
    """[size, size] weights from some rows, or to them."""
    marked = np.zeros((size, size), dtype=bool)
    marked[rows] = True
    return marked if forward else marked.T


def _panel_frames(
    panels: Sequence[Panel], relation: str, shown_head: tuple[int, int], direction: str, accuracy: float
) -> list[pd.DataFrame]:
    frames = []
    for number, panel in enumerate(panels, start=1):
        labels = {"relation": relation, "example": number, "sentence": panel.sentence, "layer": shown_head[0]}
        labels |= {"head": shown_head[1], "direction": direction, "accuracy": accuracy}
        frame = weights_frame(panel.weights, panel.words, "word", **labels)
        frames.append(frame.assign(marked=panel.marked.ravel().astype(int)))
    return frames


def renormalised(weights: Weights) -> Weights:
    """Rows divided by their sums; a row of zeros stays 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def weights_frame(weights: npt.NDArray[np.floating], names: Sequence[str], unit: str, **labels: Any) -> pd.DataFrame:
    """[n, n] weights as a frame: a constant column for each label, from_position, from_{unit}, to_position, to_{unit}, weight.

    Positions count from 1.
    """
    rows, columns = np.indices(weights.shape)
    words = np.asarray(names, dtype=object)
    frame = pd.DataFrame(
        {
            "from_position": rows.ravel() + 1,
            f"from_{unit}": words[rows.ravel()],
            "to_position": columns.ravel() + 1,
            f"to_{unit}": words[columns.ravel()],
            "weight": weights.ravel(),
        }
    )
    return frame.assign(**labels)[[*labels, *frame.columns]]


def _check_head(example: CachedExample, layer: int, head: int, setting: str) -> None:
    layers, heads = example.maps.shape[:2]
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise AtlasError(f"{setting}: the model has no head {layer}-{head}.")
