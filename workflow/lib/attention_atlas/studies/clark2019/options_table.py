"""Effect of each disputed choice on the results: one option at a time, everything else as published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.html_tables import Layout, write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.methods.options import NOTES
from attention_atlas.studies.clark2019.gradient_rows import ALL_ROWS, PREDICTED, REACHABLE
from attention_atlas.studies.clark2019.probes.names import ATTENTION_WORDS, BIAS_FREE

_VARIANT_NOTES = {
    "segment_ids": ("zeros", "pair", "the authors fed zeros for both segments and later called 0/1 better"),
    "recipe": ("authors", "clean", "segments of sentences with random cuts, or random pairs of whole paragraphs"),
    "casing": ("uncased", "cased", "the paper's text implies cased, its data are uncased"),
}
_GRADIENT_NOTE = "in the last layer the gradient of queries that are not predicted is 0"
COLUMNS = ["option", "as_published", "alternative", "quantity", "value_as_published", "value_alternative", "difference", "note"]


def options_table(
    dependency_options: str | Path,
    surface_options: str | Path,
    gradient_variants: str | Path,
    surface: str | Path,
    dependencies: str | Path,
    variants: Mapping[str, Mapping[str, str]],
    label: RunLabel,
    out: str | Path,
    html_out: str | Path,
    probes: str | Path | Sequence[str] = (),
) -> None:
    """Write the table: `COLUMNS`.

    Args:
        dependency_options, surface_options: best heads, and head measures, under each option.
        gradient_variants: gradients by layer over each set of queries; empty for a model without [MASK].
        surface, dependencies: tables of the run, the reference of the variants.
        variants: name of a variant -> its tables by kind (`surface`, `dependencies`).
        label: run, model and corpus.
        out, html_out: files to write.
        probes: accuracy of the probes of Table 3 by seed (`table3_seeds.tsv`); empty where the run trains none.
    """
    rows = [
        *_dependency_rows(read_table(dependency_options)),
        *_surface_rows(read_table(surface_options)),
        *_gradient_rows(read_table(gradient_variants, ["masking", "rows", "measure", "layer", "sep", "other"])),
        *_variant_rows(read_table(surface), read_table(dependencies), variants),
        *(_probe_rows(read_table(probes)) if isinstance(probes, str | Path) else ()),
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    write_table(table, out)
    notes = [
        label.line,
        "Options are changed one at a time, starting from the setting behind the published numbers; the difference is the "
        "alternative minus the published setting.",
    ]
    write_html_table(table, html_out, "Clark et al. 2019: effect of each choice on the result", notes, layout=Layout("option"))


def _dependency_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for option, of_option in table.groupby("option", sort=False):
        values = list(dict.fromkeys(of_option["setting"].astype(str)))
        base = of_option[of_option["setting"].astype(str) == values[0]].set_index("relation")
        for alternative in values[1:]:
            changed = of_option[of_option["setting"].astype(str) == alternative].set_index("relation").loc[base.index]
            row = {"option": option, "as_published": values[0], "alternative": alternative, "note": NOTES[str(option)]}
            for relation in (ALL, "poss"):
                if relation in base.index:
                    for column, name in (("accuracy", "best head"), ("baseline_accuracy", "baseline")):
                        quantity = f"Table 1, {relation}: {name}"
                        yield _difference_row(row, quantity, base.loc[relation, column], changed.loc[relation, column])
            single_relations = base.index != ALL
            for column, name in (("accuracy", "best head"), ("baseline_accuracy", "baseline")):
                quantity = f"Table 1, mean over {single_relations.sum()} relations: {name}"
                yield _difference_row(
                    row, quantity, base[column][single_relations].mean(), changed[column][single_relations].mean()
                )
            keys = ["layer", "head", "direction"]
            same_head = (base[keys] == changed[keys]).all(axis=1)[single_relations].mean()
            yield _difference_row(row, "Table 1, share of relations with the same best head", 1.0, same_head)


def _surface_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (option, measure), of_measure in table.groupby(["option", "measure"], sort=False):
        values = list(dict.fromkeys(of_measure["setting"].astype(str)))
        base = of_measure[of_measure["setting"].astype(str) == values[0]]["value"]
        for alternative in values[1:]:
            changed = of_measure[of_measure["setting"].astype(str) == alternative]["value"]
            row = {"option": option, "as_published": values[0], "alternative": alternative, "note": NOTES[str(option)]}
            yield _difference_row(row, f"{_figure(str(measure))}, {measure}: mean over heads", base.mean(), changed.mean())


def _gradient_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Gradients in the last layer, which depend most on the queries averaged over, relative to the layer before."""
    shown = table[(table["masking"] == "masked") & (table["measure"] == "per_weight")]
    last = shown["layer"].max()
    if not last > 1:
        return
    by_rows = {name: frame.set_index("layer")[["sep", "other"]] for name, frame in shown.groupby("rows")}
    for alternative in (ALL_ROWS, REACHABLE):
        row = {"option": "gradient_rows", "as_published": f"{PREDICTED} (not stated in the paper)", "alternative": alternative}
        row["note"] = _GRADIENT_NOTE
        for target, name in (("sep", "[SEP]"), ("other", "other tokens")):
            base, changed = (
                by_rows[rows].loc[last, target] / by_rows[rows].loc[last - 1, target] for rows in (PREDICTED, alternative)
            )
            yield _difference_row(row, f"Figure 3, gradient to {name}: last layer over the one before", base, changed)


def _variant_rows(
    surface: pd.DataFrame, relations: pd.DataFrame, variants: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    for name, tables in variants.items():
        published, alternative, note = _VARIANT_NOTES[name]
        row = {"option": name, "as_published": published, "alternative": alternative, "note": note}
        changed = read_table(tables["surface"])
        for measure in surface["measure"].unique():
            base_mean, changed_mean = (t.loc[t["measure"] == measure, "value"].mean() for t in (surface, changed))
            yield _difference_row(row, f"{_figure(measure)}, {measure}: mean over heads", base_mean, changed_mean)
        if "dependencies" in tables:
            merged = relations.merge(read_table(tables["dependencies"]), on="relation", suffixes=("", "_other"))
            for entry in merged.itertuples():
                yield _difference_row(row, f"Table 1, {entry.relation}: best head", entry.accuracy, entry.accuracy_other)


def _probe_rows(by_seed: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """What the bias of the published code adds to the probe of the paper's formula, at the same seed and alignment of ROOT."""
    place = ["root_alignment", "decoding", "model", "seed"]
    both = by_seed[by_seed["probe"] == ATTENTION_WORDS].merge(
        by_seed[by_seed["probe"] == BIAS_FREE], on=place, suffixes=("", "_free")
    )
    row = {
        **{"option": "probe_bias", "as_published": "released_code", "alternative": "as_published"},
        "note": "the published code adds a bias to the weights of the maps, the paper's formula has none",
    }
    for entry in both.itertuples():
        quantity = f"Table 3, attention and words, ROOT {entry.root_alignment}, {entry.decoding}, seed {entry.seed}: UAS"
        yield _difference_row(row, quantity, entry.uas, entry.uas_free)


def _figure(measure: str) -> str:
    if measure.startswith("entropy"):
        return "Figure 4"
    return (
        "Section 3.3"
        if measure == "row_maximum"
        else "Section 3.1"
        if measure in ("next", "previous", "current")
        else "Figure 2"
    )


def _difference_row(row: Mapping[str, Any], quantity: str, published: float, alternative: float) -> dict[str, Any]:
    values = {"value_as_published": published, "value_alternative": alternative, "difference": alternative - published}
    return {**row, "quantity": quantity, **values}
