"""Tables of a small atlas and of models that it compares, and its page."""

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.atlas.correlations import MATCHES
from attention_atlas.atlas.measures import BEYOND, INSIDE, LONG, MEASURES
from attention_atlas.atlas.page import atlas
from attention_atlas.attention.cache import StoredAttention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_relations import HEAD_RELATIONS

LIMITS = {"count": 2, "max_tokens": 24, "shortest": 6}
_GATHERED = ("attention", "examples", "dropped", "pairs", "kinds", "relations", "page_tables")
SCORES = {"sink": 0.1, "norm_sink": 0.2, "duplicate_token": 0.05, "induction": 0.02, "ov_copying": -0.1}
"""Measure -> score of the first head; further heads have larger ones."""


def as_read(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame as a job reads it from its file."""
    text = frame.to_csv(sep="\t", index=False, float_format="%.6g")
    return pd.read_csv(StringIO(text), sep="\t", keep_default_na=False, na_values=[""])


def small_atlas(layers: int, heads: int) -> dict[str, pd.DataFrame]:
    """Heads and measures of a model with four measures by number, one by name, one left out."""
    chance = np.random.default_rng(0)
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    count = layers * heads
    table = pd.DataFrame({"model": "tiny", "layer": layer, "head": head})
    table["entropy"] = 4 * chance.random(count)
    table["to_sep"] = np.where(table.index == 1, np.nan, chance.random(count))
    table["masked"] = chance.normal(size=count)
    # Of the first head the induction is like that of random weights.
    table["induction"] = 0.5 + table.index / count
    table["distance_type"] = chance.choice(["dense", "vertical"], count)
    long = table.melt(PLACE, ["entropy", "to_sep", "masked", "induction"], "measure").assign(n=24, verdict="")
    long = long.reindex(columns=LONG)
    masked, induction = long["measure"] == "masked", long["measure"] == "induction"
    long.loc[masked | induction, "low"], long.loc[masked | induction, "high"] = long["value"] - 0.1, long["value"] + 0.2
    long.loc[induction, ["null_low", "null_high"]] = [0.01, 0.55]
    long.loc[induction, "q"] = np.where(table.index == 0, 0.7, 0.001)
    inside = np.where(masked, (long["low"] <= 0) & (long["high"] >= 0), long["q"] > 0.05)
    long.loc[masked | induction, "verdict"] = np.where(inside, INSIDE, BEYOND)[masked | induction]
    facts = [
        {"measure": "entropy", "title": "Entropy </script><b>", "unit": "nats"},
        {"measure": "to_sep", "title": "Attention to [SEP]", "unit": "share"},
        {"measure": "masked", "title": "Accuracy when masked", "unit": "percentage points", "n": 24, "chance": 0.0}
        | {"group": "Effect on the model", "inside_null": 3, "about": "distance_type"},
        {"measure": "induction", "title": "Induction", "unit": "share", "null": "heads with random weights", "inside_null": 1}
        | {"higher_means": "induction head", "study": "atlas"},
        {"measure": "distance_type", "title": "Type by distances", "unit": "", "kind": "name"},
        {"measure": "importance", "title": "Importance", "kind": "", "note": "this run does not build michel2019"},
    ]
    same = {"group": "Others", "study": "a2020", "item": "Table 1", "model": "tiny", "kind": "number", "heads": count}
    measures = pd.DataFrame([same | {"n_unit": "examples"} | fact for fact in facts]).reindex(columns=MEASURES)
    tables = {"heads": table, "measures": measures, "measures_long": long}
    return {**{name: as_read(made) for name, made in tables.items()}, "matches": pd.DataFrame(columns=MATCHES)}


def sentences_of(folder: Path) -> dict[str, Any]:
    """The sentences of the small treebank in a folder, as the page reads them; with one that was dropped."""
    dropped = pd.DataFrame([{"record": 12, "id": "s12", "reason": "too long", "detail": "900 pieces, 512 allowed"}])
    return {
        "attention": {"tiny": StoredAttention([folder / "0.safetensors"])},
        "examples": {"tiny": all_examples([folder / "0.parquet"])},
        "dropped": {"tiny": [dropped]},
    }


def build(tables: dict[str, Any], path: Path | None = None, **arguments: Any) -> str:
    """The page of tables; also written to a path."""
    labels = {"sentences": RunLabel("Test run", "tiny", "text")}
    facts = {"shown_sentences": LIMITS, "shapes": {}, "run_title": "Test run", "labels": labels}
    text = atlas(**{**{key: {} for key in _GATHERED}, **facts, **tables, **arguments})
    if path:
        path.write_text(text, encoding="utf-8")
    return text


def in_full(rows: list[Any]) -> pd.DataFrame:
    """A table of relations from rows up to q."""
    table = pd.DataFrame(rows, columns=HEAD_RELATIONS[: HEAD_RELATIONS.index("q") + 1])
    return table.assign(choice_low=0.1, unit="sentences", units=20, accuracy_low=0.1, accuracy_high=0.9)


def score_table() -> pd.DataFrame:
    """Scores of 2 x 2 heads, like `atlas/head_scores`."""
    places = [(layer, head) for layer in (1, 2) for head in (1, 2)]
    rows = [
        (measure, layer, head, first + 0.03 * k, None if measure == "ov_copying" else 8)
        for measure, first in SCORES.items()
        for k, (layer, head) in enumerate(places)
    ]
    table = pd.DataFrame(rows, columns=["measure", "layer", "head", "value", "n"]).astype({"n": "Int64"})
    table = table.assign(null_low=0.0, null_high=0.1, p=0.001, q=0.01, even_share=0.05, note="")
    table["ci_low"], table["ci_high"] = (table["value"].where(table["n"].notna()) + end for end in (-0.01, 0.01))
    return table
