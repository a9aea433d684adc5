"""Figure 7: attention of [CLS] in the last layer to pieces with a feature."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import save_figure, use_style
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES
from attention_atlas.studies.kovaleva2019.word_features import AS_PUBLISHED, CORRECTED

_ROWS = {
    "pron": "pronoun",
    "noun": "noun",
    "verb": "verb",
    "obj": "object",
    "subj": "subject",
    "neg": "negation",
    "punct": "punctuation",
    "cls": "[CLS]",
    "sep": "[SEP]",
}
_MODES = {AS_PUBLISHED: "By spelling", CORRECTED: "By word"}


def figure7(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the attention of [CLS] in the last layer to pieces with a feature.

    Args:
        path: of `change_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["task", "mode", "feature", "head", "value", "n"])
    tasks = list(dict.fromkeys(table["task"]))
    table = table[table["value"].notna()]
    present = [name for name in _ROWS if (table["feature"] == name).any()]
    heads = int(table["head"].max())
    use_style()
    figure, axes = plt.subplots(
        len(_MODES),
        len(tasks),
        figsize=(max(1.3, 0.11 * heads) * len(tasks) + 1.8, len(_MODES) * 0.22 * len(present) + 1.2),
        constrained_layout=True,
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for row, (mode, title) in enumerate(_MODES.items()):
        for axis, task in zip(axes[row], tasks, strict=True):
            panel_rows = table[(table["task"] == task) & (table["mode"] == mode)]
            grid = panel_rows.pivot(index="feature", columns="head", values="value").reindex(present).to_numpy(float)
            image = axis.imshow(
                grid, cmap="YlGn", vmin=0, vmax=0.5, aspect="auto", extent=(0.5, heads + 0.5, len(present) - 0.5, -0.5)
            )
            axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
            if row == 0:
                axis.set_title(TASK_TITLES[task])
        axes[row, 0].set_ylabel(title)
    for axis in axes[-1]:
        axis.set_xlabel("Head")
    axes[0, 0].set_yticks(range(len(present)), [_ROWS[name] for name in present])
    figure.colorbar(image, ax=axes, label="Attention of [CLS]", shrink=0.8, extend="max")
    note = (
        "Last layer of the fine-tuned models: the largest weight of the row of [CLS] on a piece with the feature, mean "
        f"over the examples that have it (up to n = {int(table['n'].max())}) and seeds. By spelling (published code): every "
        "piece that is spelled like a piece of a word with the feature; by word: the pieces of these words alone. White: no "
        "example, or no tags."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))
