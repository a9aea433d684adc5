"""Figure 3: attention between the word that evokes a frame and the elements of its core, of every head."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import read_attention
from attention_atlas.attention.half import widened
from attention_atlas.attention.pairing import with_attention
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.corpora.frames import ELEMENT, TARGET
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.progress import progress
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.studies.kovaleva2019.random_pairs import margin_columns, other_pairs

Floats = npt.NDArray[np.float64]
ZIP, ALL = "zip", "all"
PAIRINGS = (ZIP, ALL)
FROM_ELEMENT, FROM_TARGET, BOTH = "fe_to_target", "target_to_fe", "both"
DIRECTIONS = (FROM_ELEMENT, FROM_TARGET, BOTH)
FIRST, SPANS = "first_piece", "words"
PLACES = (FIRST, SPANS)
"""Positions of tokens: the first token with the same spelling (published code), or the tokens of the annotated words."""
FRAME_COLUMNS = [
    *("layer", "head", "value", "ci_low", "ci_high", "control", "margin", "margin_ci_low", "margin_ci_high"),
    *("margin_all_low", "margin_all_high", "n", "n_margin"),
]
_CONTROLS = 20
"""Pairs at the same distance that are drawn for each pair."""


@dataclass(frozen=True)
class FrameOutputs:
    """Files of `frame_heads`.

    Attributes:
        heads: layer, head, value (mean over sentences of the largest weight), ci_low, ci_high, control (the same
            for other pairs of tokens at the same distance, none of which links an element with the target), margin,
            margin_ci_low, margin_ci_high, margin_all_low, margin_all_high (an interval that covers all heads together), n,
            n_margin (sentences with such pairs).
        options: pairing, direction, places, layer, head, value, control, rho (Spearman's with the figure's).
        options_html: its page.
        sentence: word, role, frame, example, of one sentence.
    """

    heads: str | Path
    options: str | Path
    options_html: str | Path
    sentence: str | Path


def frame_heads(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    limit: int,
    pairing: str,
    direction: str,
    resamples: int,
    seed: int,
    label: RunLabel,
    outputs: FrameOutputs,
) -> None:
    """Write the table of heads, that of options, and the sentence that Figure 4 shows.

    Args:
        shards: attention of the sentences, over word pieces.
        example_files: the sentences.
        limit: use at most this many records.
        pairing, direction: of the figure; the table of options has all.
        resamples, seed: of the bootstrap over sentences and of the control.
        label: run, model and corpus.
        outputs: tables and page to write.

    Raises:
        AtlasError: there is no sentence with both a target and an element.
    """
    examples = list(read_examples(example_files, limit))
    variants = list(product(PAIRINGS, DIRECTIONS, PLACES))
    scores, controls = variant_scores(
        progress(with_attention(examples, read_attention(shards, limit)), label="sentences"), variants, seed
    )
    chosen = variants.index((pairing, direction, FIRST))
    write_table(frame_rows(scores[chosen], controls[chosen], resamples, seed), outputs.heads)
    options = _options(variants, scores, controls, chosen)
    write_table(options, outputs.options)
    _page(options, len(scores[0]), label, outputs.options_html)
    write_table(example_sentence(examples), outputs.sentence)


def variant_scores(
    pairs: Iterator[Any], variants: Sequence[tuple[str, str, str]], seed: int
) -> tuple[list[Floats], list[Floats]]:
    """Scores and their controls, [sentence, layer, head] for each variant.

    Args:
        pairs: examples with their attention.
        variants: pairing, direction and places.
        seed: of the control.

    Raises:
        AtlasError: no sentence has both a target and an element.
    """
    scores: list[list[Floats]] = [[] for _ in variants]
    controls: list[list[Floats]] = [[] for _ in variants]
    for example, cached in pairs:
        maps, linked = widened(cached.maps), linked_pairs(example)
        words = [word != SPECIAL for word in example.word]
        for number, (pairing, direction, places) in enumerate(variants):
            chosen = frame_pairs(example, pairing, direction, places)
            generator = np.random.default_rng([seed, example.record, number])
            scores[number].append(largest_weights(maps, chosen))
            controls[number].append(control_weights(maps, chosen, linked, words, generator))
    if not scores[0]:
        raise AtlasError(
            "there is no sentence with a frame: every record was dropped (see dropped.tsv), or `limit` is too small."
        )
    return [np.stack(sentences) for sentences in scores], [np.stack(sentences) for sentences in controls]


def frame_pairs(example: Example, pairing: str, direction: str, places: str) -> list[tuple[int, int]]:
    """Pairs of tokens (query, key) between the elements and the target of a sentence.

    Args:
        example: with mentions of roles target and element.
        pairing: zip pairs the tokens of all elements with those of the target one by one and drops the rest (published
            code); all: each with each.
        direction: which of them attends, or both.
        places: see `PLACES`.
    """
    pieces = {role: _pieces(example, role, places) for role in (TARGET, ELEMENT)}
    matched = zip(pieces[ELEMENT], pieces[TARGET], strict=False) if pairing == ZIP else product(pieces[ELEMENT], pieces[TARGET])
    pairs = list(matched)
    reversed_pairs = [(target, element) for element, target in pairs]
    return {FROM_ELEMENT: pairs, FROM_TARGET: reversed_pairs, BOTH: pairs + reversed_pairs}[direction]


def _pieces(example: Example, role: str, places: str) -> list[int]:
    words = [word for mention in example.mentions or () if mention.role == role for word in range(mention.start, mention.stop)]
    positions = [place for word in words for place, mark in enumerate(example.word) if mark == word]
    return positions if places == SPANS else [example.tokens.index(example.tokens[place]) for place in positions]


def largest_weights(maps: npt.NDArray[np.float32], pairs: Sequence[tuple[int, int]]) -> Floats:
    """[layer, head] the largest weight over pairs (query, key) of maps [layer, head, n, n]."""
    rows, columns = zip(*pairs, strict=True)
    return maps[:, :, list(rows), list(columns)].max(axis=-1).astype(np.float64)


def linked_pairs(example: Example) -> set[tuple[int, int]]:
    """All pairs of tokens that link an element with the target, by any reading."""
    return {pair for places in PLACES for pair in frame_pairs(example, ALL, BOTH, places)}


def control_weights(
    maps: npt.NDArray[np.float32],
    pairs: Sequence[tuple[int, int]],
    linked: Collection[tuple[int, int]],
    words: Sequence[bool],
    generator: np.random.Generator,
) -> Floats:
    """[layer, head] the mean, over random sets, of the largest weight of as many pairs at the same distances.

    NaN where the sentence has no other pair at one of the distances.

    Args:
        maps: [layer, head, n, n].
        pairs: random pairs at their distances replace them, anywhere in the sentence except on special tokens.
        linked: pairs that are not drawn: those of an element and the target.
        words: [n] which tokens are not special.
        generator: of the random pairs.
    """
    drawn = other_pairs(pairs, linked, words, _CONTROLS, generator)
    if drawn is None:
        return np.full(maps.shape[:2], np.nan)
    offsets = np.asarray([b - a for a, b in pairs])[:, None]
    return maps[:, :, drawn, drawn + offsets].max(axis=2).mean(axis=-1).astype(np.float64)


def frame_rows(scores: Floats, controls: Floats, resamples: int, seed: int) -> pd.DataFrame:
    """The table of heads, see `FrameOutputs`.

    Args:
        scores, controls: [sentence, layer, head], controls NaN for a sentence without one.
        resamples, seed: of the bootstrap over sentences.
    """
    low, high = bootstrap_ratio(scores, np.ones((len(scores), 1, 1)), resamples, seed)
    frame = head_rows(scores.mean(axis=0), "value").assign(ci_low=low.ravel(), ci_high=high.ravel(), n=len(scores))
    frame = frame.assign(margin_ci_low=np.nan, margin_ci_high=np.nan, **margin_columns(scores, controls, resamples, seed))
    controlled = _controlled(controls)
    if controlled.any():
        ones = np.ones((controlled.sum(), 1, 1))
        low, high = bootstrap_ratio((scores - controls)[controlled], ones, resamples, seed)
        frame = frame.assign(margin_ci_low=low.ravel(), margin_ci_high=high.ravel())
    return frame[FRAME_COLUMNS]


def _controlled(controls: Floats) -> npt.NDArray[np.bool_]:
    """[sentence] which have a control."""
    return ~np.isnan(controls[:, 0, 0])


def _options(
    variants: Sequence[tuple[str, str, str]], scores: Sequence[Floats], controls: Sequence[Floats], chosen: int
) -> pd.DataFrame:
    """The best head of each variant, and how its ranking of heads agrees with the figure's."""
    from scipy.stats import spearmanr

    rows = []
    reference = scores[chosen].mean(axis=0)
    for (pairing, direction, places), sentence_scores, control_scores in zip(variants, scores, controls, strict=True):
        means = sentence_scores.mean(axis=0)
        layer, head = np.unravel_index(means.argmax(), means.shape)
        rho = float(spearmanr(means.ravel(), reference.ravel()).statistic)
        facts: Mapping[str, Any] = {"pairing": pairing, "direction": direction, "places": places}
        best = {"layer": int(layer) + 1, "head": int(head) + 1, "value": float(means[layer, head])}
        rows.append({**facts, **best, "control": _mean_control(control_scores, layer, head), "rho": rho})
    return pd.DataFrame(rows)


def _mean_control(controls: Floats, layer: np.intp, head: np.intp) -> float:
    """Of a head, over the sentences that have a control; NaN where none has one."""
    values = controls[_controlled(controls), layer, head]
    return float(values.mean()) if len(values) else float("nan")


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


def _page(options: pd.DataFrame, sentences: int, label: RunLabel, path: str | Path) -> None:
    notes = [
        label.line,
        f"The head with the largest mean over {sentences} sentences under every reading of Figure 3. zip: the tokens of "
        "elements are paired with those of the target one by one, so that with a target of one token only the first token of "
        "the first element counts (published code); all: every pair (the paper's text). first_piece: tokens are found by their "
        "spelling, from the start of the sentence (published code). control: the same for other pairs at the same distance in "
        "the sentence, none of which links an element with the target. rho: Spearman correlation with the values in the "
        "figure.",
    ]
    write_html_table(options, path, "Kovaleva et al. 2019, Figure 3: readings of the procedure", notes, {"rho": "Rho"})
