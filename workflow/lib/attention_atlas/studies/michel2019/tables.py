"""Tables of Michel et al. (2019): of single heads, of speed, the paper's claims, and the comparison with its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.dropped import RecordsByCorpus, dropped_records
from attention_atlas.methods.head_measures import CLASSIFICATION, KEYS, OTHERS, TRANSLATION
from attention_atlas.published.compare import Claim, all_hold, claims_table, compare, value_table
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import load_published, published_column
from attention_atlas.published.values import rows_of_column as published_cells
from attention_atlas.studies.michel2019 import effects
from attention_atlas.workflow.shown import table

TITLES = {TRANSLATION: "Translation", CLASSIFICATION: "Classification"}
KIND_TITLES = {"enc_enc": "Encoder", "enc_dec": "Encoder-decoder", "dec_dec": "Decoder"}
_ATTENTION = {"enc_enc": "encoder self-attention", "enc_dec": "encoder-decoder attention", "dec_dec": "decoder self-attention"}
VARIANTS = {effects.WHOLE: "full model", effects.IMPORTANCE: "least important heads pruned"}  # of Table 4
POINT = {TRANSLATION: "BLEU point", CLASSIFICATION: "percentage point"}
TOLERATED = 1.0
"""Largest loss that counts as not noticeable, in the unit `POINT` (the paper does not define the word)."""
_LEAST_AGREEMENT = 0.9
"""Smallest rank correlation at which two definitions order heads alike."""
_LEAST_SHARE = 0.85
"""Smallest share of the full model's BLEU that remains, in the paper, with 40 % of the heads masked."""
_ADJUSTED = "p_adjusted: adjusted by the maximum statistic for all heads of all layers, from which the best are selected."
PUBLISHED = "published_delta"
"""Column of Tables 1, 2, 3, 5 and 6: the paper's change in score of the same kind, layer (and head), of its own model."""


@table(title="Change in BLEU when one head is masked, with tests", reads=("ablation",), labels=("translation",))
def table1(ablation: pd.DataFrame) -> Table:
    """Change in BLEU when one head of the translation model is masked: encoder, decoder or encoder-decoder attention (Michel et
    al. 2019, Table 1). * p < 0.01 by paired bootstrap, two-sided; ** p_adjusted < 0.01: adjusted for all heads by the maximum
    statistic. The paper prints the encoder's self-attention alone, of another model; its values stand below ours.
    """
    rows, published = ablation.loc[ablation["experiment"] == TRANSLATION, effects.TABLE1], load_published("michel2019")
    frame = rows.assign(**{PUBLISHED: published_column(published, "Table 1", "table1", "delta", rows)})
    order = rows.assign(size=-rows["delta"].abs()).sort_values(["p", "size"], kind="stable").index
    notes = [
        f"Full model {rows['baseline'].iloc[0]:.2f} (the paper's: {published['m19.tab1.base_bleu'].value}), n = "
        f"{rows['n'].iloc[0]} sentences, which intervals and tests resample; {signature()}. The file has the heads with the "
        "smallest p first.",
        f"By chance alone one test in a hundred has p < {effects.LEVEL}. p_count: share of random exchanges of the "
        "translations with and without masking after which at least as many heads of the kind are significant; the tests of "
        "heads are not independent. The paper counts 8 of 96 heads, uncorrected.",
    ]
    return Table(frame.loc[order], notes, _grid(rows), formats={"layer": "d"}, layout=Layout("attention"))


def _grid(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each kind of attention and layer and a column for each head; the published rows follow those of their kind."""
    stars = np.select([rows["p_adjusted"] < effects.LEVEL, rows["p"] < effects.LEVEL], ["**", "*"], "")
    ours = rows.assign(attention=rows["kind"].map(_ATTENTION), cell=rows["delta"].map("{:+.2f}".format) + stars)
    paper = published_cells("michel2019", "table1", "delta")
    paper = paper.assign(attention="paper: " + paper["kind"].map(_ATTENTION), cell=paper["value"].map("{:+.2f}".format))
    cells = pd.concat(frame[frame["kind"] == kind] for kind in rows["kind"].unique() for frame in (ours, paper))
    order = pd.MultiIndex.from_frame(cells[["attention", "layer"]].drop_duplicates())
    grid = cells.pivot(index=order.names, columns="head", values="cell").loc[order]
    return grid.rename(columns="head {}".format).rename_axis(columns=None).reset_index()


def signature() -> str:
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


@table(title="Translation with only the best head of a layer", reads=("ablation_best_translation",), labels=("translation",))
def table2(ablation_best_translation: pd.DataFrame) -> Table:
    """Change in BLEU when all heads of a layer but the best one are masked (Michel et al. 2019, Table 2). The best head is
    selected on the reported examples, as in the paper, and for heldout_delta on one half of the examples and measured on the
    other, mean of both directions. paper: another model.
    """
    return _one_head(2, ablation_best_translation, "heldout_delta", _ADJUSTED)


@table(
    title="Classification with only the best head of a layer",
    reads=("ablation_best_classification",),
    labels=("classification",),
)
def table3(ablation_best_classification: pd.DataFrame) -> Table:
    """Change in accuracy when all heads of a layer but the best one are masked (Michel et al. 2019, Table 3). The best head is
    selected on the reported examples, as in the paper, and for heldout_delta on one half of the examples and measured on the
    other, mean of both directions. paper: another model.
    """
    return _one_head(3, ablation_best_classification, "heldout_delta", _ADJUSTED)


def _one_head(number: int, rows: pd.DataFrame, selected: str, note: str) -> Table:
    """A table of layers with one head kept; `selected`: column with the change in score that its page shows as well."""
    paper = published_column(load_published("michel2019"), f"Table {number}", f"table{number}", "delta", rows)
    frame, first = rows.assign(**{PUBLISHED: paper}), rows.iloc[0]
    scores = ["score", "delta", PUBLISHED, "ci_low", "ci_high", selected]
    page = frame[["layer", "head", *scores, "p", "p_adjusted"]]
    if rows["kind"].nunique() > 1:
        page = pd.concat([rows["kind"].map(KIND_TITLES), page], axis=1)
    worse = int(((rows["p"] < effects.LEVEL) & (rows["delta"] < 0)).sum())
    scale = (
        f"{first['metric']} and its difference from the full model ({first['baseline']:.2f}, n = {first['n']}), on a scale of "
        f"0 to 100, with intervals by bootstrap over {first['unit']}. {worse} of {len(rows)} layers are worse with p < "
        f"{effects.LEVEL}, uncorrected, as in the paper."
    )
    formats = {"layer": "d", "head": "d", "p": ".3f", "p_adjusted": ".3f"} | dict.fromkeys(scores, ".2f")
    return Table(frame, [scale, note], page, {PUBLISHED: "paper: delta"}, formats)


@table(title="Speed and size with half of the heads pruned", reads=("timing",), labels=("classification",))
def table4(timing: pd.DataFrame) -> Table:
    """Examples per second and size of a classifier with its least important heads pruned from its weights, at several batch
    sizes (Michel et al. 2019, Table 4). Only times change between runs. paper: on a GTX 1080 Ti.
    """
    published = load_published("michel2019")
    for column in ("examples_per_second", "speedup"):
        timing = timing.assign(**{f"published_{column}": published_column(published, "Table 4", "table4", column, timing)})
    frame, first = timing.drop(columns="device"), timing.iloc[0]
    notes = [
        f"Half of the heads are pruned. Mean of {first['repeats']} passes over the examples; sd: standard "
        "deviation; speedup: over the full model in the same pass, with its interval by Student's t over passes. The models "
        f"take turns, in an order that is reversed after each pass, in one run on {first['device']}; each has seen every shape "
        "of batch before it is timed. Each batch is padded to its longest example, so that examples per second can fall with "
        "the batch size. Batches of more than n examples are left out.",
        "spread: percent by which the full model's slowest pass exceeds its fastest. Where the machine was busy with other "
        "work it is large, and the interval of the speedup wide.",
    ]
    speeds = ("examples_per_second", "sd", "speedup", "speedup_low", "speedup_high", "spread")
    formats = dict.fromkeys((*speeds, "published_examples_per_second", "published_speedup"), ".1f")
    formats |= dict.fromkeys(("batch", "heads", "repeats", "n"), "d") | {"parameters": ",d"}
    names = {"speedup": "speedup (%)", "spread": "spread (%)", "published_speedup": "paper: speedup (%)"}
    names["published_examples_per_second"] = "paper: examples per second"
    return Table(frame, notes, frame.assign(variant=frame["variant"].map(VARIANTS)), names, formats)


@table(
    title="Translation with one head per layer, selected on another corpus",
    reads=("masked/translation.parquet", "masked/translation_further.parquet"),
    labels=("translation_test", "translation"),
    needs=("translation", "translation_other", "translation_test"),
    megabytes=2000,
    minutes=60,
)
def table5(
    translation: pd.DataFrame, translation_further: pd.DataFrame, resamples: int, seed: int, labels: Mapping[str, RunLabel]
) -> Table:
    """Change in BLEU when all heads of a layer but one are masked; the head is selected on another corpus than the reported
    one (Michel et al. 2019, Table 5). paper: another model.
    """
    return _selected_elsewhere(5, TRANSLATION, translation, translation_further, resamples, seed, labels["translation"])


@table(
    title="Classification with one head per layer, selected on a separate set",
    reads=("masked/classification.parquet", "masked/classification_further.parquet"),
    labels=("classification", "classification_selection"),
    needs=("classification", "classification_other", "classification_selection"),
    megabytes=2000,
    minutes=60,
)
def table6(
    classification: pd.DataFrame,
    classification_further: pd.DataFrame,
    resamples: int,
    seed: int,
    labels: Mapping[str, RunLabel],
) -> Table:
    """Change in accuracy when all heads of a layer but one are masked; the head is selected on a separate set, of which no
    example is reported (the paper: a part of the classifier's training set; Michel et al. 2019, Table 6). paper: another model.
    """
    selection = labels["classification_selection"]
    return _selected_elsewhere(6, CLASSIFICATION, classification_further, classification, resamples, seed, selection)


def _selected_elsewhere(
    number: int, name: str, selection: pd.DataFrame, measured: pd.DataFrame, resamples: int, seed: int, label: RunLabel
) -> Table:
    selecting, reported = (effects.masked_scores(answers, KEYS, name).masking(OTHERS) for answers in (selection, measured))
    rows = effects.heldout_effects(selecting, reported, resamples, seed)
    selected = (
        f"selection_delta: the same on {label.corpus} (n = {rows['selection_n'].iloc[0]}), where the head is selected. "
        "p_adjusted: adjusted for the layers by the maximum statistic."
    )
    return _one_head(number, rows, "selection_delta", selected)


@table(
    title="The paper's claims, and objections to them, tested on this run's models",
    reads=("statistics", "table1", "table2", "table3", "correlations", "figure3", "figure4"),
    optional={"figure5": ("dynamics", "figure5.tsv"), "training_statistics": ("dynamics", "training_statistics.tsv")},
    labels=("translation", "classification"),
    uses=("translation_test", "classification_selection", "dynamics", "dynamics_importance"),
    resources=("published/fixed_claims.tsv",),
)
def claims(frames: Mapping[str, pd.DataFrame], importance: Mapping[str, Any]) -> Table:
    """Claims of the paper, and objections of later work, tested on the run's models (Michel et al. 2019). Changes in score are
    tested against one BLEU point or percentage point, since the paper does not define a noticeable loss; their intervals
    include one extra loss and one extra gain, so that they have some width even where no example changes.
    """
    tested = claims_table(claims_of(frames, importance["definition"]))
    note = "Figure 2: at each end the wider of two intervals, by bootstrap over heads and over examples."
    return replace(tested, notes=[note, *tested.notes])


def claims_of(frames: Mapping[str, pd.DataFrame], definition: str) -> Iterator[Claim]:
    """Claims with what this run measured, of its tables; figure5 is there only if the run follows a training.

    definition: of importance, by which this run orders heads.
    """
    statistics = frames["statistics"]
    yield from _single_head_claims(statistics, frames["table1"])
    for name, number in ((TRANSLATION, 2), (CLASSIFICATION, 3)):
        rows = frames[f"table{number}"]
        (row,) = _rows(statistics, "one_head_median", name)
        worse = int(((rows["p"] < effects.LEVEL) & (rows["delta"] < 0)).sum())
        yield _claim(
            row,
            f"{TITLES[name]}: in most layers one head is enough: less than one {POINT[name]} is lost (Table {number})",
            f"median over {len(rows)} layers {row.value:+.2f}, with held-out selection of the head; selected on the same "
            f"examples, as in the paper, {worse} layers are worse with p < {effects.LEVEL}",
            f"median over layers of the change in score with one head left, {POINT[name]}s",
            -TOLERATED,
        )
    yield from _correlation_claims(frames["correlations"])
    yield from _pruning_claims(frames)
    for name in effects.EXPERIMENTS:
        rows = _rows(statistics, "spearman_with_paper", name)
        correlations = ", ".join(f"{row.part} {in_words(row.value, row.ci_low, row.ci_high)}" for row in rows)
        statistic = "Spearman correlation of two definitions over heads"
        yield all_hold(
            f"{TITLES[name]}: published code ranks heads as the paper's definition does "
            f"(Spearman above {_LEAST_AGREEMENT} for each)",
            f"{correlations}; heads are ordered by: {definition}",
            [_claim(row, "", "", f"{statistic}, {row.part}", _LEAST_AGREEMENT, of_paper=False) for row in rows],
        )
    if "figure5" in frames:
        yield from _training_claims(frames["training_statistics"], frames["figure5"])


def _single_head_claims(statistics: pd.DataFrame, table1: pd.DataFrame) -> Iterator[Claim]:
    # The rows of the table are in the order of their p, kinds of attention mixed.
    for kind in (kind for kind in KIND_TITLES if (table1["kind"] == kind).any()):
        rows = table1[table1["kind"] == kind]
        name, heads, significant = f"{KIND_TITLES[kind]} attention", len(rows), rows["p"] < effects.LEVEL
        median, largest, balance = (
            _rows(statistics, statistic, TRANSLATION, kind)[0]
            for statistic in ("median_change", "largest_change", "raised_minus_lowered")
        )
        yield _claim(
            median,
            f"{name}: most heads can be masked, one at a time, for less than one BLEU point (section 3.2)",
            f"median {median.value:+.2f}; {(significant & (rows['delta'] < 0)).sum()} of {heads} heads worse with p < "
            f"{effects.LEVEL}",
            "median over heads of the change in BLEU",
            -TOLERATED,
        )
        adjusted, chance = int((rows["p_adjusted"] < effects.LEVEL).sum()), float(rows["p_count"].iloc[0])
        yield _claim(
            largest,
            f"{name}: some head changes BLEU by more than one point (our threshold; at most 0.53 for the paper's encoder "
            "heads, Table 1)",
            f"largest change {largest.value:.2f}; {significant.sum()} of {heads} heads with p < {effects.LEVEL}, "
            f"{heads * effects.LEVEL:.1f} expected by chance (p = {chance:.2g}); adjusted for all heads {adjusted}",
            "largest absolute change in BLEU over heads, simultaneous interval",
            TOLERATED,
            of_paper=False,
        )
        raised, lowered = int((rows["delta"] > 0).sum()), int((rows["delta"] < 0).sum())
        yield _claim(
            balance,
            f"{name}: masking a head raises BLEU more often than it lowers it (71 of 96 encoder heads in the paper)",
            f"BLEU rises for {raised} of {heads} heads, falls for {lowered} and stays the same for {heads - raised - lowered}",
            "heads that raise BLEU minus heads that lower it",
        )


def _correlation_claims(table: pd.DataFrame) -> Iterator[Claim]:
    rows = {(row.experiment, row.statistic): row for row in table.itertuples()}
    statistic = "Pearson correlation over heads of changes in score on two corpora; the wider of two intervals at each end"
    for name in effects.EXPERIMENTS:
        every, trimmed, ranks = (rows[name, statistic] for statistic in (effects.PEARSON, effects.TRIMMED, effects.SPEARMAN))
        remark = f" without {every.heads - trimmed.heads} heads; Spearman {ranks.value:.2f} with all heads"
        for row, statement, qualified in (
            (every, "the effect of masking a head correlates across corpora (Figure 2)", ""),
            (trimmed, "the effect correlates across corpora also without the heads with the most extreme effects", remark),
        ):
            ours = f"r = {in_words(row.value, row.ci_low, row.ci_high)}{qualified}"
            # Heads of a layer have similar effects on an example, which a bootstrap over heads takes for agreement; over
            # examples alone the interval says nothing of other heads. The claim needs both.
            low, high = min(row.ci_low, row.ci_examples_low), max(row.ci_high, row.ci_examples_high)
            if row.second_data == effects.SAME_FILE:
                low = high = np.nan
                ours = f"{ours}; no interval: the second data are {effects.SAME_FILE}, not another corpus"
            unit = "heads (and examples of both corpora)"
            words, ends = (f"{TITLES[name]}: {statement}", ours, statistic), (row.value, low, high)
            yield Claim(*words, *ends, row.heads, unit, of_paper=row is every)


def _pruning_claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[Claim]:
    statistics, figure3 = frames["statistics"], frames["figure3"]
    for name in effects.EXPERIMENTS:
        title, share = TITLES[name], effects.PRUNABLE[name]
        chosen = (effects.IMPORTANCE, effects.ABLATION, effects.HELDOUT)
        curves = {order: curve_of(figure3, name, order) for order in (*chosen, effects.RANDOM)}
        importance, single, heldout = (mean_score(curves[order]) for order in chosen)
        (row,) = _rows(statistics, "pruned_change", name)
        yield _claim(
            row,
            f"{title}: {share} % of the heads can be masked in order of importance without noticeable loss (here: less than "
            f"one {POINT[name]}; section 4.2)",
            f"{row.value:+.2f} {POINT[name]}s; no step up to {prunable(curves[effects.IMPORTANCE])} % loses more than one",
            f"change in score without {share} % of the heads, {POINT[name]}s",
            -TOLERATED,
        )
        (row,) = _rows(statistics, "importance_over_single_heads", name)
        yield _claim(
            row,
            f"{title}: pruning by importance beats pruning by effects of single heads on other examples (section 4.2)",
            f"mean of the curve: importance {importance:.1f}, single heads {heldout:.1f}; chosen on the same examples, as in "
            f"the paper, {single:.1f}",
            f"difference of the means of two pruning curves, {POINT[name]}s",
        )
        (row,) = _rows(statistics, "importance_over_random", name)
        random = [mean_score(curve) for _, curve in curves[effects.RANDOM].groupby("draw")]
        yield _claim(
            row,
            f"{title}: importance orders heads better than chance (later work: random is about as good)",
            f"mean of the curve: importance {importance:.1f}, {len(random)} random orders {min(random):.1f} to "
            f"{max(random):.1f}{'' if len(random) > 1 else '; an interval needs two random orders'}",
            f"mean of the pruning curve minus that of random orders, {POINT[name]}s; interval predicts a further random order",
            unit="random orders",
            of_paper=False,
        )
    statistic = "minus encoder-decoder attention: difference of the means of two pruning curves, BLEU points"
    by_kind = frames["figure4"].groupby("kind", sort=False)
    rows = _rows(statistics, "over_encoder_decoder", TRANSLATION)
    yield all_hold(
        "Encoder-decoder attention suffers most from pruning (section 5, mean of the curve)",
        ", ".join(f"{KIND_TITLES[str(kind)]} {mean_score(curve):.1f}" for kind, curve in by_kind),
        [_claim(row, "", "", f"{KIND_TITLES[row.part]} {statistic}") for row in rows],
    )


def _training_claims(statistics: pd.DataFrame, figure5: pd.DataFrame) -> Iterator[Claim]:
    (gained,), (left,) = (_rows(statistics, name) for name in ("share_gained", "share_left"))
    percent = effects.TRAINED_WITHOUT
    shares = figure5[figure5["percent"] == percent].set_index("epoch")["share"].dropna().sort_index()
    words = ", ".join(f"{share:.0%} after epoch {epoch}" for epoch, share in shares.items())
    words = words or f"none, no epoch has a BLEU of {effects.LEAST_BLEU:g}"
    yield _claim(
        gained,
        f"Heads become redundant in the course of training: {percent} % of them matter less at its end than at its start "
        "(Figure 5)",
        f"share of BLEU with {percent} % of the heads masked: {words}",
        "share of BLEU that remains after the last epoch minus that after the first",
    )
    yield _claim(
        left,
        f"At the end of training {percent} % of the heads can be masked while keeping {100 * _LEAST_SHARE:.0f} % of BLEU "
        "(Figure 5)",
        f"{left.value:.0%} left" if len(shares) else "none",
        "share of BLEU that remains after the last epoch",
        _LEAST_SHARE,
    )


def _rows(statistics: pd.DataFrame, statistic: str, experiment: str = "", part: str = "") -> list[Any]:
    chosen = statistics["statistic"] == statistic
    for column, value in (("experiment", experiment), ("part", part)):
        chosen &= (statistics[column] == value) | (not value)
    return list(statistics[chosen].itertuples())


def _claim(
    row: Any, statement: str, ours: str, statistic: str, threshold: float = 0.0, unit: str = "", of_paper: bool = True
) -> Claim:
    interval, unit = (row.value, row.ci_low, row.ci_high), unit or effects.UNITS[effects.METRICS[row.experiment]]
    return Claim(statement, ours, statistic, *interval, int(row.n), unit, threshold, level=row.level, of_paper=of_paper)


def in_words(value: float, low: float, high: float) -> str:
    """A correlation with its interval; undefined where all heads have the same value."""
    return f"{value:.2f} ({low:.2f} to {high:.2f})" if value == value else "undefined"


def curve_of(figure3: pd.DataFrame, experiment: str, order: str) -> pd.DataFrame:
    return figure3[(figure3["experiment"] == experiment) & (figure3["order"] == order)].sort_values("percent")


def mean_score(curve: pd.DataFrame) -> float:
    """Mean of a curve over percent of heads masked (area below straight lines between its steps)."""
    ordered = curve.sort_values("percent")
    return float(np.trapezoid(ordered["score"], ordered["percent"]) / 100)


def prunable(curve: pd.DataFrame) -> int:
    """Percent of heads up to which no step of a curve loses more than `TOLERATED` BLEU or percentage points."""
    ordered = curve.sort_values("percent")
    return int(ordered.loc[np.logical_and.accumulate(ordered["delta"] >= -TOLERATED), "percent"].max())


@table(
    title="Dropped examples, by reason",
    gathers=("shards_by_corpus",),
    uses=("translation_test", "classification_selection", "dynamics", "dynamics_importance"),
)
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of examples kept and dropped in each corpus of the study, by reason."""
    return dropped_records(shards_by_corpus)


@table(
    title="Every published number beside this run's",
    reads=("table1", "table2", "table3", "correlations", "figure3", "figure4", "head_importance"),
    optional={
        "figure5": ("dynamics", "figure5.tsv"),
        "table5": ("translation_test", "table5.tsv"),
        "table6": ("classification_selection", "table6.tsv"),
    },
    labels=("translation", "translation_other", "classification", "classification_other", "translation_test"),
    uses=("translation_test", "classification_selection", "dynamics", "dynamics_importance"),
)
def comparison(frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel]) -> Table:
    """Every published number of Michel et al. (2019) beside what this run measured, with the reason where the two cannot be
    compared. A number is compared only with the same model on the same data. Ids that contain rerun are from a third party
    that ran the authors' code.
    """
    measured = {**frames, "quantities": quantities(_quantities(frames))}
    published = load_published("michel2019")
    return value_table(compare(published, measure(published, measured, labels)))


def _quantities(frames: Mapping[str, pd.DataFrame]) -> Iterator[Quantity]:
    encoder = frames["table1"][frames["table1"]["kind"] == "enc_enc"]
    yield Quantity("significant_heads", int((encoder["p"] < effects.LEVEL).sum()), len(encoder))
    sizes = frames["head_importance"].groupby("task")["head"].max()
    for name, heldout in ((TRANSLATION, "table5"), (CLASSIFICATION, "table6")):
        # The paper counts layers whose head is selected on a separate set (section 3.3), which are those of these tables.
        if heldout in frames:
            worse = (frames[heldout]["p"] < effects.LEVEL) & (frames[heldout]["delta"] < 0)
            yield Quantity(f"layers_not_worse_{name}", 100 * float((~worse).mean()), len(worse))
        curve = curve_of(frames["figure3"], name, effects.IMPORTANCE)
        yield Quantity(f"prunable_{name}", prunable(curve), int(curve["n"].iloc[0]))
        yield Quantity(f"share_of_a_head_{name}", 100 / float(sizes[name]))
    figure4 = frames["figure4"]
    cross = figure4[figure4["kind"] == "enc_dec"]
    above_half = cross.loc[cross["score"] >= cross["baseline"] / 2, "percent"].max()
    yield Quantity("half_left_encoder_decoder", float(above_half), int(cross["n"].iloc[0]))
    at_80 = figure4[(figure4["kind"] != "enc_dec") & (figure4["percent"] == 80)]
    if len(at_80):
        yield Quantity("self_attention_at_80", float(at_80["score"].min()), int(at_80["n"].iloc[0]))
