"""Table 2 in the paper's layout: systems by types of mention; and the effect of the choices that the paper leaves open."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table, write_table
from attention_atlas.published.values import load_published, printed
from attention_atlas.studies.clark2019.antecedents import BASELINES, NOTES
from attention_atlas.studies.clark2019.coreference import CHANCE, COLUMNS, ROWS
from attention_atlas.studies.clark2019.coreference_windows import DIVISION_COLUMNS
from attention_atlas.studies.clark2019.systems import BEST_HEAD, RANDOM_HEAD, shown_rows

PAPER_HEAD = "5-4"
"""The best head of the paper's Table 2, layer and head."""
_SYSTEM_NAMES = {
    CHANCE: "A candidate at random",
    "nearest": "Nearest other mention",
    "head_match": "Nearest with the same head word",
    "rule_based": "Rule-based (four sieves)",
    BEST_HEAD: "Best attention head",
    RANDOM_HEAD: "Random weights: best attention head",
}


def table2_pages(
    table_path: str | Path,
    options_path: str | Path,
    summary_path: str | Path,
    windows_path: str | Path | None,
    random_path: str | Path | None,
    label: RunLabel,
    table_out: str | Path,
    out: str | Path,
    options_out: str | Path,
    options_html_out: str | Path,
) -> None:
    """Write Table 2 in the paper's layout as a page, and the table of options.

    Args:
        table_path, options_path, summary_path: tables of `coreference`.
        windows_path: Table 2 for both divisions into windows on the same documents, None where the run names one division.
        random_path: Table 2 of the model with random weights, None where the run names none.
        label: run, model and corpus.
        table_out: Table 2, with the best head of the model with random weights as system `RANDOM_HEAD`, and the published
            values, see `with_published`.
        out: page of Table 2.
        options_out, options_html_out: option, setting, system, layer, head, direction, n, accuracy, heldout_accuracy; its page.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(table_path, list(COLUMNS)).astype({"layer": "Int64", "head": "Int64"})
    if random_path:
        random = read_table(random_path, list(COLUMNS)).query("system == @BEST_HEAD").assign(system=RANDOM_HEAD)
        table = pd.concat([table, random.astype({"layer": "Int64", "head": "Int64"})], ignore_index=True)
    write_table(with_published(table), table_out)
    options = read_table(options_path, ["option", "setting", "system", "layer", "head", "direction", "n", "accuracy"])
    if windows_path:
        divided = read_table(windows_path, list(DIVISION_COLUMNS)).query("mention_type == 'all'")
        shared = divided["documents"].astype(str) + " documents in both"
        window_rows = divided.assign(option="windows", setting=divided["division"] + ", " + shared)
        options = pd.concat([options, window_rows[options.columns.intersection(window_rows.columns)]], ignore_index=True)
    options = options.astype({"layer": "Int64", "head": "Int64"})
    write_table(options, options_out)
    summary = read_quantities(summary_path)
    best = table[table["system"] == BEST_HEAD].iloc[0]
    notes = [
        label.line,
        "Share of mentions, in %, whose head word picks the head word of one of their antecedents; interval: bootstrap over "
        f"{best['units']} {best['unit']}. {summary['documents']} documents, {summary['mentions']} mentions. Head words: "
        f"{summary['head_rule']}; "
        f"types of mentions: by {summary['tags']}. Best head: {best['direction'].replace('_', ' ')}, chosen on the same "
        "documents.",
        _names_known(int(summary["first_names"])),
        f"Paper: values for BERT-base on CoNLL-2012; its best head is {PAPER_HEAD}.",
    ]
    kinds = {"all": "All", "pronoun": "Pronoun", "proper": "Proper", "nominal": "Nominal"}
    names = {"system": "System", **kinds, **{f"paper_{kind}": f"Paper: {title}" for kind, title in kinds.items()}}
    rows = shown_rows(table, "mention_type", _SYSTEM_NAMES, f"held-out selection, by {best['unit']}")
    rows = pd.concat([rows, _paper_rows().reindex(_systems_of(rows)).reset_index(drop=True)], axis=1)
    formats = dict.fromkeys((f"paper_{kind}" for kind in kinds), ".0f")
    write_html_table(rows, out, "Clark et al. 2019, Table 2: coreference accuracy in %", notes, names, formats)
    shown = options[options["system"] != CHANCE].pivot(index=["option", "setting"], columns="system", values="accuracy")
    heads = options[options["system"] == BEST_HEAD].set_index(["option", "setting"])
    shown = 100 * shown.loc[heads.index, [*BASELINES, BEST_HEAD]]
    shown["best"] = [f"{row.layer}-{row.head}, {row.direction.replace('_', ' ')}" for row in heads.itertuples()]
    shown["n"] = heads["n"]
    shown = shown.reset_index().rename_axis(columns=None)
    shown["why"] = shown["option"].map(NOTES).fillna("")
    names = {system: _SYSTEM_NAMES[system] + " %" for system in (*BASELINES, BEST_HEAD)} | {"best": "Head", "why": "Why open"}
    formats = dict.fromkeys((*BASELINES, BEST_HEAD), ".1f") | {"n": "d"}
    notes = [label.line, "Each choice that the paper leaves open, changed one at a time. Accuracy on all mentions."]
    write_html_table(shown, options_html_out, "Clark et al. 2019, Table 2: unstated choices", notes, names, formats)


def with_published(table: pd.DataFrame) -> pd.DataFrame:
    """The table with paper_head (of the paper's best head) and paper_accuracy (a share); empty for systems not in the paper."""
    shares = _paper_rows() / 100
    cells = [
        shares.at[system, f"paper_{kind}"] if system in shares.index else math.nan
        for system, kind in zip(table["system"], table["mention_type"], strict=True)
    ]
    return table.assign(paper_head=np.where(table["system"] == BEST_HEAD, PAPER_HEAD, ""), paper_accuracy=cells)


def _systems_of(rows: pd.DataFrame) -> list[str]:
    """The system of each row of `shown_rows`; empty for rows that are not in the paper's table."""
    by_title = {title: name for name, title in _SYSTEM_NAMES.items() if name != BEST_HEAD}
    best = re.compile(rf"{re.escape(_SYSTEM_NAMES[BEST_HEAD])} \d+-\d+")
    return [BEST_HEAD if best.fullmatch(title) else by_title.get(title, "") for title in rows["system"]]


def _names_known(listed: int) -> str:
    """How many first names by gender the sieves know."""
    return f"The sieves take gender from words, and from {listed:,} first names (the US Census of 1990, or lists of the run)."


def _paper_rows() -> pd.DataFrame:
    """Table 2 of the paper in %: a row for each system, by its name on the page, and a column for each type of mention."""
    published = load_published("clark2019")
    cells: dict[str, dict[str, object]] = {name: {"system": name} for name in ("nearest", "head_match", "rule_based")}
    layer, head = PAPER_HEAD.split("-")
    cells[BEST_HEAD] = {"layer": int(layer), "head": int(head)}
    rows = {
        name: [printed(published, "Table 2", "accuracy", mention_type=kind, **cell) for kind in ROWS]
        for name, cell in cells.items()
    }
    numbers = [[None if value is None else value.value for value in values] for values in rows.values()]
    return pd.DataFrame(numbers, index=list(rows), columns=[f"paper_{kind}" for kind in ROWS]).astype(float)
