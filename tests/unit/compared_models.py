"""Tables of several models of 2 x 2 heads, for tests of what compares models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from atlas_tables import as_read, sentences_of
from small_treebank import write_treebank

from attention_atlas.atlas.head_measures import HEAD_SCORES
from attention_atlas.atlas.sentences import of_model
from attention_atlas.attention.cache import StoredAttention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.models.card import read_card

TABLES = {
    "clark2019/surface": "surface",
    "clark2019/dependency_head_relations": "head_relations",
    "guan2020/head_types": "types",
}
SCORES = {
    "sink": 0.1,
    "norm_sink": 0.2,
    "duplicate_token": 0.05,
    "induction": 0.02,
    "ov_copying": -0.1,
}
"""Some measures of the table of head scores -> value of the first head; further heads have larger values."""


def score_table() -> pd.DataFrame:
    """Scores of 2 x 2 heads, like `atlas/head_scores`."""
    heads = [(layer, head) for layer in (1, 2) for head in (1, 2)]
    rows = [
        {
            "measure": measure,
            "layer": layer,
            "head": head,
            "value": first + 0.03 * k,
            "n": None if measure == "ov_copying" else 8,
        }
        for measure, first in SCORES.items()
        for k, (layer, head) in enumerate(heads)
    ]
    table = pd.DataFrame(rows).assign(null_low=0.0, null_high=0.1, p=0.001, q=0.01)
    ends = {"ci_low": table["value"] - 0.01, "ci_high": table["value"] + 0.01}
    return table.assign(**ends, even_share=0.05, note="", pattern="").astype({"n": "Int64"})


def compared_model(folder: Path, name: str, mirrored: bool = False) -> dict[str, Any]:
    """What the page gets of a model on the small treebank; mirrored: the two heads of each layer have changed places."""
    place = folder / name
    place.mkdir()
    write_treebank(place)
    attention, examples = StoredAttention([place / "0.safetensors"]), all_examples([place / "0.parquet"])
    measured = of_model(attention, examples, read_card(place / "card.json"), resamples=200, seed=3, strongest_pairs=20)
    tables = {table: measured[short] for table, short in TABLES.items()} | {HEAD_SCORES: score_table()}

    def seen(table: pd.DataFrame) -> pd.DataFrame:
        table = as_read(table)
        if not mirrored or "head" not in table:
            return table
        return table.assign(head=3 - table["head"]).sort_values(["layer", "head"], kind="stable", ignore_index=True)

    shown = {kind: of[name] for kind, of in sentences_of(place, name, dropped=False).items()}
    return {
        **shown,
        **{kind: seen(table) for kind, table in measured.items() if kind in ("pairs", "kinds")},
        "tables": {k: seen(t) for k, t in tables.items()},
    }
