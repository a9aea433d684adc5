"""F1 of fine-tuned taggers, whole, pruned and without each head, and of keyphrase extractors on the same test documents.

Values of columns that tables, figures and claims share:
metric of taggers: token_f1, phrase_f1 (of the tags themselves, which may mark some occurrences of a phrase and not others).
metric of extractors: f1_at_5, f1_at_10 (of the first phrases), f1_at_m (of all that are proposed), phrase_f1_all_occurrences
(phrase F1 where every occurrence of a proposed phrase is marked in the text).
order, in which heads are removed: worst_to_best, importance, worst_to_best_on_test, random; one: a single head, or none.
model: whole, pruned (where development is best), pruned_on_test, without_heads. seed: of the tagger, or mean.
Rankers give the phrases of every text, the best first. All rank the same candidates, except "yake", which extracts phrases.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer

from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.keyphrases import BEGIN, INSIDE, OUTSIDE, located, spans_of, stem
from attention_atlas.corpora.text import WORD
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.card import Card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import locate
from attention_atlas.stats.intervals import bootstrap_ratio, percentile_interval, resampled_counts
from attention_atlas.stats.significance import mean_interval
from attention_atlas.stats.simultaneous import adjusted_p, exchanged_differences, simultaneous_interval
from attention_atlas.studies.stefanik2021.head_measures import ATTENTION_METHODS, METRICS

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
Phrase = tuple[str, ...]
"""Words of a phrase in lower case."""
Candidates = dict[Phrase, list[tuple[int, int]]]
"""Phrases of a text with their occurrences: first word, and word after the last."""
Rankings = list[list[Phrase]]
"""[document] phrases, the best first."""
MOST_PHRASES = 60
"""Largest number of phrases per document that a ranker may propose, well above the number of gold phrases of an abstract."""
REMOVED = ["split", "order", "draw", "percent", "count"]
"""Columns that name a set of removed heads: the documents, the order, the number of a random order, how many heads are gone."""
_SET = [*REMOVED, "layer", "head"]


def load_sentence_encoder(entry: Mapping[str, Any]) -> Any:
    """A `SentenceTransformer` from a registry entry, on the device of the configuration; errors of `locate`."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(locate(entry)), device=pick_device(), local_files_only=True)


class Documents(NamedTuple):
    """Documents of one split with a keyphrase in their text, their candidate phrases, and stems of gold phrases."""

    examples: list[Example]
    texts: list[tuple[str, ...]]
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


class Evaluated(NamedTuple):
    """A method on both splits, and the number of phrases that it proposes; a method without a ranking decides it."""

    proposed: int | None
    development: Scores | None
    test: Scores


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
    removals: seed -> table of `removal.removal`; words: of `detection`; encoder, card: of the embedding ranker.
    """
    documents = [_documents(examples, max_phrase_words) for examples in (development, test)]
    rankers: dict[str, Callable[[Documents], Rankings]] = {
        "position": lambda split: by_position(split.candidates),
        "tf_idf": lambda split: by_tf_idf(split.candidates),
        "yake": lambda split: by_yake(split.texts, max_phrase_words),
        "embedding": lambda split: by_embedding(split.texts, split.candidates, encoder),
    }
    rankers |= {name: partial(_by_detector, words, name) for name in ("word_statistics", *ATTENTION_METHODS)}
    evaluated = {}
    for name, rank in rankers.items():
        rankings = [rank(split) for split in documents]
        count = best_number(rankings[0], documents[0].gold)
        _log.info("%s: %d phrases per document", name, count)
        of_splits = (scores_of([of_split], split, count) for of_split, split in zip(rankings, documents, strict=True))
        evaluated[name] = Evaluated(count, *of_splits)
    tagged = [_tagged(answers, documents[1]) for answers in removals.values()]
    evaluated["fine_tuned"] = Evaluated(None, None, scores_of(tagged, documents[1], None))
    return removal_tables(removals, resamples, seed) | {"baselines": method_rows(evaluated, card.name, resamples, seed)}


def token_counts(answer: str, expected: str) -> tuple[int, int, int]:
    """(right, answered, expected) keyphrase words, whether they begin one or not."""
    answered, gold = (np.frombuffer(tags.encode(), np.uint8) != ord(OUTSIDE) for tags in (answer, expected))
    return int((answered & gold).sum()), int(answered.sum()), int(gold.sum())


def phrase_counts(answer: str, expected: str) -> tuple[int, int, int]:
    """(right, answered, expected) phrases by seqeval: right if both boundaries are."""
    from seqeval.metrics.sequence_labeling import get_entities

    names = {BEGIN: "B-KEY", INSIDE: "I-KEY", OUTSIDE: OUTSIDE}
    answered, gold = (set(get_entities([names[tag] for tag in tags])) for tags in (answer, expected))
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


class Removals(NamedTuple):
    """The answers of one tagger."""

    sets: pd.DataFrame  # one row for each set of removed heads: `REMOVED`, layer, head
    counts: Mapping[str, Floats]  # metric -> [set, document, 3] right, answered, expected; NaN for documents of another split

    def places(self, **values: object) -> npt.NDArray[np.intp]:
        """Rows of `sets` with these values, in their order."""
        return np.flatnonzero((self.sets[list(values)] == pd.Series(values)).all(axis=1))

    def parts(self, metric: str, places: npt.ArrayLike) -> Floats:
        """[set, document, 3] of sets of one split."""
        counts = self.counts[metric][np.asarray(places)]
        return counts[:, ~np.isnan(counts[0, :, 0])]


def removals_of(answers: pd.DataFrame) -> Removals:
    """The answers of a tagger, see `removal.removal`."""
    sets = answers[_SET].drop_duplicates(ignore_index=True)
    row, column = (answers.groupby(names, sort=False).ngroup() for names in (_SET, ["split", "record"]))
    counts = {}
    for metric, count in zip(METRICS, (token_counts, phrase_counts), strict=True):
        counts[metric], cached_count = np.full((len(sets), column.max() + 1, 3), np.nan), cache(count)
        counts[metric][row, column] = [cached_count(*pair) for pair in zip(answers["answer"], answers["expected"], strict=True)]
    return Removals(sets, counts)


def removal_tables(removals: Mapping[str, pd.DataFrame], resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """F1 on test documents. fine_tuning: of the whole and the pruned taggers, and with all heads removed; ablation: with each
    head removed; cumulative_ablation: with heads removed cumulatively. removals: seed -> table of `removal.removal`.
    """
    by_seed = {name: removals_of(answers) for name, answers in removals.items()}
    first = next(iter(by_seed))
    for name, of_seed in by_seed.items():
        if of_seed.counts["token_f1"].shape[1] != by_seed[first].counts["token_f1"].shape[1]:
            raise AtlasError(
                f"the tagger of seed {name} was evaluated on other documents than that of seed {first}: build the run again."
            )
    return {
        "fine_tuning": fine_tuning_rows(by_seed, resamples, seed),
        "ablation": ablation_rows(by_seed, resamples, seed),
        "cumulative_ablation": cumulative_rows(by_seed),
    }


def fine_tuning_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """One row for each seed (and their mean), model and metric.

    delta: score minus that of the whole tagger; delta_low, delta_high: 95 % interval by the paired permutation test over
    documents (`simultaneous_interval`); a bootstrap over few documents is too narrow.
    """
    rows, models = [], [_models(removals) for removals in by_seed.values()]
    for metric, model in product(METRICS, models[0]):
        places = [[of_seed["whole"], of_seed[model]] for of_seed in models]
        parts = [removals.parts(metric, pair) for removals, pair in zip(by_seed.values(), places, strict=True)]
        counts = [float(removals.sets["count"][pair[1]]) for removals, pair in zip(by_seed.values(), places, strict=True)]
        scores = _with_mean(percent(part) for part in parts)
        samples = _with_mean(resampled_percent(part, resamples, seed) for part in parts)
        nulls = _with_mean(exchanged_percent(part, resamples, seed) for part in parts)
        values = zip([*by_seed, "mean"], [*counts, np.mean(counts)], scores, samples, nulls, strict=True)
        for name, heads_removed, score, sample, null in values:
            row = {"seed": name, "model": model, "heads_removed": heads_removed, "metric": metric, "value": score[1]}
            delta = np.diff(score)
            (low,), (high,) = percentile_interval(sample[:, 1:])
            (delta_low,), (delta_high,) = simultaneous_interval(delta, null)
            row |= {"ci_low": low, "ci_high": high, "delta": delta[0], "delta_low": delta_low, "delta_high": delta_high}
            rows.append(row | {"documents": parts[0].shape[1]})
    return pd.DataFrame(rows)


def _models(removals: Removals) -> dict[str, int]:
    """Model -> its row of `sets` on test documents: with the worst heads removed, without any (the last set of an order)."""
    places = {"whole": removals.places(order="one", split="test", count=0)}
    selections = ("pruned", "worst_to_best", "development"), ("pruned_on_test", "worst_to_best_on_test", "test")
    for model, order, split in selections:
        places[model] = removals.places(order=order, split="test", count=best_count(removals, order, split))
    places["without_heads"] = removals.places(order="worst_to_best", split="test")[-1:]
    return {model: int(place) for model, (place,) in places.items()}


def best_count(removals: Removals, order: str, split: str) -> int:
    """The number of heads removed in an order where token F1 on a split is best; the smallest one if several tie."""
    places = removals.places(order=order, split=split)
    return int(removals.sets["count"][places[percent(removals.parts("token_f1", places)).argmax()]])


def _with_mean(by_seed: Iterable[Floats]) -> list[Floats]:
    """Values of each seed, then their mean."""
    values = list(by_seed)
    return [*values, np.mean(values, axis=0)]


def exchanged_percent(parts: Floats, draws: int, seed: int) -> Floats:
    """[set, draw] differences of F1 from the first set after random exchanges of documents, for counts [set, document, 3]."""
    return exchanged_differences(lambda sums: 100 * f1_of(sums), parts[0], parts[1:], draws, seed)


def ablation_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """One row for each seed (and their mean), head and metric.

    p_adjusted, adjusted_low, adjusted_high: paired permutation test, two-sided, for all heads of a seed and metric at once, by
    the maximum statistic: the answers before and after the removal are exchanged at random, document by document. A bootstrap
    over few documents rejects too often.
    """
    frames, first = [], next(iter(by_seed.values()))
    heads = first.sets.loc[first.places(order="one", split="test", count=1), ["layer", "head"]]
    for metric in METRICS:
        parts = [removals.parts(metric, removals.places(order="one", split="test")) for removals in by_seed.values()]
        scores, nulls = _with_mean(map(percent, parts)), _with_mean(exchanged_percent(part, resamples, seed) for part in parts)
        for name, score, null in zip([*by_seed, "mean"], scores, nulls, strict=True):
            delta = score[1:] - score[0]
            low, high = simultaneous_interval(delta, null)
            rows = heads.assign(seed=name, metric=metric, baseline=score[0], value=score[1:], delta=delta)
            rows = rows.assign(p_adjusted=adjusted_p(delta, null), adjusted_low=low, adjusted_high=high)
            frames.append(rows.assign(documents=parts[0].shape[1]))
    return pd.concat(frames, ignore_index=True)


def cumulative_rows(by_seed: Mapping[str, Removals]) -> pd.DataFrame:
    """One row for each seed, order, draw, step and metric."""
    frames = []
    for (name, removals), metric in product(by_seed.items(), METRICS):
        keys = removals.sets[(removals.sets["order"] != "one") & (removals.sets["split"] == "test")]
        parts = removals.parts(metric, keys.index)
        keys = keys[["order", "draw", "percent", "count"]].rename(columns={"count": "heads_removed"})
        keys.insert(0, "seed", name)
        frames.append(keys.assign(metric=metric, value=percent(parts), documents=parts.shape[1]))
    return pd.concat(frames, ignore_index=True)


def _documents(examples: Iterable[Example], max_phrase_words: int) -> Documents:
    with_gold = [example for example in examples if gold_of(example)]
    if not with_gold:
        raise AtlasError("no document has a keyphrase in its text: set stemmed: true, or check the corpus.")
    texts = [example.words for example in with_gold]
    return Documents(with_gold, texts, [candidates_of(text, max_phrase_words) for text in texts], list(map(gold_of, with_gold)))


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


def _tagged(answers: pd.DataFrame, documents: Documents) -> Rankings:
    """The phrases that a tagger with all heads tags in each test document."""
    whole = answers[(answers["split"] == "test") & (answers["order"] == "one") & (answers["count"] == 0)]
    tags = dict(zip(whole["record"], whole["answer"], strict=True))
    return [tagged_phrases(example.words, tags[example.record]) for example in documents.examples]


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
    of the methods that rank. reference: see `reference_method`. difference: of a method from it on test documents, paired,
    with Student's 95 % interval over documents; empty for phrase_f1_all_occurrences, which is not a mean over documents.
    """
    reference = reference_method(evaluated)
    rows = []
    for name, method in evaluated.items():
        development, test = method.development, method.test
        for metric in (*test.f1, "phrase_f1_all_occurrences"):
            row = {"method": name, "metric": metric, "value": test.mean(metric), "phrases": method.proposed}
            row |= {"documents": test.phrases.shape[1], "encoder": encoder if name == "embedding" else None}
            if development:
                row |= {"development": development.mean(metric), "development_documents": development.phrases.shape[1]}
            if metric == "phrase_f1_all_occurrences":
                low, high = percentile_interval(resampled_percent(test.phrases, resamples, seed).mean(axis=1))
            else:
                values = test.f1[metric]
                low, high = bootstrap_ratio(values, np.ones(len(values)), resamples, seed)
                difference = values - evaluated[reference].test.f1[metric]
                ends = dict(zip(("difference_low", "difference_high"), mean_interval(difference), strict=True))
                row |= {"difference": difference.mean(), **ends}
            rows.append(row | {"ci_low": float(low), "ci_high": float(high)})
    columns = ["method", "metric", "value", "ci_low", "ci_high", "phrases", "documents", "development", "development_documents"]
    columns += ["reference", "difference", "difference_low", "difference_high", "encoder"]
    frame = pd.DataFrame(rows).assign(reference=reference)[columns]
    return frame.astype({"phrases": "Int64", "development_documents": "Int64"})


def reference_method(evaluated: Mapping[str, Evaluated]) -> str:
    """The method that neither reads attention weights nor is fine-tuned with the best F1@M on development documents."""
    by_method = {
        name: method.development.mean("f1_at_m")
        for name, method in evaluated.items()
        if method.development is not None and name not in ATTENTION_METHODS
    }
    return max(by_method, key=by_method.__getitem__)


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
        scored = extractor.extract_keywords(" ".join(words))
        # "yake" orders phrases with equal scores by a set.
        best = sorted(scored, key=lambda item: (float(item[1]), item[0].lower()))
        rankings.append([tuple(phrase.lower().split()) for phrase, _ in best])
    return rankings


def by_embedding(texts: Sequence[Sequence[str]], candidates: Sequence[Candidates], encoder: Any) -> Rankings:
    """By the cosine of a phrase's embedding to that of its text (KeyBERT)."""
    from keybert import KeyBERT

    ranker = KeyBERT(model=encoder)
    rankings: Rankings = []
    for words, of_text in progress(list(zip(texts, candidates, strict=True)), label="KeyBERT"):
        names = [" ".join(phrase) for phrase in of_text]
        if not names:
            rankings.append([])
            continue
        # The vectorizer returns the candidates; the library's tokenizer would miss some of them.
        counter = CountVectorizer(analyzer=lambda _, names=names: names)
        scored = dict(ranker.extract_keywords(" ".join(words), vectorizer=counter, top_n=len(names)))
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
