"""Figure 3: predictions of the probes for ambiguous targets, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.tables import read_table, write_table
from attention_atlas.studies.tenney2019.names import AMBIGUOUS
from attention_atlas.studies.tenney2019.scores import CASES

_ABOUT = ("source", "task", "id", "record", "target", "span1", "span2", "words")
"""Columns of `TRACES` that describe a target."""
FIGURE3 = ["sentence", "source", "task", "id", "words", "target", "span1", "span2", "layer", "label", "gold", "probability"]


def traced_sentences(cases: Iterable[str | Path], sentences: int, out: str | Path) -> None:
    """Write the traces of all cases and of the most ambiguous sentences of the development set (`FIGURE3`).

    As in the paper, sentences with more than one ambiguous target are chosen: first those with ambiguous targets of the most
    tasks, then those where the prediction changes for the most targets between the first and the last layer.

    Args:
        cases: tables of all tasks, see `probing.probe_task`.
        sentences: largest number of sentences of the development set.
        out: table to write; empty if no sentence is chosen.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = [frame for frame in (read_table(path, CASES) for path in cases) if len(frame)]
    table = pd.concat(frames) if frames else pd.DataFrame(columns=CASES)
    key = ["task", "source", "id", "target"]
    case_rows = table[table["source"] == "cases"]
    development_rows = table[table["source"] == "development"]
    chosen = list(dict.fromkeys(case_rows["id"]))
    if len(development_rows):
        wide = development_rows.pivot_table(index=key, columns=["gold", "top"], values="probability")
        lead = wide[1] - wide[0]
        flips = (lead.iloc[:, 0] * lead.iloc[:, -1] < 0).rename("flips").reset_index()
        ranked = flips.groupby("id").agg(targets=("flips", "size"), tasks=("task", "nunique"), flips=("flips", "sum"))
        ranked = ranked[ranked["targets"] > 1].sort_values(["tasks", "flips"], ascending=False, kind="stable")
        chosen += list(ranked.index[:sentences])
    shown = table[table["id"].isin(chosen)].rename(columns={"top": "layer"})
    shown = shown.assign(sentence=shown["id"].map({name: k for k, name in enumerate(chosen, start=1)}))
    shown = shown.sort_values(["sentence", "task", "target", "gold", "layer"], ascending=[True, True, True, False, True])
    write_table(shown[FIGURE3], out)


def traced_cases(by_seed: Sequence[pd.DataFrame]) -> Iterator[dict[str, Any]]:
    """The gold label and the likeliest wrong one of each traced target, one row for each layer; means over seeds.

    Args:
        by_seed: `TRACES` of a task and a source of sentences, by the probes of each seed.
    """
    if not by_seed or by_seed[0].empty:
        return
    targets = by_seed[0]
    labels = list(targets["labels"].iloc[0])
    sums: list[Any] = [0, 0]
    for frame in by_seed:
        # [target, top * label] -> [top, target, label]
        stacked = np.stack(list(frame["probability"])).reshape(len(frame), -1, len(labels))
        raw = np.ascontiguousarray(stacked.transpose(1, 0, 2))
        sums = [sums[0] + raw, sums[1] + raw / raw.sum(axis=-1, keepdims=True)]
    raw, normalised = (total / len(by_seed) for total in sums)
    likely = raw.mean(axis=0)  # [target, label]
    for number, target in enumerate(targets.itertuples()):
        right = np.asarray(target.gold, dtype=bool)
        ambiguous = likely[number].max() <= AMBIGUOUS
        if not right.any() or right.all() or (target.source == "development" and not ambiguous):
            continue
        gold = int(np.argmax(np.where(right, likely[number], -1)))
        wrong = int(np.argmax(np.where(right, -1, likely[number])))
        about = {name: getattr(target, name) for name in _ABOUT}
        for label, is_gold in ((gold, 1), (wrong, 0)):
            for top, probability in enumerate(normalised[:, number, label]):
                yield about | {"top": top, "label": labels[label], "gold": is_gold, "probability": float(probability)}
