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
from attention_atlas.studies.stefanik2021.names import (
    DEVELOPMENT,
    EMBEDDING,
    EXACT,
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
    TAGGER,
    TEST,
    TF_IDF,
    YAKE,
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
    tagged_phrases,
)
from attention_atlas.studies.stefanik2021.rankers import Rankings, by_embedding, by_position, by_tf_idf, by_words, by_yake

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
BASELINES = ["method", "metric", "value", "ci_low", "ci_high", "phrases", "documents"]
_MOST = 20
"""Largest number of phrases of a ranker that is tried on development documents."""


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
    model_entry: Mapping[str, Any],
    options: BaselineOptions,
    label: RunLabel,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write one row per method and metric, columns `BASELINES`, in percent.

    f1_at_5, f1_at_10: F1 of the first phrases of a ranking, compared by stems, mean over documents. f1_at_m: F1 of all phrases
    that a method proposes. A tagger proposes the phrases that it tags; a ranker proposes the number (column phrases) with the
    best F1 on development documents. phrase_f1: exact match of these phrases in the text, over all documents. Only phrases
    that occur in the text are gold, and only documents with such a phrase are used.

    Args:
        files, limits: `DEVELOPMENT` and `TEST` -> examples, and the number of records to use at most.
        scores_path: scores of the words of all documents by name, see `detection`.
        removals: seed -> answers of a tagger, see `removal`.
        model_entry: model of the embedding ranker.
        options: longest candidate, and the bootstrap.
        label: model and test documents.
        out, html_out: files to write.

    Raises:
        AtlasError: a table cannot be used, or a document has no scores.
    """
    from attention_atlas.models.devices import pick_device
    from attention_atlas.models.loading import locate

    documents = {split: _documents(read_examples(files[split], limits[split]), options.max_phrase_words) for split in SPLITS}
    scores = read_parquet(scores_path, ["document", "place", REGRESSION, HEAD])
    folder, device = locate(model_entry), pick_device()

    def rank_by_embedding(split: Documents) -> Rankings:
        return by_embedding([e.words for e in split.examples], split.candidates, folder, device)

    def rank_by_scores(split: Documents, column: str) -> Rankings:
        return by_words(split.candidates, _of_words(scores, column, split.examples))

    rankers: dict[str, Callable[[Documents], Rankings]] = {
        POSITION: lambda split: by_position(split.candidates),
        TF_IDF: lambda split: by_tf_idf(split.candidates),
        YAKE: lambda split: by_yake([e.words for e in split.examples], options.max_phrase_words),
        EMBEDDING: rank_by_embedding,
        HEAD: lambda split: rank_by_scores(split, HEAD),
        REGRESSION: lambda split: rank_by_scores(split, REGRESSION),
    }
    frames = []
    for name, rank in rankers.items():
        count = best_number(rank(documents[DEVELOPMENT]), documents[DEVELOPMENT].gold)
        ranked = rank(documents[TEST])
        proposed = [ranking[:count] for ranking in ranked]
        _log.info("%s: %d phrases a document", name, count)
        frames.append(_rows(name, [ranked], [proposed], documents[TEST], options).assign(phrases=count))
    tagged = [_tagged(path, documents[TEST].examples) for path in removals.values()]
    frames.append(_rows(TAGGER, tagged, tagged, documents[TEST], options))
    table = pd.concat(frames, ignore_index=True)[BASELINES]
    write_table(table, out)
    notes = [
        label.line,
        f"Test documents with a keyphrase in their text ({table['documents'].iloc[0]}). F1 in percent: of the first 5 and 10 "
        "phrases and of all that a method proposes (a ranker as many as score best on development documents: phrases), by "
        "stems, mean over documents; phrase F1: both ends right in the text. Intervals by bootstrap over documents. The "
        "fine-tuned model: mean over seeds. Attention: of one head, or of all by logistic regression, of other documents.",
    ]
    shown = table.assign(method=[METHOD_TITLES[name] for name in table["method"]])
    formats = dict.fromkeys(("value", "ci_low", "ci_high"), ".1f") | {"phrases": ".0f", "documents": "d"}
    write_html_table(shown, html_out, "Štefánik: attention beside other ways to find keyphrases", notes, formats=formats)


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
    """The number of first phrases of a ranking, up to `_MOST`, with the best mean F1; the smallest of equally good ones."""
    pairs = list(zip(ranked, gold, strict=True))
    means = [np.mean([agreement(*pair, number)[2] for pair in pairs]) for number in range(1, _MOST + 1)]
    return int(np.argmax(means)) + 1


def _rows(
    name: str, ranked: Sequence[Rankings], proposed: Sequence[Rankings], documents: Documents, options: BaselineOptions
) -> pd.DataFrame:
    """Rows of one method, mean over its repetitions (seeds)."""
    rows = []
    ranked_pairs = [list(zip(rankings, documents.gold, strict=True)) for rankings in ranked]
    proposed_pairs = [list(zip(rankings, documents.gold, strict=True)) for rankings in proposed]
    f1_by_metric = {
        F1_5: [[agreement(*pair, 5)[2] for pair in pairs] for pairs in ranked_pairs],
        F1_10: [[agreement(*pair, 10)[2] for pair in pairs] for pairs in ranked_pairs],
        F1_M: [[agreement(*pair, len(pair[0]))[2] for pair in pairs] for pairs in proposed_pairs],
    }
    size = len(documents.examples)
    for metric, values in f1_by_metric.items():
        mean = 100 * np.mean(values, axis=0)
        low, high = bootstrap_ratio(mean, np.ones(size), options.resamples, options.seed)
        rows.append([name, metric, mean.mean(), float(low), float(high), np.nan, size])
    counts = np.array(
        [
            [
                phrase_counts(marked(example.words, phrases), "".join(example.layers["tags"]))
                for example, phrases in zip(documents.examples, rankings, strict=True)
            ]
            for rankings in proposed
        ],
        dtype=np.float64,
    )
    low, high = percentile_interval(resampled_percent(counts, options.resamples, options.seed).mean(axis=1))
    rows.append([name, EXACT, percent(counts).mean(), float(low), float(high), np.nan, size])
    return pd.DataFrame(rows, columns=BASELINES)
