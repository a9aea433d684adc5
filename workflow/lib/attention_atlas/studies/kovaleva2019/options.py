"""Options: the page of the effect of each choice on the values of heads."""

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
        "Change in the values of the heads (means over examples) when one choice is changed: mean and largest absolute "
        "change, and Spearman's rank correlation over heads between both settings. The first setting of each pair is that of "
        "the published code, except for examples without a feature: the code of Figure 7 skips them and that of section 4.4 "
        "counts them as 0 (except for negation).",
    ]
    shown = table.assign(task=[TASK_TITLES[name] for name in table["task"]])
    formats = {"n": "d"} | dict.fromkeys(("mean_change", "largest_change", "rho"), ".4f")
    title = "Kovaleva et al. 2019: effect of each choice on the values of heads"
    write_html_table(shown, html_out, title, notes, {"rho": "Rho"}, formats, Layout("option"))
