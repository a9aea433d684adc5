"""Table 2: answers with the heads of a type pruned or substituted."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_type_names import TITLES, TYPES
from attention_atlas.studies.guan2020.ablation_rows import UNIFORM, ZERO
from attention_atlas.studies.guan2020.ablation_tables import (
    ablation_table,
    score_columns,
    scores_note,
)


def table2(
    answers_path: str | Path,
    types_path: str | Path,
    baselines_path: str | Path,
    resamples: int,
    seed: int,
    label: RunLabel,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write Table 2 in the paper's layout.

    Args:
        answers_path: of `ablations.score_answers`.
        types_path: head_types.tsv.
        baselines_path: of `baselines.baselines_table`.
        resamples, seed: of the bootstrap over passages.
        label: run, model and corpus.
        out, html_out: the rows, see `ablation_table`; their page has the paper's values and the control beside ours.

    Raises:
        AtlasError: a table cannot be used.
    """
    ablation_table("table2", answers_path, types_path, resamples, seed, out)
    _page(out, baselines_path, label, html_out)


def _page(table_path: str | Path, baselines_path: str | Path, label: RunLabel, out: str | Path) -> None:
    """Table 2 in the paper's layout, with the paper's values and the control beside ours."""
    table = read_table(table_path)
    marks = {ZERO: "0", UNIFORM: "1/L"}
    shown = pd.DataFrame({"id": table["row"].astype(str)})
    unnamed = {name for names in table["unnamed"].dropna() for name in names.split("+")}
    for name in TYPES:
        shown[f"Unnamed (for {TITLES[name]})" if name in unnamed else TITLES[name]] = [
            marks.get(str(action), "v") if name in str(types).split("+") else "v"
            for action, types in zip(table["action"], table["types"], strict=True)
        ]
    shown = pd.concat([shown, score_columns(table)], axis=1)
    first = read_table(baselines_path).iloc[0]
    notes = [
        label.line,
        "v: the head keeps its attention; 0: it is pruned; 1/L: it attends uniformly to all real tokens. " + scores_note(table),
        "The paper's baseline F1 (89.68) lies 3.5 below the score reported for its checkpoint (93.15): drops from each "
        "baseline can be compared, scores cannot. For our baseline by the way of scoring, see the table of baselines (here "
        f"{first['em']:.1f} / {first['f1']:.1f} with {first['windows']} windows and {first['references']} references).",
        "The exact match in row 1 of the paper's table is not legible in the copy that was transcribed; it lies between "
        "81.42 and 82.92.",
    ]
    write_html_table(shown, out, "Guan et al. 2020, Table 2: pruning and substitution by type of head", notes)
