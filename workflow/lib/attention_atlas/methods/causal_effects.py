"""Effect of a head on the words of its relation: the change in loss when it is masked, compared with matched words.

A word carries the relation of a head if the head attends from it: the dependent or the head of the relation, depending on the
direction. A masked language model predicts the word itself, masked in its sentence; a causal one predicts the next token.
Masking any head changes the loss a little. Each word of the relation is therefore paired with a word of the same sentence that
does not carry it: with the same part of speech if possible, and with the closest frequency in the corpus.
The effect is the mean over pairs of the loss change on the word of the relation minus the loss change on the matched word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.examples import Example
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD
from attention_atlas.methods.units import Units, independent_units
from attention_atlas.stats.bootstrap import bootstrap_ratio, expanded_level
from attention_atlas.stats.simultaneous import random_exchanges, two_sided_p

Floats = npt.NDArray[np.float64]
_PUNCTUATION = ("punct", "PUNCT")


@dataclass(frozen=True)
class Pair:
    """A word that carries a relation and its matched word.

    Attributes:
        record: record number of their sentence.
        word, matched: their positions in it, from 0.
        same_part_of_speech: whether both have the same part of speech.
    """

    record: int
    word: int
    matched: int
    same_part_of_speech: bool


def carriers(example: Example, relation: str, direction: str) -> list[int]:
    """Positions of the words that carry a relation: dependents, or heads of dependents, without duplicates."""
    places = []
    for word, (head, label) in enumerate(zip(example.layers["heads"], example.layers["relations"], strict=True)):
        if label == relation and head > 0:
            places.append(word if direction == DEPENDENT_TO_HEAD else head - 1)
    return sorted(set(places))


def word_frequencies(examples: Iterable[Example]) -> Counter[str]:
    """Count of each lower-cased word in the corpus."""
    return Counter(word.lower() for example in examples for word in example.words)


def matched_pairs(
    examples: Sequence[Example],
    relation: str,
    direction: str,
    frequencies: Mapping[str, int],
    usable: Mapping[int, npt.NDArray[np.bool_]],
    most: int,
    seed: int,
) -> list[Pair]:
    """Up to `most` randomly drawn pairs of a relation; words without a possible match are skipped.

    Args:
        examples: sentences with their trees.
        relation, direction: the relation of the head and its direction.
        frequencies: word counts in the corpus.
        usable: [m] for each record, whether a word has a loss; words that the model cannot predict have none.
        most: largest number of pairs.
        seed: seed of the draw.
    """
    pairs = []
    for example in examples:
        carrying = carriers(example, relation, direction)
        tags = example.layers.get("xpos") or example.layers.get("upos") or ("",) * len(example.words)
        free = [
            place
            for place in np.flatnonzero(usable[example.record]).tolist()
            if place not in carrying and example.layers["relations"][place] not in _PUNCTUATION
        ]
        for word in carrying:
            if not usable[example.record][word] or not free:
                continue
            alike = [place for place in free if tags[place] and tags[place] == tags[word]]
            often = np.log([frequencies[example.words[place].lower()] for place in alike or free])
            distance = np.abs(often - np.log(frequencies[example.words[word].lower()]))
            # Among equally frequent words, take the nearest in the sentence.
            order = np.lexsort((np.abs(np.asarray(alike or free) - word), np.round(distance, 9)))
            pairs.append(Pair(example.record, word, (alike or free)[order[0]], bool(alike)))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(pairs))[:most])
    return [pairs[place] for place in chosen]


@dataclass(frozen=True)
class Effect:
    """Statistics of a head over its pairs.

    Attributes:
        n, units, unit: number of pairs, number of independent units, and what a unit is.
        same_part_of_speech: share of the pairs whose words have the same part of speech.
        relation, matched: mean loss change on the words of the relation, and on the matched words.
        relation_low, relation_high: 95 % interval of the first.
        value, low, high: the difference of the two, and its 95 % interval.
        p: two-sided p-value of the difference.
    """

    n: int
    units: int
    unit: str
    same_part_of_speech: float
    relation: float
    relation_low: float
    relation_high: float
    matched: float
    value: float
    low: float
    high: float
    p: float


def effect_of(
    pairs: Sequence[Pair], relation: Floats, matched: Floats, documents: Sequence[str | None], draws: int, seed: int
) -> Effect:
    """Mean changes over pairs, with bootstrap intervals over units and p by exchanging relation and match within units.

    Units are documents, or sentences if the corpus names no documents. Intervals over few units are widened.

    Args:
        pairs: pairs of the head, at least one.
        relation, matched: [pair] loss change on each of the two words.
        documents: [pair] document name.
        draws: number of bootstrap resamples and of exchanges.
        seed: seed of both.
    """
    units = _units(pairs, documents)
    sizes = units.sizes()
    sums = units.sums(np.stack([relation - matched, relation], axis=1))
    level = expanded_level(0.95, units.count) if units.count > 1 else 0.95
    low, high = bootstrap_ratio(sums, sizes[:, None], draws, seed, level)
    if units.count < 2:
        low, high = np.full(2, np.nan), np.full(2, np.nan)
    mean = sums.sum(axis=0) / sizes.sum()
    difference = sums[:, :1]
    exchanged = [difference.sum(axis=0) - 2 * (swap @ difference) for swap in random_exchanges(units.count, draws, seed)]
    return Effect(
        n=len(pairs),
        units=units.count,
        unit=units.name,
        same_part_of_speech=float(np.mean([pair.same_part_of_speech for pair in pairs])),
        relation=float(mean[1]),
        relation_low=float(low[1]),
        relation_high=float(high[1]),
        matched=float(np.mean(matched)),
        value=float(mean[0]),
        low=float(low[0]),
        high=float(high[0]),
        p=float(two_sided_p(difference.sum(axis=0), np.concatenate(exchanged).T)[0]),
    )


def _units(pairs: Sequence[Pair], documents: Sequence[str | None]) -> Units:
    """Documents as units, or sentences if the corpus names no documents."""
    units = independent_units(documents, "sentences")
    if units.name != "sentences":
        return units
    _, numbers = np.unique([pair.record for pair in pairs], return_inverse=True)
    return Units(numbers.astype(np.intp), int(numbers.max()) + 1, "sentences")
