"""Every published number of Michel et al. (2019) with a run's, and claims for and against the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel
from attention_atlas.methods.names import CLASSIFICATION, DEFINITIONS, PAPER, TRANSLATION
from attention_atlas.published.claims import claim_verdict
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019.correlations import PEARSON, SPEARMAN, TRIMMED, in_words
from attention_atlas.studies.michel2019.curves import mean_score, prunable
from attention_atlas.studies.michel2019.names import ABLATION, HELDOUT, IMPORTANCE, KIND_TITLES, LEVEL, RANDOM, TITLES


def comparison(
    tables: Mapping[str, Any],
    labels: Mapping[str, RunLabel],
    definition: str,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file; figure5 is empty where the run follows no training.
        labels: role -> model and corpus of the run.
        definition: of importance, by which this run orders heads.
        out, html_out: every published value with this run's.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    frames["quantities"] = quantities(_quantities(frames))
    frames["correlations"] = _with_other_statistics(frames["correlations"])
    published = load_published("michel2019")
    frame = compare(published, measure(published, frames, labels))
    lines = [labels[name].line for name in (TRANSLATION, CLASSIFICATION)]
    note = (
        "A number is compared only with the same model on the same data. Ids with rerun are those of a third party that "
        "ran the authors' code."
    )
    write_comparison(frame, out, html_out, "Michel et al. 2019: published values and this run", lines, note)
    notes = [*lines, "Claims of the paper, and what later work holds against them, tested on this run's models."]
    write_claims(_claims(frames, definition), claims_out, claims_html, "Michel et al. 2019: claims and this run", notes)


def _quantities(frames: Mapping[str, pd.DataFrame]) -> Iterator[Quantity]:
    encoder = frames["table1"][frames["table1"]["kind"] == "enc_enc"]
    yield Quantity("significant_heads", int((encoder["p"] < LEVEL).sum()), len(encoder))
    sizes = frames["head_importance"].groupby("task")["head"].max()
    for name, table in ((TRANSLATION, frames["table2"]), (CLASSIFICATION, frames["table3"])):
        not_worse = ~((table["p"] < LEVEL) & (table["delta"] < 0))
        yield Quantity(f"layers_not_worse_{name}", 100 * float(not_worse.mean()), len(table))
        curve = _curve(frames["figure3"], name, IMPORTANCE)
        yield Quantity(f"prunable_{name}", prunable(curve), int(curve["n"].iloc[0]))
        yield Quantity(f"share_of_a_head_{name}", 100 / float(sizes[name]))
    figure4 = frames["figure4"]
    cross = figure4[figure4["kind"] == "enc_dec"]
    above_half = cross.loc[cross["score"] >= cross["baseline"] / 2, "percent"].max()
    yield Quantity("half_left_encoder_decoder", float(above_half), int(cross["n"].iloc[0]))
    at_80 = figure4[(figure4["kind"] != "enc_dec") & (figure4["percent"] == 80)]
    if len(at_80):
        yield Quantity("self_attention_at_80", float(at_80["score"].min()), int(at_80["n"].iloc[0]))


def _with_other_statistics(table: pd.DataFrame) -> pd.DataFrame:
    """The correlations with a column `beside`: the experiment's Spearman correlation and Pearson's without extremes."""
    values = table.pivot(index="experiment", columns="statistic", values="value")
    texts = [
        f"Spearman {values.loc[name, SPEARMAN]:.2f}, Pearson without extremes {values.loc[name, TRIMMED]:.2f}"
        for name in table["experiment"]
    ]
    return table.assign(beside=texts)


def _curve(figure3: pd.DataFrame, experiment: str, order: str, draw: int = 0) -> pd.DataFrame:
    in_curve = (figure3["experiment"] == experiment) & (figure3["order"] == order) & (figure3["draw"] == draw)
    return figure3[in_curve].sort_values("percent")


def _claims(frames: Mapping[str, pd.DataFrame], definition: str) -> Iterator[tuple[str, str, str]]:
    yield from _ablation_claims(frames)
    yield from _correlation_claims(frames["correlations"])
    yield from _pruning_claims(frames)
    importance = frames["head_importance"]
    for name, head_rows in importance.groupby("task", sort=False):
        spearman = head_rows.drop_duplicates("definition").set_index("definition")["spearman"]
        words = ", ".join(f"{code} {spearman[code]:.2f}" for code in DEFINITIONS if code != PAPER)
        claim = f"{TITLES[str(name)]}: published code ranks heads as the paper's definition does (Spearman 0.9 or more in all)"
        yield claim, f"Spearman: {words}; heads are ordered by: {definition}", claim_verdict(bool((spearman >= 0.9).all()))
    if "figure5" in frames:
        yield from _training_claims(frames["figure5"])


def _ablation_claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    for kind, head_rows in frames["table1"].groupby("kind", sort=False):
        name, heads = KIND_TITLES[str(kind)], len(head_rows)
        worse = int(((head_rows["p"] < LEVEL) & (head_rows["delta"] < 0)).sum())
        claim = f"{name} attention: most heads can be masked, one at a time, without a significant loss (section 3.2)"
        yield claim, f"{worse} of {heads} heads worse with p < {LEVEL}", claim_verdict(worse < heads / 2)
        significant = int((head_rows["p"] < LEVEL).sum())
        chance = float(head_rows["p_count"].iloc[0])
        claim = f"{name} attention: more heads differ with p < {LEVEL} than by chance alone (the paper corrects nothing)"
        adjusted = int((head_rows["p_adjusted"] < LEVEL).sum())
        ours = f"{significant} of {heads}, {heads * LEVEL:.1f} expected by chance (p = {chance:.2g}); adjusted {adjusted}"
        yield claim, ours, claim_verdict(chance < 0.05)
        above = int((head_rows["delta"] > 0).sum())
        claim = f"{name} attention: masking a head raises the score more often than it lowers it (71 of 96 in the paper)"
        yield claim, f"{above} of {heads} above the whole model", claim_verdict(above > heads / 2)
    for name, table in ((TRANSLATION, frames["table2"]), (CLASSIFICATION, frames["table3"])):
        worse = int(((table["p"] < LEVEL) & (table["delta"] < 0)).sum())
        claim = f"{TITLES[name]}: in most layers one head is enough (Tables 2 and 3)"
        yield (
            claim,
            f"{len(table) - worse} of {len(table)} layers not worse with p < {LEVEL}",
            claim_verdict(worse < len(table) / 2),
        )


def _correlation_claims(table: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    rows = {(row.experiment, row.statistic): row for row in table.itertuples()}
    for name in (TRANSLATION, CLASSIFICATION):
        whole, trimmed = rows[name, PEARSON], rows[name, TRIMMED]
        claim = f"{TITLES[name]}: what a head does on one corpus, it does on another (r above 0 with 95 % confidence)"
        yield claim, f"r = {in_words(whole.value, whole.ci_low, whole.ci_high)}", claim_verdict(whole.ci_low > 0)
        extremes = whole.heads - trimmed.heads
        claim = f"{TITLES[name]}: this does not rest on a few heads (r above 0 without the {extremes} farthest out)"
        spearman = rows[name, SPEARMAN].value
        ours = f"r = {in_words(trimmed.value, trimmed.ci_low, trimmed.ci_high)}; Spearman {spearman:.2f}"
        yield claim, ours, claim_verdict(trimmed.ci_low > 0)


def _pruning_claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    figure3, summary = frames["figure3"], frames["pruning"].set_index(["experiment", "order"])
    for name, share in ((TRANSLATION, 20), (CLASSIFICATION, 40)):
        percent = prunable(_curve(figure3, name, IMPORTANCE))
        claim = f"{TITLES[name]}: {share} % of the heads can go by importance without noticeable loss (here: less than a point)"
        yield claim, f"{percent} %", claim_verdict(percent >= share)
        means = {order: float(summary.loc[(name, order), "mean"]) for order in (IMPORTANCE, ABLATION, HELDOUT)}
        claim = f"{TITLES[name]}: importance orders heads better than their scores one at a time (mean of the curve)"
        ours = f"importance {means[IMPORTANCE]:.1f}, single heads {means[ABLATION]:.1f}, on other examples {means[HELDOUT]:.1f}"
        yield claim, ours, claim_verdict(means[IMPORTANCE] > means[ABLATION])
        draws = sorted(figure3.loc[(figure3["experiment"] == name) & (figure3["order"] == RANDOM), "draw"].unique())
        random_means = [mean_score(_curve(figure3, name, RANDOM, draw)) for draw in draws]
        claim = f"{TITLES[name]}: importance beats every random order (later work: random is about as good)"
        lowest, highest = min(random_means), max(random_means)
        ours = f"importance {means[IMPORTANCE]:.1f}, {len(random_means)} random orders {lowest:.1f} to {highest:.1f}"
        yield claim, ours, claim_verdict(means[IMPORTANCE] > highest)
    areas = {str(kind): mean_score(curve) for kind, curve in frames["figure4"].groupby("kind", sort=False)}
    words = ", ".join(f"{KIND_TITLES[kind]} {area:.1f}" for kind, area in areas.items())
    claim = "Encoder-decoder attention suffers most from pruning (section 5, mean of the curve)"
    yield claim, words, claim_verdict(min(areas, key=lambda kind: areas[kind]) == "enc_dec")


def _training_claims(table: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    at_40 = table[table["percent"] == 40].set_index("epoch")["share"].dropna()
    epochs = sorted(at_40.index)
    if not epochs:
        return
    first, last = float(at_40[epochs[0]]), float(at_40[epochs[-1]])
    claim = "Heads become redundant in the course of training: 40 % of them matter less at its end than at its start (Figure 5)"
    ours = f"share of BLEU left without 40 % of heads: {first:.0%} after epoch {epochs[0]}, {last:.0%} after epoch {epochs[-1]}"
    yield claim, ours, claim_verdict(last > first)
    claim = "At the end of training 40 % of the heads can go with 85 % of the BLEU left (Figure 5)"
    yield claim, f"{last:.0%} left", claim_verdict(last >= 0.85)
