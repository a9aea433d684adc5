"""F1 of keyphrase extractors, and of fine-tuned taggers, on the same test documents.

Metrics of extractors: f1_at_5, f1_at_10 (of the first phrases), f1_at_m (of all that are proposed), phrase_f1_all_occurrences
(phrase F1 where every occurrence of a proposed phrase is marked in the text).
Rankers give the phrases of every text, the best first. All rank the same candidates, except "yake", which extracts phrases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer

from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.keyphrases import located, spans_of, stem
from attention_atlas.corpora.text import WORD
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.card import Card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import locate
from attention_atlas.stats.intervals import Floats, bootstrap_ratio, percentile_interval
from attention_atlas.stats.significance import mean_interval
from attention_atlas.studies.stefanik2021.head_measures import ATTENTION_METHODS
from attention_atlas.studies.stefanik2021.removal import percent, phrase_counts, removal_tables, resampled_percent

Phrase = tuple[str, ...]  # words in lower case
Candidates = dict[Phrase, list[tuple[int, int]]]  # phrase of a text -> its occurrences: first word, and word after the last
Rankings = list[list[Phrase]]  # [document] phrases, the best first
MOST_PHRASES = 60
"""Largest number of phrases per document that a ranker may propose, well above the number of gold phrases of an abstract."""


def load_sentence_encoder(entry: Mapping[str, Any]) -> Any:
    """A `SentenceTransformer` from a registry entry, on the device of the configuration; errors of `locate`."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(locate(entry)), device=pick_device(), local_files_only=True)


class Documents(NamedTuple):
    """Documents of one split with a keyphrase in their text, their candidate phrases, and stems of gold phrases."""

    examples: list[Example]
    candidates: list[Candidates]
    gold: list[set[Phrase]]


class Scores(NamedTuple):
    """Scores of one method: metric -> [document] F1 in percent, mean over its repetitions (seeds); and for
    phrase_f1_all_occurrences, [repetition, document, 3] right, answered and expected phrases in the text.
    """

    f1: Mapping[str, Floats]
    phrases: Floats

    def mean(self, metric: str) -> float:
        return float((percent(self.phrases) if metric == "phrase_f1_all_occurrences" else self.f1[metric]).mean())


Evaluated = tuple[int | None, Scores | None, Scores]
"""Number of phrases that a method proposes; its scores on development and test documents. Only rankers have the first two."""


def scores(
    removals: Mapping[str, pd.DataFrame],
    words: pd.DataFrame,
    development: Examples,
    test: Examples,
    encoder: Annotated[Any, load_sentence_encoder],
    card: Card,
    max_phrase_words: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Tables of the taggers, see `removal_tables`, and of all methods that find keyphrases, see `method_rows`.

    A tagger proposes the phrases that it tags; a ranker as many (at most `MOST_PHRASES`) as are best on development documents.
    Only phrases that occur in the text are gold, and only documents with such a phrase are used.
    removals: seed -> table of `removal`; words: of `detection`; encoder, card: of the embedding ranker.
    """
    documents = [_documents(examples, max_phrase_words) for examples in (development, test)]
    rankers: dict[str, Callable[[Documents], Rankings]] = {
        "position": lambda split: by_position(split.candidates),
        "tf_idf": lambda split: by_tf_idf(split.candidates),
        "yake": lambda split: by_yake([example.words for example in split.examples], max_phrase_words),
        "embedding": lambda split: by_embedding([example.words for example in split.examples], split.candidates, encoder),
    }
    rankers |= {name: partial(_by_detector, words, name) for name in ("word_statistics", *ATTENTION_METHODS)}
    evaluated: dict[str, Evaluated] = {}
    for name, rank in rankers.items():
        rankings = [rank(split) for split in documents]
        count = best_number(rankings[0], documents[0].gold)
        of_splits = (scores_of([of_split], split, count) for of_split, split in zip(rankings, documents, strict=True))
        evaluated[name] = (count, next(of_splits), next(of_splits))
    tagged = []
    for answers in removals.values():
        whole = answers[(answers["split"] == "test") & (answers["order"] == "one") & (answers["count"] == 0)]
        tags = whole.set_index("record")["answer"]
        tagged.append([tagged_phrases(example.words, tags[example.record]) for example in documents[1].examples])
    evaluated["fine_tuned"] = (None, None, scores_of(tagged, documents[1], None))
    return removal_tables(removals, resamples, seed) | {"baselines": method_rows(evaluated, card.name, resamples, seed)}


def _documents(examples: Iterable[Example], max_phrase_words: int) -> Documents:
    with_gold = [example for example in examples if gold_of(example)]
    if not with_gold:
        raise AtlasError("no document has a keyphrase in its text: set stemmed: true, or check the corpus.")
    candidates = [candidates_of(example.words, max_phrase_words) for example in with_gold]
    return Documents(with_gold, candidates, list(map(gold_of, with_gold)))


def _by_detector(words: pd.DataFrame, detector: str, documents: Documents) -> Rankings:
    by_name = dict(iter(words.sort_values("place").groupby("document")[detector]))
    word_scores = []
    for example in documents.examples:
        values = by_name.get(example.id)
        if values is None or len(values) != len(example.words):
            reason = "the corpus of `documents` must contain those of `development` and `test`."
            raise AtlasError(f"document {example.id} has no attention in this run: {reason}")
        word_scores.append(values.to_numpy(np.float64))
    return by_words(documents.candidates, word_scores)


def scores_of(repetitions: Sequence[Rankings], documents: Documents, count: int | None) -> Scores:
    """Scores of the repetitions of one method, which proposes the first `count` phrases of each ranking (None: all)."""
    f1, phrases = [], []
    for rankings in repetitions:
        for ranking, example, gold in zip(rankings, documents.examples, documents.gold, strict=True):
            proposed = ranking[:count]
            first = (ranking, 5), (ranking, 10), (proposed, max(1, len(proposed)))
            f1.append([f1_by_number(ranked_phrases, gold, most)[-1] for ranked_phrases, most in first])
            phrases.append(phrase_counts(marked(example.words, proposed), "".join(example.layers["tags"])))
    shape = len(repetitions), len(documents.examples), 3
    percents = 100 * np.mean(np.reshape(f1, shape), axis=0).T
    metrics = dict(zip(("f1_at_5", "f1_at_10", "f1_at_m"), percents, strict=True))
    return Scores(metrics, np.reshape(phrases, shape).astype(np.float64))


def best_number(ranked: Rankings, gold: Sequence[set[Phrase]]) -> int:
    """The number of first phrases of a ranking, up to `MOST_PHRASES`, with the best mean F1; the smallest one if tied."""
    scores = [f1_by_number(*pair, MOST_PHRASES) for pair in zip(ranked, gold, strict=True)]
    # Equal means that are summed in different ways differ by rounding.
    return int(np.argmax(np.mean(scores, axis=0).round(12))) + 1


def f1_by_number(ranked: Sequence[Phrase], gold: set[Phrase], most: int) -> Floats:
    """[most] F1 of the first phrase of a ranking, the first two, and so on; compared by stems, equal stems count once.

    Precision is over the ranked phrases: a ranking of three has precision over three, also for a larger number.
    """
    first = list(dict.fromkeys(map(stems, ranked)))[:most]
    hits = np.cumsum([phrase in gold for phrase in first] + [False] * (most - len(first)))
    proposed = np.minimum(np.arange(1, most + 1), len(first))
    return 2 * hits / (proposed + len(gold))


def method_rows(evaluated: Mapping[str, Evaluated], encoder: str, resamples: int, seed: int) -> pd.DataFrame:
    """One row for each method and metric.

    f1_at_5, f1_at_10, f1_at_m: compared by stems, mean over documents. phrase_f1_all_occurrences: exact match of the proposed
    phrases at all of their occurrences in the text, over all documents. development: the same score on development documents,
    of the methods that rank. reference: the method that neither reads attention weights nor is fine-tuned with the best F1@M
    there. difference: of a method from it on test documents, paired, with Student's 95 % interval over documents; empty for
    phrase_f1_all_occurrences, which is not a mean over documents.
    """
    on_development = {
        name: development.mean("f1_at_m")
        for name, (_, development, _) in evaluated.items()
        if development and name not in ATTENTION_METHODS
    }
    reference, rows = max(on_development, key=on_development.__getitem__), []
    for name, (proposed, development, test) in evaluated.items():
        for metric in (*test.f1, "phrase_f1_all_occurrences"):
            row = {"method": name, "metric": metric, "value": test.mean(metric), "phrases": proposed}
            row |= {"documents": test.phrases.shape[1], "encoder": encoder if name == "embedding" else None}
            if development:
                row |= {"development": development.mean(metric), "development_documents": development.phrases.shape[1]}
            if metric == "phrase_f1_all_occurrences":
                low, high = percentile_interval(resampled_percent(test.phrases, resamples, seed).mean(axis=1))
            else:
                values = test.f1[metric]
                low, high = bootstrap_ratio(values, np.ones(len(values)), resamples, seed)
                difference = values - evaluated[reference][2].f1[metric]
                ends = dict(zip(("difference_low", "difference_high"), mean_interval(difference), strict=True))
                row |= {"difference": difference.mean(), **ends}
            rows.append(row | {"ci_low": float(low), "ci_high": float(high)})
    columns = ["method", "metric", "value", "ci_low", "ci_high", "phrases", "documents", "development", "development_documents"]
    columns += ["reference", "difference", "difference_low", "difference_high", "encoder"]
    frame = pd.DataFrame(rows).assign(reference=reference)[columns]
    return frame.astype({"phrases": "Int64", "development_documents": "Int64"})


def candidates_of(words: Sequence[str], max_phrase_words: int) -> Candidates:
    """Sequences of words without punctuation that neither begin nor end with a stop word, in text order."""
    lowered = [word.lower() for word in words]
    plain = [any(letter.isalpha() for letter in word) for word in lowered]
    candidates: Candidates = {}
    for start in range(len(lowered)):
        for stop in range(start + 1, min(start + max_phrase_words, len(lowered)) + 1):
            if not plain[stop - 1]:
                break
            if lowered[start] not in ENGLISH_STOP_WORDS and lowered[stop - 1] not in ENGLISH_STOP_WORDS:
                candidates.setdefault(tuple(lowered[start:stop]), []).append((start, stop))
    return candidates


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


def by_position(candidates: Sequence[Candidates]) -> Rankings:
    """By first occurrence; longer phrases first if they begin at the same word."""
    return [sorted(of_text, key=lambda phrase: (of_text[phrase][0][0], -len(phrase))) for of_text in candidates]


def by_tf_idf(candidates: Sequence[Candidates]) -> Rankings:
    """By TF-IDF of the whole phrase over these texts (scikit-learn's, logarithmic)."""
    # Every occurrence of a candidate counts.
    occurrences = [[phrase for phrase, places in of_text.items() for _ in places] for of_text in candidates]
    vectorizer = TfidfVectorizer(analyzer=list, sublinear_tf=True, norm=None)
    matrix = vectorizer.fit_transform(occurrences)
    rankings = []
    for row, of_text in enumerate(candidates):
        weights = matrix[row].toarray()[0]
        rankings.append(ranked(of_text, [weights[vectorizer.vocabulary_[phrase]] for phrase in of_text]))
    return rankings


def by_yake(texts: Sequence[Sequence[str]], max_phrase_words: int) -> Rankings:
    """By YAKE's candidates and scores; its input is the words joined by spaces."""
    import yake

    extractor = yake.KeywordExtractor(lan="en", n=max_phrase_words, top=MOST_PHRASES)
    rankings: Rankings = []
    for words in progress(texts, label="YAKE"):
        # "yake" orders phrases with equal scores by a set.
        best = sorted(extractor.extract_keywords(" ".join(words)), key=lambda item: (float(item[1]), item[0].lower()))
        rankings.append([tuple(phrase.lower().split()) for phrase, _ in best])
    return rankings


def by_embedding(texts: Sequence[Sequence[str]], candidates: Sequence[Candidates], encoder: Any) -> Rankings:
    """By the cosine of a phrase's embedding to that of its text (KeyBERT)."""
    from keybert import KeyBERT

    ranker = KeyBERT(model=encoder)
    rankings: Rankings = []
    for words, of_text in progress(list(zip(texts, candidates, strict=True)), label="KeyBERT"):
        names = [" ".join(phrase) for phrase in of_text]
        # The vectorizer returns the candidates; the library's tokenizer would miss some of them.
        counter = CountVectorizer(analyzer=lambda _, names=names: names)
        scored = dict(ranker.extract_keywords(" ".join(words), vectorizer=counter, top_n=len(names)) if names else ())
        rankings.append(ranked(of_text, [float(scored.get(name, 0.0)) for name in names]))
    return rankings


def by_words(candidates: Sequence[Candidates], scores: Sequence[Floats]) -> Rankings:
    """By the mean score of the words of a phrase ([word] of each text), at the occurrence where it is largest."""
    return [
        ranked(of_text, [max(values[start:stop].mean() for start, stop in places) for places in of_text.values()])
        for of_text, values in zip(candidates, scores, strict=True)
    ]


def ranked(phrases: Iterable[Phrase], scores: Sequence[float]) -> list[Phrase]:
    """Phrases from the largest score to the smallest; the earlier first if they tie."""
    in_order = list(phrases)
    return [in_order[place] for place in np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")]
