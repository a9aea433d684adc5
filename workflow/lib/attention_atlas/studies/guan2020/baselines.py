"""Table 2, baselines: the unchanged model by the way of scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.studies.guan2020.ablation_tables import SCORES, passage_interval


def baselines_table(
    scored_path: str | Path, resamples: int, seed: int, label: RunLabel, out: str | Path, html_out: str | Path
) -> None:
    """Write the unchanged model's scores by the way of scoring.

    Args:
        scored_path: of `ablations.score_answers`, one row per question.
        resamples, seed: of the bootstrap over passages.
        label: run, model and corpus.
        out, html_out: windows, references, n, em and f1 with intervals; its page.

    Raises:
        AtlasError: the table cannot be used.
    """
    scored = read_table(scored_path, ["windows", "references", "question", "passage", *SCORES])
    rows = []
    for windows in ("all", "first"):
        for references in ("all", "first"):
            way_scores = scored[(scored["windows"] == windows) & (scored["references"] == references)]
            low, high = passage_interval(
                way_scores[list(SCORES)].to_numpy(float), way_scores["passage"].to_numpy(), resamples, seed
            )
            row: dict[str, Any] = {"windows": windows, "references": references, "n": len(way_scores)}
            for column, score in enumerate(SCORES):
                row |= {score: way_scores[score].mean(), f"{score}_ci_low": low[column], f"{score}_ci_high": high[column]}
            rows.append(row)
    table = pd.DataFrame(rows)
    write_table(table, out)
    notes = [
        label.line,
        "The same model and answers, scored in four ways: the best answer over all windows of a passage or that of its first "
        "window alone, against all reference answers or only the first. The paper's baseline is F1 89.68; the authors of its "
        "checkpoint report EM 86.92 and F1 93.15 on SQuAD v1.1 dev.",
    ]
    formats = {name: ".1f" for name in table.columns if name.startswith(SCORES)} | {"n": "d"}
    write_html_table(table, html_out, "Guan et al. 2020: baselines by the way of scoring", notes, formats=formats)
