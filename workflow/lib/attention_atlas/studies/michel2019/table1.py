"""Table 1: differences of BLEU when one head of the translation model is masked."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.names import TRANSLATION
from attention_atlas.published.values import load_published
from attention_atlas.stats.simultaneous import too_few_draws
from attention_atlas.studies.michel2019.ablation_tables import FIGURE1, TABLE1
from attention_atlas.studies.michel2019.bleu import signature
from attention_atlas.studies.michel2019.effects import BLEU, few_sentences, units_note
from attention_atlas.studies.michel2019.names import KIND_TITLES, LEVEL


def table1(path: str | Path, label: RunLabel, out: str | Path, html_out: str | Path) -> None:
    """Write Table 1; the page is a grid of the encoder's heads, with the number of significant ones by each correction.

    Args:
        path: `FIGURE1` of `ablation_tables`.
        label: run, model and corpus.
        out, html_out: `TABLE1` of every head of the translation model; its page.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE1)
    rows = table.loc[table["experiment"] == TRANSLATION, TABLE1]
    write_table(rows, out)
    base = load_published("michel2019")["m19.tab1.base_bleu"].value
    encoder_rows = rows[rows["kind"] == "enc_enc"]
    cells = [_marked(row.delta, row.p, row.p_adjusted) for row in encoder_rows.itertuples()]
    grid = encoder_rows.assign(cell=cells).pivot(index="layer", columns="head", values="cell").reset_index()
    counts = "; ".join(
        f"{KIND_TITLES[str(kind)]}: {(kind_rows['p'] < LEVEL).sum()} of {len(kind_rows)} with p < {LEVEL} "
        f"(p_count {kind_rows['p_count'].iloc[0]:.2g}), "
        f"{(kind_rows['p_adjusted'] < LEVEL).sum()} with p_adjusted < {LEVEL}, "
        f"{(kind_rows['delta'] > 0).sum()} above the whole model"
        for kind, kind_rows in rows.groupby("kind", sort=False)
    )
    notes = [
        label.line,
        f"Difference of BLEU when one head of the encoder's self-attention is masked; whole model "
        f"{encoder_rows['baseline'].iloc[0]:.2f} (the paper's: {base}), n = {encoder_rows['n'].iloc[0]} sentences, "
        f"{signature()}. * p < {LEVEL} by paired bootstrap, two-sided; ** p_adjusted < {LEVEL}: adjusted for all heads of the "
        "three kinds by the maximum statistic.",
        f"{counts}. By chance alone one test in a hundred has p < {LEVEL}. p_count: share of random exchanges of the "
        "translations with and without a head after which at least as many heads of the kind are significant; the tests of "
        "heads are not independent. The paper counts 8 of 96 heads, uncorrected. p_sacrebleu: p as sacrebleu computes it, "
        "which is below its level about twice as often as p.",
        units_note(BLEU),
        *few_sentences(BLEU, int(encoder_rows["n"].iloc[0])),
        *([too_few_draws("p_bh", len(rows), LEVEL)] if rows["p_bh"].isna().any() else []),
    ]
    grid.columns = ["layer", *(f"head {head}" for head in grid.columns[1:])]
    write_html_table(
        grid, html_out, "Michel et al. 2019, Table 1: masking one head of the encoder", notes, formats={"layer": "d"}
    )


def _marked(delta: float, p: float, p_adjusted: float) -> str:
    return f"{delta:+.2f}" + ("**" if p_adjusted < LEVEL else "*" if p < LEVEL else "")
