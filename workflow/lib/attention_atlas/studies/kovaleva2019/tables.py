"""Tables of Kovaleva et al. (2019), and its claims on order and size, tested on a run's models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.corpora.marked_text import LONGEST_ELEMENT, LONGEST_SENTENCE
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.dropped import RecordsByCorpus, dropped_records
from attention_atlas.published.compare import Claim, all_hold, claims_table, compare, value_table
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import load_published, published_column
from attention_atlas.stats.intervals import LEVEL
from attention_atlas.studies.kovaleva2019 import (
    ANNOTATORS,
    CHANNELS,
    CLASS_TITLES,
    CLASSES,
    FRAME_HEADS,
    HEADLINE,
    POINTS,
    STATES,
    TASK_TITLES,
)
from attention_atlas.studies.kovaleva2019.changes import RAISED_PARTS
from attention_atlas.workflow.shown import table

TABLE1 = "task metric state value min max ci_low ci_high paper_value seeds n unit".split()
_PUBLISHED_AS = {
    "classes": "figure2",
    "frame_heads": "figure3",
    "cosine": "figure5",
    "special": "figure6",
    "first_row": "figure7",
    "disabling_heads": "figure8",
    "disabling_layers": "figure9",
    "table1_gains": "gains",
}
"""Measured table -> the table of the places of published values."""
_TITLES = {
    "untrained": "Pre-trained, no fine-tuning",
    "random": "Random weights, fine-tuned",
    "tuned": "Pre-trained, fine-tuned",
    "majority": "Majority",
}
RARE_SHARE = 0.1
"""Diagonal maps are rare below this share; the paper's Figure 2 has 4 to 7 %."""
TOLERATED = 1.0
"""A task does not suffer if it loses less than this many percentage points; the paper names no number."""
_LINK_WORDS = {
    "subj_verb": "subjects to their verbs",
    "verb_subj": "verbs to their subjects",
    "noun_pron": "nouns to pronouns",
    "pron_noun": "pronouns to nouns",
}


@table(
    title="Tasks without fine-tuning, from random weights, and fine-tuned",
    reads=("scores",),
    labels=("tasks",),
    files=("table1_gains.tsv",),
)
def table1(scores: pd.DataFrame) -> Table:
    """Scores without fine-tuning over many random classification layers, fine-tuned from random weights, and fine-tuned from
    pre-trained weights, beside the majority class and the published scores (Kovaleva et al. 2019, Table 1): mean over seeds
    (minimum to maximum), and 95 % interval over examples and, with several, over seeds.
    """
    paper = published_column(load_published("kovaleva2019"), "Table 1", "table1", "value", scores)
    frame = scores.assign(paper_value=np.asarray(paper, dtype=float))
    shown = frame.assign(task=frame["task"].map(TASK_TITLES), state=frame["state"].map(_TITLES))
    cells = [shown.assign(cell=[_cell(line) for _, line in shown.iterrows()])]
    of_paper = shown.dropna(subset=["paper_value"])
    cells.append(of_paper.assign(state="Paper: " + of_paper["state"], cell=of_paper["paper_value"].map("{:.1f}".format)))
    rows = ["task", "metric", "n"]
    page = pd.concat(cells).pivot(index=rows, columns="state", values="cell").fillna("")
    order = [*_TITLES.values(), *(f"Paper: {_TITLES[state]}" for state in STATES)]
    page = page.reindex(pd.MultiIndex.from_frame(shown[rows].drop_duplicates()))[[name for name in order if name in page]]
    constant = shown[shown["constant_models"].fillna(0) > 0].drop_duplicates(["task", "state"])
    listed = [f"{row.task}: {row.state} ({row.constant_models:.0f} of {row.seeds})" for row in constant.itertuples()]
    notes = [
        f"Scores in {POINTS}. Intervals over seeds are by Student's t, wide for few of them. Without fine-tuning "
        "the classification layer is random, and its answers depend only on its seed. correlation: mean of Pearson's and "
        "Spearman's (the paper calls it accuracy).",
        "In the paper, models fine-tuned from random weights give a constant answer on MRPC (F1 81.2 = 2p / (1 + p)), QQP, RTE "
        "and QNLI: comparing them there with the model without fine-tuning compares chance with chance.",
        *([f"Models that give one answer to all examples: {'; '.join(listed)}."] if listed else []),
    ]
    return Table(frame[TABLE1], notes, page.rename_axis(columns=None).reset_index(), {"n": "n"})


def _cell(line: pd.Series) -> str:
    spread = f" ({line['min']:.1f} to {line['max']:.1f}, {int(line['seeds'])} seeds)" if line["seeds"] > 1 else ""
    interval = f" [{line['ci_low']:.1f}, {line['ci_high']:.1f}]" if pd.notna(line["ci_low"]) else ""
    return f"{line['value']:.1f}{spread}{interval}"


@table(
    title="Effect of each open choice on the values of heads",
    reads=("changes/options",),
    optional={"frame_options": ("frames", "frame_options.tsv")},
    labels=("tasks", "frames"),
    uses=("frames", "tagged"),
)
def options(frames: Mapping[str, pd.DataFrame]) -> Table:
    """Change in the values of heads (means over examples, or sentences) under each choice that the paper or its code leaves
    open (Kovaleva et al. 2019): mean and largest absolute change, and Spearman's rank correlation over heads between both
    settings. A feature or link that no example has is left out.
    """
    frame = pd.concat(frames.values(), ignore_index=True)
    note = (
        "The first setting of each pair is that of the published code, except for examples without a feature: the code of "
        "Figure 7 skips them and that of section 4.4 counts them as 0 (except for negation). For Figure 3 it is that of the "
        "figure."
    )
    page = frame.assign(task=[TASK_TITLES.get(name, name) for name in frame["task"]])
    formats = {"n": "d"} | dict.fromkeys(("mean_change", "largest_change", "rho"), ".4f")
    return Table(frame, [note], page, {"rho": "Rho"}, formats, Layout("option"))


@table(
    title="The paper's claims, tested on the run's models",
    reads=("changes/statistics", "changes/links", "changes/classes", "table1", "table1_gains", "disabling", "disabling_heads"),
    optional={"frame_heads": ("frames", "frame_heads.tsv")},
    labels=("tasks", "frames", "tagged"),
    uses=("frames", "tagged"),
    resources=("published/fixed_claims.tsv",),
)
def claims(frames: Mapping[str, pd.DataFrame]) -> Table:
    """Claims of the paper on order and size, tested on this run's models (Kovaleva et al. 2019)."""
    return claims_table(tested_claims(frames))


@table(title="Dropped examples, by reason", gathers=("shards_by_corpus",), uses=("frames", "tagged"))
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of examples kept and dropped in each corpus of the study, by reason."""
    return dropped_records(shards_by_corpus)


@table(
    title="Every published number beside this run's",
    reads=(
        "table1",
        "table1_gains",
        "disabling",
        "disabling_heads",
        "disabling_layers",
        "patterns",
        "changes/classes",
        "changes/cosine",
        "changes/special",
        "changes/first_row",
        "changes/features",
        "changes/links",
        "changes/statistics",
    ),
    optional={"frame_heads": ("frames", "frame_heads.tsv")},
    labels=("tasks", "frames"),
    uses=("frames", "tagged"),
    megabytes=2000,
    minutes=30,
)
def comparison(frames: Mapping[str, pd.DataFrame], recipe: Mapping[str, Any], labels: Mapping[str, RunLabel]) -> Table:
    """Every published number of Kovaleva et al. (2019) beside this run's, with the reason where the two cannot be compared. A
    number is compared only with the same model fine-tuned on the same data; most were read off figures. The column why names
    known errors of the paper.
    """
    tables = {_PUBLISHED_AS.get(name, name): frame for name, frame in frames.items()}
    tables["quantities"] = quantities(_quantities(frames, recipe))
    published = load_published("kovaleva2019")
    return value_table(compare(published, measure(published, tables, labels)))


def _quantities(frames: Mapping[str, pd.DataFrame], recipe: Mapping[str, Any]) -> Iterator[Quantity]:
    for name, value in recipe.items():
        yield Quantity(name, value)
    yield Quantity("longest_sentence", LONGEST_SENTENCE)
    yield Quantity("longest_element", LONGEST_ELEMENT)
    yield Quantity("convolutions", len(CHANNELS))
    patterns = frames["patterns"]
    labelled = patterns[(patterns["annotator"] == "network") & (patterns["folds"] == "text")].set_index("class")["n"]
    yield Quantity("classes", len(labelled.index.difference(["macro"])))
    yield Quantity("vertical_labels", 100 * float(labelled["vertical"] / labelled["macro"]))
    table1 = frames["table1"]
    scores = table1[table1["metric"] != "f1"].pivot(index="task", columns="state", values="value")
    if "tuned" in scores and "untrained" in scores:
        remark = f"{len(scores)} of seven tasks" if len(scores) < len(TASK_TITLES) else ""
        yield Quantity("mean_gain", float((scores["tuned"] - scores["untrained"]).mean()), len(scores), remark)
    heads, layers = (frames["disabling"].query("unit == @unit").set_index("task") for unit in ("heads", "layers"))
    yield Quantity("least_best_gain", float(heads["best_delta"].min()), len(heads))
    yield Quantity("largest_best_gain", float(heads["best_delta"].max()), len(heads))
    yield Quantity("largest_gain", float(frames["disabling"]["best_delta"].max()), len(heads))
    helped = ", ".join(TASK_TITLES[task] for task in heads.index[heads["mean_delta"] > 0])
    yield Quantity("tasks_helped", helped or "none")
    first = frames["disabling_layers"].query("layer == 1").set_index("task")["score"]
    gains = (first - layers["baseline"]).dropna()
    if "rte" in gains:
        yield Quantity("layer1_gain_rte", float(gains["rte"]))
    both = gains[gains.index.isin(["qnli", "mnli"])]
    if len(both):
        yield Quantity("layer1_lowest", float(both.min()))


def tested_claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[Claim]:
    """The claims of the tables of a run; frame_heads is missing where it has no corpus of frames."""
    yield from _fine_tuning(frames["statistics"])
    yield from _linked_words(frames["links"])
    yield from _scores(frames["disabling"], frames["table1_gains"], tasks=frames["table1"]["task"].nunique())
    yield from _classes(frames["statistics"], frames["classes"])
    if "frame_heads" in frames:
        yield from _frame_heads(frames["frame_heads"], frames["disabling_heads"])


def _fine_tuning(statistics: pd.DataFrame) -> Iterator[Claim]:
    layers = statistics[(statistics["statistic"] == "last_layers") & (statistics["task"] != "qqp")]
    covered = "(interval over examples and seeds; a single seed's model stands for itself)"
    for crop, maps in {"real": "maps of real length", "padded": "maps padded as in the published code"}.items():
        statement = f"Fine-tuning changes the last two layers most in all tasks but QQP (Figure 5; {maps})"
        statistic = f"smallest mean cosine of an earlier layer minus that of the last two, over the heads of a layer {covered}"
        yield from _of_parts(statement, layers[layers["of"] == crop], statistic)
    raised = statistics[statistics["statistic"] == "change"]
    some = f" ({len(raised)} of {RAISED_PARTS} tested)" if len(raised) < RAISED_PARTS else ""
    yield from _of_parts(
        f"Fine-tuning raises attention to nouns and objects in MRPC, RTE and QQP, and to negation in QNLI (section 4.4){some}",
        raised.assign(part=raised["task"].map(TASK_TITLES) + " " + raised["of"]),
        f"attention to tokens with the feature after fine-tuning minus that before, mean over heads {covered}",
        unit=" and ".join(raised["unit"].unique()),
    )


def _linked_words(links: pd.DataFrame) -> Iterator[Claim]:
    """Section 4.5: the paper cannot tell heads with much attention on links from heads that look at neighbours."""
    tuned = links[(links["model"] == "tuned") & (links["mode"] == "corrected")]
    for link, words in _LINK_WORDS.items():
        of_link = tuned[tuned["link"] == link]
        best = of_link.loc[of_link.groupby("task", sort=False)["value"].idxmax()]
        heads = best["task"].map(TASK_TITLES) + " " + best["layer"].astype(str) + "-" + best["head"].astype(str)
        yield from _of_parts(
            f"The head with the most attention from {words} exceeds the attention expected from token distance, in every "
            "task that has such words (section 4.5)",
            _margins(best).assign(part=heads),
            "largest attention on links minus that on pairs at the same distance (interval for all heads and tasks together)",
            unit=" and ".join(best["unit"].unique()),
        )


def _margins(rows: pd.DataFrame) -> pd.DataFrame:
    columns = {"margin": "value", "margin_all_low": "ci_low", "margin_all_high": "ci_high", "n_margin": "n"}
    return rows.drop(columns=["value", "ci_low", "ci_high", "n"], errors="ignore").rename(columns=columns)


def _scores(disabling: pd.DataFrame, gains: pd.DataFrame, tasks: int) -> Iterator[Claim]:
    """Section 4.6 and Table 1."""
    statements = {
        "best": (
            "In every task some head can be disabled with a gain (section 4.6)",
            "largest gain from disabling a head (interval corrected for the choice; these models)",
        ),
        "heldout": (
            "In every task a head that is chosen for its gain also gains on other examples (not tested in the paper)",
            "gain from disabling the head that is best on the other half of the examples (these models)",
        ),
    }
    heads = disabling[disabling["unit"] == "heads"]
    for choice, (statement, statistic) in statements.items():
        columns = {f"{choice}_delta": "value", f"{choice}_ci_low": "ci_low", f"{choice}_ci_high": "ci_high"}
        for claim in _of_parts(statement, heads.rename(columns=columns), f"{statistic}, {POINTS}", 1):
            yield replace(claim, of_paper=choice == "best")
    gains = gains[gains["metric"] != "f1"]
    some = f" ({len(gains)} of {tasks} tasks trained from random weights)" if len(gains) < tasks else ""
    statement = f"Fine-tuning from pre-trained weights beats random weights in every task (Table 1){some}"
    statistic = f"score from pre-trained minus score from random weights (these models), {POINTS}"
    yield from _of_parts(statement, gains, statistic, 1)


def _classes(statistics: pd.DataFrame, figure2: pd.DataFrame) -> Iterator[Claim]:
    """Undecided where the annotators disagree, or where errors of the rules could decide."""
    shares = 100 * figure2.groupby(["annotator", "class"])["share"].mean()
    by_annotator = "; ".join(
        f"{annotator}: " + ", ".join(f"{CLASS_TITLES[name]} {shares[annotator, name]:.1f} %" for name in CLASSES)
        for annotator in sorted(ANNOTATORS, reverse=True)
    )
    widest = statistics.groupby("statistic").agg({"ci_low": "min", "ci_high": "max"})
    rows = statistics[statistics["of"] == HEADLINE].set_index("statistic").assign(**dict(widest.items()))
    corrected = (
        f"mean over tasks by the {HEADLINE}, corrected for their errors on labelled maps of other layers (interval over "
        "examples, seeds and labelled heads, widened to that of the network)"
    )
    yield from _of_parts(
        "Vertical and heterogeneous maps are the two most frequent classes (Figure 2)",
        rows.loc[["vertical_and_heterogeneous"]],
        f"smaller share of the two minus the largest of the others, {corrected}",
        ours=by_annotator,
    )
    yield from _of_parts(
        f"Diagonal maps are rare (Figure 2; less than {100 * RARE_SHARE:.0f} %, our threshold)",
        rows.loc[["diagonal"]],
        f"share of diagonal maps, {corrected}",
        ours=by_annotator,
        threshold=RARE_SHARE,
        above=False,
    )


def _frame_heads(heads: pd.DataFrame, disabled: pd.DataFrame) -> Iterator[Claim]:
    """Sections 4.2 and 5; the latter not where the fine-tuned models do not have these heads."""
    best = heads.nlargest(FRAME_HEADS, "value")
    best = best.assign(part=best["layer"].astype(str) + "-" + best["head"].astype(str), level=LEVEL)
    yield from _of_parts(
        "The two heads with the most attention on frame links exceed the attention expected from token distance (section 4.2)",
        _margins(best),
        "attention on frame links above pairs at the same distance (interval for all heads together)",
        unit="sentences",
    )
    columns = {"delta": "value", "pair_ci_low": "ci_low", "pair_ci_high": "ci_high", "pair_level": "level"}
    of_tasks = disabled.drop(columns=["ci_low", "ci_high"]).rename(columns=columns)
    rows = best[["layer", "head", "part"]].merge(of_tasks, on=["layer", "head"])
    if len(rows) == len(best) * disabled["task"].nunique():
        yield from _of_parts(
            "Disabling either of the two heads with the most attention on frame links lowers the score of no task by one "
            "percentage point or more (section 5; our threshold)",
            rows.assign(part=rows["part"] + " " + rows["task"].map(TASK_TITLES)),
            f"change in score when one of the two heads attends uniformly (interval over examples and seeds), {POINTS}",
            1,
            threshold=-TOLERATED,
        )


def _of_parts(
    statement: str,
    rows: pd.DataFrame,
    statistic: str,
    decimals: int = 3,
    unit: str = "examples",
    threshold: float = 0.0,
    above: bool = True,
    ours: str = "",
) -> Iterator[Claim]:
    """The claim that holds where it does for every row (part, or task; value, ci_low, ci_high, level, n); none without rows."""
    parts, listed = [], []
    for row in rows.to_dict("records"):
        value, low, high = (float(row[name]) for name in ("value", "ci_low", "ci_high"))
        parts.append(Claim("", "", statistic, value, low, high, int(row["n"]), unit, threshold, above, row["level"]))
        shown, *ends = (_shown(number, decimals, threshold) for number in (value, low, high))
        interval = "no interval" if math.isnan(low) else ", ".join(ends)
        listed.append(f"{row.get('part') or TASK_TITLES.get(row['task'], '')} {shown} [{interval}]")
    if parts:
        yield all_hold(statement, ours or ", ".join(listed), parts)


def _shown(value: float, decimals: int, threshold: float) -> str:
    """A number with at least so many decimals, and as many more as show on which side of the threshold it lies."""
    while decimals < 6 and value != threshold and round(value, decimals) == round(threshold, decimals):
        decimals += 1
    return f"{value:+.{decimals}f}"
