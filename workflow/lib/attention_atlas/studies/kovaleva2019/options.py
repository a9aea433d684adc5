"""Options: the page of how far each choice moves the heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.io.html_tables import Layout, write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.change_tables import OPTIONS
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES


def options_page(path: str | Path, labels: Mapping[str, RunLabel], html_out: str | Path) -> None:
    """Write the page.

    Args:
        path: options of `change_tables`.
        labels: task -> run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, OPTIONS)
    notes = [
        *joint_lines(labels.values()),
        "How far one choice moves the values of the heads (means over examples), all else as it is: mean and largest "
        "change, and Spearman's rank correlation of the heads under both. The first of each pair is the published "
        "code's, but for examples without a feature, where Figure 7's code skips and section 4.4's counts 0 (negation aside).",
    ]
    shown = table.assign(task=[TASK_TITLES[name] for name in table["task"]])
    formats = {"n": "d"} | dict.fromkeys(("mean_change", "largest_change", "rho"), ".4f")
    title = "Kovaleva et al. 2019: how far each choice moves the heads"
    write_html_table(shown, html_out, title, notes, {"rho": "Rho"}, formats, Layout("option"))
