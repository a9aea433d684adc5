"""The atlas as one self-contained page: a grid of heads, a scatter plot of two measures, a card for each head.

Figures are drawn by Vega-Lite, which is embedded in the page; nothing is loaded from elsewhere.
"""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex
from scipy.stats import rankdata

from attention_atlas.atlas.attended import ATTENDED_PAIRS, kind_cards, pair_cards
from attention_atlas.atlas.correlations import CORRELATIONS
from attention_atlas.atlas.embedded_data import compressed, embedded
from attention_atlas.atlas.measures import (
    MEASURES,
    SOURCES,
    can_be_ranked,
    inside_null,
    measure_rows,
    read_measures,
    takes_few_values,
)
from attention_atlas.atlas.page_models import Comparison, PageModel, comparison_data, page_model
from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.attention.half import widened
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.data_files import RESOURCES
from attention_atlas.io.files import write_text
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.attended_pairs import KINDS
from attention_atlas.methods.head_measures import PLACE, ends_of, null_of, parts_of
from attention_atlas.methods.head_relations import HEAD_RELATIONS, above_baseline

ASSETS = RESOURCES / "atlas"
_STEPS = 255
_MOST_WEIGHTS = 1_200_000
"""Maximum number of weights of all sentences on the page, one byte each (a third more in base64), so that it opens fast."""
_DIGITS, _DIGITS_OF_ENDS = 6, 4
"""Significant digits of values, and of intervals and null distributions, of which the page shows four."""
_NAMED = 3
_KINDS = 8
_HEAD_RELATIONS = "clark2019/dependency_head_relations"
NO_COMPARISON = Comparison(None, None, None, None, None)
_RAMPS = {"plain": "viridis", "signed": "PuOr_r"}
"""Colours of measures: those of one sign, and those around 0."""


@dataclass(frozen=True)
class ShownSentences:
    """Sentences whose attention the page shows.

    Attributes:
        shard, examples, dropped: the first shard of a corpus, its examples, and the table of dropped records; None if the run
            has no sentences.
        count: maximum number of sentences.
        max_tokens: maximum number of tokens in a sentence, including special tokens.
        shortest: minimum number of tokens in a sentence.
    """

    shard: str | Path | None
    examples: str | Path | None
    dropped: str | Path | None
    count: int
    max_tokens: int
    shortest: int


@dataclass(frozen=True)
class Evidence:
    """Tables of what heads attend to, from `attended.write_attended`; None if the run has no sentences."""

    pairs: str | Path | None
    kinds: str | Path | None


def evidence_data(evidence: Evidence, places: pd.DataFrame) -> dict[str, Any]:
    """Data of the page on the pairs that heads attend to; empty if there are no tables.

    Raises:
        AtlasError: a table cannot be used.
    """
    if evidence.pairs is None or evidence.kinds is None:
        return {"texts": [], "pairs": [], "kinds": []}
    texts, pairs = pair_cards(read_table(evidence.pairs, ATTENDED_PAIRS), places)
    return {"texts": texts, "pairs": pairs, "kinds": kind_cards(read_table(evidence.kinds, KINDS), places, _KINDS)}


def percentiles(values: Sequence[float | None]) -> list[float | None]:
    """Percentile of each head: heads with lower values, and half of those with the same value; None if there is no value.

    None for all heads if the measure `takes_few_values`.
    """
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    has_value = ~np.isnan(numbers)
    ranks = np.full(len(numbers), np.nan)
    if takes_few_values(numbers[has_value]):
        return [None] * len(numbers)
    ranks[has_value] = 100 * (rankdata(numbers[has_value]) - 0.5) / int(has_value.sum())
    return [None if np.isnan(rank) else round(float(rank), 1) for rank in ranks]


def relation_cards(table: pd.DataFrame, places: pd.DataFrame) -> list[list[dict[str, Any]]]:
    """[head] relations that exceed their baseline on the half on which they were not chosen, by rank.

    Args:
        table: like `clark2019/dependency_head_relations`.
        places: layer, head of the model's heads, in order.
    """
    rows = table[above_baseline(table)].sort_values("rank")
    by_place = dict(list(rows.groupby(PLACE, sort=False)))
    shares = {"accuracy": "accuracy", "baseline": "baseline_accuracy", "margin": "margin", "low": "ci_low", "high": "ci_high"}
    return [
        [
            {
                "relation": row.relation,
                "direction": row.direction,
                **{name: round(getattr(row, column), _DIGITS) for name, column in shares.items()},
                "n": int(row.n),
            }
            for row in by_place.get(place, rows.iloc[:0]).itertuples()
        ]
        for place in places.itertuples(index=False, name=None)
    ]


def sentence_data(
    cached: Iterable[CachedExample],
    examples: Mapping[int, Example],
    shown_sentences: ShownSentences,
    most_weights: int | None = None,
) -> list[dict[str, Any]]:
    """The first sentences that are short enough: text, tokens, and attention weights of all heads in steps of 1/255.

    data: bytes [layer x head, n, n] in base64, row = query token. At most `most_weights` weights in total (default:
    `_MOST_WEIGHTS`), but at least one sentence.
    """
    most_weights = _MOST_WEIGHTS if most_weights is None else most_weights
    sentences: list[dict[str, Any]] = []
    weights = 0
    for example in cached:
        n = len(example.tokens)
        if example.level != "tokens" or not shown_sentences.shortest <= n <= shown_sentences.max_tokens:
            continue
        weights += example.maps.size
        if len(sentences) == shown_sentences.count or (sentences and weights > most_weights):
            break
        steps = np.rint(widened(example.maps) * _STEPS).astype(np.uint8)
        tokens = [without_space_mark(token) for token in example.tokens]
        text = " ".join(examples[example.record].words)
        sentences.append({"text": text, "tokens": tokens, "data": base64.b64encode(steps.tobytes()).decode("ascii")})
    return sentences


def shown_note(dropped: pd.DataFrame, lengths: Sequence[int], shown_sentences: ShownSentences, shown: int) -> str:
    """How many sentences the page shows, and why the others are not shown.

    Args:
        dropped: table of the dropped records of the text: id, reason, detail.
        lengths: number of tokens of each sentence that the model can read.
        shown_sentences: limits on the sentences that the page shows.
        shown: number of sentences that the page shows.
    """
    count = len(lengths) + len(dropped)
    parts = [f"{shown} of {count} {'sentence' if count == 1 else 'sentences'} shown"]
    too_long = sum(length > shown_sentences.max_tokens for length in lengths)
    if too_long:
        parts.append(f"{too_long} longer than the {shown_sentences.max_tokens} word pieces that the page draws")
    fit = sum(shown_sentences.shortest <= length <= shown_sentences.max_tokens for length in lengths)
    if fit > shown:
        parts.append(f"{fit - shown} more not shown to keep the page small")
    for reason, rows in dropped.groupby("reason", sort=False):
        places = "; ".join(f"{row.id}: {row.detail}" for row in rows.head(_NAMED).itertuples())
        parts.append(f"{len(rows)} dropped as {reason} ({places}{'; ...' if len(rows) > _NAMED else ''})")
    return f"{', '.join(parts)}."


def page_data(
    heads: pd.DataFrame,
    measures: pd.DataFrame,
    correlations: pd.DataFrame,
    relations: list[list[dict[str, Any]]],
    sentences: list[dict[str, Any]],
) -> dict[str, Any]:
    """All data of the page; intervals and null distributions appear only with their measures.

    Args:
        heads: heads.tsv.
        measures: measures.tsv.
        correlations: correlations.tsv.
        relations: from `relation_cards`; empty if there is no table of relations.
        sentences: from `sentence_data`.
    """
    parts = {part for name in measures["measure"] for part in parts_of(name)}
    measures = measures[~measures["measure"].isin(parts)]
    names = [name for name in measures["measure"] if name in heads]
    intervals = {
        name: [[_plain(value, _DIGITS_OF_ENDS) for value in heads[end]] for end in ends_of(name)]
        for name in names
        if _has_ends(heads, name)
    }
    null = {
        name: [
            [_plain(value, _DIGITS_OF_ENDS) for value in heads.get(part, pd.Series(np.nan, heads.index))]
            for part in null_of(name)
        ]
        for name in names
        if null_of(name)[-1] in heads
    }
    inside = {row.measure: inside_null(heads, row.measure, row.chance) for row in measures.itertuples() if row.measure in heads}
    kinds = measures.set_index("measure")["kind"]
    values = {name: [_plain(value) for value in heads[name]] for name in names}
    pairs = correlations[
        ["measure_a", "measure_b", "spearman", "ci_low", "ci_high", "within_layers", "p_holm", "n", "definitional"]
    ]
    return {
        "layers": int(heads["layer"].max()),
        "heads": int(heads["head"].max()),
        "measures": [
            {key: "" if pd.isna(value) else _plain(value) for key, value in row.items()} for row in measures.to_dict("records")
        ],
        "values": values,
        "intervals": intervals,
        "null": null,
        "inside": {
            name: [int(value) for value in heads_inside] for name, heads_inside in inside.items() if heads_inside is not None
        },
        "percentiles": {
            name: percentiles(values[name] if can_be_ranked(heads[name], inside[name]) else [None] * len(heads))
            for name in names
            if kinds[name] == "number"
        },
        "correlations": [{key: _plain(value) for key, value in row.items()} for row in pairs.to_dict("records")],
        "relations": relations,
        "sentences": sentences,
        "ramps": {
            kind: [to_hex(colour) for colour in colormaps[name].resampled(64)(range(64))] for kind, name in _RAMPS.items()
        },
    }


def _has_ends(heads: pd.DataFrame, name: str) -> bool:
    return all(end in heads for end in ends_of(name))


def _plain(value: Any, digits: int = _DIGITS) -> Any:
    """A value for JSON, with some significant digits; None if it is missing."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return None
    return float(f"{value:.{digits}g}") if isinstance(value, float) else int(value)


def write_page(
    heads_path: str | Path,
    measures_path: str | Path,
    correlations_path: str | Path,
    relations_path: str | Path | None,
    evidence: Evidence,
    shown_sentences: ShownSentences,
    run: str,
    label: RunLabel | None,
    out: str | Path,
    models: Sequence[Mapping[str, Any]] = (),
    comparison: Comparison = NO_COMPARISON,
    sources: Mapping[str, Sequence[str]] = MappingProxyType({}),
    checkpoints: bool = False,
) -> None:
    """Write the page.

    Args:
        heads_path, measures_path: files from `measures.write_heads`.
        correlations_path: file from `correlations.write_correlations`.
        relations_path: table like `clark2019/dependency_head_relations`; None if the run has none.
        evidence: tables of what heads attend to.
        shown_sentences: sentences with attention.
        run: title of the run.
        label: label of the sentences.
        out: file to write.
        models: data of each compared model, see `page_models.page_model`, the run's model first.
        comparison: tables of their comparison.
        sources: measure -> files with its values, to which the page links.
        checkpoints: whether the models of the series are checkpoints of one training.

    Raises:
        AtlasError: a table or a shard cannot be used, or the tables describe different heads.
    """
    heads = read_table(heads_path, ["model", *PLACE])
    measures = read_table(measures_path, MEASURES)
    places = heads[PLACE]
    if len(heads) != places["layer"].max() * places["head"].max():
        raise AtlasError(f"{heads_path}: the {len(heads)} rows are not one for each head of each layer.")
    relations: list[list[dict[str, Any]]] = []
    if relations_path is not None:
        relations = relation_cards(read_table(relations_path, HEAD_RELATIONS), places)
    compared = [page_model(values) for values in models]
    sentences, note = _sentences_and_note(shown_sentences, len(heads), _MOST_WEIGHTS // max(len(compared), 1))
    data = page_data(heads, measures, read_table(correlations_path, CORRELATIONS), relations, sentences)
    data["evidence"] = evidence_data(evidence, places)
    data["shown_note"] = note
    folder = Path(out).parent
    data["sources"] = _addresses(sources, folder)
    data["name"] = str(heads["model"].iloc[0])
    data["comparison"] = comparison_data(compared, comparison, checkpoints)
    data["others"] = [_other_model(model, shown_sentences, _MOST_WEIGHTS // len(compared), folder) for model in compared[1:]]
    write_text(out, page(data, f"Attention atlas: {heads['model'].iloc[0]}", label.line if label else run))


def _sentences_and_note(shown_sentences: ShownSentences, heads: int, most_weights: int) -> tuple[list[dict[str, Any]], str]:
    """Sentences from `sentence_data` and the note from `shown_note`; empty if there are no sentences.

    Raises:
        AtlasError: the attention has a different number of heads.
    """
    if shown_sentences.shard is None or shown_sentences.examples is None or shown_sentences.dropped is None:
        return [], ""
    examples = {example.record: example for example in read_examples([shown_sentences.examples], None)}
    sentences = sentence_data(read_attention([shown_sentences.shard], None), examples, shown_sentences, most_weights)
    if any(len(base64.b64decode(sentence["data"])) != heads * len(sentence["tokens"]) ** 2 for sentence in sentences):
        raise AtlasError(f"{shown_sentences.shard}: this attention does not have the {heads} heads of the tables.")
    lengths = [len(example.tokens) for example in examples.values()]
    return sentences, shown_note(
        read_table(shown_sentences.dropped, ["id", "reason", "detail"]), lengths, shown_sentences, len(sentences)
    )


def _addresses(sources: Mapping[str, Sequence[str | Path]], folder: Path) -> dict[str, list[str]]:
    """Addresses of the files of each measure, relative to the folder of the page."""
    return {name: [Path(os.path.relpath(path, folder)).as_posix() for path in paths] for name, paths in sources.items()}


def _other_model(model: PageModel, shown_sentences: ShownSentences, most_weights: int, folder: Path) -> dict[str, Any]:
    """The data of a compared model, in the form of the run's model, without what only the run's model has."""
    shape = model.compared
    measured = read_measures(shape.tables, shape.layers, shape.heads)
    # pandas warns of tables that merges left in many blocks: a copy has one.
    heads = measured.table.copy().assign(model=shape.name)
    measures = measure_rows(measured, dict.fromkeys(shape.tables, shape.name))
    places = heads[PLACE]
    relations = relation_cards(read_table(shape.tables[_HEAD_RELATIONS], HEAD_RELATIONS), places)
    files = model.sentences
    its_sentences = replace(shown_sentences, shard=files["shard"], examples=files["examples"], dropped=files["dropped"])
    sentences, note = _sentences_and_note(its_sentences, len(heads), most_weights)
    data = page_data(heads, measures, pd.DataFrame(columns=CORRELATIONS), relations, sentences)
    evidence = evidence_data(Evidence(**model.evidence), places)
    tables = {
        measure.name: [shape.tables[source.table]]
        for source in SOURCES
        if source.table in shape.tables
        for measure in source.measures
    }
    # Colour scales are the same for all models.
    return {
        **data,
        "ramps": {},
        "sources": _addresses({name: tables[name] for name in measures["measure"] if name in tables}, folder),
        "name": shape.name,
        "evidence": evidence,
        "shown_note": note,
    }


def page(data: Mapping[str, Any], title: str, line: str) -> str:
    """The page as HTML text."""
    import vl_convert

    library = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub lacks the default of `snippet`
    parts = {name: (ASSETS / f"page.{name}").read_text(encoding="utf-8") for name in ("html", "css", "js")}
    schema = f"https://vega.github.io/schema/vega-lite/v{vl_convert.get_vegalite_versions()[-1].split('.')[0]}.json"
    return Template(parts["html"]).substitute(
        title=html.escape(title),
        line=html.escape(line),
        style=parts["css"],
        data=embedded({**data, "schema": schema}),
        library=compressed(library),
        script=parts["js"],
    )
