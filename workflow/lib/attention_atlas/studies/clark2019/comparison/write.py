"""The table of comparison and its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import read_quantities, read_table
from attention_atlas.published.compare import Measured, compare
from attention_atlas.published.pages import write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.clark2019.comparison.clustering import clustering_rows
from attention_atlas.studies.clark2019.comparison.coreference import coreference_rows
from attention_atlas.studies.clark2019.comparison.dependencies import dependency_rows
from attention_atlas.studies.clark2019.comparison.gradients import gradient_rows
from attention_atlas.studies.clark2019.comparison.probes import probe_rows, training_rows
from attention_atlas.studies.clark2019.comparison.sameness import absent
from attention_atlas.studies.clark2019.comparison.surface import surface_rows

# Item of the published list -> why a run that has no row for it has none.
_NOT_HERE = {
    "Table 2": "this run names no corpus with coreference chains (role coreference)",
    "Fig 5 caption": "this run names no corpus with coreference chains (role coreference)",
    "Table 3": "this run does not train this probe (roles probe_training, dependencies)",
    "notebook probe": "this run does not train this probe (roles probe_training, dependencies)",
    "GitHub issue 17": "this run does not train this probe (roles probe_training, dependencies)",
    "notebook data": "this run trains no probe (role probe_training)",
    "Section 1": "the treebank has none of these relations",
    "Section 3.2 / Fig 3": "the gradient is not measured: the model has no [MASK]",
    "replication": "a third party's number on data or models that no run looks at; listed for the record",
}


@dataclass(frozen=True)
class Tables:
    """Files that the comparison reads; those of roles that a run does not name are None.

    Attributes:
        surface, segments, relations, heads, treebank: measures of the segments and of the treebank.
        figure3: gradients.
        table2: coreference.
        table3, training: probes, and what they were trained on.
    """

    surface: str | Path
    segments: str | Path
    relations: str | Path
    heads: str | Path
    treebank: str | Path
    figure3: str | Path | None = None
    table2: str | Path | None = None
    table3: str | Path | None = None
    training: str | Path | None = None


def comparison(
    tables: Tables, settings: Mapping[str, Setting], thresholds: Mapping[str, Any], out: str | Path, html_out: str | Path
) -> None:
    """Write comparison.tsv and its page.

    Args:
        tables: the run's tables.
        settings: role -> what was looked at (segments, dependencies, and coreference and probe_training where there are such).
        thresholds: of the behaviours in Figure 6.
        out, html_out: files to write.
    """
    published = load_published("clark2019")
    measured = _measured(tables, settings, published) | clustering_rows(thresholds)
    for identifier, entry in published.items():
        if identifier not in measured and entry["item"] in _NOT_HERE:
            measured[identifier] = absent(_NOT_HERE[entry["item"]])
    frame = compare(published, measured)
    lines = list(dict.fromkeys(setting.line for setting in settings.values()))
    note = (
        "A number is compared only with the same model on the same data (exact) or on data of the same making and values "
        "read off a figure (close); claims on order and thresholds are put to any model."
    )
    write_comparison(frame, out, html_out, "Clark et al. 2019: published values and this run", lines, note)


def _measured(tables: Tables, settings: Mapping[str, Setting], published: Mapping[str, Any]) -> dict[str, Measured]:
    surface = read_table(tables.surface, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n"])
    rows = surface_rows(surface, read_quantities(tables.segments), published, settings["segments"])
    relations = read_table(tables.relations).set_index("relation")
    counts = read_table(tables.heads).drop_duplicates("relation").set_index("relation")["n"]
    rows |= dependency_rows(relations, counts, read_quantities(tables.treebank), published, settings["dependencies"])
    if tables.figure3:
        rows |= gradient_rows(read_table(tables.figure3), settings["segments"])
    if tables.table2:
        rows |= coreference_rows(read_table(tables.table2), settings["coreference"])
    if tables.table3:
        rows |= probe_rows(read_table(tables.table3), published, settings["dependencies"])
    if tables.training:
        rows |= training_rows(read_quantities(tables.training), settings["probe_training"])
    return rows
