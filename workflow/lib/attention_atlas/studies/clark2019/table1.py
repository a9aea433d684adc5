"""Table 1: the best head of each dependency relation, the fixed-offset baseline and the published values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.dependency_scoring import PAPER_RELATIONS
from attention_atlas.published.values import load_published, printed
from attention_atlas.stats.simultaneous import holm

_OURS = (
    *("relation", "n", "layer", "head", "direction", "accuracy", "accuracy_ci_low", "accuracy_ci_high"),
    *("heldout_accuracy", "baseline_offset", "baseline_accuracy"),
    *("margin", "margin_ci_low", "margin_ci_high", "heldout_baseline", "tested_margin", "p_value", "unit", "units"),
)
UNIVERSAL = frozenset(("obj", "obl", "case"))
"""Relations of Universal Dependencies that Stanford Dependencies do not have."""
_RANDOM = ("layer", "head", "direction", "accuracy", "heldout_accuracy", "heldout_ci_low", "heldout_ci_high")


def table1(
    relations_path: str | Path, random_path: str | Path | None, label: RunLabel, out: str | Path, html_out: str | Path
) -> None:
    """Write the paper's rows, in its order, with the published values beside ours.

    A treebank in Universal Dependencies has other labels than the paper's: its further relations follow, with no published
    values.

    p_holm is corrected over the rows of this table, whatever further rows the table of relations has (setting `min_count`).
    Published values are shares, as ours. Where the authors' notebook corrects the paper (auxpass, All), both are given. The
    columns random_* are those of the best head of a model with random weights; empty where the run names none.

    Args:
        relations_path: the best heads of the run's model, `relation_tables.relations_frame`.
        random_path: the same of the model with random weights, None where the run names none.
        label: run, model and corpus.
        out, html_out: files to write.

    Raises:
        AtlasError: the table of relations is missing or lacks a column.
    """
    relations = read_table(relations_path, list(_OURS)).set_index("relation", drop=False)
    shown_relations = [name for name in PAPER_RELATIONS if name in relations.index]
    if not UNIVERSAL.isdisjoint(relations.index):
        shown_relations += [name for name in relations.index if name not in PAPER_RELATIONS]
    rows = [relations.loc[name, list(_OURS)] for name in shown_relations]
    table = pd.DataFrame(rows).reset_index(drop=True)
    tested = table["p_value"].notna()
    table.loc[tested, "p_value"] = holm(table.loc[tested, "p_value"].to_numpy(np.float64))
    table = table.rename(columns={"p_value": "p_holm"})
    published = pd.DataFrame([published_row(name) for name in table["relation"]])
    table = pd.concat([table, _random_heads(random_path, table["relation"]), published], axis=1)
    table["relations_are"] = "converted" if label.converted else "annotated"
    write_table(table, out)
    shown = table.assign(
        best=[f"{row.layer}-{row.head}" for row in table.itertuples()],
        interval=[f"{100 * row.accuracy_ci_low:.1f} to {100 * row.accuracy_ci_high:.1f}" for row in table.itertuples()],
        direction=table["direction"].map({"dependent_to_head": "dep → head", "head_to_dependent": "head → dep"}),
    )
    columns = {
        "relation": "Relation",
        "n": "n",
        "best": "Head",
        "direction": "Direction",
        "accuracy": "Accuracy %",
        "interval": "95 % interval",
        "heldout_accuracy": "Held-out %",
        "random_heldout_accuracy": "Random weights, held-out %",
        "baseline_accuracy": "Baseline %",
        "baseline_offset": "Offset",
        "p_holm": "p (Holm)",
        "paper_head": "Paper: head",
        "paper_accuracy": "Paper: accuracy %",
        "paper_baseline": "Paper: baseline %",
        "notebook_accuracy": "Authors' notebook %",
        "notebook_baseline": "Notebook baseline %",
    }
    ours = ("accuracy", "heldout_accuracy", "random_heldout_accuracy", "baseline_accuracy")
    percent = (*ours, *(c for c in published.columns if c != "paper_head"))
    unit_name = table["unit"].iloc[0] if len(table) else "sentences"
    unit = f"{table['units'].max()} {unit_name}" if len(table) else unit_name
    shown = shown[list(columns)].assign(**{name: 100 * shown[name].astype(float) for name in percent})
    notes = [
        label.line,
        "Accuracy: share of tokens with this relation whose head word the attention head selects; best of all heads in both "
        f"directions, chosen on the same sentences as in the paper. Interval: bootstrap over {unit} with the head fixed. "
        f"Held-out: head chosen on the other folds of {unit}. Random weights: the same selection "
        "among the heads of a model with random weights. Baseline: best fixed offset. p: permutation test of the head against "
        f"the offset, both chosen on one half of the {unit_name} and compared on the other, Holm-corrected over the rows "
        "of this table. Layers and heads count from 1.",
        "The paper prints 82.5 / 40.5 for auxpass; in the authors' notebook the head has 94.1 and 82.5 is its baseline.",
    ]
    formats = dict.fromkeys(percent, ".1f") | {"baseline_offset": "+d", "p_holm": ".2g", "n": "d"}
    write_html_table(shown, html_out, "Clark et al. 2019, Table 1", notes, columns, formats)


def _random_heads(path: str | Path | None, relations: pd.Series) -> pd.DataFrame:
    """Columns `_RANDOM` for the relations, in their order."""
    if path is None:
        return pd.DataFrame(index=relations.index, columns=[f"random_{name}" for name in _RANDOM], dtype=float)
    rows = read_table(path, ["relation", *_RANDOM]).set_index("relation")[list(_RANDOM)].reindex(relations)
    return rows.add_prefix("random_").reset_index(drop=True).astype({"random_layer": "Int64", "random_head": "Int64"})


def published_row(relation: str) -> dict[str, Any]:
    """The published head, accuracy and baseline of a relation, as shares; missing values where nothing was printed."""
    published = load_published("clark2019")

    def share(item: str, column: str) -> float | None:
        value = printed(published, item, column, relation=relation)
        return value.value / 100 if value and isinstance(value.value, int | float) else None

    accuracy = printed(published, "Table 1", "accuracy", relation=relation)
    return {
        "paper_head": accuracy.details["head"] if accuracy else None,
        "paper_accuracy": share("Table 1", "accuracy"),
        "paper_baseline": share("Table 1", "baseline_accuracy"),
        "notebook_accuracy": share("notebook Table 1", "accuracy"),
        "notebook_baseline": share("notebook Table 1", "baseline_accuracy"),
    }
