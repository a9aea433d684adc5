"""Table 2 in the paper's shape: systems by types of mention; and what its unstated choices do to it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.html_tables import write_html_table
from attention_atlas.published.values import load_published
from attention_atlas.studies.clark2019.antecedents import BASELINES, NOTES
from attention_atlas.studies.clark2019.coreference import BEST_HEAD, CHANCE, COLUMNS, ROWS, SYSTEMS
from attention_atlas.studies.clark2019.setting import Setting
from attention_atlas.tables import read_table, write_table

_SYSTEM_NAMES = {
    CHANCE: "A candidate at random",
    "nearest": "Nearest other mention",
    "head_match": "Nearest with the same head word",
    "rule_based": "Rule-based (four sieves)",
    BEST_HEAD: "Best attention head",
}


def table2_pages(
    table_path: str | Path,
    options_path: str | Path,
    summary_path: str | Path,
    windows_path: str | Path | None,
    setting: Setting,
    out: str | Path,
    options_out: str | Path,
    options_html_out: str | Path,
) -> None:
    """Write Table 2 in the paper's shape as a page, and the table of options.

    Args:
        table_path, options_path, summary_path: tables of `coreference`.
        windows_path: Table 2 on the corpus cut into windows the other way, None where the run names none.
        setting: what was looked at.
        out: page of Table 2.
        options_out, options_html_out: option, setting, system, layer, head, direction, n, accuracy, heldout_accuracy; its page.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(table_path, list(COLUMNS)).astype({"layer": "Int64", "head": "Int64"})
    options = read_table(options_path, ["option", "setting", "system", "layer", "head", "direction", "n", "accuracy"])
    if windows_path:
        other = read_table(windows_path, list(COLUMNS)).query("mention_type == 'all'").assign(option="windows", setting="other")
        options = pd.concat([options, other[options.columns.intersection(other.columns)]], ignore_index=True)
    options = options.astype({"layer": "Int64", "head": "Int64"})
    write_table(options, options_out)
    summary = read_table(summary_path, ["quantity", "value"]).set_index("quantity")["value"]
    best = table[table["system"] == BEST_HEAD].iloc[0]
    rows = []
    for system in SYSTEMS:
        own = table[table["system"] == system].set_index("mention_type")
        cells = {
            name: f"{100 * own.loc[name, 'accuracy']:.1f} ({100 * own.loc[name, 'ci_low']:.1f} to "
            f"{100 * own.loc[name, 'ci_high']:.1f})"
            if own.loc[name, "n"]
            else ""
            for name in ROWS
        }
        label = _SYSTEM_NAMES[system]
        rows.append({"system": f"{label} {best['layer']}-{best['head']}" if system == BEST_HEAD else label} | cells)
    held = table[table["system"] == BEST_HEAD].set_index("mention_type")["heldout_accuracy"]
    rows.append({"system": "Head chosen on other documents"} | {name: f"{100 * held[name]:.1f}" for name in ROWS})
    counts = table[table["system"] == BEST_HEAD].set_index("mention_type")["n"]
    rows.append({"system": "n"} | {name: str(counts[name]) for name in ROWS})
    notes = [
        setting.line,
        "Share of mentions, in %, whose head word picks the head word of one of their antecedents; interval: bootstrap over "
        f"documents. {summary['documents']} documents, {summary['mentions']} mentions. Head words: {summary['head_rule']}; "
        f"types of mentions: by {summary['tags']}. Best head: {best['direction']}, chosen on the same documents.",
        _printed(),
    ]
    names = {"system": "System", "all": "All", "pronoun": "Pronoun", "proper": "Proper", "nominal": "Nominal"}
    write_html_table(pd.DataFrame(rows), out, "Clark et al. 2019, Table 2", notes, names)
    shown = options[options["system"] != CHANCE].pivot(index=["option", "setting"], columns="system", values="accuracy")
    heads = options[options["system"] == BEST_HEAD].set_index(["option", "setting"])
    shown = 100 * shown.loc[heads.index, [*BASELINES, BEST_HEAD]]
    shown["best"] = [f"{row.layer}-{row.head}, {row.direction}" for row in heads.itertuples()]
    shown["n"] = heads["n"]
    shown = shown.reset_index().rename_axis(columns=None)
    shown["why"] = shown["option"].map(NOTES).fillna("")
    names = {system: _SYSTEM_NAMES[system] + " %" for system in (*BASELINES, BEST_HEAD)} | {"best": "Head", "why": "Why open"}
    formats = dict.fromkeys((*BASELINES, BEST_HEAD), ".1f") | {"n": "d"}
    notes = [setting.line, "Each choice that the paper leaves open, moved alone. Accuracy on all mentions."]
    write_html_table(shown, options_html_out, "Clark et al. 2019, Table 2: unstated choices", notes, names, formats)


def _printed() -> str:
    """The paper's own Table 2 in one sentence."""
    published = load_published("clark2019")
    systems = {"nearest": "nearest", "headmatch": "head match", "rulebased": "rule-based", "head5_4": "head 5-4"}
    cells = (
        f"{name} " + " / ".join(str(published[f"t2_{key}_{kind}"]["value"]) for kind in ROWS) for key, name in systems.items()
    )
    return f"The paper (CoNLL-2012; all / pronoun / proper / nominal): {'; '.join(cells)}."
