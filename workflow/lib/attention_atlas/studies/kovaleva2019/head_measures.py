"""Measures of single heads that the atlas takes from the tables of Kovaleva et al. (2019)."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import (
    EFFECT,
    LINGUISTIC,
    PATTERN,
    PLACE,
    TRAINING,
    Examples,
    Measure,
    Select,
    Source,
    ends_of,
    where,
)
from attention_atlas.studies.kovaleva2019 import CLASSES, HEADLINE

if TYPE_CHECKING:
    import pandas as pd


def over_tasks(value: str, name: str, reduced: str = "mean", interval: tuple[str, str] | None = None, **equal: str) -> Select:
    """The mean (or sum) over tasks of the rows of a head with these values as the measure `name`; with the interval of a mean
    over independent examples: the distances from the value to either end add up in squares (Zou and Donner 2008).
    """
    rows = where(value, name, interval, **equal)

    def select(table: pd.DataFrame) -> pd.DataFrame:
        every_task = rows(table)
        overall = every_task.groupby(PLACE, as_index=False)[name].agg(reduced)
        for end in ends_of(name) if interval else ():
            squares = every_task.assign(square=(every_task[end] - every_task[name]) ** 2).groupby(PLACE)["square"]
            reach = squares.sum(min_count=1).to_numpy() ** 0.5 / squares.size().to_numpy()
            overall[end] = overall[name] + (-reach if end == ends_of(name)[0] else reach)
        return overall

    return select


def most_frequent_class(table: pd.DataFrame) -> pd.DataFrame:
    """The class that most maps of each head have over all tasks, by `HEADLINE`; ties go to the first class of the paper.

    pattern_share (of its maps) has Wilson's 95 % interval; the maps of an example under several seeds count once.
    """
    maps = _maps_of_classes(table)
    share = maps.max(axis=1) / maps.sum(axis=1)
    examples = table[table["annotator"] == HEADLINE].groupby("task")["n"].first().sum()
    z = NormalDist().inv_cdf(0.975)
    spread = 1 + z**2 / examples
    centre = (share + z**2 / (2 * examples)) / spread
    half = z * (share * (1 - share) / examples + z**2 / (4 * examples**2)) ** 0.5 / spread
    names = dict(zip(ends_of("pattern_share"), (centre - half, centre + half), strict=True))
    return maps.idxmax(axis=1).to_frame("pattern_class").assign(pattern_share=share, **names).reset_index()


def _maps_of_classes(table: pd.DataFrame) -> pd.DataFrame:
    """[head, class] maps of all tasks by `HEADLINE`."""
    rows = table[table["annotator"] == HEADLINE]
    maps = rows.pivot_table(index=PLACE, columns="class", values="maps", aggfunc="sum", fill_value=0)
    return maps.reindex(columns=list(CLASSES), fill_value=0)


def _maps_of_heads(table: pd.DataFrame) -> pd.DataFrame:
    """layer, head, and its maps of all tasks for each measure of classes."""
    maps = _maps_of_classes(table).sum(axis=1)
    return maps.index.to_frame(index=False).assign(**{measure.name: maps.to_numpy() for measure in _CLASS})


_SHARE = "Share of the head's attention maps in its most frequent class"
_CLASS = (
    Measure("pattern_class", "Most frequent class of the head's attention maps, by rules", "Figure 2", ""),
    Measure("pattern_share", _SHARE, "Figure 2", "share", "one pattern", about="pattern_class"),
)
_FRAMES = "Attention between a frame's target and its core elements, minus that of pairs at the same distance"
_LINKS = "links core frame elements with their target"
_COSINE = "Cosine of maps before and after fine-tuning, mean of tasks"
_CHANGE = "Change in score when the head attends uniformly, mean of tasks"
_INTERVAL, _MARGIN_INTERVAL = ("ci_low", "ci_high"), ("margin_ci_low", "margin_ci_high")
MEASURES = (
    Source(
        "kovaleva2019/head_classes",
        most_frequent_class,
        _CLASS,
        ("task", "annotator", "layer", "head", "class", "maps", "n"),
        Examples("maps", _maps_of_heads, ()),
        group=PATTERN,
        no_null="The share of the most frequent class is at least one over the number of classes, whatever the head does; how "
        "often a head without a pattern gets each class is not known.",
    ),
    Source(
        "kovaleva2019/figure3",
        where("margin", "frame_margin", _MARGIN_INTERVAL),
        (Measure("frame_margin", _FRAMES, "Figure 3", "difference of shares", _LINKS, chance=0),),
        ("layer", "head", "margin", *_MARGIN_INTERVAL),
        Examples("sentences", where("n", "frame_margin")),
        group=LINGUISTIC,
    ),
    Source(
        "kovaleva2019/figure5",
        over_tasks("value", "unchanged", interval=_INTERVAL, crop="real"),
        (Measure("unchanged", _COSINE, "Figure 5", "cosine", "changed less"),),
        ("task", "crop", "layer", "head", "value", *_INTERVAL),
        Examples("examples", over_tasks("n", "unchanged", "sum", crop="real")),
        family=True,
        group=TRAINING,
        no_null="No head is known to change by chance alone: that would need fine-tuning on shuffled labels.",
    ),
    Source(
        "kovaleva2019/figure8",
        over_tasks("delta", "disabled", interval=_INTERVAL),
        (Measure("disabled", _CHANGE, "Figure 8", "points", "disabling the head hurts less, or helps", chance=0),),
        ("task", "layer", "head", "delta", *_INTERVAL),
        Examples("examples", over_tasks("n", "disabled", "sum")),
        family=True,
        group=EFFECT,
    ),
)
