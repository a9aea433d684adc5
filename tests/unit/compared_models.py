"""Tables of several models of 2 x 2 heads, for tests of what compares models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from small_treebank import write_treebank

from attention_atlas.atlas.attended import write_attended
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


def compared_model(folder: Path, name: str, random_weights: bool = False, mirrored: bool = False) -> dict[str, Any]:
    """What the page knows of a model on the small treebank; mirrored: the two heads of each layer have changed places."""
    place = folder / name
    place.mkdir()
    write_treebank(place)
    out = Outputs(**{table: place / f"{table}.tsv" for table in TABLES.values()})
    resampling = Resampling(folds=5, resamples=200, seed=3)
    measure_model([place / "0.safetensors"], [place / "0.parquet"], place / "card.json", 12, 1, resampling, out)
    evidence = {kind: place / f"{kind}.tsv" for kind in ("pairs", "kinds")}
    write_attended([place / "0.safetensors"], [place / "0.parquet"], 100, 20, evidence["pairs"], evidence["kinds"])
    write_table(pd.DataFrame(columns=["record", "id", "reason", "detail"]), place / "0.dropped.tsv")
    if mirrored:
        for file in (*(place / f"{table}.tsv" for table in TABLES.values()), *evidence.values()):
            table = pd.read_csv(file, sep="\t", keep_default_na=False, na_values=[""])
            if "head" in table:
                write_table(table.assign(head=3 - table["head"]).sort_values(["layer", "head"], kind="stable"), file)
    return {
        "name": name,
        "layers": 2,
        "heads": 2,
        "random_weights": random_weights,
        "tables": {table: str(place / f"{short}.tsv") for table, short in TABLES.items()},
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
