"""Tables of Michel et al. (2019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.corpora.examples import RecordsByCorpus, dropped_records
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.methods.head_measures import CLASSIFICATION, HEAD, KEYS, OTHERS, TRANSLATION
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.pages import claim_frame, claim_table, value_table, verdict_counts
from attention_atlas.published.values import load_published, published_column
from attention_atlas.published.values import rows_of_column as published_cells
from attention_atlas.studies.michel2019.ablations import SPEARMAN, TRIMMED
from attention_atlas.studies.michel2019.claims import KEPT, KIND_TITLES, curve_of, dispensable_kinds, prunable
from attention_atlas.studies.michel2019.claims import claims as tested_claims
from attention_atlas.studies.michel2019.effects import (
    BEST,
    BLEU,
    ENOUGH_SENTENCES,
    IMPORTANCE,
    KERNEL,
    LARGEST_SPREAD,
    LEVEL,
    OVERLONG,
    TABLE1,
    UNCHANGED,
    VARIANTS,
    WHOLE,
    heldout_effects,
    masked_scores,
    signature,
)
from attention_atlas.workflow.shown import table

PUBLISHED = "published_delta"
"""Column of Tables 1, 2, 3, 5 and 6: the paper's change in score of the same kind, layer (and head), of its own model."""
TABLE4 = [
    *("variant", "batch", "heads", "examples_per_second", "sd", "speedup", "speedup_low", "speedup_high"),
    *("spread", "status", "published_examples_per_second", "published_speedup", "parameters", "megabytes", "length", "repeats"),
    *("n", "unit"),
]
_ATTENTION = {"enc_enc": "encoder self-attention", "enc_dec": "encoder-decoder attention", "dec_dec": "decoder self-attention"}


@table(
    id="table1",
    number="Table 1",
    title="Change in BLEU when one head is masked, with tests",
    reads=("ablation",),
    settings=("translation_model",),
    labels=("translation",),
)
def table1(ablation: pd.DataFrame, translation_model: str) -> Table:
    """Change in BLEU when one head of the translation model is masked: encoder, decoder or encoder-decoder attention (Michel et
    al. 2019, Table 1). * p < 0.01 by paired bootstrap, two-sided; ** p_adjusted < 0.01: adjusted for all heads by the maximum
    statistic. The paper prints the encoder's self-attention alone, of another model; its values stand below ours.
    """
    rows, published = ablation.loc[ablation["experiment"] == TRANSLATION, TABLE1], load_published("michel2019")
    frame = rows.assign(**{PUBLISHED: published_column(published, "Table 1", "table1", "delta", rows)})
    order = rows.assign(size=-rows["delta"].abs()).sort_values(["p", "size"], kind="stable").index
    counts = "; ".join(
        f"{_ATTENTION[str(kind)]}: {(kind_rows['p'] < LEVEL).sum()} of {len(kind_rows)} with p < {LEVEL} "
        f"(p_count {kind_rows['p_count'].iloc[0]:.2g}), "
        f"{(kind_rows['p_adjusted'] < LEVEL).sum()} with p_adjusted < {LEVEL}, "
        f"{(kind_rows['delta'] > 0).sum()} above the full model"
        for kind, kind_rows in rows.groupby("kind", sort=False)
    )
    notes = [
        f"Translation model: {translation_model}. Full model {rows['baseline'].iloc[0]:.2f} (the paper's: "
        f"{published['m19.tab1.base_bleu'].value}), n = {rows['n'].iloc[0]} sentences, {signature()}. The file has the heads "
        "with the smallest p first.",
        f"{counts[0].upper()}{counts[1:]}. By chance alone one test in a hundred has p < {LEVEL}. p_count: share of random "
        "exchanges of the translations with and without masking after which at least as many heads of the kind are "
        "significant; the tests of heads are not independent. The paper counts 8 of 96 heads, uncorrected. p_sacrebleu: p as "
        "sacrebleu computes it, which rejects about twice as often as p.",
        *_units_notes(rows),
    ]
    return Table(frame.loc[order], notes, _grid(rows), formats={"layer": "d"}, layout=Layout("attention"))


def _grid(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each kind of attention and layer and a column for each head; the published rows follow those of their kind."""
    stars = np.select([rows["p_adjusted"] < LEVEL, rows["p"] < LEVEL], ["**", "*"], "")
    ours = rows.assign(attention=rows["kind"].map(_ATTENTION), cell=rows["delta"].map("{:+.2f}".format) + stars)
    paper = published_cells("michel2019", "table1", "delta")
    paper = paper.assign(attention="paper: " + paper["kind"].map(_ATTENTION), cell=paper["value"].map("{:+.2f}".format))
    cells = pd.concat(frame[frame["kind"] == kind] for kind in rows["kind"].unique() for frame in (ours, paper))
    order = pd.MultiIndex.from_frame(cells[["attention", "layer"]].drop_duplicates())
    grid = cells.pivot(index=order.names, columns="head", values="cell").loc[order]
    return grid.rename(columns="head {}".format).rename_axis(columns=None).reset_index()


def _units_notes(rows: pd.DataFrame) -> list[str]:
    """What intervals and tests resample, and a warning where BLEU's bootstrap has fewer than `ENOUGH_SENTENCES`."""
    first, n = rows.iloc[0], rows["n"].iloc[0]
    note = f"Intervals and tests resample {first['unit']}: the corpus names no documents."
    few = f"n = {n} sentences: below about {ENOUGH_SENTENCES} the bootstrap of BLEU rejects more often than its level says."
    return [note, few] if first["metric"] == BLEU and n < ENOUGH_SENTENCES else [note]


@table(
    id="table2",
    number="Table 2",
    title="Translation with only the best head of a layer",
    reads=("ablation_best_translation",),
    settings=("translation_model",),
    labels=("translation",),
)
def table2(ablation_best_translation: pd.DataFrame, translation_model: str) -> Table:
    """Change in BLEU when all heads of a layer but the best one are masked (Michel et al. 2019, Table 2). The best head is
    selected on the reported examples, as in the paper, and for heldout_delta on one half of the examples and measured on the
    other, mean of both directions. paper: another model.
    """
    return _best_heads(2, ablation_best_translation, [f"Translation model: {translation_model}."])


@table(
    id="table3",
    number="Table 3",
    title="Classification with only the best head of a layer",
    reads=("ablation_best_classification",),
    labels=("classification",),
)
def table3(ablation_best_classification: pd.DataFrame) -> Table:
    """Change in accuracy when all heads of a layer but the best one are masked (Michel et al. 2019, Table 3). The best head is
    selected on the reported examples, as in the paper, and for heldout_delta on one half of the examples and measured on the
    other, mean of both directions. paper: another model.
    """
    return _best_heads(3, ablation_best_classification, [])


def _best_heads(number: int, best: pd.DataFrame, notes: Sequence[str]) -> Table:
    adjusted = "p_adjusted: adjusted by the maximum statistic for all heads of all layers, from which the best are selected."
    one_answer = "The full model gives the same answer to all examples: changes of its score say nothing about its heads."
    notes = [*notes, adjusted, *([one_answer] if best["distinct_answers"].iloc[0] == 1 else [])]
    return _one_head(number, best[BEST], "heldout_delta", notes)


def _one_head(number: int, rows: pd.DataFrame, selected: str, notes: Sequence[str]) -> Table:
    """A table of layers with one head kept; `selected`: column with the change in score that its page shows as well."""
    paper = published_column(load_published("michel2019"), f"Table {number}", f"table{number}", "delta", rows)
    frame, first = rows.assign(**{PUBLISHED: paper}), rows.iloc[0]
    scores = ["score", "delta", PUBLISHED, "ci_low", "ci_high", selected]
    page = frame[["layer", "head", *scores, "p", "p_adjusted"]]
    if rows["kind"].nunique() > 1:
        page = pd.concat([rows["kind"].map(KIND_TITLES), page], axis=1)
    worse = int(((rows["p"] < LEVEL) & (rows["delta"] < 0)).sum())
    note = (
        f"{first['metric']} and its difference from the full model ({first['baseline']:.2f}, n = {first['n']}), on a scale of "
        f"0 to 100, with intervals by bootstrap over examples. {worse} of {len(rows)} layers are worse with p < {LEVEL}, "
        "uncorrected, as in the paper."
    )
    formats = {"layer": "d", "head": "d", "p": ".3f", "p_adjusted": ".3f"} | dict.fromkeys(scores, ".2f")
    return Table(frame, [note, *notes, *_units_notes(rows)], page, {PUBLISHED: "paper: delta"}, formats)


@table(
    id="table4",
    number="Table 4",
    title="Speed and size with half of the heads pruned",
    reads=("timing",),
    settings=("speed",),
    labels=("classification",),
)
def table4(timing: pd.DataFrame, speed: Mapping[str, Any]) -> Table:
    """Examples per second and size of a classifier with its least important heads pruned from its weights, at several batch
    sizes (Michel et al. 2019, Table 4). Only times change between runs. paper: on a GTX 1080 Ti.
    """
    published = load_published("michel2019")
    # The paper prunes half of the heads, the least important ones of the model.
    in_paper = (timing["variant"] == WHOLE) | (speed["share"] == 50)
    for column in ("examples_per_second", "speedup"):
        values = np.array(published_column(published, "Table 4", "table4", column, timing), dtype=float)
        timing = timing.assign(**{f"published_{column}": np.where(in_paper, values, np.nan)})
    frame, first = timing[TABLE4], timing.iloc[0]
    too_large = [str(batch) for batch in speed["batches"] if batch > first["n"]]
    notes = [
        f"{speed['share']} % of the heads are pruned. Mean of {speed['repeats']} passes over the examples; sd: standard "
        "deviation; speedup: over the full model in the same pass, with its interval by Student's t over passes. The models "
        f"take turns, in an order that is reversed after each pass, in one run on {first['device']}, attention by {KERNEL}, in "
        f"{first['dtype']}; each has seen every shape of batch before it is timed.",
        "length: mean tokens of an example, padding included: each batch is padded to its longest example. It grows with the "
        "batch size, so that examples per second can fall although tokens per second do not.",
        f"spread: percent by which the full model's slowest pass exceeds its fastest. Above {LARGEST_SPREAD:g} % the machine "
        "was busy with other work: the row is unstable and gives no speedup.",
        *([f"Left out: batches of {', '.join(too_large)}, which need more than n examples."] if too_large else []),
    ]
    speeds = ("examples_per_second", "sd", "speedup", "speedup_low", "speedup_high", "spread")
    formats = dict.fromkeys((*speeds, "published_examples_per_second", "published_speedup", "megabytes", "length"), ".1f")
    formats |= dict.fromkeys(("batch", "heads", "repeats", "n"), "d") | {"parameters": ",d"}
    names = {"speedup": "speedup (%)", "spread": "spread (%)", "length": "length (tokens)"}
    names |= {"published_examples_per_second": "paper: examples per second", "published_speedup": "paper: speedup (%)"}
    return Table(frame, notes, frame.assign(variant=frame["variant"].map(VARIANTS)), names, formats)


@table(
    id="table5",
    number="Table 5",
    title="Translation with one head per layer, selected on another corpus",
    reads=("masked/translation.parquet", "heldout/translation_test.parquet"),
    settings=("resamples", "seed", "translation_model"),
    labels=("translation_test", "translation"),
    needs=("translation", "translation_other", "translation_test"),
    megabytes=2000,
    minutes=60,
)
def table5(
    translation: pd.DataFrame,
    translation_test: pd.DataFrame,
    resamples: int,
    seed: int,
    translation_model: str,
    labels: Mapping[str, RunLabel],
) -> Table:
    """Change in BLEU when all heads of a layer but one are masked; the head is selected on another corpus than the reported
    one (Michel et al. 2019, Table 5). paper: another model.
    """
    selection, measured = (
        masked_scores(answers, KEYS, TRANSLATION).masking(OTHERS) for answers in (translation, translation_test)
    )
    rows = heldout_effects(selection, measured, resamples, seed)
    unmasked, under_masks = measured.overlong
    masks = pd.MultiIndex.from_frame(measured.keys[HEAD]).get_indexer(pd.MultiIndex.from_frame(rows[HEAD]))
    notes = [
        f"Translation model: {translation_model}.",
        f"overlong: translations more than {OVERLONG:g} times as long as their reference, as those that repeat themselves; "
        f"they lower BLEU. Full model: {unmasked:.0f} of {rows['n'].iloc[0]}; median over masks: "
        f"{np.median(under_masks[masks]):g}.",
    ]
    shown = _selected_elsewhere(5, rows, labels["translation"], notes)
    return replace(shown, frame=shown.frame.assign(overlong=under_masks[masks], overlong_unmasked=unmasked))


@table(
    id="table6",
    number="Table 6",
    title="Classification with one head per layer, selected on a separate set",
    reads=("masked/classification.parquet", "heldout/classification_selection.parquet"),
    settings=("resamples", "seed"),
    labels=("classification", "classification_selection"),
    needs=("classification", "classification_other", "classification_selection"),
    megabytes=2000,
    minutes=60,
)
def table6(
    classification: pd.DataFrame,
    classification_selection: pd.DataFrame,
    resamples: int,
    seed: int,
    labels: Mapping[str, RunLabel],
) -> Table:
    """Change in accuracy when all heads of a layer but one are masked; the head is selected on a separate set, of which no
    example is reported (the paper: a part of the classifier's training set; Michel et al. 2019, Table 6). paper: another model.
    """
    measured, selection = (
        masked_scores(answers, KEYS, CLASSIFICATION).masking(OTHERS) for answers in (classification, classification_selection)
    )
    rows = heldout_effects(selection, measured, resamples, seed)
    return _selected_elsewhere(6, rows, labels["classification_selection"], [])


def _selected_elsewhere(number: int, rows: pd.DataFrame, selection: RunLabel, notes: Sequence[str]) -> Table:
    selected = (
        f"selection_delta: the same on {selection.corpus} (n = {rows['selection_n'].iloc[0]}), where the head is selected. "
        "p_adjusted: adjusted for the layers by the maximum statistic."
    )
    return _one_head(number, rows, "selection_delta", [*baseline_warning(rows), selected, *notes])


def baseline_warning(rows: pd.DataFrame) -> list[str]:
    """A warning where the full model's score on the reported examples is probably low by chance; empty where it is not.

    Heads are selected to be the best on other examples, so on the reported ones they should lose more. If more than half of the
    layers lose less (column delta above selection_delta), the score that all rows are compared with is the likely reason.
    """
    better = int((rows["delta"] > rows["selection_delta"] + UNCHANGED).sum())
    if 2 * better <= len(rows):
        return []
    above = int((rows["delta"] > UNCHANGED).sum())
    return [
        f"Warning: {better} of {len(rows)} layers lose less on the reported examples than on those that selected their heads, "
        f"where selection favours them, and {above} score above the full model. All differences share the full model's score "
        f"({rows['baseline'].iloc[0]:.2f}), which is probably low on these examples: the differences are too favourable."
    ]


@table(
    id="claims",
    number="Claims",
    title="The paper's claims, and objections to them, tested on this run's models",
    reads=(
        "ablation_statistics",
        "pruning_statistics",
        "head_importance_statistics",
        "table1",
        "table2",
        "table3",
        "correlations",
        "figure3",
        "figure4",
    ),
    optional={"training_statistics": ("dynamics", "training_statistics.tsv"), "figure5": ("dynamics", "figure5.tsv")},
    settings=("importance", "translation_model"),
    labels=("translation", "classification"),
    uses=("translation_test", "classification_selection", "dynamics", "dynamics_importance"),
)
def claims(frames: Mapping[str, pd.DataFrame], importance: Mapping[str, Any], translation_model: str) -> Table:
    """Claims of the paper, and objections of later work, tested on the run's models (Michel et al. 2019). Changes in score are
    tested against one BLEU point or percentage point, since the paper does not define a noticeable loss; their intervals
    include one extra loss and one extra gain, so that they have some width even where no example changes.
    """
    parts = [frame for name, frame in frames.items() if name.endswith("_statistics")]
    statistics = pd.concat(parts, ignore_index=True).fillna({"part": ""})
    tested = claim_table(claim_frame(tested_claims({**frames, "statistics": statistics}, importance["definition"])))
    notes = [
        "Figure 2: at each end the wider of two intervals, by bootstrap over heads and over examples.",
        f"Translation model: {translation_model}.",
    ]
    if dispensable := dispensable_kinds(frames["figure4"]).values():
        notes.append(
            f"If BLEU stays at {100 * KEPT:.0f} % or more of the full model's with all heads of a kind masked, it says little "
            f"that single heads of this kind can be masked. Here: {'; '.join(dispensable)}."
        )
    return replace(tested, notes=[*notes, *tested.notes])


@table(
    id="dropped",
    number="Dropped",
    title="Dropped examples, by reason",
    gathers=("shards_by_corpus",),
    uses=("translation_test", "classification_selection", "dynamics", "dynamics_importance"),
)
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of examples kept and dropped in each corpus of the study, by reason."""
    return dropped_records(shards_by_corpus)


@table(
    id="comparison",
    number="Comparison",
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
    measured["correlations"] = _with_other_statistics(frames["correlations"])
    published = load_published("michel2019")
    frame = compare(published, measure(published, measured, labels))
    return value_table(frame, [verdict_counts(frame)])


def _quantities(frames: Mapping[str, pd.DataFrame]) -> Iterator[Quantity]:
    encoder = frames["table1"][frames["table1"]["kind"] == "enc_enc"]
    yield Quantity("significant_heads", int((encoder["p"] < LEVEL).sum()), len(encoder))
    sizes = frames["head_importance"].groupby("task")["head"].max()
    for name, heldout in ((TRANSLATION, "table5"), (CLASSIFICATION, "table6")):
        # The paper counts layers whose head is selected on a separate set (section 3.3), which are those of these tables.
        if heldout in frames:
            worse = (frames[heldout]["p"] < LEVEL) & (frames[heldout]["delta"] < 0)
            yield Quantity(f"layers_not_worse_{name}", 100 * float((~worse).mean()), len(worse))
        curve = curve_of(frames["figure3"], name, IMPORTANCE)
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
