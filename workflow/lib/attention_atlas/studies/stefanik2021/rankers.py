"""Rankers of candidate phrases without attention: position, TF-IDF, YAKE, and an embedding ranker.

Each returns the phrases of every text, the best first. All rank the same candidates, except YAKE, which extracts phrases.
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
    """By first occurrence; longer phrases first if they begin at the same word."""
    return [[c.phrase for c in sorted(of_text, key=lambda c: (c.places[0][0], -len(c.phrase)))] for of_text in candidates]


def by_tf_idf(candidates: Sequence[Sequence[Candidate]]) -> Rankings:
    """By TF-IDF of the whole phrase over these texts (scikit-learn's, logarithmic)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    # Every occurrence of a candidate counts.
    occurrences = [[" ".join(c.phrase) for c in of_text for _ in c.places] for of_text in candidates]
    vectorizer = TfidfVectorizer(analyzer=list, sublinear_tf=True, norm=None)
    matrix = vectorizer.fit_transform(occurrences)
    column = vectorizer.vocabulary_
    rankings = []
    for row, of_text in enumerate(candidates):
        weights = matrix[row].toarray()[0]
        rankings.append(ranked(of_text, [weights[column[" ".join(c.phrase)]] for c in of_text]))
    return rankings


def by_yake(texts: Sequence[Sequence[str]], max_phrase_words: int, most: int = 50) -> Rankings:
    """By YAKE's candidates and scores; its input is the words joined by spaces."""
    import yake

    extractor = yake.KeywordExtractor(lan="en", n=max_phrase_words, top=most)
    rankings: Rankings = []
    for words in progress(texts, label="YAKE"):
        scored = extractor.extract_keywords(" ".join(words))
        # YAKE orders phrases with equal scores by a set.
        best = sorted(scored, key=lambda item: (float(item[1]), item[0].lower()))
        rankings.append([tuple(phrase.lower().split()) for phrase, _ in best])
    return rankings


def by_embedding(
    texts: Sequence[Sequence[str]], candidates: Sequence[Sequence[Candidate]], folder: str | Path, device: str
) -> Rankings:
    """By the cosine of a phrase's embedding to that of its text (KeyBERT, sentence-transformers).

    Args:
        texts: words of the texts.
        candidates: of each text.
        folder: of the model; a plain encoder's hidden states are averaged.
        device: where the model runs.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    ranker = _keybert(str(folder), device)
    rankings: Rankings = []
    for words, of_text in progress(list(zip(texts, candidates, strict=True)), label="KeyBERT"):
        names = [" ".join(c.phrase) for c in of_text]
        if not names:
            rankings.append([])
            continue
        # The vectorizer returns the candidates; the library's tokenizer would miss some of them.
        counter = CountVectorizer(analyzer=lambda _, names=names: names)
        scored = dict(ranker.extract_keywords(" ".join(words), vectorizer=counter, top_n=len(names)))
        rankings.append(ranked(of_text, [float(scored.get(name, 0.0)) for name in names]))
    return rankings


def encoder_in_words(name: str, folder: str | Path) -> str:
    """Source of the embeddings of the embedding ranker: sentence-transformers adds modules.json to models of sentences."""
    if (Path(folder) / "modules.json").is_file():
        return f"{name}, a sentence encoder"
    return f"{name}, not trained for sentences: mean of its last hidden states"


@cache
def _keybert(folder: str, device: str) -> Any:
    from keybert import KeyBERT
    from sentence_transformers import SentenceTransformer

    return KeyBERT(model=SentenceTransformer(folder, device=device, local_files_only=True))


def by_words(candidates: Sequence[Sequence[Candidate]], scores: Sequence[Floats]) -> Rankings:
    """By the mean score of the words of a phrase, at the occurrence where it is largest.

    Args:
        candidates: of each text.
        scores: of each text [word], such as attention received or probabilities.
    """
    rankings = []
    for of_text, values in zip(candidates, scores, strict=True):
        phrase_scores = [max(values[start:stop].mean() for start, stop in c.places) for c in of_text]
        rankings.append(ranked(of_text, phrase_scores))
    return rankings


def ranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Phrase]:
    """Phrases from the largest score to the smallest; the earlier first if they tie."""
    return [candidates[place].phrase for place in np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")]
