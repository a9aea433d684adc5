"""Every published number of the example study beside what a run measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.io.run_label import RunLabel
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_comparison
from attention_atlas.published.values import load_published


def comparison(tables: Mapping[str, Any], label: RunLabel, resamples: int, out: str | Path, html_out: str | Path) -> None:
    """Write comparison.tsv and its page.

    Args:
        tables: name -> file.
        label: model and texts.
        resamples: of the bootstrap.
        out, html_out: every published value beside ours.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    frames["quantities"] = quantities([Quantity("resamples", resamples)])
    published = load_published("toy2024")
    frame = compare(published, measure(published, frames, {"texts": label}))
    note = "A number is compared only with the same model on the same data."
    write_comparison(frame, out, html_out, "Example study 2024: published values and this run", [label.line], note)
