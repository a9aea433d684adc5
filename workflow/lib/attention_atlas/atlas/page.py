"""The atlas as one self-contained page: a grid of heads, a ranking, a card for each head.

Its script draws everything; nothing is loaded from elsewhere.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Template
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex

from attention_atlas.atlas.measures import INSIDE, measure_rows, read_measures
from attention_atlas.atlas.sentences import COLUMNS_OF_KINDS
from attention_atlas.attention.cache import CachedExample, read_attention, widened
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import RESOURCES
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_relations import above_baseline
from attention_atlas.workflow.shown import page

ASSETS = RESOURCES / "atlas"
_MOST_WEIGHTS = 1_200_000
"""Maximum number of weights of all sentences on the page, one byte each, so that it opens fast."""
_DIGITS, _DIGITS_OF_ENDS = 6, 4
"""Significant digits of values, and of intervals and null distributions (the page shows four)."""
_NAMED, _KINDS = 3, 8
_RAMPS = {"plain": "viridis", "signed": "PuOr_r"}


def embedded(data: Mapping[str, Any]) -> str:
    """Text of the element with the data: gzip of the JSON in base64. The same data always give the same text."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def data_of_page(page: str) -> dict[str, Any]:
    """The data in the text of a page."""
    text = page.partition('<script type="application/gzip" id="data">')[2].partition("<")[0]
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text, validate=True)))
    return data


def percentiles(values: Sequence[float | None]) -> list[float | None]:
    """Percentile of each head: heads with lower values, and half of those with the same value; None if there is no value."""
    numbers = pd.Series(values, dtype=np.float64)
    shares = 100 * (numbers.rank() - 0.5) / int(numbers.count())
    return [None if np.isnan(share) else round(float(share), 1) for share in shares]


def _rows_of_heads(rows: pd.DataFrame, places: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows of each head, in the order of the model's heads."""
    by_place = dict(list(rows.groupby(PLACE, sort=False)))
    return (by_place.get(place, rows.iloc[:0]) for place in places.itertuples(index=False, name=None))


def pair_cards(table: pd.DataFrame, places: pd.DataFrame) -> tuple[list[str], list[list[list[float | dict[str, str]]]]]:
    """Sentences with pairs, and [head] pairs by rank as [sentence, query, key, weight, kinds]; word positions from 0.

    kinds: what defines the kind (as in `kind_cards`) -> kind. `places`: layer, head of the model's heads, in order.
    """
    sentences = table.drop_duplicates("record").sort_values("record")
    number = {record: k for k, record in enumerate(sentences["record"])}
    return sentences["sentence"].tolist(), [
        [
            [
                *(number[row.record], row.query - 1, row.key - 1, round(float(row.weight), 4)),
                {of: kind for column, of in COLUMNS_OF_KINDS.items() if isinstance(kind := getattr(row, column), str) and kind},
            ]
            for row in rows.itertuples()
        ]
        for rows in _rows_of_heads(table.sort_values("rank"), places)
    ]


def kind_cards(table: pd.DataFrame, places: pd.DataFrame, most: int) -> list[dict[str, list[list[str | float]]]]:
    """[head] what defines the kind -> [kind, share, even share] of the kinds of pairs with the `most` largest shares."""
    return [
        {
            str(of): [
                [row.kind, round(float(row.share), 5), round(float(row.even_share), 5)]
                for row in of_kind.head(most).itertuples()
            ]
            for of, of_kind in rows.groupby("of")
        }
        for rows in _rows_of_heads(table.sort_values("share", ascending=False, kind="stable"), places)
    ]


def relation_cards(table: pd.DataFrame, places: pd.DataFrame) -> list[list[dict[str, Any]]]:
    """[head] relations that exceed their baseline on the half on which they were not chosen, by rank."""
    shares = {"accuracy": "accuracy", "baseline": "baseline_accuracy", "margin": "margin", "low": "ci_low", "high": "ci_high"}
    return [
        [
            {
                "relation": row.relation,
                "direction": row.direction,
                **{name: round(getattr(row, column), _DIGITS) for name, column in shares.items()},
                "n": int(row.n),
            }
            for row in rows.itertuples()
        ]
        for rows in _rows_of_heads(table[above_baseline(table)].sort_values("rank"), places)
    ]


def sentence_data(
    cached: Iterable[CachedExample], examples: Mapping[int, Example], limits: Mapping[str, int], most_weights: int
) -> list[dict[str, Any]]:
    """The first sentences that are short enough: text, tokens, and attention weights of all heads in steps of 1/255, as bytes
    [layer x head, n, n] in base64, row = query token. At most `most_weights` weights, but at least one sentence.
    """
    sentences: list[dict[str, Any]] = []
    weights = 0
    for example in cached:
        n = len(example.tokens)
        if example.level != "tokens" or not limits["shortest"] <= n <= limits["max_tokens"]:
            continue
        weights += example.maps.size
        if len(sentences) == limits["count"] or (sentences and weights > most_weights):
            break
        steps = np.rint(widened(example.maps) * 255).astype(np.uint8)
        tokens = [without_space_mark(token) for token in example.tokens]
        text = " ".join(examples[example.record].words)
        sentences.append({"text": text, "tokens": tokens, "data": base64.b64encode(steps.tobytes()).decode("ascii")})
    return sentences


def shown_note(dropped: pd.DataFrame, readable: int, shown: int) -> str:
    """How many of the sentences that the model can read the page shows, and which ones it could not read."""
    parts = [f"{shown} of {readable + len(dropped)} sentences shown"]
    for reason, rows in dropped.groupby("reason", sort=False):
        places = "; ".join(f"{row.id}: {row.detail}" for row in rows.head(_NAMED).itertuples())
        parts.append(f"{len(rows)} dropped as {reason} ({places}{'; ...' if len(rows) > _NAMED else ''})")
    return f"{', '.join(parts)}."


def page_data(
    heads: pd.DataFrame,
    measures: pd.DataFrame,
    long: pd.DataFrame,
    relations: list[list[dict[str, Any]]],
    sentences: list[dict[str, Any]],
) -> dict[str, Any]:
    """All data of the page; the numbers of a measure in `long` appear only where it has them."""
    present = measures[measures["measure"].isin(heads.columns)].set_index("measure")
    values = {name: [_plain(value) for value in heads[name]] for name in present.index}
    rows = {str(name): of_measure.sort_values(PLACE) for name, of_measure in long.groupby("measure")}

    def numbers(columns: Sequence[str], of: Mapping[str, pd.DataFrame]) -> dict[str, list[list[float | None]]]:
        """Measure -> column -> [head], with few digits, of measures that have the last column."""
        kept = {name: table for name, table in of.items() if table[columns[-1]].notna().any()}
        return {name: [[_plain(v, _DIGITS_OF_ENDS) for v in table[c]] for c in columns] for name, table in kept.items()}

    no_ranks: list[float | None] = [None] * len(heads)
    return {
        "layers": int(heads["layer"].max()),
        "heads": int(heads["head"].max()),
        "measures": [
            {key: "" if pd.isna(value) else _plain(value) for key, value in row.items()} for row in measures.to_dict("records")
        ],
        "values": values,
        "intervals": numbers(("low", "high"), rows),
        "null": numbers(("null_low", "null_high", "q"), rows),
        "counts": {name: of_head for name, (of_head,) in numbers(("n",), rows).items()},
        "inside": {
            name: [int(verdict == INSIDE) for verdict in table["verdict"]]
            for name, table in rows.items()
            if table["verdict"].fillna("").ne("").any()
        },
        "percentiles": {
            name: percentiles(values[name]) if pd.isna(row["not_ranked"]) or row["not_ranked"] == "" else no_ranks
            for name, row in present.iterrows()
            if row["kind"] == "number"
        },
        "relations": relations,
        "sentences": sentences,
        "ramps": {
            kind: [to_hex(colour) for colour in colormaps[name].resampled(64)(range(64))] for kind, name in _RAMPS.items()
        },
    }


def _plain(value: Any, digits: int = _DIGITS) -> Any:
    """A value for JSON, with some significant digits; None if it is missing."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return None
    return float(f"{value:.{digits}g}") if isinstance(value, float) else int(value)


def first_shard(files: Sequence[str]) -> Iterator[CachedExample]:
    """The attention of a shard; the file with its description follows."""
    return read_attention(files[:1])


@page(
    id="atlas",
    title="The atlas of all heads",
    part_of="measures",
    reads=("heads", "measures", "measures_long", "matches"),
    gathers=("attention", "examples", "dropped", "pairs", "kinds", "relations", "page_tables"),
    settings=("shown_sentences", "shapes"),
    labels=("sentences",),
    resources=("atlas/page.html", "atlas/page.css", "atlas/page.js"),
    megabytes=2000,
)
def atlas(
    heads: pd.DataFrame,
    measures: pd.DataFrame,
    measures_long: pd.DataFrame,
    matches: pd.DataFrame,
    attention: Mapping[str, Annotated[Iterator[CachedExample], first_shard]],
    examples: Mapping[str, Examples],
    dropped: Mapping[str, Sequence[pd.DataFrame]],
    pairs: Mapping[str, pd.DataFrame],
    kinds: Mapping[str, pd.DataFrame],
    relations: Mapping[str, pd.DataFrame],
    page_tables: Mapping[str, Mapping[str, pd.DataFrame]],
    shown_sentences: Mapping[str, int],
    shapes: Mapping[str, tuple[int, int]],
    labels: Mapping[str, RunLabel],
    run_title: str,
) -> str:
    """The page of the atlas as HTML text.

    What depends on sentences is by model, the run's model first, and empty in a run that has none. page_tables: of the compared
    models, as for `measures.read_measures`; matches: their heads matched with those of the run's model.
    """
    places = heads[PLACE]
    most_weights = _MOST_WEIGHTS // max(len(page_tables), 1)

    def of_model(model: str, table: pd.DataFrame, listed: pd.DataFrame, long: pd.DataFrame) -> dict[str, Any]:
        shown, note = [], ""
        if model in attention:
            shown = sentence_data(attention[model], {e.record: e for e in examples[model]}, shown_sentences, most_weights)
            if any(len(base64.b64decode(sentence["data"])) != len(table) * len(sentence["tokens"]) ** 2 for sentence in shown):
                raise AtlasError(f"the attention of {model} does not have the {len(table)} heads of the tables.")
            note = shown_note(dropped[model][0], len(examples[model]), len(shown))
        cards = relation_cards(relations[model], table[PLACE]) if model in relations else []
        evidence: dict[str, Any] = {"texts": [], "pairs": [], "kinds": []}
        if model in pairs:
            texts, strongest = pair_cards(pairs[model], table[PLACE])
            evidence = {"texts": texts, "pairs": strongest, "kinds": kind_cards(kinds[model], table[PLACE], _KINDS)}
        return {**page_data(table, listed, long, cards, shown), "evidence": evidence, "shown_note": note, "name": model}

    name = str(heads["model"].iloc[0])
    data = of_model(name, heads, measures, measures_long)
    data |= {"matches": match_cards(matches, shapes, places), "others": []}
    for model, tables in list(page_tables.items())[1:]:
        measured = read_measures(tables, *shapes[model])
        listed = measure_rows(measured, dict.fromkeys(tables, model))
        # Colour scales are the same for all models.
        data["others"].append({**of_model(model, measured.heads, listed, measured.long), "ramps": {}})
    parts = {part: (ASSETS / f"page.{part}").read_text(encoding="utf-8") for part in ("html", "css", "js")}
    return Template(parts["html"]).substitute(
        title=html.escape(f"Attention atlas: {name}"),
        line=html.escape(next((label.line for label in labels.values()), run_title)),
        style=parts["css"],
        data=embedded(data),
        script=parts["js"],
    )


def match_cards(
    matches: pd.DataFrame, shapes: Mapping[str, tuple[int, int]], places: pd.DataFrame
) -> dict[str, list[tuple[int, float] | None]]:
    """Compared model -> [head of the run's model] index of the matched head and their distance, None without one."""
    cards = {}
    for model, rows in matches.groupby("model", sort=False):
        partner = (rows["matched_layer"] - 1) * shapes[model][1] + rows["matched_head"] - 1
        distance = rows["distance"].map(_plain)
        by_place = dict(zip(zip(rows["layer"], rows["head"], strict=True), zip(partner, distance, strict=True), strict=True))
        cards[str(model)] = [by_place.get(place) for place in places.itertuples(index=False, name=None)]
    return cards
