"""Keyphrase extraction by several methods, attention among them, on the same test documents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_parquet, write_table
from attention_atlas.methods.names import ANSWERS
from attention_atlas.stats.bootstrap import bootstrap_ratio, percentile_interval
from attention_atlas.stats.paired_tests import mean_interval
from attention_atlas.studies.stefanik2021.extractors import MOST_PHRASES, OCCURRENCES, OCCURRENCES_TITLE
from attention_atlas.studies.stefanik2021.names import (
    ATTENTION_METHODS,
    DEVELOPMENT,
    EMBEDDING,
    F1_5,
    F1_10,
    F1_M,
    HEAD,
    METHOD_TITLES,
    ONE,
    POSITION,
    REGRESSION,
    REMOVED,
    SPLITS,
    STATISTICS,
    TAGGER,
    TEST,
    TF_IDF,
    YAKE,
    method_title,
)
from attention_atlas.studies.stefanik2021.phrases import (
    Candidate,
    Phrase,
    agreement,
    candidates_of,
    gold_of,
    marked,
    percent,
    phrase_counts,
    resampled_percent,
    stems,
    tagged_phrases,
)
from attention_atlas.studies.stefanik2021.rankers import (
    Rankings,
    by_embedding,
    by_position,
    by_tf_idf,
    by_words,
    by_yake,
    encoder_in_words,
)

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
BASELINES = [
    *("method", "metric", "value", "ci_low", "ci_high", "phrases", "documents"),
    *("development", "development_documents", "reference", "difference", "difference_low", "difference_high", "encoder"),
]


@dataclass(frozen=True)
class BaselineOptions:
    """Options of the comparison of methods.

    Attributes:
        max_phrase_words: greatest number of words of a candidate phrase.
        resamples, seed: of the bootstrap over documents.
    """

    max_phrase_words: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class Scores:
    """Scores of one method, mean over its repetitions (seeds).

    Attributes:
        f1: metric -> [document] F1 in percent.
        phrases: [repetition, document, 3] right, answered and expected phrases in the text.
    """

    f1: Mapping[str, Floats]
    phrases: Floats


@dataclass(frozen=True)
class Evaluated:
    """A method on the documents.

    Attributes:
        count: number of phrases that it proposes; None where the method decides it.
        development: None for a method without a ranking.
        test: scores on the test documents.
    """

    count: int | None
    development: Scores | None
    test: Scores


@dataclass(frozen=True)
class Documents:
    """Documents of one split with a keyphrase in their text, their candidate phrases, and the stems of their gold phrases."""

    examples: list[Example]
    candidates: list[list[Candidate]]
    gold: list[set[Phrase]]


def write_baselines(
    files: Mapping[str, Sequence[str | Path]],
    limits: Mapping[str, int],
    scores_path: str | Path,
    removals: Mapping[str, str | Path],
    encoder: str,
    encoder_entry: Mapping[str, Any],
    options: BaselineOptions,
    label: RunLabel,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write one row per method and metric, columns `BASELINES`, in percent.

    f1_at_5, f1_at_10: F1 of the first phrases of a ranking, compared by stems, mean over documents. f1_at_m: F1 of all phrases
    that a method proposes. A tagger proposes the phrases that it tags; a ranker proposes the number (column phrases, at most
    `MOST_PHRASES`) with the best F1 on development documents. `OCCURRENCES`: exact match of these phrases at all of their
    occurrences in the text, over all documents. Only phrases that occur in the text are gold, and only documents with such a
    phrase are used.

    development: the same score on development documents, of the methods that rank. reference: the method that neither reads
    attention weights nor is fine-tuned with the best f1_at_m there. difference: of a method from it on test documents, paired,
    with Student's 95 % interval over documents; empty for `OCCURRENCES`, which is not a mean over documents. encoder: of the
    embedding ranker, the model and whether it is a sentence encoder.

    Args:
        files, limits: `DEVELOPMENT` and `TEST` -> examples, and the largest number of records to use.
        scores_path: scores of the words of all documents by name, see `detection`.
        removals: seed -> answers of a tagger, see `removal`.
        encoder, encoder_entry: model of the embedding ranker.
        options: longest candidate, and the bootstrap.
        label: model and test documents.
        out, html_out: files to write.

    Raises:
        AtlasError: a table cannot be used, or a document has no scores.
    """
    from attention_atlas.models.devices import pick_device
    from attention_atlas.models.loading import locate

    documents = {split: _documents(read_examples(files[split], limits[split]), options.max_phrase_words) for split in SPLITS}
    scores = read_parquet(scores_path, ["document", "place", REGRESSION, HEAD, STATISTICS])
    folder, device = locate(encoder_entry), pick_device()

    def rank_by_embedding(split: Documents) -> Rankings:
        return by_embedding([e.words for e in split.examples], split.candidates, folder, device)

    def rank_by_scores(split: Documents, column: str) -> Rankings:
        return by_words(split.candidates, _of_words(scores, column, split.examples))

    rankers: dict[str, Callable[[Documents], Rankings]] = {
        POSITION: lambda split: by_position(split.candidates),
        TF_IDF: lambda split: by_tf_idf(split.candidates),
        YAKE: lambda split: by_yake([e.words for e in split.examples], options.max_phrase_words, MOST_PHRASES),
        EMBEDDING: rank_by_embedding,
        STATISTICS: lambda split: rank_by_scores(split, STATISTICS),
        HEAD: lambda split: rank_by_scores(split, HEAD),
        REGRESSION: lambda split: rank_by_scores(split, REGRESSION),
    }
    evaluated = {}
    for name, rank in rankers.items():
        development, test = rank(documents[DEVELOPMENT]), rank(documents[TEST])
        count = best_number(development, documents[DEVELOPMENT].gold)
        _log.info("%s: %d phrases per document", name, count)
        evaluated[name] = Evaluated(
            count,
            _scores_by_document([development], [[ranking[:count] for ranking in development]], documents[DEVELOPMENT]),
            _scores_by_document([test], [[ranking[:count] for ranking in test]], documents[TEST]),
        )
    tagged = [_tagged(path, documents[TEST].examples) for path in removals.values()]
    evaluated[TAGGER] = Evaluated(None, None, _scores_by_document(tagged, tagged, documents[TEST]))
    table = baseline_rows(evaluated, encoder_in_words(encoder, folder), options)
    write_table(table, out)
    notes = [
        label.line,
        f"Test documents with a keyphrase in their text ({table['documents'].iloc[0]}). F1 in percent: of the first 5 and 10 "
        "phrases and of all that a method proposes (for a ranker the number that scores best on development documents, at "
        f"most {MOST_PHRASES}: phrases), compared by stems, mean over documents; {OCCURRENCES_TITLE}: both boundaries right in "
        "the text, where every occurrence of a proposed phrase is marked (the phrase F1 of the fine-tuned taggers elsewhere "
        "scores their tags as they are). Intervals by bootstrap over documents. Fine-tuned model: mean over seeds. Attention: "
        "of one head, or of all by logistic regression, selected or fitted on other documents; a control without attention, "
        "the regression over position, frequency and form of words, is fitted to the same documents. "
        f"Difference: from {METHOD_TITLES[table['reference'].iloc[0]]}, the best method that neither reads attention weights "
        f"nor is fine-tuned, on {table['development_documents'].iloc[0]} development documents (F1@M), with Student's 95 % "
        "interval over documents.",
        *_limited(evaluated),
    ]
    shown = table.drop(columns=["reference", "development_documents", "encoder"])
    shown["method"] = [method_title(*row) for row in table[["method", "encoder"]].itertuples(index=False)]
    formats = dict.fromkeys(("value", "ci_low", "ci_high", "development"), ".1f") | {"phrases": ".0f", "documents": "d"}
    formats |= dict.fromkeys(("difference", "difference_low", "difference_high"), "+.1f")
    write_html_table(shown, html_out, "Štefánik: attention compared with other keyphrase extractors", notes, formats=formats)


def _limited(evaluated: Mapping[str, Evaluated]) -> list[str]:
    """A sentence that names the methods whose best number of phrases is the largest one that was tried; none without them."""
    at_limit = [METHOD_TITLES[name] for name, method in evaluated.items() if method.count == MOST_PHRASES]
    return [f"More than {MOST_PHRASES} phrases might score better: {', '.join(at_limit)}."] if at_limit else []


def _documents(examples: Iterable[Example], max_phrase_words: int) -> Documents:
    with_gold = [example for example in examples if gold_of(example)]
    if not with_gold:
        raise AtlasError("no document has a keyphrase in its text: set stemmed: true, or check the corpus.")
    candidates = [candidates_of(e.words, max_phrase_words) for e in with_gold]
    return Documents(with_gold, candidates, [gold_of(e) for e in with_gold])


def _of_words(scores: pd.DataFrame, column: str, examples: Sequence[Example]) -> list[Floats]:
    """Scores of the words of each document."""
    by_name = dict(iter(scores.sort_values("place").groupby("document")[column]))
    word_scores = []
    for example in examples:
        values = by_name.get(example.id)
        if values is None or len(values) != len(example.words):
            raise AtlasError(
                f"document {example.id} has no attention in this run: the corpus of `documents` must contain those of "
                "`development` and `test`."
            )
        word_scores.append(values.to_numpy(np.float64))
    return word_scores


def _tagged(path: str | Path, examples: Sequence[Example]) -> Rankings:
    """The phrases that a tagger with all heads tags in each test document."""
    table = read_parquet(path, [*REMOVED, *ANSWERS])
    whole = table[(table["split"] == TEST) & (table["order"] == ONE) & (table["count"] == 0)]
    answers = dict(zip(whole["record"], whole["answer"], strict=True))
    return [tagged_phrases(example.words, answers[example.record]) for example in examples]


def best_number(ranked: Rankings, gold: Sequence[set[Phrase]]) -> int:
    """The number of first phrases of a ranking, up to `MOST_PHRASES`, with the best mean F1; the smallest one if tied."""
    scores = [_f1_by_number(*pair) for pair in zip(ranked, gold, strict=True)]
    # Equal means that are summed in different ways differ by rounding.
    return int(np.argmax(np.mean(scores, axis=0).round(12))) + 1


def _f1_by_number(ranked: Sequence[Phrase], gold: set[Phrase]) -> Floats:
    """[`MOST_PHRASES`] F1 of `agreement` for the first phrase, the first two, and so on: each phrase is stemmed once."""
    first = list(dict.fromkeys(map(stems, ranked)))[:MOST_PHRASES]
    hits = np.cumsum([phrase in gold for phrase in first] + [False] * (MOST_PHRASES - len(first)))
    proposed = np.minimum(np.arange(1, MOST_PHRASES + 1), len(first))
    return 2 * hits / (proposed + len(gold))


def reference_method(evaluated: Mapping[str, Evaluated]) -> str:
    """The method that neither reads attention weights nor is fine-tuned with the best F1@M on development documents."""
    by_method = {
        name: float(method.development.f1[F1_M].mean())
        for name, method in evaluated.items()
        if method.development is not None and name not in ATTENTION_METHODS
    }
    return max(by_method, key=by_method.__getitem__)


def baseline_rows(evaluated: Mapping[str, Evaluated], encoder: str, options: BaselineOptions) -> pd.DataFrame:
    """One row for each method and metric, columns `BASELINES`, see `write_baselines`.

    Args:
        evaluated: method -> its scores.
        encoder: source of the embeddings of the embedding ranker.
        options: bootstrap over documents.
    """
    reference = reference_method(evaluated)
    rows = []
    for name, method in evaluated.items():
        development, test = method.development, method.test
        for metric, values in test.f1.items():
            size = len(values)
            low, high = bootstrap_ratio(values, np.ones(size), options.resamples, options.seed)
            difference = values - evaluated[reference].test.f1[metric]
            before = development.f1[metric] if development else np.empty(0)
            row = [name, metric, values.mean(), float(low), float(high), method.count, size]
            row += [before.mean() if len(before) else np.nan, len(before) or None, reference, difference.mean()]
            rows.append([*row, *mean_interval(difference), encoder if name == EMBEDDING else None])
        low, high = percentile_interval(resampled_percent(test.phrases, options.resamples, options.seed).mean(axis=1))
        row = [name, OCCURRENCES, percent(test.phrases).mean(), float(low), float(high), method.count, test.phrases.shape[1]]
        row += [percent(development.phrases).mean(), development.phrases.shape[1]] if development else [np.nan, None]
        rows.append([*row, reference, np.nan, np.nan, np.nan, encoder if name == EMBEDDING else None])
    return pd.DataFrame(rows, columns=BASELINES).astype({"phrases": "Int64", "development_documents": "Int64"})


def _scores_by_document(ranked: Sequence[Rankings], proposed: Sequence[Rankings], documents: Documents) -> Scores:
    """Scores of the repetitions of one method."""
    ranked_pairs = [list(zip(rankings, documents.gold, strict=True)) for rankings in ranked]
    proposed_pairs = [list(zip(rankings, documents.gold, strict=True)) for rankings in proposed]
    f1_by_metric = {
        F1_5: [[agreement(*pair, 5)[2] for pair in pairs] for pairs in ranked_pairs],
        F1_10: [[agreement(*pair, 10)[2] for pair in pairs] for pairs in ranked_pairs],
        F1_M: [[agreement(*pair, len(pair[0]))[2] for pair in pairs] for pairs in proposed_pairs],
    }
    counts = [
        [
            phrase_counts(marked(example.words, phrases), "".join(example.layers["tags"]))
            for example, phrases in zip(documents.examples, rankings, strict=True)
        ]
        for rankings in proposed
    ]
    f1 = {metric: 100 * np.mean(values, axis=0) for metric, values in f1_by_metric.items()}
    return Scores(f1, np.array(counts, dtype=np.float64))
