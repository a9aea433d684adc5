"""Tables 2 and 3: each layer with only its best head kept."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.values import load_published, published_column
from attention_atlas.studies.michel2019.ablation_tables import BEST
from attention_atlas.studies.michel2019.effects import few_sentences, units_note
from attention_atlas.studies.michel2019.names import KIND_TITLES, LEVEL, PAPER_DELTA


def table2(path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of Table 2 from `BEST` of the translation model.

    Raises:
        AtlasError: the table cannot be used.
    """
    _page(path, 2, label, html_out)


def table3(path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of Table 3 from `BEST` of the classifier.

    Raises:
        AtlasError: the table cannot be used.
    """
    _page(path, 3, label, html_out)


def _page(path: str | Path, number: int, label: RunLabel, html_out: str | Path) -> None:
    best = read_table(path, BEST)
    several_kinds = best["kind"].nunique() > 1
    columns = ["layer", "head", "score", "delta", "ci_low", "ci_high", "heldout_delta", "p", "p_adjusted"]
    shown = best[[*(["kind"] if several_kinds else []), *columns]].copy()
    paper = published_column(load_published("michel2019"), f"Table {number}", f"table{number}", "delta", best)
    shown.insert(shown.columns.get_loc("delta") + 1, "paper_delta", paper)
    if several_kinds:
        shown = shown.assign(kind=[KIND_TITLES[kind] for kind in shown["kind"]])
    first = best.iloc[0]
    worse = int(((best["p"] < LEVEL) & (best["delta"] < 0)).sum())
    notes = [
        label.line,
        f"Each layer with only its best head kept: {first['metric']} and its difference from the full model "
        f"({first['baseline']:.2f}, n = {first['n']}), on a scale of 0 to 100, with intervals by bootstrap over examples. "
        f"{worse} of {len(best)} layers are worse with p < {LEVEL} (uncorrected, as in the paper).",
        "heldout_delta: the head is selected on one half of the examples and measured on the other, mean of both directions; "
        "the paper selects and reports on the same examples. p_adjusted: adjusted by the maximum statistic for all heads of "
        "all layers, from which the best ones are selected.",
        units_note(first["metric"]),
        *few_sentences(first["metric"], int(first["n"])),
    ]
    formats = dict.fromkeys(("layer", "head"), "d") | dict.fromkeys((*columns[2:-2], "paper_delta"), ".2f")
    formats |= dict.fromkeys(columns[-2:], ".3f")
    task = "translation" if several_kinds else "classification"
    write_html_table(
        shown, html_out, f"Michel et al. 2019, Table {number}: one head per layer, {task}", notes, PAPER_DELTA, formats
    )
