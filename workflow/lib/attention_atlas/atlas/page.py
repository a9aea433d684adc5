"""The atlas as one self-contained page, drawn by its script: a grid of heads, a ranking, a card for each head."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Template
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex

from attention_atlas import __version__
from attention_atlas.atlas.measures import INSIDE, measure_rows, read_measures
from attention_atlas.atlas.sentences import COLUMNS_OF_KINDS, DECILES, STRONGEST
from attention_atlas.attention.cache import Attention, CachedExample, widened
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import RESOURCES
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_relations import above_baseline
from attention_atlas.workflow.shown import page

ASSETS = RESOURCES / "atlas"
_MOST_WEIGHTS = 6_000_000
"""Maximum number of weights of all sentences on the page, one byte each before compression, so that it opens fast."""
LABEL_RULE = (
    "Label: the first relation that the head follows better than a fixed offset, with its accuracy on documents on which it was"
    " not chosen; and the largest head score that is at least half of its attention and above random weights (q < 0.05)."
)
NO_LABEL = "no confirmed behaviour"
_DIGITS, _DIGITS_OF_ENDS = 6, 4
"""Significant digits of values, and of intervals and null distributions (the page shows four)."""
_NAMED, _KINDS = 3, 8
_RAMPS = {"plain": "viridis", "signed": "PuOr_r"}


def embedded(data: Mapping[str, Any]) -> str:
    """Text of the element with the data: gzip of the JSON in base64. The same data always give the same text."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def data_of_page(page: str) -> dict[str, Any]:
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


def pair_cards(table: pd.DataFrame, places: pd.DataFrame) -> dict[str, list[Any]]:
    """texts: sentences with pairs; by selection, [head] pairs by rank as [sentence, query, key, weight, kinds], words from 0.

    kinds: what defines the kind (as in `kind_cards`) -> kind. `places`: layer, head of the model's heads, in order.
    """
    sentences = table.drop_duplicates("record").sort_values("record", ignore_index=True)
    number = {record: k for k, record in enumerate(sentences["record"])}

    def card(row: Any) -> list[Any]:
        kinds = {of: getattr(row, column) for column, of in COLUMNS_OF_KINDS.items() if not pd.isna(getattr(row, column))}
        return [number[row.record], row.query - 1, row.key - 1, round(float(row.weight), 4), kinds]

    return {"texts": sentences["sentence"].tolist()} | {
        str(selection): [
            [card(row) for row in rows.itertuples()] for rows in _rows_of_heads(of_heads.sort_values("rank"), places)
        ]
        for selection, of_heads in table.groupby("selection")
    }


def kind_cards(table: pd.DataFrame, places: pd.DataFrame, most: int) -> list[dict[str, list[list[str | float]]]]:
    """[head] what defines the kind -> [kind, share, even share] of the kinds of pairs with the `most` largest shares."""
    largest = table.sort_values("share", ascending=False, kind="stable").groupby([*PLACE, "of"]).head(most).round(5)
    return [
        {str(of): rows[["kind", "share", "even_share"]].to_numpy(object).tolist() for of, rows in of_head.groupby("of")}
        for of_head in _rows_of_heads(largest, places)
    ]


def relation_cards(table: pd.DataFrame, places: pd.DataFrame) -> list[list[dict[str, Any]]]:
    """[head] relations that exceed their baseline on the half on which they were not chosen, by rank."""
    names = {"baseline_accuracy": "baseline", "ci_low": "low", "ci_high": "high"}
    columns = ["relation", "direction", "accuracy", "baseline", "margin", "low", "high", "n"]
    rows = table[above_baseline(table)].sort_values("rank").rename(columns=names).round(_DIGITS)
    return [of_head[columns].to_dict("records") for of_head in _rows_of_heads(rows, places)]


def head_labels(data: Mapping[str, Any], phrases: Mapping[str, str]) -> list[str]:
    """[head] what its tests confirm, by `LABEL_RULE`; phrases: relation -> its name in words."""
    scores = {
        row["measure"]: row["higher_means"] for row in data["measures"] if (row["study"], row["unit"]) == ("atlas", "share")
    }
    tested = [name for name in scores if name in data["null"] and name in data["inside"]]
    labels = []
    for head in range(data["layers"] * data["heads"]):
        first = [(row["accuracy"], row["relation"]) for row in (data["relations"][head][:1] if data["relations"] else [])]
        parts = [(share, phrases.get(name, phrases.get(name.partition(":")[0], name))) for share, name in first]
        least = {name: max(0.5, data["null"][name][1][head] or 0) for name in tested if not data["inside"][name][head]}
        above = [(share, scores[name]) for name in least if (share := data["values"][name][head] or 0) >= least[name]]
        labels.append(" · ".join(f"{name}; {100 * share:.1f} %" for share, name in parts + sorted(above)[-1:]) or NO_LABEL)
    return labels


def sentence_data(
    cached: Iterable[CachedExample], examples: Iterable[Example], limits: Mapping[str, int], heads: int, most_weights: int
) -> list[dict[str, Any]]:
    """The first sentences of a length within limits: text, tokens, rows (positions of the query tokens: all, or as many evenly
    spaced ones of each sentence as keep to `most_weights`), and weights in steps of 1/255, as bytes [head, row, n] in base64.
    """
    wanted = [e for e in examples if limits["shortest"] <= len(e.tokens) <= limits["max_tokens"]][: limits["count"]]
    lengths = np.array([len(example.tokens) for example in wanted], dtype=int)
    most_rows = 1 + sum(
        heads * (np.minimum(lengths, k) @ lengths) <= most_weights for k in range(2, lengths.max(initial=0) + 1)
    )
    by_record = {example.record: example for example in wanted}
    sentences: list[dict[str, Any]] = []
    for example in cached:
        if len(sentences) == len(wanted):
            break
        if example.record in by_record:
            if np.prod(example.maps.shape[:2]) != heads:
                raise AtlasError(f"{example.id}: its attention does not have the {heads} heads of the tables.")
            rows = np.linspace(0, len(example.tokens) - 1, min(len(example.tokens), most_rows)).round().astype(int)
            steps = np.rint(widened(example.maps[:, :, rows]) * 255).astype(np.uint8)
            of_tokens = {"tokens": [without_space_mark(token) for token in example.tokens], "rows": rows.tolist()}
            text = " ".join(by_record[example.record].words)
            sentences.append({"text": text, **of_tokens, "data": base64.b64encode(steps.tobytes()).decode("ascii")})
    return sentences


def shown_note(dropped: pd.DataFrame, readable: int, shown: Sequence[Mapping[str, Any]]) -> str:
    """How many of the sentences that the model can read the page shows, and in part, and which ones it could not read."""
    parts = [f"{len(shown)} of {readable + len(dropped)} sentences shown"]
    if cut := [len(sentence["rows"]) for sentence in shown if len(sentence["rows"]) < len(sentence["tokens"])]:
        parts.append(f"of the {len(cut)} longest {cut[0]} evenly spaced query tokens each, with all key tokens")
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


@page(
    title="The atlas of all heads",
    part_of="measures",
    reads=("heads", "measures", "measures_long", "matches"),
    gathers=("attention", "examples", "dropped", "pairs", "kinds", "relations", "page_tables"),
    labels=("sentences",),
    resources=("atlas/page.html", "atlas/page.css", "atlas/page.js", "atlas/relations.tsv"),
    megabytes=2000,
)
def atlas(
    heads: pd.DataFrame,
    measures: pd.DataFrame,
    measures_long: pd.DataFrame,
    matches: pd.DataFrame,
    attention: Mapping[str, Attention],
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
    most = _MOST_WEIGHTS // max(len(page_tables), 1)
    words = pd.read_csv(ASSETS / "relations.tsv", sep="\t", keep_default_na=False).set_index("relation")

    def of_model(model: str, table: pd.DataFrame, listed: pd.DataFrame, long: pd.DataFrame) -> dict[str, Any]:
        shown = (
            sentence_data(attention[model], examples[model], shown_sentences, len(table), most) if model in attention else []
        )
        note = shown_note(dropped[model][0], len(examples[model]), shown) if model in attention else ""
        cards = relation_cards(relations[model], table[PLACE]) if model in relations else []
        evidence: dict[str, Any] = {key: [] for key in ("texts", "kinds", STRONGEST, DECILES)}
        if model in pairs:
            evidence = pair_cards(pairs[model], table[PLACE]) | {"kinds": kind_cards(kinds[model], table[PLACE], _KINDS)}
        data = {**page_data(table, listed, long, cards, shown), "evidence": evidence, "shown_note": note, "name": model}
        return data | {"labels": head_labels(data, words["phrase"].to_dict())}

    name = str(heads["model"].iloc[0])
    data = of_model(name, heads, measures, measures_long)
    data |= {"others": [], "label_rule": LABEL_RULE}
    of_heads = matches[["model", *PLACE, "matched_layer", "matched_head", "distance"]].round(_DIGITS).groupby("model")
    data["matches"] = {str(model): rows.drop(columns="model").to_numpy().tolist() for model, rows in of_heads}
    data["relation_words"] = (words["phrase"] + " " + words["words"]).to_dict()
    for model, tables in list(page_tables.items())[1:]:
        measured = read_measures(tables, *shapes[model])
        listed = measure_rows(measured, dict.fromkeys(tables, model))
        # Colour scales are the same for all models.
        data["others"].append({**of_model(model, measured.heads, listed, measured.long), "ramps": {}})
    parts = {part: (ASSETS / f"page.{part}").read_text(encoding="utf-8") for part in ("html", "css", "js")}
    return Template(parts["html"]).substitute(
        version=__version__,
        title=html.escape(f"Attention atlas: {name}"),
        line=html.escape(next((label.line for label in labels.values()), run_title)),
        style=parts["css"],
        data=embedded(data),
        script=parts["js"],
    )
