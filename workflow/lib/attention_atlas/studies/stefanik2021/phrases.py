"""Phrases of a document: candidates, agreement of ranked or tagged phrases with the gold ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.keyphrases import BEGIN, INSIDE, OUTSIDE, located, spans_of, stem
from attention_atlas.corpora.text import WORD
from attention_atlas.stats.bootstrap import resampled_counts

Floats = npt.NDArray[np.float64]
Phrase = tuple[str, ...]
"""Words of a phrase in lower case."""
_SEQEVAL: Mapping[str, str] = {BEGIN: "B-KEY", INSIDE: "I-KEY", OUTSIDE: OUTSIDE}


@dataclass(frozen=True)
class Candidate:
    """A phrase of a text with its occurrences: first word, and word after the last."""

    phrase: Phrase
    places: tuple[tuple[int, int], ...]


def candidates_of(words: Sequence[str], max_phrase_words: int) -> list[Candidate]:
    """Sequences of words without punctuation that neither begin nor end with a stop word, in text order."""
    lowered = [word.lower() for word in words]
    plain = [any(letter.isalpha() for letter in word) for word in lowered]
    places_by_phrase: dict[Phrase, list[tuple[int, int]]] = {}
    for start in range(len(lowered)):
        for stop in range(start + 1, min(start + max_phrase_words, len(lowered)) + 1):
            if not plain[stop - 1]:
                break
            if lowered[start] not in ENGLISH_STOP_WORDS and lowered[stop - 1] not in ENGLISH_STOP_WORDS:
                places_by_phrase.setdefault(tuple(lowered[start:stop]), []).append((start, stop))
    return [Candidate(phrase, tuple(places)) for phrase, places in places_by_phrase.items()]


def gold_of(example: Example) -> set[Phrase]:
    """Stems of the gold phrases that occur in the text."""
    return {stems(WORD.findall(phrase.text)) for phrase in example.keyphrases or () if phrase.present}


def stems(words: Iterable[str]) -> Phrase:
    """Porter stems of words, by which phrases are compared."""
    return tuple(map(stem, words))


def tagged_phrases(words: Sequence[str], tags: Sequence[str]) -> list[Phrase]:
    """The distinct tagged phrases of a text, in text order."""
    return list(dict.fromkeys(tuple(word.lower() for word in words[start:stop]) for start, stop in spans_of(tags)))


def marked(words: Sequence[str], phrases: Iterable[Phrase]) -> str:
    """Tags of a text with these phrases, one letter per word: the inverse of `tagged_phrases`."""
    return "".join(located("", words, [" ".join(phrase) for phrase in phrases], False).tags)


def agreement(ranked: Sequence[Phrase], gold: set[Phrase], most: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of the first `most` phrases of a ranking, compared by stems; phrases of equal stems count once.

    Precision is over the ranked phrases: a ranking of three has precision over three, also for a larger `most`.
    """
    first = list(dict.fromkeys(map(stems, ranked)))[:most]
    hits = sum(phrase in gold for phrase in first)
    precision, recall = hits / len(first) if first else 0.0, hits / len(gold)
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def token_counts(answer: str, expected: str) -> tuple[int, int, int]:
    """(right, answered, expected) keyphrase words, whether they begin one or not."""
    answered, gold = (np.frombuffer(tags.encode(), np.uint8) != ord(OUTSIDE) for tags in (answer, expected))
    return int((answered & gold).sum()), int(answered.sum()), int(gold.sum())


def phrase_counts(answer: str, expected: str) -> tuple[int, int, int]:
    """(right, answered, expected) phrases by seqeval: right if both boundaries are."""
    from seqeval.metrics.sequence_labeling import get_entities

    answered, gold = (set(get_entities([_SEQEVAL[tag] for tag in tags])) for tags in (answer, expected))
    return len(answered & gold), len(answered), len(gold)


def f1_of(counts: npt.ArrayLike) -> Floats:
    """[...] F1 of counts [..., 3] (right, answered, expected), already summed; 0 where nothing is right."""
    right, answered, expected = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    return np.where(right > 0, 2 * right / np.maximum(answered + expected, 1), 0.0)


def percent(counts: Floats) -> Floats:
    """[...] F1 in percent of counts [..., document, 3], summed over documents."""
    return 100 * f1_of(counts.sum(axis=-2))


def resampled_percent(counts: Floats, resamples: int, seed: int) -> Floats:
    """[resample, set] F1 in percent of counts [set, document, 3], over bootstrap resamples of documents."""
    chunks = resampled_counts(counts.shape[1], resamples, seed)
    return np.concatenate([100 * f1_of(np.einsum("rd,sdp->rsp", chunk, counts, optimize=True)) for chunk in chunks])
