"""Measures of single heads that the atlas takes from the tables of Kovaleva et al. (2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import EFFECT, LINGUISTIC, PATTERN, PLACE, TRAINING, Measure, Select, Source, where
from attention_atlas.studies.kovaleva2019 import CLASSES, HEADLINE

if TYPE_CHECKING:
    import pandas as pd


def over_tasks(measure: str, value: str, **equal: str) -> Select:
    """The mean over tasks of the rows of a head with these values, and the number of all examples; with the interval of a mean
    over independent examples: the distances from the value to either end add up in squares (Zou and Donner 2008).
    """
    rows = where(measure, value, **equal)

    def select(table: pd.DataFrame) -> pd.DataFrame:
        every_task = rows(table)
        of_head = every_task.groupby(PLACE, as_index=False)
        overall = of_head["value"].mean().assign(measure=measure, n=of_head["n"].sum()["n"])
        for end, sign in (("low", -1), ("high", 1)):
            squares = every_task.assign(square=(every_task[end] - every_task["value"]) ** 2).groupby(PLACE)["square"]
            overall[end] = overall["value"] + sign * squares.sum(min_count=1).to_numpy() ** 0.5 / squares.size().to_numpy()
        return overall

    return select


def most_frequent_class(table: pd.DataFrame) -> pd.DataFrame:
    """The class that most maps of each head have over all tasks, by `HEADLINE`; ties go to the first class of the paper."""
    rows = table[table["annotator"] == HEADLINE]
    maps = rows.pivot_table(index=PLACE, columns="class", values="maps", aggfunc="sum", fill_value=0)
    maps = maps.reindex(columns=list(CLASSES), fill_value=0)
    return maps.idxmax(axis=1).to_frame("value").assign(measure="pattern_class", n=maps.sum(axis=1)).reset_index()


_PATTERN = "Most frequent class of the head's attention maps, by rules"
_FRAMES = "Attention between a frame's target and its core elements, minus that of pairs at the same distance"
_LINKS = "links core frame elements with their target"
_COSINE = "Cosine of maps before and after fine-tuning, mean of tasks"
_CHANGE = "Change in score when the head attends uniformly, mean of tasks"
_LESS = "disabling the head hurts less, or helps"
_INTERVAL, _MARGIN_INTERVAL = ("ci_low", "ci_high"), ("margin_ci_low", "margin_ci_high")
MEASURES = (
    Source(
        "kovaleva2019/head_classes",
        most_frequent_class,
        (Measure("pattern_class", _PATTERN, "Figure 2", ""),),
        ("task", "annotator", *PLACE, "class", "maps"),
        "maps",
        group=PATTERN,
    ),
    Source(
        "kovaleva2019/figure3",
        where("frame_margin", "margin", _MARGIN_INTERVAL),
        (Measure("frame_margin", _FRAMES, "Figure 3", "difference of shares", _LINKS, chance=0),),
        (*PLACE, "margin", *_MARGIN_INTERVAL, "n"),
        "sentences",
        group=LINGUISTIC,
    ),
    Source(
        "kovaleva2019/figure5",
        over_tasks("unchanged", "value", crop="real"),
        (Measure("unchanged", _COSINE, "Figure 5", "cosine", "changed less", "changed more"),),
        ("task", "crop", *PLACE, "value", *_INTERVAL, "n"),
        "examples",
        family=True,
        group=TRAINING,
        no_null="No head is known to change by chance alone: that would need fine-tuning on shuffled labels.",
    ),
    Source(
        "kovaleva2019/figure8",
        over_tasks("disabled", "delta"),
        (Measure("disabled", _CHANGE, "Figure 8", "points", _LESS, "disabling it hurts", chance=0),),
        ("task", *PLACE, "delta", *_INTERVAL, "n"),
        "examples",
        family=True,
        group=EFFECT,
    ),
)
