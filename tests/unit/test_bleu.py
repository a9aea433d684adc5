"""BLEU of many resamples at once against sacrebleu, and its paired bootstrap."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from attention_atlas.studies.michel2019.effects import bleu, sentence_counts
from attention_atlas.studies.michel2019.tables import signature

REFERENCES = ["the cat sat on the mat today", "a dog barks at the big red car", "it rains", "she reads a long book at home"] * 6
GENERATOR = np.random.default_rng(0)


def noisy(share: float) -> list[str]:
    """The references with some of their words exchanged, and some left out."""
    words = "cat dog sat barks the a book".split()
    texts = []
    for text in REFERENCES:
        exchanged = [w if GENERATOR.random() > share else str(GENERATOR.choice(words)) for w in text.split()]
        texts.append(" ".join(w for w in exchanged if GENERATOR.random() > share / 3) or "cat")
    return texts


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.7, 1.0])
def test_equals_sacrebleu(share):
    texts = noisy(share)
    counts = sentence_counts(texts, REFERENCES)
    assert float(bleu(counts.sum(axis=0))) == pytest.approx(BLEU().corpus_score(texts, [REFERENCES]).score, abs=1e-9)


@pytest.mark.parametrize(
    ("texts", "references"),
    [(["x y z w v"], ["a b c d e"]), (["a b x c d"], ["a b c d e"]), (["a"], ["a b c d e"]), (["a b c d e f g"], ["a b c d"])],
)
def test_few_matches_and_short_texts_are_smoothed_as_in_sacrebleu(texts, references):
    counts = sentence_counts(texts, references).sum(axis=0)
    assert float(bleu(counts)) == pytest.approx(BLEU().corpus_score(texts, [references]).score, abs=1e-9)


def test_resamples_are_scored_at_once():
    counts = sentence_counts(noisy(0.3), REFERENCES)
    weights = GENERATOR.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=7)
    slow = [float(bleu(sum(w * row for w, row in zip(resample, counts, strict=True)))) for resample in weights]
    assert bleu(weights @ counts) == pytest.approx(slow)
    assert "tok:13a" in signature()
