"""Table 3: answers without attention within or between sentences."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_type_names import TITLES
from attention_atlas.studies.guan2020.ablation_rows import INTER, INTRA
from attention_atlas.studies.guan2020.ablation_tables import ablation_table, score_columns, scores_note
from attention_atlas.studies.guan2020.names import SENTENCES

_ACTIONS = {INTRA: "within sentences", INTER: "between sentences"}


def table3(
    answers_path: str | Path,
    types_path: str | Path,
    resamples: int,
    seed: int,
    label: RunLabel,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write Table 3: intra- and inter-sentence attention removed, under both definitions of a sentence.

    Args:
        answers_path: of `ablations.score_answers`.
        types_path: head_types.tsv.
        resamples, seed: of the bootstrap over passages.
        label: run, model and corpus.
        out, html_out: the rows, see `ablation_table`; their page has the paper's values and the control beside ours.

    Raises:
        AtlasError: a table cannot be used.
    """
    ablation_table("table3", answers_path, types_path, resamples, seed, out)
    _page(out, label, html_out)


def _page(table_path: str | Path, label: RunLabel, out: str | Path) -> None:
    """Intra- and inter-sentence attention removed, under both definitions of a sentence."""
    table = read_table(table_path)
    table["sentences"] = table["sentences"].fillna("")
    shown = pd.DataFrame(
        {
            "id": table["row"].astype(str),
            "removed": [_ACTIONS.get(str(action), "nothing") for action in table["action"]],
            "of types": [", ".join(TITLES[t] for t in str(types).split("+") if t in TITLES) for types in table["types"]],
            "sentences": table["sentences"].map(SENTENCES),
        }
    )
    shown = pd.concat([shown, score_columns(table)], axis=1)
    notes = [
        label.line,
        "The paper does not say what a sentence is: question and passage (the two segments), or the sentences of the passage. "
        "The passage is split by sentencex, or after every full stop, even in abbreviations and numbers (option sentences). "
        + scores_note(table),
        "Row 12 is printed as 16.96 in the paper's table and as 19.96 in its text. Row 13 lies above the paper's baseline.",
    ]
    write_html_table(shown, out, "Guan et al. 2020, Table 3: attention within and between sentences", notes)
