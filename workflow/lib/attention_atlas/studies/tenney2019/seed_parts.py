"""Join the tables of probes from several jobs; apart from `probing`, so that no job loads torch for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.tables import read_parquet, read_table, write_parquet, write_table
from attention_atlas.studies.tenney2019.names import AMBIGUOUS
from attention_atlas.studies.tenney2019.scores import CASES, COUNTS, SCORES, TRACES, WEIGHTS

_ABOUT = ("source", "task", "id", "record", "target", "span1", "span2", "words")
"""Columns of `TRACES` that describe a target."""


@dataclass(frozen=True)
class JoinedOutputs:
    """Files of the probes of all seeds: see the columns in `scores`."""

    scores: str | Path
    weights: str | Path
    counts: str | Path
    cases: str | Path


def join_seeds(
    tasks: Sequence[str],
    scores: Sequence[str | Path],
    weights: Sequence[str | Path],
    counts: Sequence[str | Path],
    traces: Sequence[str | Path],
    out: JoinedOutputs,
) -> None:
    """Write the tables of all seeds, byte for byte the same for any division of the seeds into jobs.

    Args:
        tasks: in the order of the rows.
        scores, weights, counts, traces: files of `probing.probe_tasks` for some seeds each, in the order of the seeds.
        out: files to write.

    Raises:
        AtlasError: a table cannot be read.
    """
    write_table(_by_task([read_table(path, SCORES) for path in scores], tasks), out.scores)
    write_table(_by_task([read_table(path, WEIGHTS) for path in weights], tasks), out.weights)
    write_parquet(_by_task([read_parquet(path, COUNTS) for path in counts], tasks), out.counts)
    frames = [frame for frame in (read_parquet(path, TRACES) for path in traces) if len(frame)]
    if not frames:
        write_table(pd.DataFrame(columns=CASES), out.cases)
        return
    groups = _by_task(frames, tasks).groupby(["task", "source"], sort=False)
    write_table(pd.DataFrame([row for _, group in groups for row in _cases(group)], columns=CASES), out.cases)


def _by_task(frames: Sequence[pd.DataFrame], tasks: Sequence[str]) -> pd.DataFrame:
    """All rows, ordered by task; the rows of a task keep their order."""
    joined = pd.concat(frames, ignore_index=True)
    places = joined["task"].map({task: place for place, task in enumerate(tasks)})
    return joined.loc[places.sort_values(kind="stable").index].reset_index(drop=True)


def _cases(traces: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The gold label and the likeliest wrong one of each traced target, one row for each layer; means over seeds.

    Args:
        traces: `TRACES` of one task and source.
    """
    by_seed = [frame for _, frame in traces.groupby("seed", sort=False)]
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
