"""Attention between the word that evokes a frame and the elements of its core, of every head (Figure 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import Attention, with_attention
from attention_atlas.attention.words import widened
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.marked_text import ELEMENT, TARGET
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.studies.kovaleva2019.changes import OPTIONS, margin_columns, option_row
from attention_atlas.studies.kovaleva2019.words import DRAWS, Pair, other_pairs

Floats = npt.NDArray[np.float64]

PLACES = ("first_piece", "words")
"""Positions of tokens: the first token with the same spelling (published code), or the tokens of the annotated words."""
FRAME_COLUMNS = (
    "layer head value ci_low ci_high control margin margin_ci_low margin_ci_high margin_all_low margin_all_high n n_margin"
).split()
"""value: mean over the n sentences of the largest weight; control: the same of other pairs of tokens at the same distance, none
of which links an element with the target; margin_all_low, margin_all_high: interval of their difference (margin) that covers
all heads together; n_margin: sentences with such pairs."""
_OPTIONS = {
    "tokens of elements and target paired one by one, or all with all": ("zip", "all"),
    "direction of attention": ("fe_to_target", "target_to_fe", "both"),
    "tokens by spelling, or by word": PLACES,
}
"""Option -> its choices; the order is that of the parameters of `frame_pairs`."""


def frames(
    attention: Attention, examples: Examples, pairing: str, direction: str, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Attention of every head on frame links (`FRAME_COLUMNS`), the effect of each option, and the sentence of Figure 4.

    pairing, direction: of the figure; the options change these and the positions of tokens, one at a time.
    """
    chosen: tuple[str, ...] = (pairing, direction, "first_piece")
    options = [
        (name, chosen[place], choice, (*chosen[:place], choice, *chosen[place + 1 :]))
        for place, (name, choices) in enumerate(_OPTIONS.items())
        for choice in choices
        if choice != chosen[place]
    ]
    pairs = progress(with_attention(examples, attention), label="sentences")
    (scores, *option_scores), controls = variant_scores(pairs, [chosen, *(variant for *_, variant in options)], seed)
    rows = [
        option_row("frames", f"Figure 3: {name}", (first, second), (scores, changed))
        for (name, first, second, _), changed in zip(options, option_scores, strict=True)
    ]
    return {
        "heads": frame_rows(scores, controls, resamples, seed),
        "options": pd.DataFrame(rows).assign(unit="sentences").astype({"n": "Int64"})[OPTIONS],
        "sentence": example_sentence(examples),
    }


def variant_scores(pairs: Iterator[Any], variants: Sequence[tuple[str, ...]], seed: int) -> tuple[list[Floats], Floats]:
    """Scores [sentence, layer, head] of each variant (pairing, direction, places), and the control of the first one."""
    scores: list[list[Floats]] = [[] for _ in variants]
    controls: list[Floats] = []
    for example, cached in pairs:
        maps, words = widened(cached.maps), [word != SPECIAL for word in example.word]
        for number, variant in enumerate(variants):
            scores[number].append(largest_weights(maps, frame_pairs(example, *variant)))
        generator = np.random.default_rng([seed, example.record, 0])
        first = frame_pairs(example, *variants[0])
        controls.append(control_weights(maps, first, linked_pairs(example), words, generator))
    if not scores[0]:
        raise AtlasError(
            "there is no sentence with a frame: every record was dropped (see dropped.tsv), or `limit` is too small."
        )
    return [np.stack(sentences) for sentences in scores], np.stack(controls)


def frame_pairs(example: Example, pairing: str, direction: str, places: str) -> list[Pair]:
    """Pairs of tokens (query, key) between the elements and the target of a sentence.

    pairing: zip pairs the tokens of all elements with those of the target one by one and drops the rest (published code); all:
    each with each. direction: which of them attends, or both. places: one of `PLACES`.
    """
    elements, targets = (_pieces(example, role, places) for role in (ELEMENT, TARGET))
    pairs = list(zip(elements, targets, strict=False) if pairing == "zip" else product(elements, targets))
    reversed_pairs = [(target, element) for element, target in pairs]
    return {"fe_to_target": pairs, "target_to_fe": reversed_pairs, "both": pairs + reversed_pairs}[direction]


def _pieces(example: Example, role: str, places: str) -> list[int]:
    words = [word for mention in example.mentions or () if mention.role == role for word in range(mention.start, mention.stop)]
    positions = [place for word in words for place, mark in enumerate(example.word) if mark == word]
    return positions if places == "words" else [example.tokens.index(example.tokens[place]) for place in positions]


def largest_weights(maps: npt.NDArray[np.float32], pairs: Sequence[Pair]) -> Floats:
    """[layer, head] the largest weight over pairs (query, key) of maps [layer, head, n, n]."""
    rows, columns = zip(*pairs, strict=True)
    return maps[:, :, list(rows), list(columns)].max(axis=-1).astype(np.float64)


def linked_pairs(example: Example) -> set[Pair]:
    """All pairs of tokens that link an element with the target, by any reading."""
    return {pair for places in PLACES for pair in frame_pairs(example, "all", "both", places)}


def control_weights(
    maps: npt.NDArray[np.float32],
    pairs: Sequence[Pair],
    linked: Collection[Pair],
    words: Sequence[bool],
    generator: np.random.Generator,
) -> Floats:
    """[layer, head] the mean, over random sets (`words.other_pairs`), of the largest weight of as many pairs at the same
    distances; NaN where the sentence has no other pair at one of the distances.
    """
    drawn = other_pairs(pairs, linked, words, DRAWS, generator)
    if drawn is None:
        return np.full(maps.shape[:2], np.nan)
    offsets = np.asarray([b - a for a, b in pairs])[:, None]
    return maps[:, :, drawn, drawn + offsets].max(axis=2).mean(axis=-1).astype(np.float64)


def frame_rows(scores: Floats, controls: Floats, resamples: int, seed: int) -> pd.DataFrame:
    """The table of heads, `FRAME_COLUMNS`, of scores and controls [sentence, layer, head], NaN without a control."""
    frame = mean_rows(scores, resamples, seed).assign(**margin_columns(scores, controls, resamples, seed))
    margins = mean_rows(scores - controls, resamples, seed)
    ends = margins[["ci_low", "ci_high"]].add_prefix("margin_").reindex(frame.index)
    return frame.join(ends)[FRAME_COLUMNS]


def example_sentence(examples: Sequence[Example]) -> pd.DataFrame:
    """Words of the first sentence of medium length, with the role of each: word, role, frame."""
    lengths = [len(example.words) for example in examples]
    middle = float(np.median(lengths))
    example = min(examples, key=lambda e: (abs(len(e.words) - middle), e.record))
    roles = [""] * len(example.words)
    for mention in example.mentions or ():
        roles[mention.start : mention.stop] = [mention.role] * (mention.stop - mention.start)
    frame = next((mention.cluster for mention in example.mentions or ()), "")
    return pd.DataFrame({"word": example.words, "role": roles, "frame": frame, "example": example.id})
