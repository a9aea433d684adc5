"""Rankers of candidate phrases that know no attention: position, TF-IDF, YAKE, and an embedding ranker.

Each gives the phrases of every text, the best first. All but YAKE, which finds its own, rank the same candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_atlas.io.progress import progress
from attention_atlas.studies.stefanik2021.phrases import Candidate, Phrase

Floats = npt.NDArray[np.float64]
Rankings = list[list[Phrase]]


def by_position(candidates: Sequence[Sequence[Candidate]]) -> Rankings:
    """As they first come; of those that begin at one word the longer first."""
    return [[c.phrase for c in sorted(own, key=lambda c: (c.places[0][0], -len(c.phrase)))] for own in candidates]


def by_tf_idf(candidates: Sequence[Sequence[Candidate]]) -> Rankings:
    """By TF-IDF of the whole phrase over these texts (scikit-learn's, logarithmic)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    # Every place of a candidate counts.
    said = [[" ".join(c.phrase) for c in own for _ in c.places] for own in candidates]
    vectorizer = TfidfVectorizer(analyzer=list, sublinear_tf=True, norm=None)
    matrix = vectorizer.fit_transform(said)
    column = vectorizer.vocabulary_
    found = []
    for row, own in enumerate(candidates):
        weights = matrix[row].toarray()[0]
        found.append(ranked(own, [weights[column[" ".join(c.phrase)]] for c in own]))
    return found


def by_yake(texts: Sequence[Sequence[str]], longest: int, most: int = 50) -> Rankings:
    """By YAKE's own candidates and scores; it reads the words with spaces between them."""
    import yake

    extractor = yake.KeywordExtractor(lan="en", n=longest, top=most)
    found = []
    for words in progress(texts, label="YAKE"):
        scored = extractor.extract_keywords(" ".join(words))
        # Its order of phrases with equal scores is that of a set.
        best = sorted(scored, key=lambda item: (float(item[1]), item[0].lower()))
        found.append([tuple(phrase.lower().split()) for phrase, _ in best])
    return found


def by_embedding(
    texts: Sequence[Sequence[str]], candidates: Sequence[Sequence[Candidate]], folder: str | Path, device: str
) -> Rankings:
    """By the likeness of a phrase's embedding to that of its text (KeyBERT, sentence-transformers).

    Args:
        texts: words of the texts.
        candidates: of each text.
        folder: of the model; a plain encoder's hidden states are averaged.
        device: where the model runs.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    ranker, found = _keybert(str(folder), device), []
    for words, own in progress(list(zip(texts, candidates, strict=True)), label="KeyBERT"):
        names = [" ".join(c.phrase) for c in own]
        if not names:
            found.append([])
            continue
        # Candidates are parted from each other here; the library's own splitting of texts would lose some.
        counter = CountVectorizer(analyzer=lambda _, names=names: names)
        scored = dict(ranker.extract_keywords(" ".join(words), vectorizer=counter, top_n=len(names)))
        found.append(ranked(own, [float(scored.get(name, 0.0)) for name in names]))
    return found


@cache
def _keybert(folder: str, device: str) -> Any:
    from keybert import KeyBERT
    from sentence_transformers import SentenceTransformer

    return KeyBERT(model=SentenceTransformer(folder, device=device, local_files_only=True))


def by_words(candidates: Sequence[Sequence[Candidate]], scores: Sequence[Floats]) -> Rankings:
    """By the mean score of the words of a phrase, at the place where that is largest.

    Args:
        candidates: of each text.
        scores: of each text [word], such as attention received or probabilities.
    """
    found = []
    for own, values in zip(candidates, scores, strict=True):
        found.append(ranked(own, [max(values[start:stop].mean() for start, stop in c.places) for c in own]))
    return found


def ranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Phrase]:
    """Phrases from the largest score to the smallest; of equal ones the earlier first."""
    return [candidates[place].phrase for place in np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")]
