"""Tables of Kovaleva et al. (2019), and its claims on order and size, tested on a run's models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.corpora.examples import RecordsByCorpus, dropped_records
from attention_atlas.corpora.marked_text import LONGEST_ELEMENT, LONGEST_SENTENCE
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.published.compare import Claim, all_hold, compare
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.pages import claim_frame, claim_table, value_table, verdict_counts
from attention_atlas.published.values import load_published, published_column
from attention_atlas.studies.kovaleva2019.changes import RAISED_PARTS
from attention_atlas.studies.kovaleva2019.names import (
    CHANNELS,
    CLASS_TITLES,
    CLASSES,
    FEWEST_EXAMPLES,
    FRAME_HEADS,
    HEADLINE,
    POINTS,
    STATES,
    TASK_TITLES,
)
from attention_atlas.workflow.shown import table

TABLE1 = "task metric state value sd min max ci_low ci_high paper_value seeds n unit".split()
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
    "constant": "Best constant",
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
_ANNOTATORS = {"rules": "rules", "network": "network"}


@table(
    id="table1",
    number="Table 1",
    title="Tasks without fine-tuning, from random weights, and fine-tuned",
    reads=("scores",),
    labels=("tasks",),
    files=("table1_gains.tsv",),
)
def table1(scores: pd.DataFrame) -> Table:
    """Scores without fine-tuning over many random classification layers, fine-tuned from random weights, and fine-tuned from
    pre-trained weights, beside the majority, the best constant answer and the published scores (Kovaleva et al. 2019, Table
    1): mean over seeds (minimum to maximum), and 95 % interval over examples and, with several, over seeds.
    """
    paper = published_column(load_published("kovaleva2019"), "Table 1", "table1", "value", scores)
    frame = scores.assign(paper_value=np.asarray(paper, dtype=float))
    cells: dict[tuple[str, str, int], dict[str, str]] = {}
    for _, line in frame.iterrows():
        row = cells.setdefault((TASK_TITLES[line["task"]], line["metric"], line["n"]), {})
        row[_TITLES[line["state"]]] = _cell(line)
        row[f"Paper: {_TITLES[line['state']]}"] = "" if pd.isna(line["paper_value"]) else f"{line['paper_value']:.1f}"
    page = pd.DataFrame(list(cells.values())).fillna("")
    order = [*_TITLES.values(), *(f"Paper: {_TITLES[state]}" for state in STATES)]
    page = pd.DataFrame(list(cells), columns=["task", "metric", "n"]).join(page[[name for name in order if name in page]])
    models = frame[frame["state"].isin(STATES)].drop_duplicates(["task", "state"])
    constant = {
        f"{TASK_TITLES[row.task]}: {_TITLES[row.state]}": (int(row.constant_models), int(row.seeds))
        for row in models.itertuples()
    }
    notes = [
        f"Scores in {POINTS}. Intervals over seeds are by Student's t, wide for few of them. Without fine-tuning "
        "the classification layer is random, and its answers depend only on its seed. correlation: mean of Pearson's and "
        "Spearman's (the paper calls it accuracy). Best constant: one answer for all, the best by this metric.",
        "In the paper, models fine-tuned from random weights give a constant answer on MRPC (F1 81.2 = 2p / (1 + p)), QQP, RTE "
        "and QNLI: comparing them there with the model without fine-tuning compares chance with chance.",
        *_one_answer_note(constant),
    ]
    return Table(frame[TABLE1], notes, page, {"n": "n"})


def _cell(line: pd.Series) -> str:
    spread = f" ({line['min']:.1f} to {line['max']:.1f}, {int(line['seeds'])} seeds)" if line["seeds"] > 1 else ""
    interval = f" [{line['ci_low']:.1f}, {line['ci_high']:.1f}]" if pd.notna(line["ci_low"]) else ""
    return f"{line['value']:.1f}{spread}{interval}"


def _one_answer_note(counts: Mapping[str, tuple[int, int]]) -> list[str]:
    """A note on models that have not learnt to tell examples apart: name -> how many give one answer, and of how many."""
    listed = [f"{words} ({n} of {models})" for words, (n, models) in counts.items() if n]
    return [f"Models that give one answer to all examples: {'; '.join(listed)}."] if listed else []


@table(
    id="options",
    number="Options",
    title="Effect of each open choice on the values of heads",
    reads=("changes/options",),
    optional={"frame_options": ("frames", "frame_options.tsv")},
    labels=("tasks", "frames"),
    uses=("frames",),
)
def options(frames: Mapping[str, pd.DataFrame]) -> Table:
    """Change in the values of heads (means over examples, or sentences) under each choice that the paper or its code leaves
    open (Kovaleva et al. 2019): mean and largest absolute change, and Spearman's rank correlation over heads between both
    settings. The column absent says why a value is missing.
    """
    frame = pd.concat(frames.values(), ignore_index=True).astype({"n": "Int64"})
    note = (
        "The first setting of each pair is that of the published code, except for examples without a feature: the code of "
        "Figure 7 skips them and that of section 4.4 counts them as 0 (except for negation). For Figure 3 it is that of the "
        "figure."
    )
    page = frame.assign(task=[TASK_TITLES.get(name, name) for name in frame["task"]])
    formats = {"n": "d"} | dict.fromkeys(("mean_change", "largest_change", "rho"), ".4f")
    return Table(frame, [note], page, {"rho": "Rho"}, formats, Layout("option"))


@table(
    id="claims",
    number="Claims",
    title="The paper's claims, tested on the run's models",
    reads=(
        "changes/statistics",
        "changes/links",
        "changes/classes",
        "table1",
        "table1_gains",
        "disabling",
        "disabling_heads",
        "patterns",
    ),
    optional={"frame_heads": ("frames", "frame_heads.tsv")},
    labels=("tasks", "frames"),
    uses=("frames",),
)
def claims(frames: Mapping[str, pd.DataFrame]) -> Table:
    """Claims of the paper on order and size, tested on this run's models (Kovaleva et al. 2019)."""
    tested = claim_table(claim_frame(tested_claims(frames)))
    disabled = frames["disabling"].drop_duplicates("task")
    constant = _one_answer_note({TASK_TITLES[row.task]: (row.constant_models, row.seeds) for row in disabled.itertuples()})
    notes = [f"{sentence} Changes of their scores by disabling heads say nothing about the heads." for sentence in constant]
    return replace(tested, notes=[*tested.notes, *notes])


@table(id="dropped", number="Dropped", title="Dropped examples, by reason", gathers=("shards_by_corpus",), uses=("frames",))
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of examples kept and dropped in each corpus of the study, by reason."""
    return dropped_records(shards_by_corpus)


@table(
    id="comparison",
    number="Comparison",
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
    settings=("recipe",),
    labels=("tasks", "frames"),
    uses=("frames",),
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
    frame = compare(published, measure(published, tables, labels))
    return value_table(frame, [verdict_counts(frame)])


def _quantities(frames: Mapping[str, pd.DataFrame], recipe: Mapping[str, Any]) -> Iterator[Quantity]:
    for name, value in recipe.items():
        yield Quantity(name, value)
    yield Quantity("longest_sentence", LONGEST_SENTENCE)
    yield Quantity("longest_element", LONGEST_ELEMENT)
    yield Quantity("convolutions", len(CHANNELS))
    patterns = frames["patterns"]
    labelled = patterns[(patterns["annotator"] == "network") & (patterns["folds"] == "text")].set_index("class")["n"]
    yield Quantity("classes", len(labelled.index.difference(["macro", "all"])))
    yield Quantity("vertical_labels", 100 * float(labelled["vertical"] / labelled["macro"]))
    table1 = frames["table1"]
    scores = table1[table1["metric"] != "f1"].pivot(index="task", columns="state", values="value")
    if "tuned" in scores and "untrained" in scores:
        remark = f"{len(scores)} of seven tasks" if len(scores) < len(TASK_TITLES) else ""
        yield Quantity("mean_gain", float((scores["tuned"] - scores["untrained"]).mean()), len(scores), remark)
    yield from _disabling(frames["disabling"], frames["disabling_layers"])


def _disabling(summary: pd.DataFrame, layer_scores: pd.DataFrame) -> Iterator[Quantity]:
    """Gains by disabling heads and layers, over the tasks of the run."""
    uniform = summary[summary["action"] == "uniform"].set_index("task")
    heads, layers = (uniform[uniform["unit"] == unit] for unit in ("heads", "layers"))
    yield Quantity("least_best_gain", float(heads["best_delta"].min()), len(heads))
    yield Quantity("largest_best_gain", float(heads["best_delta"].max()), len(heads))
    yield Quantity("largest_gain", float(uniform["best_delta"].max()), len(heads))
    helped = ", ".join(TASK_TITLES[task] for task in heads.index[heads["mean_delta"] > 0])
    yield Quantity("tasks_helped", helped or "none")
    first = layer_scores[(layer_scores["action"] == "uniform") & (layer_scores["layer"] == 1)].set_index("task")["score"]
    gains = (first - layers["baseline"]).dropna()
    if "rte" in gains:
        yield Quantity("layer1_gain_rte", float(gains["rte"]))
    both = gains[gains.index.isin(["qnli", "mnli"])]
    if len(both):
        yield Quantity("layer1_lowest", float(both.min()))


def tested_claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[Claim]:
    """The claims of the tables of a run; frame_heads is missing where it has no corpus of frames."""
    yield from _last_layers(frames["statistics"])
    yield from _raised_features(frames["statistics"])
    yield from _linked_words(frames["links"])
    yield from _disabled_heads(frames["disabling"])
    yield from _pretraining(frames["table1_gains"], tasks=frames["table1"]["task"].nunique())
    yield from _classes(frames["statistics"], frames["classes"], frames["patterns"])
    if "frame_heads" in frames:
        yield _frame_heads(frames["frame_heads"])
        yield from _disabled_frame_heads(frames["frame_heads"], frames["disabling_heads"])


def _last_layers(statistics: pd.DataFrame) -> Iterator[Claim]:
    rows = statistics[(statistics["statistic"] == "last_layers") & (statistics["task"] != "qqp")]
    for crop, maps in {"real": "maps of real length", "padded": "maps padded as in the published code"}.items():
        parts = _by_task(rows[rows["of"] == crop], "smallest mean cosine of an earlier layer minus that of the last two")
        yield from _of_parts(f"Fine-tuning changes the last two layers most in all tasks but QQP (Figure 5; {maps})", parts)


def _raised_features(statistics: pd.DataFrame) -> Iterator[Claim]:
    statistic = "attention to tokens with the feature after fine-tuning minus that before, mean over heads"
    rows = statistics[statistics["statistic"] == "change"]
    parts = {f"{TASK_TITLES[row['task']]} {row['of']}": _claim("", "", statistic, row) for _, row in rows.iterrows()}
    some = f" ({len(parts)} of {RAISED_PARTS} tested)" if len(parts) < RAISED_PARTS else ""
    statement = "Fine-tuning raises attention to nouns and objects in MRPC, RTE and QQP, and to negation in QNLI (section 4.4)"
    yield from _of_parts(f"{statement}{some}", parts)


def _linked_words(links: pd.DataFrame) -> Iterator[Claim]:
    """Section 4.5: the paper cannot tell heads with much attention on links from heads that look at neighbours."""
    tuned = links[(links["model"] == "tuned") & (links["mode"] == "corrected")].dropna(subset=["value"])
    for link, words in _LINK_WORDS.items():
        of_link = tuned[tuned["link"] == link]
        best = of_link.loc[of_link.groupby("task", sort=False)["value"].idxmax()]
        columns = {"margin": "value", "margin_all_low": "ci_low", "margin_all_high": "ci_high", "n_margin": "n"}
        parts = _by_task(
            best.drop(columns=["value", "n"]).rename(columns=columns),
            "largest attention on links minus that on pairs at the same distance (interval for all heads and tasks together)",
        )
        heads = [
            f"{TASK_TITLES[row.task]} {row.layer:.0f}-{row.head:.0f} {row.value:.2f} (control {row.control:.2f})"
            for row in best.itertuples()
        ]
        statement = (
            f"The head with the most attention from {words} exceeds the attention expected from token distance, in every "
            "task that has such words (section 4.5)"
        )
        yield from _of_parts(statement, parts, f"{', '.join(heads)}; difference: ")


def _disabled_heads(disabling: pd.DataFrame) -> Iterator[Claim]:
    heads = disabling[(disabling["action"] == "uniform") & (disabling["unit"] == "heads")]
    gains = (
        (
            "best",
            "In every task some head can be disabled with a gain (section 4.6)",
            "largest gain from disabling a head (interval corrected for the choice; these models)",
        ),
        (
            "heldout",
            "In every task a head that is chosen for its gain also gains on other examples (not tested in the paper)",
            "gain from disabling the head that is best on the other half of the examples (these models)",
        ),
    )
    for choice, statement, statistic in gains:
        columns = {f"{choice}_delta": "value", f"{choice}_ci_low": "ci_low", f"{choice}_ci_high": "ci_high"}
        parts = _by_task(heads.rename(columns=columns), f"{statistic}, {POINTS}")
        yield all_hold(statement, _listed(parts, 1), list(parts.values()))


def _pretraining(gains: pd.DataFrame, tasks: int) -> Iterator[Claim]:
    parts = _by_task(
        gains[gains["metric"] != "f1"], f"score from pre-trained minus score from random weights (these models), {POINTS}"
    )
    if parts:
        some = f" ({len(parts)} of {tasks} tasks trained from random weights)" if len(parts) < tasks else ""
        statement = f"Fine-tuning from pre-trained weights beats random weights in every task (Table 1){some}"
        yield all_hold(statement, _listed(parts, 1), list(parts.values()))


def _classes(statistics: pd.DataFrame, figure2: pd.DataFrame, patterns: pd.DataFrame) -> Iterator[Claim]:
    """The claims about classes: tested with the maps as `HEADLINE` classifies them, beside those of the other annotator."""
    shares = figure2.groupby(["annotator", "class"])["share"].mean()
    by_annotator = [
        f"{title}: " + ", ".join(f"{CLASS_TITLES[name]} {100 * shares[annotator, name]:.0f} %" for name in CLASSES)
        for annotator, title in _ANNOTATORS.items()
    ]
    rows = statistics.set_index(["statistic", "of"])
    classified = f"maps classified by the {_ANNOTATORS[HEADLINE]}; classification errors are not in the interval"
    differences = _percentages(rows.loc["vertical_and_heterogeneous"], 0)
    yield _claim(
        "Vertical and heterogeneous maps are the two most frequent classes (Figure 2)",
        f"{'; '.join(by_annotator)}. Difference in percentage points: {differences}. "
        + _recall_and_precision(patterns, ("vertical", "heterogeneous")),
        f"smaller share of the two minus the largest of the others, mean over tasks ({classified})",
        rows.loc[("vertical_and_heterogeneous", HEADLINE)],
    )
    yield _claim(
        f"Diagonal maps are rare (Figure 2; less than {100 * RARE_SHARE:.0f} %, our threshold)",
        f"Share in %: {_percentages(rows.loc['diagonal'], 100 * RARE_SHARE)}. {_recall_and_precision(patterns, ('diagonal',))}",
        f"share of diagonal maps, mean over tasks ({classified})",
        rows.loc[("diagonal", HEADLINE)],
        threshold=RARE_SHARE,
        above=False,
    )


def _recall_and_precision(patterns: pd.DataFrame, classes: Sequence[str]) -> str:
    """How well the annotators find some classes among labelled maps of layers that they were not trained on."""
    rows = 100 * patterns[patterns["folds"] == "layer"].set_index(["class", "annotator"])[["recall", "precision"]]
    errors = []
    for kind in classes:
        shares = [(title, *rows.loc[(kind, name)]) for name, title in _ANNOTATORS.items()]
        texts = [f"{title} {recall:.0f} % and {precision:.0f} %" for title, recall, precision in shares]
        errors.append(f"{CLASS_TITLES[kind]}: {', '.join(texts)}")
    return f"Recall and precision on labelled maps of other layers: {'; '.join(errors)}"


def _percentages(rows: pd.DataFrame, threshold: float) -> str:
    """The value and interval of a share with the maps as each annotator classifies them."""
    texts = []
    for name, title in _ANNOTATORS.items():
        value, low, high = (_shown(100 * float(rows.loc[name, of]), 1, threshold) for of in ("value", "ci_low", "ci_high"))
        texts.append(f"{title} {value} [{low} to {high}]")
    return ", ".join(texts)


def _frame_heads(heads: pd.DataFrame) -> Claim:
    best = list(heads.nlargest(FRAME_HEADS, "value").itertuples())
    statistic = "attention on frame links above pairs at the same distance (interval for all heads together)"
    parts = [
        Claim("", "", statistic, row.margin, row.margin_all_low, row.margin_all_high, row.n_margin, "sentences") for row in best
    ]
    ours = ", ".join(f"{row.layer}-{row.head} {row.value:.2f} (control {row.control:.2f})" for row in best)
    few = f"; fewer than {FEWEST_EXAMPLES} sentences, no interval" if parts[0].n < FEWEST_EXAMPLES else ""
    statement = (
        "The two heads with the most attention on frame links exceed the attention expected from token distance (section 4.2)"
    )
    return all_hold(statement, ours + few, parts)


def _disabled_frame_heads(heads: pd.DataFrame, disabled: pd.DataFrame) -> Iterator[Claim]:
    """Section 5; none where the fine-tuned models do not have these heads."""
    uniform = disabled[disabled["action"] == "uniform"]
    best = heads.nlargest(FRAME_HEADS, "value")[["layer", "head"]]
    columns = {"delta": "value", "pair_ci_low": "ci_low", "pair_ci_high": "ci_high", "pair_level": "level"}
    rows = best.merge(uniform.drop(columns=["ci_low", "ci_high"]).rename(columns=columns), on=["layer", "head"])
    if len(rows) < len(best) * uniform["task"].nunique() or rows.empty:
        return
    statistic = f"change in score when one of the two heads attends uniformly (interval over examples and seeds), {POINTS}"
    of_heads = {
        f"{layer}-{head}": _by_task(of_head, statistic, threshold=-TOLERATED)
        for (layer, head), of_head in rows.groupby(["layer", "head"], sort=False)
    }
    statement = (
        "Disabling either of the two heads with the most attention on frame links lowers the score of no task by one "
        "percentage point or more (section 5; our threshold)"
    )
    ours = "; ".join(f"{head}: {_listed(of_tasks, 1)}" for head, of_tasks in of_heads.items())
    yield all_hold(statement, ours, [part for of_tasks in of_heads.values() for part in of_tasks.values()])


def _by_task(rows: pd.DataFrame, statistic: str, threshold: float = 0.0) -> dict[str, Claim]:
    """Task -> a claim about this task alone, from its row: task, value, ci_low, ci_high, level, n."""
    return {str(row["task"]): _claim("", "", statistic, row, threshold) for _, row in rows.iterrows()}


def _of_parts(statement: str, parts: Mapping[str, Claim], before: str = "") -> Iterator[Claim]:
    """The claim that holds where all its parts hold; none without parts."""
    if parts:
        few = [TASK_TITLES.get(task, task) for task, part in parts.items() if part.n < FEWEST_EXAMPLES]
        remark = f"; fewer than {FEWEST_EXAMPLES} examples: {', '.join(few)}" if few else ""
        yield all_hold(statement, f"{before}{_listed(parts, 3)}{remark}", list(parts.values()))


def _claim(statement: str, ours: str, statistic: str, row: pd.Series, threshold: float = 0.0, above: bool = True) -> Claim:
    value, low, high, level = (float(row[name]) for name in ("value", "ci_low", "ci_high", "level"))
    return Claim(statement, ours, statistic, value, low, high, int(row["n"]), "examples", threshold, above, level)


def _listed(parts: Mapping[str, Claim], decimals: int) -> str:
    """The value and interval of every task, or other part."""
    texts = []
    for task, part in parts.items():
        value, low, high = (_shown(number, decimals, part.threshold, "+") for number in (part.value, part.ci_low, part.ci_high))
        interval = "no interval" if math.isnan(part.ci_low) else f"{low}, {high}"
        texts.append(f"{TASK_TITLES.get(task, task)} {value} [{interval}]")
    return ", ".join(texts)


def _shown(value: float, decimals: int, threshold: float, sign: str = "") -> str:
    """A number with at least so many decimals, and as many more as show on which side of the threshold it lies."""
    while decimals < 6 and value != threshold and round(value, decimals) == round(threshold, decimals):
        decimals += 1
    return f"{value:{sign}.{decimals}f}"
