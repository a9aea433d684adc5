"""Heads and examples that Figures 1 and 5 show, and their weights as tidy tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.attention.pairing import with_attention
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD, predicted_words
from attention_atlas.studies.clark2019.drawn_coreference import COREFERENCE, coreference_frames, drawn_stretches
from attention_atlas.studies.clark2019.drawn_weights import labelled, renormalised, weights_frame

WINDOW = 15
KINDS = {"broad": "entropy", "next token": "next", "[SEP]": "sep", "punctuation": "punct"}
FIGURE5_RELATIONS = ("dobj", "det", "poss", "auxpass", "pobj")
SINK_HIDDEN = ("pobj",)
"""Relations drawn without [CLS] and [SEP] (authors' notebook)."""
_EXAMPLES_PER_RELATION = 2
_SHORTEST, _LONGEST = 6, 12
_Pair = tuple[Example, CachedExample]
_LONGEST_WORD = 14  # letters, so that the columns of a panel do not run into each other


def figure1_weights(
    shards: Sequence[str | Path],
    surface_path: str | Path,
    heads: str | Sequence[Sequence[int]],
    segment: str,
    out: str | Path,
) -> None:
    """Write the weights that Figure 1 draws: the last 15 tokens of one segment, rows renormalised over them (section 3).

    Args:
        shards: attention of the segments, in order: the first shard, or all where the run names a segment.
        surface_path: table of surface measures, for the choice of heads.
        heads: `auto` (the strongest head of each kind) or four [layer, head], 1-indexed.
        segment: `auto` (the first of at least 15 tokens) or the id of a segment.
        out: kind, layer, head, value (the measure of this kind over all segments), example, from_position, from_token,
            to_position, to_token, weight.

    Raises:
        AtlasError: no segment is long enough or has this id, or a head that the model does not have.
    """
    named = (e for e in read_attention(shards) if segment in ("auto", e.id))
    example = next((e for e in named if len(e.tokens) >= WINDOW), None)
    if example is None:
        which = "no segment" if segment == "auto" else f"figure1_segment: no segment '{segment}' is in the corpus that"
        raise AtlasError(f"{Path(shards[0]).parent}: {which} has {WINDOW} tokens, so Figure 1 cannot be drawn.")
    surface = read_table(surface_path, ["measure", "layer", "head", "value"])
    frames = []
    for kind, (layer, head) in _figure1_heads(surface, heads).items():
        window = _head_map(example, layer, head)[-WINDOW:, -WINDOW:]
        weights = renormalised(window)
        tokens = [display_token(token) for token in example.tokens[-WINDOW:]]
        tokens[0] = "..."
        weights[0, :] = weights[:, 0] = np.nan
        frame = weights_frame(weights, tokens, "token")
        of_head = surface[(surface["measure"] == KINDS[kind]) & (surface["layer"] == layer) & (surface["head"] == head)]
        value = float(of_head["value"].iloc[0]) if len(of_head) else np.nan
        frames.append(labelled(frame, kind=kind, layer=layer, head=head, value=value, example=example.id))
    write_table(pd.concat(frames, ignore_index=True), out)


def display_token(token: str) -> str:
    """A vocabulary entry without the marks of word pieces (##, Ġ, ▁)."""
    return without_space_mark(token.removeprefix("##") or token)


def _figure1_heads(surface: pd.DataFrame, heads: str | Sequence[Sequence[int]]) -> dict[str, tuple[int, int]]:
    if not isinstance(heads, str):
        return {kind: (int(layer), int(head)) for kind, (layer, head) in zip(KINDS, heads, strict=True)}
    chosen = {}
    for kind, measure in KINDS.items():
        of_measure = surface[surface["measure"] == measure]
        if not of_measure.empty:
            best = of_measure.loc[of_measure["value"].idxmax()]
            chosen[kind] = (int(best["layer"]), int(best["head"]))
    return chosen


@dataclass(frozen=True)
class _Candidate:
    """A sentence that may illustrate a head, with the dependents of a relation that the head gets right and wrong.

    Attributes:
        example: the sentence.
        words: names of the rows: the words, and [CLS] and [SEP] unless they are hidden.
        weights: [row, row] attention; over words alone, renormalised.
        marked: [row, row] weights from (or to) the dependents.
        right, wrong: number of dependents.
        mass: mean attention on the correct words.
    """

    example: Example
    words: tuple[str, ...]
    weights: npt.NDArray[np.float32]
    marked: npt.NDArray[np.bool_]
    right: int
    wrong: int
    mass: float


def figure5_weights(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    relations_path: str | Path,
    heads: str | Mapping[str, Sequence[int]],
    sentences: str | Mapping[str, Sequence[str]],
    out: str | Path,
    coreference: tuple[str | Path, str | Path, str | Path] | None = None,
    coreference_options: Mapping[str, Any] | None = None,
) -> None:
    """Write the weights that Figure 5 draws: for each relation its head on two sentences where it works best (section 4.2).

    For pobj, [CLS] and [SEP] are removed and rows renormalised, as in the authors' notebook; for other relations they are
    shown, so that a head can be seen to attend to [SEP] where its relation does not hold. Sentences of 6 to 12 words in the
    first shard are ranked by the number of dependents that the head gets right minus those it gets wrong, then by attention on
    the correct words.

    Args:
        shards, example_files: attention and examples of the treebank, in order: the first shard, or all where the run names
            sentences.
        relations_path: table of best heads.
        heads: `auto` (the best head of each of the paper's relations, and of coreference) or relation -> [layer, head], from 1.
        sentences: `auto`, or relation -> ids of sentences to draw, whatever the head does on them.
        coreference: first attention shard of the coreference corpus, its examples, and Table 2, where the run has them.
        coreference_options: options of Table 2.
        out: relation, example, sentence, layer, head, direction, accuracy, from_position, from_word, to_position, to_word,
            weight, marked (a line of the relation).

    Raises:
        AtlasError: a file cannot be used, the model has no such head, a relation whose sentences are named is not drawn, or a
            sentence is not in the treebank.
    """
    relations = read_table(relations_path, ["relation", "layer", "head", "direction", "accuracy"]).set_index("relation")
    shown_heads = _figure5_heads(relations, heads)
    coreference_head = shown_heads.pop(COREFERENCE, None)
    named = {} if isinstance(sentences, str) else {relation: list(ids) for relation, ids in sentences.items()}
    for relation in named:
        if relation not in shown_heads:
            drawn = ", ".join(shown_heads) or "no relation"
            raise AtlasError(f"figure5_sentences.{relation}: sentences can be named for {drawn}, which the figure draws.")
    short, named_pairs = _sentences(shards, example_files, {identifier for ids in named.values() for identifier in ids})
    frames = []
    for relation, (layer, head) in shown_heads.items():
        direction = str(relations.loc[relation, "direction"]) if relation in relations.index else DEPENDENT_TO_HEAD
        ids = named.get(relation)
        shown = short if ids is None else [pair for pair in named_pairs if pair[0].id in ids]
        candidates = [_candidate(example, cached, relation, layer, head, direction) for example, cached in shown]
        ranked = sorted((c for c in candidates if c is not None), key=lambda c: (c.wrong - c.right, -c.mass, c.example.record))
        if ids is not None:
            absent = sorted(set(ids) - {candidate.example.id for candidate in ranked})
            if absent:
                raise AtlasError(
                    f"figure5_sentences.{relation}: no sentence '{absent[0]}' with this relation is in the treebank."
                )
            ranked.sort(key=lambda candidate: ids.index(candidate.example.id))
        best = (layer, head) == tuple(relations.loc[relation, ["layer", "head"]]) if relation in relations.index else False
        for number, candidate in enumerate(ranked[: _EXAMPLES_PER_RELATION if ids is None else None], start=1):
            frame = weights_frame(candidate.weights, candidate.words, "word")
            frame["marked"] = candidate.marked.ravel().astype(int)
            labels = {"relation": relation, "example": number, "sentence": candidate.example.id, "layer": layer, "head": head}
            accuracy = float(relations.loc[relation, "accuracy"]) if best else np.nan
            frames.append(labelled(frame, **labels, direction=direction, accuracy=accuracy))
    if coreference is not None and (isinstance(heads, str) or coreference_head is not None):
        frames += coreference_frames(*drawn_stretches(*coreference, coreference_options or {}, coreference_head))
    if not frames:
        raise AtlasError(
            f"{example_files[0]}: no sentence of {_SHORTEST} to {_LONGEST} words has a relation that Figure 5 draws."
        )
    write_table(pd.concat(frames, ignore_index=True), out)


def _sentences(
    shards: Sequence[str | Path], example_files: Sequence[str | Path], names: Set[str]
) -> tuple[list[_Pair], list[_Pair]]:
    """Short sentences of the first shard, and sentences of any shard that the run names."""
    short: list[_Pair] = []
    named: list[_Pair] = []
    for shard, path in zip(shards, example_files, strict=True):
        for pair in with_attention(read_examples([path]), read_attention([shard])):
            if shard == shards[0] and _is_short(pair[0]):
                short.append(pair)
            if pair[0].id in names:
                named.append(pair)
    return short, named


def _figure5_heads(relations: pd.DataFrame, heads: str | Mapping[str, Sequence[int]]) -> dict[str, tuple[int, int]]:
    if not isinstance(heads, str):
        return {relation: (int(layer), int(head)) for relation, (layer, head) in heads.items()}
    present = [relation for relation in FIGURE5_RELATIONS if relation in relations.index]
    return {r: (int(relations.loc[r, "layer"]), int(relations.loc[r, "head"])) for r in present}


def _candidate(
    example: Example, cached: CachedExample, relation: str, layer: int, head: int, direction: str
) -> _Candidate | None:
    labels = np.asarray(example.layers["relations"])
    tokens = np.flatnonzero(labels == relation)
    if not len(tokens):
        return None
    special = cached.special_units
    by_word = cached.word_maps()[layer - 1, head - 1] if _has_head(cached, layer, head) else None
    if by_word is None:
        raise AtlasError(f"figure5_heads: the model has no head {layer}-{head}.")
    forward = direction == DEPENDENT_TO_HEAD
    picked = predicted_words(by_word, special)[:, 0 if forward else 1]
    gold = np.asarray(example.layers["heads"])
    right = int((picked[tokens] == gold[tokens]).sum())
    over_words = renormalised(by_word[~special][:, ~special])
    mass = (over_words[tokens, gold[tokens] - 1] if forward else over_words[gold[tokens] - 1, tokens]).mean()
    hidden = relation in SINK_HIDDEN
    words, weights = (example.words, over_words) if hidden else (cached.words, by_word)
    rows = tokens if hidden else np.flatnonzero(~special)[tokens]
    marked = np.zeros(weights.shape, dtype=bool)
    if forward:
        marked[rows] = True
    else:
        marked[:, rows] = True
    return _Candidate(example, words, weights, marked, right, len(tokens) - right, float(mass))


def _is_short(example: Example) -> bool:
    return _SHORTEST <= len(example.words) <= _LONGEST and max(map(len, example.words)) <= _LONGEST_WORD


def _head_map(example: CachedExample, layer: int, head: int) -> npt.NDArray[np.float32]:
    if not _has_head(example, layer, head):
        raise AtlasError(f"figure1_heads: the model has no head {layer}-{head}.")
    return np.array(example.maps[layer - 1, head - 1], dtype=np.float32)


def _has_head(example: CachedExample, layer: int, head: int) -> bool:
    layers, heads = example.maps.shape[:2]
    return 1 <= layer <= layers and 1 <= head <= heads
