"""Section 4.5: attention between a verb and its subject, and between nouns and pronouns, as a table and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.studies.kovaleva2019.measured import MODELS, Measures
from attention_atlas.studies.kovaleva2019.names import (
    BASE,
    FEWEST_EXAMPLES,
    LINKS,
    NOUN_PRON,
    PRON_NOUN,
    SUBJ_VERB,
    TASK_TITLES,
    TUNED,
    VERB_LINKS,
    VERB_SUBJ,
)
from attention_atlas.studies.kovaleva2019.random_pairs import margin_columns
from attention_atlas.studies.kovaleva2019.word_features import CORRECTED, MODES

Floats = npt.NDArray[np.float64]
_MARGIN = ["margin", "margin_all_low", "margin_all_high"]
LINK_COLUMNS = [
    *("task", "model", "mode", "link", "layer", "head", "value", "value_zero", "control"),
    *(*_MARGIN, "n", "n_margin", "unit", "absent"),
]
_TITLES = {
    SUBJ_VERB: "subject to verb",
    VERB_SUBJ: "verb to subject",
    NOUN_PRON: "noun to pronoun",
    PRON_NOUN: "pronoun to noun",
}
_MODELS = {BASE: "pre-trained", TUNED: "fine-tuned"}
NO_EXAMPLE = "no example has such words"
COUNTED = "examples"
"""What n counts in the tables of changes."""


def link_rows(task: str, seed_measures: Sequence[Measures], resamples: int, seed: int) -> list[pd.DataFrame]:
    """One row for each head, for each model, mode and link; one row without a head where a link is absent.

    A task without any link, all for the same reason, has a single row: task and reason.

    Args:
        task: its name.
        seed_measures: the measures of each seed, of which values are means.
        resamples, seed: of the bootstrap over examples.
    """
    frames: list[pd.DataFrame] = []
    absent: list[dict[str, Any]] = []
    for model, model_name in enumerate(MODELS):
        for mode, mode_name in enumerate(MODES):
            for link, link_name in enumerate(LINKS):
                facts = {"task": task, "model": model_name, "mode": mode_name, "link": link_name}
                values: Floats = np.mean([m.links[model, mode, :, link] for m in seed_measures], axis=0, dtype=np.float64)
                controls: Floats = np.mean(
                    [m.link_controls[model, mode, :, link] for m in seed_measures], axis=0, dtype=np.float64
                )
                if not np.isnan(values[:, 0, 0]).all():
                    frames.append(_head_rows(values, controls, resamples, seed).assign(**facts, absent=""))
                elif mode_name == CORRECTED or link_name in VERB_LINKS:
                    first = seed_measures[0]
                    reason = first.untagged or (first.unlinked if link_name in VERB_LINKS else "") or NO_EXAMPLE
                    absent.append(facts | dict.fromkeys(("n", "n_margin"), known_count(0, reason)) | {"absent": reason})
    if not frames and len({row["absent"] for row in absent}) == 1:
        absent = [{name: absent[0][name] for name in ("task", "n", "n_margin", "absent")}]
    frames += [pd.DataFrame([dict.fromkeys(LINK_COLUMNS, np.nan) | row]) for row in absent]
    counts = dict.fromkeys(("layer", "head", "n", "n_margin"), "Int64")
    return [frame.assign(unit=COUNTED).astype(counts) for frame in frames]


def known_count(count: int, absent: str) -> float:
    """How many examples have the words; NaN, not 0, where only tags could tell.

    Args:
        count: examples with a value.
        absent: why there is no value; empty where there is one.
    """
    return float("nan") if absent and absent != NO_EXAMPLE else float(count)


def _head_rows(values: Floats, controls: Floats, resamples: int, seed: int) -> pd.DataFrame:
    """Rows of heads from values and controls [example, layer, head], NaN in examples without one."""
    present = ~np.isnan(values[:, 0, 0])
    rows = head_rows(values[present].mean(axis=0), "value")
    rows = rows.assign(value_zero=values[present].sum(axis=0).ravel() / len(values), n=int(present.sum()))
    return rows.assign(**margin_columns(values[present], controls[present], resamples, seed))


def links_page(path: str | Path, labels: Mapping[str, RunLabel], html_out: str | Path) -> None:
    """Write the page: the head with the most attention for each task, link and model.

    Args:
        path: links of `change_tables`.
        labels: task -> run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, LINK_COLUMNS)
    corrected = table[table["mode"] == CORRECTED]
    without = table[table["link"].isna()].groupby("absent", sort=False)["task"]
    gone = "; ".join(f"{', '.join(TASK_TITLES[task] for task in tasks)} ({reason})" for reason, tasks in without)
    rows = []
    for (task, link, model), heads in corrected.groupby(["task", "link", "model"], sort=False):
        facts = {"task": TASK_TITLES[str(task)], "link": _TITLES[str(link)], "model": _MODELS[str(model)]}
        if heads["value"].isna().all():
            rows.append(facts | {"n": heads["n"].iloc[0], "absent": heads["absent"].iloc[0]})
            continue
        best = heads.loc[heads["value"].idxmax()]
        numbers = {name: best[name] for name in ("value", "control", *_MARGIN)}
        above = float((heads["margin_all_low"] > 0).mean()) if heads["margin_all_low"].notna().any() else np.nan
        largest = f"{int(best['layer'])}-{int(best['head'])}"
        rows.append(facts | {"largest": largest, **numbers, "above": above, "n": int(best["n"]), "absent": ""})
    columns = ["task", "link", "model", "largest", "value", "control", *_MARGIN, "above", "n", "absent"]
    notes = [
        *joint_lines(labels.values()),
        "Largest attention weight from the tokens of the first word of a link to those of the second, mean over the n "
        "examples that have such words, for the head with the largest mean. above: share of heads above their control. "
        "control: other pairs of tokens at the same distances in the example; margin: the difference, with a simultaneous 95 % "
        f"interval for all heads, none for fewer than {FEWEST_EXAMPLES} examples. A subject is a word with the relation nsubj "
        "to a verb; all nouns and pronouns of a text are paired, since coreference is not annotated. Links that a task lacks "
        "are empty, with the reason." + (f" Without any link: {gone}." if gone else ""),
    ]
    names = {"largest": "Largest (layer-head)", "margin_all_low": "Low", "margin_all_high": "High"}
    formats = dict.fromkeys(("value", "control", *_MARGIN), ".3f") | {"above": ".0%", "n": "d"}
    title = "Kovaleva et al. 2019, section 4.5: attention between verbs and subjects, nouns and pronouns"
    write_html_table(pd.DataFrame(rows, columns=columns), html_out, title, notes, names, formats)
