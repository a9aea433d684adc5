"""Section 4, names: how well each cluster of heads fits each type."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table, write_table
from attention_atlas.methods.distance_features import FEATURES
from attention_atlas.methods.head_type_fits import PROFILE, fits, profiles
from attention_atlas.methods.head_type_names import TITLES, TYPES


def type_names(
    types_path: str | Path, summary_path: str | Path, label: RunLabel, out: str | Path, html_out: str | Path
) -> None:
    """Write the mean attention of each cluster and how well it fits each type.

    Args:
        types_path, summary_path: head_types.tsv and the summary of `clustering.cluster_heads`.
        label: run, model and corpus.
        out, html_out: cluster (the type that the naming leaves for it), type (the same, or unnamed), heads, `PROFILE` as
            shares of attention, and fit_ with each of `TYPES`; its page.

    Raises:
        AtlasError: a table cannot be used.
    """
    heads = read_table(types_path, ["type", "cluster", *FEATURES])
    clusters = heads.groupby(["cluster", "type"])[list(FEATURES)].mean()
    sizes = heads.groupby(["cluster", "type"]).size()
    means = clusters.to_numpy(float)
    table = pd.DataFrame(clusters.index.to_list(), columns=["cluster", "type"]).assign(heads=sizes.to_numpy())
    table[list(PROFILE)] = profiles(means)
    table[[f"fit_{name}" for name in TYPES]] = fits(means)
    table = table.sort_values("cluster", key=lambda names: names.map(TYPES.index)).reset_index(drop=True)
    write_table(table, out)
    examples = int(read_quantities(summary_path)["examples"])
    notes = [
        label.line,
        f"Mean features of the heads of each cluster over n = {examples} questions, of each the first window. Special: share "
        "of the attention on [CLS], [SEP], comma and full stop; near: on the token itself and the nearest of 16 windows; far: "
        "on all other windows.",
        "Fit: by how much the features that define a type exceed the others (Dense: far; Dense & vertical: special and far, "
        "the smaller of both; Vertical: special; Diagonal: near). Each of the four types is assigned to one of the four "
        "clusters, such that the total fit is the largest of all 24 assignments. A cluster whose fit with its assigned type is "
        "not above 0 is unnamed.",
    ]
    shown = table.replace({"cluster": TITLES, "type": TITLES})
    names = {"cluster": "Assigned type", "type": "Name"} | {f"fit_{name}": f"Fit: {TITLES[name]}" for name in TYPES}
    formats = {"heads": "d"} | dict.fromkeys(PROFILE, ".1%") | {f"fit_{name}": "+.2f" for name in TYPES}
    write_html_table(shown, html_out, "Guan et al. 2020: how well the names fit the clusters", notes, names, formats)
