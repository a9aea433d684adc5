"""Tables 1, 2 and 3 and the values of Figure 1: scores with one head masked, and with one head kept in a layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_table
from attention_atlas.methods.names import CLASSIFICATION, KEYS, ONE, OTHERS, TRANSLATION
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019.bleu import signature
from attention_atlas.studies.michel2019.effects import MaskedScores, best_by_layer, effect_rows, read_answers
from attention_atlas.studies.michel2019.names import KIND_TITLES, LEVEL

TABLE1 = ["kind", "layer", "head", "metric", "score", "baseline", "delta", "ci_low", "ci_high", "p", "p_holm", "p_bh", "n"]
BEST = [*TABLE1, "heldout_delta"]
FIGURE1 = ["experiment", *TABLE1]


def ablation_tables(
    answers: Mapping[str, str | Path],
    labels: Mapping[str, RunLabel],
    resamples: int,
    seed: int,
    table1_out: str | Path,
    table1_html: str | Path,
    table2_out: str | Path,
    table2_html: str | Path,
    table3_out: str | Path,
    table3_html: str | Path,
    figure1_out: str | Path,
) -> None:
    """Write the tables with their pages; scores and differences in points.

    Args:
        answers: experiment -> table of `masked_answers`.
        labels: translation, classification -> model and corpus of the run.
        resamples, seed: of the bootstrap.
        table1_out, table1_html: `TABLE1` of every head of the translation model; the page is a grid of the encoder's heads.
        table2_out, table2_html: `BEST` of the translation model: each layer with all heads masked but the best one.
        table3_out, table3_html: the same of the classifier.
        figure1_out: `FIGURE1`, heads of both models.

    Raises:
        AtlasError: a table cannot be used.
    """
    measured = {name: read_answers(path, KEYS, name) for name, path in answers.items()}
    single_head = {name: effect_rows(_only(masked, ONE), resamples, seed) for name, masked in measured.items()}
    write_table(single_head[TRANSLATION][TABLE1], table1_out)
    _grid_page(single_head[TRANSLATION], labels[TRANSLATION], table1_html)
    figure1 = pd.concat([rows.assign(experiment=name) for name, rows in single_head.items()], ignore_index=True)
    write_table(figure1[FIGURE1], figure1_out)
    for name, number, out, html in ((TRANSLATION, 2, table2_out, table2_html), (CLASSIFICATION, 3, table3_out, table3_html)):
        best = best_by_layer(_only(measured[name], OTHERS), resamples, seed)
        write_table(best[BEST], out)
        _best_page(best, number, labels[name], html)


def _only(masked: MaskedScores, unit: str) -> MaskedScores:
    return masked.only((masked.keys["masked"] == unit).to_numpy())


def _grid_page(rows: pd.DataFrame, label: RunLabel, path: str | Path) -> None:
    """The encoder's differences in the form of the paper's table, and the number of significant ones by each correction."""
    base = load_published("michel2019")["m19.tab1.base_bleu"].value
    encoder_rows = rows[rows["kind"] == "enc_enc"]
    cells = [_marked(row.delta, row.p, row.p_holm) for row in encoder_rows.itertuples()]
    grid = encoder_rows.assign(cell=cells).pivot(index="layer", columns="head", values="cell").reset_index()
    counts = "; ".join(
        f"{KIND_TITLES[str(kind)]}: {(kind_rows['p'] < LEVEL).sum()} of {len(kind_rows)} with p < {LEVEL}, "
        f"{(kind_rows['p_holm'] < LEVEL).sum()} after Holm, {(kind_rows['p_bh'] < LEVEL).sum()} after Benjamini-Hochberg, "
        f"{(kind_rows['delta'] > 0).sum()} above the whole model"
        for kind, kind_rows in rows.groupby("kind", sort=False)
    )
    notes = [
        label.line,
        f"Difference of BLEU when one head of the encoder's self-attention is masked; whole model "
        f"{encoder_rows['baseline'].iloc[0]:.2f} (the paper's: {base}), n = {encoder_rows['n'].iloc[0]} sentences, "
        f"{signature()}. * p < {LEVEL} by paired bootstrap, two-sided; ** also after Holm's correction for all heads of the "
        "three kinds.",
        f"{counts}. By chance alone one test in a hundred has p < {LEVEL}; the paper counts 8 of 96 heads, uncorrected.",
    ]
    grid.columns = ["layer", *(f"head {head}" for head in grid.columns[1:])]
    write_html_table(grid, path, "Michel et al. 2019, Table 1: masking one head of the encoder", notes, formats={"layer": "d"})


def _marked(delta: float, p: float, p_holm: float) -> str:
    return f"{delta:+.2f}" + ("**" if p_holm < LEVEL else "*" if p < LEVEL else "")


def _best_page(best: pd.DataFrame, number: int, label: RunLabel, path: str | Path) -> None:
    several_kinds = best["kind"].nunique() > 1
    columns = ["layer", "head", "score", "delta", "ci_low", "ci_high", "heldout_delta", "p", "p_holm"]
    shown = best[[*(["kind"] if several_kinds else []), *columns]]
    if several_kinds:
        shown = shown.assign(kind=[KIND_TITLES[kind] for kind in shown["kind"]])
    first = best.iloc[0]
    worse = int(((best["p"] < LEVEL) & (best["delta"] < 0)).sum())
    notes = [
        label.line,
        f"Each layer with one head left, the best one: {first['metric']} and its difference from the whole model "
        f"({first['baseline']:.2f}, n = {first['n']}), in points, with intervals by bootstrap over examples. {worse} of "
        f"{len(best)} layers are worse with p < {LEVEL} (uncorrected, as in the paper).",
        "heldout_delta: the head is chosen on one half of the examples and measured on the other, mean of both ways; the paper "
        "chooses on the examples that it reports.",
    ]
    formats = dict.fromkeys(("layer", "head"), "d") | dict.fromkeys(columns[2:-2], ".2f")
    task = "translation" if several_kinds else "classification"
    write_html_table(shown, path, f"Michel et al. 2019, Table {number}: one head a layer, {task}", notes, formats=formats)
