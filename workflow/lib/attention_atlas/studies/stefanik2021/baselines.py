"""Ways to find the keyphrases of a text side by side on the same test documents, attention among them."""

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
from attention_atlas.io.setting import Setting
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
"""Phrases that a ranker proposes at the most, when their number is chosen."""


@dataclass(frozen=True)
class Documents:
    """Documents of one part: those with phrases in their text, their candidates, and what is gold."""

    examples: list[Example]
    candidates: list[list[Candidate]]
    gold: list[set[Phrase]]


def write_baselines(
    files: Mapping[str, Sequence[str | Path]],
    limits: Mapping[str, int],
    scores_path: str | Path,
    removals: Mapping[str, str | Path],
    model_entry: Mapping[str, Any],
    longest: int,
    setting: Setting,
    resamples: int,
    seed: int,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write a row a method and metric, columns `BASELINES`, in percent.

    f1_at_5, f1_at_10: F1 of the first phrases of a ranking, compared by stems, mean over documents. f1_at_m: of all phrases
    that a method proposes: a tagger those that it tags, a ranker as many (column phrases) as score best on development
    documents. phrase_f1: those phrases marked in the text, both ends right, over all documents. Only phrases in the text are
    gold, and only documents with one count.

    Args:
        files, limits: `DEVELOPMENT` and `TEST` -> examples, records that count.
        scores_path: scores of the words of all documents, see `detection`; the same documents by their names.
        removals: seed -> answers of a tagger, see `removal`.
        model_entry: model of the embedding ranker.
        longest: words of a candidate at the most.
        setting: model and test documents.
        resamples, seed: of the bootstrap over documents.
        out, html_out: files to write.

    Raises:
        AtlasError: a table cannot be used, or a document has no scores.
    """
    from attention_atlas.models.devices import pick_device
    from attention_atlas.models.loading import locate

    parts = {split: _documents(read_examples(files[split], limits[split]), longest) for split in SPLITS}
    scores = read_parquet(scores_path, ["document", "place", REGRESSION, HEAD])
    folder, device = locate(model_entry), pick_device()

    def embedded(own: Documents) -> Rankings:
        return by_embedding([e.words for e in own.examples], own.candidates, folder, device)

    rankers: dict[str, Callable[[Documents], Rankings]] = {
        POSITION: lambda own: by_position(own.candidates),
        TF_IDF: lambda own: by_tf_idf(own.candidates),
        YAKE: lambda own: by_yake([e.words for e in own.examples], longest),
        EMBEDDING: embedded,
        HEAD: lambda own: by_words(own.candidates, _of_words(scores, HEAD, own.examples)),
        REGRESSION: lambda own: by_words(own.candidates, _of_words(scores, REGRESSION, own.examples)),
    }
    frames = []
    for name, rank in rankers.items():
        count = best_number(rank(parts[DEVELOPMENT]), parts[DEVELOPMENT].gold)
        ranked = rank(parts[TEST])
        proposed = [own[:count] for own in ranked]
        _log.info("%s: %d phrases a document", name, count)
        frames.append(_rows(name, [ranked], [proposed], parts[TEST], resamples, seed).assign(phrases=count))
    tagged = [_tagged(path, parts[TEST].examples) for path in removals.values()]
    frames.append(_rows(TAGGER, tagged, tagged, parts[TEST], resamples, seed))
    table = pd.concat(frames, ignore_index=True)[BASELINES]
    write_table(table, out)
    notes = [
        setting.line,
        f"Test documents with a keyphrase in their text ({table['documents'].iloc[0]}). F1 in percent: of the first 5 and 10 "
        "phrases and of all that a method proposes (a ranker as many as score best on development documents: phrases), by "
        "stems, mean over documents; phrase F1: both ends right in the text. Intervals by bootstrap over documents. The "
        "fine-tuned model: mean over seeds. Attention: of one head, or of all by logistic regression, of other documents.",
    ]
    shown = table.assign(method=[METHOD_TITLES[name] for name in table["method"]])
    formats = dict.fromkeys(("value", "ci_low", "ci_high"), ".1f") | {"phrases": ".0f", "documents": "d"}
    write_html_table(shown, html_out, "Štefánik: attention beside other ways to find keyphrases", notes, formats=formats)


def _documents(examples: Iterable[Example], longest: int) -> Documents:
    own = [example for example in examples if gold_of(example)]
    if not own:
        raise AtlasError("no document has a keyphrase in its text: set stemmed: true, or check the corpus.")
    return Documents(own, [candidates_of(e.words, longest) for e in own], [gold_of(e) for e in own])


def _of_words(scores: pd.DataFrame, column: str, examples: Sequence[Example]) -> list[Floats]:
    """Scores of the words of each document, by its name."""
    by_name = dict(iter(scores.sort_values("place").groupby("document")[column]))
    found = []
    for example in examples:
        own = by_name.get(example.id)
        if own is None or len(own) != len(example.words):
            raise AtlasError(
                f"document {example.id} is not among the documents whose attention is looked at: let `documents` of the study "
                "hold those of `development` and `test`."
            )
        found.append(own.to_numpy(np.float64))
    return found


def _tagged(path: str | Path, examples: Sequence[Example]) -> Rankings:
    """The phrases that a whole tagger finds in each test document."""
    table = read_parquet(path, [*REMOVED, *ANSWERS])
    whole = table[(table["split"] == TEST) & (table["order"] == ONE) & (table["count"] == 0)]
    answers = dict(zip(whole["record"], whole["answer"], strict=True))
    return [tagged_phrases(example.words, answers[example.record]) for example in examples]


def best_number(ranked: Rankings, gold: Sequence[set[Phrase]]) -> int:
    """How many first phrases of a ranking have the best mean F1, `_MOST` at the most; of equal ones the fewest."""
    pairs = list(zip(ranked, gold, strict=True))
    means = [np.mean([agreement(*pair, number)[2] for pair in pairs]) for number in range(1, _MOST + 1)]
    return int(np.argmax(means)) + 1


def _rows(
    name: str, ranked: Sequence[Rankings], proposed: Sequence[Rankings], documents: Documents, resamples: int, seed: int
) -> pd.DataFrame:
    """Rows of one method, mean over its repetitions (seeds)."""
    rows = []
    pairs = [list(zip(own, documents.gold, strict=True)) for own in ranked]
    chosen = [list(zip(own, documents.gold, strict=True)) for own in proposed]
    kinds = {
        F1_5: [[agreement(*pair, 5)[2] for pair in own] for own in pairs],
        F1_10: [[agreement(*pair, 10)[2] for pair in own] for own in pairs],
        F1_M: [[agreement(*pair, len(pair[0]))[2] for pair in own] for own in chosen],
    }
    size = len(documents.examples)
    for metric, values in kinds.items():
        mean = 100 * np.mean(values, axis=0)
        low, high = bootstrap_ratio(mean, np.ones(size), resamples, seed)
        rows.append([name, metric, mean.mean(), float(low), float(high), np.nan, size])
    counts = np.array(
        [
            [
                phrase_counts(marked(example.words, phrases), "".join(example.layers["tags"]))
                for example, phrases in zip(documents.examples, own, strict=True)
            ]
            for own in proposed
        ],
        dtype=np.float64,
    )
    low, high = percentile_interval(resampled_percent(counts, resamples, seed).mean(axis=1))
    rows.append([name, EXACT, percent(counts).mean(), float(low), float(high), np.nan, size])
    return pd.DataFrame(rows, columns=BASELINES)
