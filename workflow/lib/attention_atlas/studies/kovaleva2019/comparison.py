"""Published numbers of Kovaleva et al. (2019) and the run's, heads against digitised heads, and claims of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attention_atlas.corpora.frames import LONGEST_ELEMENT, LONGEST_SENTENCE
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import write_table
from attention_atlas.published.compare import CLOSE, NO, compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables, sameness
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import Published, load_digitised, load_published
from attention_atlas.studies.kovaleva2019.claims import claims
from attention_atlas.studies.kovaleva2019.names import (
    CHANNELS,
    NETWORK,
    TASK_TITLES,
    TEXT,
    TUNED,
    UNTRAINED,
    VERTICAL,
)

FRAMES = "frames"


def comparison(
    tables: Mapping[str, Any],
    labels: Mapping[str, RunLabel],
    recipe: Mapping[str, Any],
    out: str | Path,
    html_out: str | Path,
    digitised_out: str | Path,
    digitised_html: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv, digitised.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file; figure3 is empty in a run without a corpus of frames.
        labels: task (and frames) -> run, model and corpus.
        recipe: of the fine-tuning (epochs, batch, learning_rate, warmup), records measured, length of padding, sentences.
        out, html_out: every published value and this run's.
        digitised_out, digitised_html: figure, task, heads, rho, mean_difference, largest_difference, comparable, why: our heads
            against those that were read off the paper's figures.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    disabling = frames["disabling"]
    scores = {f"{way}_score": disabling["baseline"] + disabling[f"{way}_delta"] for way in ("best", "worst")}
    derived = {"disabling": disabling.assign(**scores), "quantities": quantities(_quantities(frames, recipe))}
    published = load_published("kovaleva2019")
    frame = compare(published, measure(published, {**frames, **derived}, labels))
    lines = joint_lines(labels.values())
    note = (
        "A number is compared only with the same model fine-tuned on the same data; most were read off figures. Known "
        "errors of the paper are named in the column why."
    )
    write_comparison(frame, out, html_out, "Kovaleva et al. 2019: published values and this run", lines, note)
    heads = pd.DataFrame(list(_by_head(frames, labels, published)))
    write_table(heads, digitised_out)
    notes = [
        *lines,
        "This run's heads against those read off the paper's figures: Spearman's rank correlation over heads, mean and "
        "largest absolute difference. Comparable only if the model has the paper's shape and the task has the paper's data.",
    ]
    write_html_table(heads, digitised_html, "Kovaleva et al. 2019: heads against digitised figures", notes, {"rho": "Rho"})
    notes = [*lines, "Claims of the paper on order and size, tested on this run's models."]
    write_claims(claims(frames), claims_out, claims_html, "Kovaleva et al. 2019: claims and this run", notes)


def _quantities(frames: Mapping[str, pd.DataFrame], recipe: Mapping[str, Any]) -> Iterator[Quantity]:
    for name in ("batch", "epochs", "learning_rate", "warmup", "padded_length", "measured_records"):
        yield Quantity(name, recipe[name])
    if recipe["sentences"]:
        yield Quantity("sentences", recipe["sentences"])
    yield Quantity("longest_sentence", LONGEST_SENTENCE)
    yield Quantity("longest_element", LONGEST_ELEMENT)
    yield Quantity("convolutions", len(CHANNELS))
    patterns = frames["patterns"]
    labelled = patterns[(patterns["annotator"] == NETWORK) & (patterns["folds"] == TEXT)].set_index("class")["n"]
    yield Quantity("classes", len(labelled.index.difference(["macro", "all"])))
    yield Quantity("vertical_labels", 100 * float(labelled[VERTICAL] / labelled["macro"]))
    table1 = frames["table1"]
    scores = table1[table1["metric"] != "f1"].pivot(index="task", columns="state", values="value")
    if TUNED in scores and UNTRAINED in scores:
        missing = len(scores) < len(TASK_TITLES)
        remark = f"{len(scores)} of seven tasks" if missing else ""
        yield Quantity("mean_gain", float((scores[TUNED] - scores[UNTRAINED]).mean()), len(scores), remark)
    yield from _disabling(frames["disabling"], frames["figure9"])


def _disabling(summary: pd.DataFrame, figure9: pd.DataFrame) -> Iterator[Quantity]:
    """Gains by disabling heads and layers, over the tasks of the run."""
    uniform = summary[summary["action"] == "uniform"].set_index("task")
    heads, layers = (uniform[uniform["unit"] == unit] for unit in ("heads", "layers"))
    yield Quantity("least_best_gain", float(heads["best_delta"].min()), len(heads))
    yield Quantity("largest_best_gain", float(heads["best_delta"].max()), len(heads))
    yield Quantity("largest_gain", float(uniform["best_delta"].max()), len(heads))
    helped = ", ".join(TASK_TITLES[task] for task in heads.index[heads["mean_delta"] > 0])
    yield Quantity("tasks_helped", helped or "none")
    first = figure9[(figure9["action"] == "uniform") & (figure9["layer"] == 1)].set_index("task")["score"]
    gains = (first - layers["baseline"]).dropna()
    if "rte" in gains:
        yield Quantity("layer1_gain_rte", float(gains["rte"]))
    both = gains[gains.index.isin(["qnli", "mnli"])]
    if len(both):
        yield Quantity("layer1_lowest", float(both.min()))


def _by_head(
    frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel], published: Mapping[str, Published]
) -> Iterator[dict[str, Any]]:
    """This run's heads against digitised ones, by figure and task."""
    figure5, figure6, figure8 = (frames[name] for name in ("figure5", "figure6", "figure8"))
    disabled = figure8[figure8["action"] == "uniform"]
    token_weights = load_digitised("fig6_sep_cls")
    figures = {
        "Figure 5": (figure5[figure5["crop"] == "padded"], load_digitised("fig5_cosine"), "cosine"),
        "Figure 6, [SEP]": (figure6[figure6["feature"] == "sep"], token_weights.query("token == 'SEP'"), "mean_weight"),
        "Figure 6, [CLS]": (figure6[figure6["feature"] == "cls"], token_weights.query("token == 'CLS'"), "mean_weight"),
        "Figure 8": (disabled.assign(value=disabled["delta"] / 100), load_digitised("fig8_disable_head"), "delta_vs_baseline"),
    }
    if "figure3" in frames:
        digitised = load_digitised("fig3_framenet").assign(task=FRAMES)
        figures = {"Figure 3": (frames["figure3"].assign(task=FRAMES), digitised, "mean_max_weight")} | figures
    for figure, (ours, digitised, column) in figures.items():
        for task, heads in ours.groupby("task", sort=False):
            title = TASK_TITLES.get(str(task), str(task))
            row: dict[str, Any] = {"figure": figure, "task": title, "heads": len(heads)}
            of_task = next(value for value in published.values() if value.role == task and value.comparable == CLOSE)
            comparable, why, _ = sameness(of_task, labels)
            statistics = dict.fromkeys(("rho", "mean_difference", "largest_difference"), np.nan)
            if comparable != NO:
                both = heads.merge(digitised[digitised["task"] == title], on=["layer", "head"])
                difference = (both["value"] - both[column]).abs()
                rho = float(spearmanr(both["value"], both[column]).statistic)
                statistics = {"rho": rho, "mean_difference": difference.mean(), "largest_difference": difference.max()}
            yield row | statistics | {"comparable": comparable, "why": why}
