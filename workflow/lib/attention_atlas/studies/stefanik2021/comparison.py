"""Published values of the slides beside this run's, and the slides' claims about attention, tested on this run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import measure, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import Published, load_published
from attention_atlas.studies.stefanik2021.claims import claims
from attention_atlas.studies.stefanik2021.extractors import OCCURRENCES
from attention_atlas.studies.stefanik2021.names import METHOD_TITLES
from attention_atlas.studies.stefanik2021.removal_pages import removal_warning


def comparison(
    tables: Mapping[str, Any],
    label: RunLabel,
    tagging: RunLabel,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file.
        label: model and documents whose attention was extracted.
        tagging: model and test documents of the fine-tuned taggers.
        out, html_out: every published value beside this run's.
        claims_out, claims_html: the claims of `claims.claims`.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    frames["best_extractor"] = _best_extractor(frames["baselines"])
    published = load_published("stefanik2021")
    frame = compare(published, measure(published, frames, {"documents": label, "tagging": tagging}))
    lines = joint_lines([label, tagging])
    note = "No value can be compared: the slides name neither corpus nor settings. Ours are shown only for their size."
    write_comparison(frame, out, html_out, "Štefánik: published values and this run", lines, note)
    warning = removal_warning(frames["fine_tuning"])
    notes = [*lines, "What the slides say or suggest about attention, tested on this run's model.", *warning]
    write_claims(claims(frames, _gain(published)), claims_out, claims_html, "Štefánik: claims and this run", notes)


def _best_extractor(baselines: pd.DataFrame) -> pd.DataFrame:
    """The row of the method that is best on test documents, with its title: the run's counterpart of a state of the art."""
    scores = baselines[baselines["metric"] == OCCURRENCES]
    return scores.nlargest(1, "value").assign(title=lambda rows: rows["method"].map(METHOD_TITLES))


def _gain(published: Mapping[str, Published]) -> float:
    """Percentage points of F1 that the slides report for the removal of heads."""
    pruned, whole = (float(str(published[name].value)) for name in ("s21.f1_pruned", "s21.f1"))
    return round(100 * (pruned - whole), 6)
