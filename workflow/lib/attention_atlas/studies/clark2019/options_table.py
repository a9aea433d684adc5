"""How far each disputed choice moves the results: one option at a time, everything else as published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.methods.options import NOTES

_VARIANT_NOTES = {
    "segment_ids": ("zeros", "pair", "the authors fed zeros for both segments and later called 0/1 better"),
    "recipe": ("authors", "clean", "first segments in file order with random cuts, or random pairs of whole paragraphs"),
    "casing": ("uncased", "cased", "the paper's text implies cased, its data are uncased"),
}
COLUMNS = ["option", "as_published", "other", "quantity", "value_as_published", "value_other", "difference", "note"]


def options_table(
    dependency_options: str | Path,
    surface_options: str | Path,
    surface: str | Path,
    relations: str | Path,
    variants: Mapping[str, Mapping[str, str]],
    setting: Setting,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write the table: option, as_published, other, quantity, value_as_published, value_other, difference, note.

    Args:
        dependency_options, surface_options: best heads, and head measures, under each option.
        surface, relations: the run's own tables, which variants are compared with.
        variants: name of a variant -> its tables by kind (`surface`, `relations`).
        setting: what was looked at.
        out, html_out: files to write.
    """
    rows = [
        *_dependency_rows(read_table(dependency_options)),
        *_surface_rows(read_table(surface_options)),
        *_variant_rows(read_table(surface), read_table(relations), variants),
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    write_table(table, out)
    notes = [
        setting.line,
        "Each option is moved alone from the setting behind the published numbers; the difference is other minus as published.",
    ]
    write_html_table(table, html_out, "Clark et al. 2019: how far each choice moves the result", notes)


def _dependency_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for option, of_option in table.groupby("option", sort=False):
        settings = list(dict.fromkeys(of_option["setting"].astype(str)))
        base = of_option[of_option["setting"].astype(str) == settings[0]].set_index("relation")
        for other in settings[1:]:
            moved = of_option[of_option["setting"].astype(str) == other].set_index("relation").loc[base.index]
            row = {"option": option, "as_published": settings[0], "other": other, "note": NOTES[str(option)]}
            for relation in (ALL, "poss"):
                if relation in base.index:
                    for column, name in (("accuracy", "best head"), ("baseline_accuracy", "baseline")):
                        yield _moved(
                            row, f"Table 1, {relation}: {name}", base.loc[relation, column], moved.loc[relation, column]
                        )
            rest = base.index != ALL
            for column, name in (("accuracy", "best head"), ("baseline_accuracy", "baseline")):
                quantity = f"Table 1, mean over {rest.sum()} relations: {name}"
                yield _moved(row, quantity, base[column][rest].mean(), moved[column][rest].mean())
            places = ["layer", "head", "direction"]
            kept = (base[places] == moved[places]).all(axis=1)[rest].mean()
            yield _moved(row, "Table 1, share of relations with the same best head", 1.0, kept)


def _surface_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (option, measure), of_measure in table.groupby(["option", "measure"], sort=False):
        settings = list(dict.fromkeys(of_measure["setting"].astype(str)))
        base = of_measure[of_measure["setting"].astype(str) == settings[0]]["value"]
        for other in settings[1:]:
            moved = of_measure[of_measure["setting"].astype(str) == other]["value"]
            row = {"option": option, "as_published": settings[0], "other": other, "note": NOTES[str(option)]}
            yield _moved(row, f"{_figure(str(measure))}, {measure}: mean over heads", base.mean(), moved.mean())


def _variant_rows(
    surface: pd.DataFrame, relations: pd.DataFrame, variants: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    for name, tables in variants.items():
        published, other, note = _VARIANT_NOTES[name]
        row = {"option": name, "as_published": published, "other": other, "note": note}
        moved = read_table(tables["surface"])
        for measure in surface["measure"].unique():
            ours, theirs = (t.loc[t["measure"] == measure, "value"].mean() for t in (surface, moved))
            yield _moved(row, f"{_figure(measure)}, {measure}: mean over heads", ours, theirs)
        if "relations" in tables:
            both = relations.merge(read_table(tables["relations"]), on="relation", suffixes=("", "_other"))
            for entry in both.itertuples():
                yield _moved(row, f"Table 1, {entry.relation}: best head", entry.accuracy, entry.accuracy_other)


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


def _moved(row: Mapping[str, Any], quantity: str, published: float, other: float) -> dict[str, Any]:
    values = {"value_as_published": published, "value_other": other, "difference": other - published}
    return {**row, "quantity": quantity, **values}
