"""Attention to [SEP] as a no-op (section 3.2), the numbers beside Figure 5."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.dependency_scoring import PAPER_RELATIONS
from attention_atlas.studies.clark2019.sink import strongest_special_token


def noop_page(noop_path: str | Path, surface_path: str | Path | None, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of the no-op table: for the paper's relations, [SEP] attention with and without the relation.

    Args:
        noop_path: table of `dependencies.noop_frame`.
        surface_path: measures of all heads, to name the special token that the model attends to most; None in a run without
            segments.
        label: run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(
        noop_path, ["relation", "layer", "head", "group_by", "group", "n", "sep_attention", "cls_attention", "unit"]
    )
    unit = table["unit"].iloc[0] if len(table) else "documents"
    shown = table[table["relation"].isin(PAPER_RELATIONS) & (table["group_by"] == "relation")]
    notes = [
        label.line,
        "For the best head of each relation: mean attention from a word to [SEP], over words that have the relation and over "
        f"all others, with 95 % bootstrap intervals over {unit}. A head that uses [SEP] as a no-op sends more attention there "
        "where its relation does not hold. The same is shown for [CLS], which other models may use instead. The tab-separated "
        "table also has parts of speech.",
        *([strongest_special_token(surface_path)] if surface_path else []),
    ]
    write_html_table(shown, html_out, "Clark et al. 2019, section 3.2: [SEP] as a no-op", notes)
