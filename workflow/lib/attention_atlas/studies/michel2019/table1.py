"""Table 1: differences of BLEU when one head of the translation model is masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import Layout, write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.names import TRANSLATION
from attention_atlas.published.values import Published, load_published, published_column
from attention_atlas.stats.simultaneous import too_few_draws
from attention_atlas.studies.michel2019.ablation_tables import FIGURE1, PUBLISHED_DELTA, TABLE1
from attention_atlas.studies.michel2019.bleu import signature
from attention_atlas.studies.michel2019.effects import BLEU, few_sentences, units_note
from attention_atlas.studies.michel2019.names import ATTENTION_TITLES, LEVEL


def table1(path: str | Path, label: RunLabel, translator: str, out: str | Path, html_out: str | Path) -> None:
    """Write Table 1; the page is a grid of the heads of all kinds of attention, with the number of significant ones.

    Args:
        path: `FIGURE1` of `ablation_tables`.
        label: run, model and corpus.
        translator: the translation model in words.
        out, html_out: `TABLE1` of every head of the translation model and published_delta, the heads with the smallest p and
            the largest changes first; its page.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE1)
    rows = table.loc[table["experiment"] == TRANSLATION, TABLE1]
    published = load_published("michel2019")
    paper = published_column(published, "Table 1", "table1", "delta", rows)
    order = rows.assign(size=-rows["delta"].abs()).sort_values(["p", "size"], kind="stable").index
    write_table(rows.assign(**{PUBLISHED_DELTA: paper}).loc[order], out)
    base = published["m19.tab1.base_bleu"].value
    counts = "; ".join(
        f"{ATTENTION_TITLES[str(kind)]}: {(kind_rows['p'] < LEVEL).sum()} of {len(kind_rows)} with p < {LEVEL} "
        f"(p_count {kind_rows['p_count'].iloc[0]:.2g}), "
        f"{(kind_rows['p_adjusted'] < LEVEL).sum()} with p_adjusted < {LEVEL}, "
        f"{(kind_rows['delta'] > 0).sum()} above the full model"
        for kind, kind_rows in rows.groupby("kind", sort=False)
    )
    notes = [
        label.line,
        f"Translation model: {translator}.",
        f"Change in BLEU when one head is masked, for each kind of attention; full model {rows['baseline'].iloc[0]:.2f} (the "
        f"paper's: {base}), n = {rows['n'].iloc[0]} sentences, {signature()}. * p < {LEVEL} by paired bootstrap, two-sided; "
        f"** p_adjusted < {LEVEL}: adjusted for all heads of the three kinds by the maximum statistic. The paper prints only "
        "the encoder's self-attention; its values are those of another model and are shown below ours.",
        f"{counts[0].upper()}{counts[1:]}. By chance alone one test in a hundred has p < {LEVEL}. p_count: share of random "
        "exchanges of the translations with and without masking after which at least as many heads of the kind are "
        "significant; the tests of heads are not independent. The paper counts 8 of 96 heads, uncorrected. p_sacrebleu: p as "
        "sacrebleu computes it, which rejects about twice as often as p.",
        units_note(BLEU),
        *few_sentences(BLEU, int(rows["n"].iloc[0])),
        *([too_few_draws("p_bh", len(rows), LEVEL)] if rows["p_bh"].isna().any() else []),
    ]
    title = "Michel et al. 2019, Table 1: change in BLEU with one head masked"
    write_html_table(_grid(rows, published), html_out, title, notes, formats={"layer": "d"}, layout=Layout("attention"))


def _grid(rows: pd.DataFrame, published: Mapping[str, Published]) -> pd.DataFrame:
    """A row for each kind of attention and layer and a column for each head; the published rows follow those of their kind."""
    ours = [_marked(row.delta, row.p, row.p_adjusted) for row in rows.itertuples()]
    cells = rows.assign(attention=rows["kind"].map(ATTENTION_TITLES), cell=ours)
    parts = []
    for kind, kind_cells in cells.groupby("kind", sort=False):
        parts.append(kind_cells)
        places = [(value.numbers[0].cell, value) for value in published.values() if value.item == "Table 1"]
        paper = [
            (f"paper: {ATTENTION_TITLES[str(kind)]}", int(cell.where["layer"]), int(cell.where["head"]), f"{value.value:+.2f}")
            for cell, value in places
            if cell is not None and cell.column == "delta" and cell.where["kind"] == kind
        ]
        parts.append(pd.DataFrame(paper, columns=["attention", "layer", "head", "cell"]))
    grid = pd.concat(parts)[["attention", "layer", "head", "cell"]]
    order = list(dict.fromkeys(zip(grid["attention"], grid["layer"], strict=True)))
    grid = grid.pivot(index=["attention", "layer"], columns="head", values="cell").loc[order].reset_index()
    grid.columns = ["attention", "layer", *(f"head {head}" for head in grid.columns[2:])]
    return grid


def _marked(delta: float, p: float, p_adjusted: float) -> str:
    return f"{delta:+.2f}" + ("**" if p_adjusted < LEVEL else "*" if p < LEVEL else "")
