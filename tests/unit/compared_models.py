"""Tables of several models of 2 x 2 heads, for tests of what compares models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from small_treebank import write_treebank

from attention_atlas.atlas.attended import write_attended
from attention_atlas.atlas.head_measures import HEAD_SCORES
from attention_atlas.atlas.of_model import Outputs, measure_model
from attention_atlas.io.tables import write_table
from attention_atlas.stats.held_out import Resampling

TABLES = {
    "clark2019/surface": "surface",
    "clark2019/dependency_heads": "heads",
    "clark2019/dependencies": "dependencies",
    "clark2019/dependency_head_relations": "head_relations",
    "guan2020/head_types": "types",
}
SCORES = {
    "sink": 0.1,
    "sentence_entropy": 1.0,
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
    table = pd.DataFrame(rows).assign(null_low=0.0, null_high=0.1, p=0.001, q=0.01, random_models=100, rank=1)
    ends = {"ci_low": table["value"] - 0.01, "ci_high": table["value"] + 0.01}
    return table.assign(**ends, even_share=0.05, note="", pattern="").astype({"n": "Int64"})


def compared_model(folder: Path, name: str, random_weights: bool = False, mirrored: bool = False) -> dict[str, Any]:
    """What the page knows of a model on the small treebank; mirrored: the two heads of each layer have changed places."""
    place = folder / name
    place.mkdir()
    write_treebank(place)
    out = Outputs(**{table: place / f"{table}.tsv" for table in TABLES.values()})
    resampling = Resampling(folds=5, resamples=200, seed=3)
    measure_model([place / "0.safetensors"], [place / "0.parquet"], place / "card.json", 12, 1, resampling, out)
    write_table(score_table(), place / "head_scores.tsv")
    tables = {**{table: place / f"{short}.tsv" for table, short in TABLES.items()}, HEAD_SCORES: place / "head_scores.tsv"}
    evidence = {kind: place / f"{kind}.tsv" for kind in ("pairs", "kinds")}
    write_attended([place / "0.safetensors"], [place / "0.parquet"], 100, 20, evidence["pairs"], evidence["kinds"])
    write_table(pd.DataFrame(columns=["record", "id", "reason", "detail"]), place / "0.dropped.tsv")
    if mirrored:
        for file in (*tables.values(), *evidence.values()):
            table = pd.read_csv(file, sep="\t", keep_default_na=False, na_values=[""])
            if "head" in table:
                write_table(table.assign(head=3 - table["head"]).sort_values(["layer", "head"], kind="stable"), file)
    return {
        "name": name,
        "layers": 2,
        "heads": 2,
        "random_weights": random_weights,
        "tables": {table: str(path) for table, path in tables.items()},
        "sentences": {
            "shard": str(place / "0.safetensors"),
            "examples": str(place / "0.parquet"),
            "dropped": str(place / "0.dropped.tsv"),
        },
        "evidence": {kind: str(path) for kind, path in evidence.items()},
    }


def shape_of(model: dict[str, Any]) -> dict[str, Any]:
    """What the tables of the comparison are made from."""
    return {key: model[key] for key in ("name", "layers", "heads", "random_weights", "tables")}
