"""Figure 4: BLEU by percent of the heads of one kind of attention masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import seaborn as sns

from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import PUBLISHED, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.drawn import published_rows
from attention_atlas.studies.michel2019.curves import FIGURE4
from attention_atlas.studies.michel2019.figure_style import KIND_COLOURS, KIND_MARKERS, SCORE_LABELS
from attention_atlas.studies.michel2019.kind_removal import dispensable_kinds
from attention_atlas.studies.michel2019.names import KIND_TITLES

_SELF_ATTENTION_MASKED = 80
"""Percent of self-attention heads masked at the published BLEU: 20 % of them are kept."""


def figure4(path: str | Path, label: RunLabel, translator: str, pictures: Mapping[str, str | Path]) -> None:
    """Draw BLEU by percent of the heads of one kind of attention, pruned by importance.

    Args:
        path: `FIGURE4` of `curves.pruning_curves`.
        label: model and corpus of the run.
        translator: the translation model in words.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE4)
    figure, (axis,) = panels(4.8, 3.4, 1)
    kinds = [kind for kind in KIND_COLOURS if (table["kind"] == kind).any()]
    heads = table.groupby("kind")["heads"].first()
    titles = {kind: f"{KIND_TITLES[kind]} ({heads[kind]} heads)" for kind in kinds}
    titled = table.assign(title=table["kind"].map(titles))
    sns.lineplot(
        titled,
        x="percent",
        y="score",
        hue="title",
        hue_order=list(titles.values()),
        palette=[KIND_COLOURS[kind] for kind in kinds],
        style="title",
        style_order=list(titles.values()),
        markers=[KIND_MARKERS[kind] for kind in kinds],
        dashes=False,
        errorbar=None,
        ax=axis,
    )
    for kind in kinds:
        rows = table[table["kind"] == kind].sort_values("percent")
        band = {"color": KIND_COLOURS[kind], "alpha": 0.15, "linewidth": 0}
        axis.fill_between(rows["percent"], rows["ci_low"], rows["ci_high"], **band)
    collapse, bleu = published_rows("michel2019", ["m19.fig4.encdec_collapse", "m19.fig4.self_20pct"])["value"]
    collapse_label = "published: encoder-decoder heads, collapse"
    axis.axvline(collapse, color=KIND_COLOURS["enc_dec"], linewidth=0.9, linestyle="-.", label=collapse_label)
    self_label = "published: encoder or decoder heads"
    axis.plot([_SELF_ATTENTION_MASKED], [bleu], linestyle="none", label=self_label, **PUBLISHED)
    axis.set_xlabel("Heads of this kind masked (%)")
    axis.set_ylabel(SCORE_LABELS["BLEU"])
    axis.set_ylim(bottom=0)
    legend_below(figure, [axis], 3)
    notes = [f"n = {table['n'].iloc[0]} sentences", f"translation model: {translator}", *dispensable_kinds(table).values()]
    save_figure(figure, pictures, footnote(label, "; ".join(notes)))
