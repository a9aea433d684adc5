"""Every published number of Michel et al. (2019) beside what a run measured, and claims for and against the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import read_table
from attention_atlas.methods.names import CLASSIFICATION, DEFINITIONS, PAPER, TRANSLATION
from attention_atlas.published.compare import CLOSE, EXACT, NO, Measured, compare
from attention_atlas.published.pages import claim_verdict, write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019.correlations import PEARSON, SPEARMAN, TRIMMED, in_words
from attention_atlas.studies.michel2019.curves import mean_score, prunable
from attention_atlas.studies.michel2019.names import ABLATION, HELDOUT, IMPORTANCE, KIND_TITLES, LEVEL, RANDOM, TITLES

CLASSIFIER, DATA = "bert-base-uncased-mnli", "mnli-dev"
_OTHER_MODEL = (
    "another model: the paper's checkpoint is fairseq's (WMT 2014), scored by tokenised BLEU; here sacrebleu on plain text"
)
_TIMES = "times differ from run to run: table4.tsv has them beside the published ones"
_HELDOUT = "the paper chooses the head on a separate set; here on the other half of the examples, mean of both ways"


@dataclass(frozen=True)
class Tables:
    """Files that the comparison reads: the study's tables by their names; figure5 where the run follows a training."""

    table1: str | Path
    table2: str | Path
    table3: str | Path
    correlations: str | Path
    pruning: str | Path
    figure3: str | Path
    figure4: str | Path
    importance: str | Path
    figure5: str | Path | None = None


def comparison(
    tables: Tables,
    settings: Mapping[str, Setting],
    definition: str,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: the run's tables.
        settings: role -> what was looked at.
        definition: of importance, that orders heads in this run.
        out, html_out: every published value beside ours.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    read = {name: read_table(path) for name, path in vars(tables).items() if path is not None}
    published = load_published("michel2019")
    frame = compare(published, dict(_measured(read, settings, published)))
    lines = [settings[name].line for name in (TRANSLATION, CLASSIFICATION)]
    note = (
        "A number is compared only with the same model on the same data. Ids with rerun are those of a third party that "
        "ran the authors' code."
    )
    write_comparison(frame, out, html_out, "Michel et al. 2019: published values and this run", lines, note)
    notes = [*lines, "Claims of the paper, and what later work holds against them, put to this run's models."]
    write_claims(_claims(read, definition), claims_out, claims_html, "Michel et al. 2019: claims and this run", notes)


def _how(settings: Mapping[str, Setting]) -> dict[str, tuple[str, str]]:
    """Experiment -> how its numbers can be compared, and why."""
    own = settings[CLASSIFICATION]
    if own.model_reference != CLASSIFIER:
        classes = NO, "another model than BERT-base fine-tuned on MNLI"
    elif own.corpus_reference != DATA:
        classes = NO, "other examples than MNLI's matched development set"
    else:
        classes = CLOSE, "same model and data, fine-tuned here"
    return {TRANSLATION: (NO, _OTHER_MODEL), CLASSIFICATION: classes}


def _measured(
    read: Mapping[str, pd.DataFrame], settings: Mapping[str, Setting], published: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Measured]]:
    how = _how(settings)
    translation = how[TRANSLATION]
    table1, table2, table3 = (read[f"table{n}"] for n in (1, 2, 3))
    own = table1[table1["kind"] == "enc_enc"]
    yield "m19.tab1.base_bleu", Measured(float(own["baseline"].iloc[0]), *translation, n=int(own["n"].iloc[0]))
    yield "m19.tab1.n_significant", Measured(int((own["p"] < LEVEL).sum()), *translation, n=len(own))
    for row in own.itertuples():
        yield f"m19.tab1.L{row.layer}H{row.head:02d}", _of_row(row, row.delta, translation)
    for row in table2.itertuples():
        yield f"m19.tab2.L{row.layer}.{row.kind}", _of_row(row, row.delta, translation)
        held = f"{translation[1]}. {_HELDOUT}"
        yield f"m19.tab5.L{row.layer}.{row.kind}", Measured(row.heldout_delta, NO, held, n=row.n)
    for row in table3.itertuples():
        yield f"m19.tab3.L{row.layer:02d}", _of_row(row, row.delta, how[CLASSIFICATION])
        held = f"{how[CLASSIFICATION][1]}. {_HELDOUT}"
        yield f"m19.tab6.L{row.layer:02d}", Measured(row.heldout_delta, NO, held, n=row.n)
    for name, table, identifier in ((TRANSLATION, table2, "layers_ok_wmt"), (CLASSIFICATION, table3, "layers_ok_bert")):
        fine = 100 * float((~((table["p"] < LEVEL) & (table["delta"] < 0))).mean())
        why = f"{how[name][1]}. Head chosen on the examples that are reported"
        yield f"m19.sec33.{identifier}", Measured(fine, NO, why, n=len(table))
    yield from _correlations(read["correlations"], how)
    yield from _curves(read, how, published)
    sizes = read["importance"].groupby("task")["head"].max()
    for name, identifier in ((TRANSLATION, "param_wmt"), (CLASSIFICATION, "param_bert")):
        share = 100 / float(sizes[name])
        printed = published[f"m19.sec43.{identifier}"]["value"]
        same = sizes[name] == round(100 / printed)
        why = "a layer of as many heads as in the paper" if same else "another number of heads"
        if round(share, 2) != printed and same:
            why += f"; one of {sizes[name]} is {share:.2f} %, printed as {printed}"
        yield f"m19.sec43.{identifier}", Measured(share, EXACT if same else NO, why, target=share if same else None)
    for identifier in (name for name in published if name.startswith("m19.tab4.")):
        yield identifier, Measured(None, NO, _TIMES)


def _of_row(row: Any, value: float, how: tuple[str, str]) -> Measured:
    return Measured(float(value), *how, ci_low=row.ci_low, ci_high=row.ci_high, n=int(row.n))


def _correlations(table: pd.DataFrame, how: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, Measured]]:
    rows = {(row.experiment, row.statistic): row for row in table.itertuples()}
    for name, identifier in ((TRANSLATION, "fig2a"), (CLASSIFICATION, "fig2b")):
        row = rows[name, PEARSON]
        beside = f"Spearman {rows[name, SPEARMAN].value:.2f}, Pearson without extremes {rows[name, TRIMMED].value:.2f}"
        why = f"{how[name][1]}. {beside}"
        yield f"m19.{identifier}.pearson", Measured(row.value, how[name][0], why, row.ci_low, row.ci_high, int(row.heads))
    for statistic in (PEARSON, SPEARMAN):
        row = rows[CLASSIFICATION, statistic]
        why = "the rerun compares two models, each fine-tuned by itself; here one model is looked at on both corpora"
        yield f"m19.rerun.mnli.{statistic}", Measured(row.value, NO, why, row.ci_low, row.ci_high, int(row.heads))


def _curves(
    read: Mapping[str, pd.DataFrame], how: Mapping[str, tuple[str, str]], published: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Measured]]:
    figure3 = read["figure3"]
    for name, identifier in ((TRANSLATION, "fig3a"), (CLASSIFICATION, "fig3b")):
        rows = _curve(figure3, name, IMPORTANCE)
        why = f"{how[name][1]}. Here: less than a point lost up to there; the paper does not say what it counts as a loss"
        yield f"m19.{identifier}.prunable", Measured(prunable(rows), NO, why, n=int(rows["n"].iloc[0]))
    cross = read["figure4"][read["figure4"]["kind"] == "enc_dec"].sort_values("percent")
    kept = cross.loc[cross["score"] >= cross["baseline"] / 2, "percent"].max()
    why = f"{how[TRANSLATION][1]}. Here: largest share that leaves half of the BLEU"
    yield "m19.fig4.encdec_collapse", Measured(float(kept), NO, why, n=int(cross["n"].iloc[0]))
    own = read["figure4"][(read["figure4"]["kind"] != "enc_dec") & (read["figure4"]["percent"] == 80)]
    if len(own):
        why = f"{how[TRANSLATION][1]}. Here: the lower of the two kinds"
        yield "m19.fig4.self_20pct", Measured(float(own["score"].min()), NO, why, n=int(own["n"].iloc[0]))
    if "figure5" in read:
        whole = read["figure5"].drop_duplicates("epoch")
        epochs = ", ".join(str(epoch) for epoch in whole["epoch"])
        why = f"another model, corpus and BLEU than the paper's; here after epochs {epochs}"
        yield "m19.fig5.bleu_by_epoch", Measured(whole["baseline"].tolist(), NO, why, n=int(whole["n"].iloc[0]))
    yield from _reruns(read, how[CLASSIFICATION], published)


def _reruns(
    read: Mapping[str, pd.DataFrame], how: tuple[str, str], published: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Measured]]:
    """What a third party measured with the authors' code, of the classifier."""
    rows, prefix = _curve(read["figure3"], CLASSIFICATION, IMPORTANCE), "m19.rerun.mnli."
    n = int(rows["n"].iloc[0])
    yield prefix + "base_acc", Measured(float(rows["baseline"].iloc[0]) / 100, *how, n=n)
    counts = [int(count) for count in rows["count"]]
    same = counts == published[prefix + "n_pruned"]["value"]
    steps = "as in the rerun" if same else "another model or other steps than the rerun's"
    yield prefix + "n_pruned", Measured(counts, EXACT if same else NO, steps)
    for order, identifier in ((IMPORTANCE, "importance_curve"), (ABLATION, "ablation_order_curve")):
        values = [float(score) / 100 for score in _curve(read["figure3"], CLASSIFICATION, order)["score"]]
        comparable = how if same else (NO, f"{how[1]}, {steps}")
        yield prefix + identifier, Measured(values, *comparable, n=n)
    best = read["table3"].sort_values("layer")["delta"].tolist()
    yield prefix + "onehead_best", Measured([float(delta) for delta in best], *how, n=n)


def _curve(figure3: pd.DataFrame, experiment: str, order: str, draw: int = 0) -> pd.DataFrame:
    own = (figure3["experiment"] == experiment) & (figure3["order"] == order) & (figure3["draw"] == draw)
    return figure3[own].sort_values("percent")


def _claims(read: Mapping[str, pd.DataFrame], definition: str) -> Iterator[tuple[str, str, str]]:
    yield from _ablation_claims(read)
    yield from _correlation_claims(read["correlations"])
    yield from _pruning_claims(read)
    importance = read["importance"]
    for name, own in importance.groupby("task", sort=False):
        found = own.drop_duplicates("definition").set_index("definition")["spearman"]
        words = ", ".join(f"{other} {found[other]:.2f}" for other in DEFINITIONS if other != PAPER)
        claim = f"{TITLES[str(name)]}: published code ranks heads as the paper's definition does (Spearman 0.9 or more in all)"
        yield claim, f"Spearman: {words}; heads are ordered by: {definition}", claim_verdict(bool((found >= 0.9).all()))
    if "figure5" in read:
        yield from _training_claims(read["figure5"])


def _ablation_claims(read: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    from scipy.stats import binom

    for kind, own in read["table1"].groupby("kind", sort=False):
        name, heads = KIND_TITLES[str(kind)], len(own)
        worse = int(((own["p"] < LEVEL) & (own["delta"] < 0)).sum())
        claim = f"{name} attention: most heads can be masked, one at a time, without a significant loss (section 3.2)"
        yield claim, f"{worse} of {heads} heads worse with p < {LEVEL}", claim_verdict(worse < heads / 2)
        found = int((own["p"] < LEVEL).sum())
        chance = float(binom.sf(found - 1, heads, LEVEL))
        claim = f"{name} attention: more heads differ with p < {LEVEL} than by chance alone (the paper corrects nothing)"
        holm = int((own["p_holm"] < LEVEL).sum())
        ours = f"{found} of {heads}, {heads * LEVEL:.1f} expected by chance (p = {chance:.2g}); after Holm {holm}"
        yield claim, ours, claim_verdict(chance < 0.05)
        above = int((own["delta"] > 0).sum())
        claim = f"{name} attention: masking a head raises the score more often than it lowers it (71 of 96 in the paper)"
        yield claim, f"{above} of {heads} above the whole model", claim_verdict(above > heads / 2)
    for name, table in ((TRANSLATION, read["table2"]), (CLASSIFICATION, read["table3"])):
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
        few = whole.heads - trimmed.heads
        claim = f"{TITLES[name]}: this does not rest on a few heads (r above 0 without the {few} farthest out)"
        rank = rows[name, SPEARMAN].value
        ours = f"r = {in_words(trimmed.value, trimmed.ci_low, trimmed.ci_high)}; Spearman {rank:.2f}"
        yield claim, ours, claim_verdict(trimmed.ci_low > 0)


def _pruning_claims(read: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    figure3, summary = read["figure3"], read["pruning"].set_index(["experiment", "order"])
    for name, share in ((TRANSLATION, 20), (CLASSIFICATION, 40)):
        own = prunable(_curve(figure3, name, IMPORTANCE))
        claim = f"{TITLES[name]}: {share} % of the heads can go by importance without noticeable loss (here: less than a point)"
        yield claim, f"{own} %", claim_verdict(own >= share)
        means = {order: float(summary.loc[(name, order), "mean"]) for order in (IMPORTANCE, ABLATION, HELDOUT)}
        claim = f"{TITLES[name]}: importance orders heads better than their scores one at a time (mean of the curve)"
        ours = f"importance {means[IMPORTANCE]:.1f}, single heads {means[ABLATION]:.1f}, on other examples {means[HELDOUT]:.1f}"
        yield claim, ours, claim_verdict(means[IMPORTANCE] > means[ABLATION])
        draws = sorted(figure3.loc[(figure3["experiment"] == name) & (figure3["order"] == RANDOM), "draw"].unique())
        random = [mean_score(_curve(figure3, name, RANDOM, draw)) for draw in draws]
        claim = f"{TITLES[name]}: importance beats every random order (later work: random is about as good)"
        ours = f"importance {means[IMPORTANCE]:.1f}, {len(random)} random orders {min(random):.1f} to {max(random):.1f}"
        yield claim, ours, claim_verdict(means[IMPORTANCE] > max(random))
    areas = {str(kind): mean_score(own) for kind, own in read["figure4"].groupby("kind", sort=False)}
    words = ", ".join(f"{KIND_TITLES[kind]} {area:.1f}" for kind, area in areas.items())
    claim = "Encoder-decoder attention suffers most from pruning (section 5, mean of the curve)"
    yield claim, words, claim_verdict(min(areas, key=lambda kind: areas[kind]) == "enc_dec")


def _training_claims(table: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    at = table[table["percent"] == 40].set_index("epoch")["share"].dropna()
    epochs = sorted(at.index)
    if not epochs:
        return
    first, last = float(at[epochs[0]]), float(at[epochs[-1]])
    claim = "Heads become redundant in the course of training: 40 % of them matter less at its end than at its start (Figure 5)"
    ours = f"share of BLEU left without 40 % of heads: {first:.0%} after epoch {epochs[0]}, {last:.0%} after epoch {epochs[-1]}"
    yield claim, ours, claim_verdict(last > first)
    claim = "At the end of training 40 % of the heads can go with 85 % of the BLEU left (Figure 5)"
    yield claim, f"{last:.0%} left", claim_verdict(last >= 0.85)
