"""What fine-tuning changes: tables behind Figures 2, 5, 6 and 7 and sections 4.4 and 4.5, from the measures of all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

from attention_atlas.methods.head_tables import head_rows, mean_rows
from attention_atlas.stats.extremes import mean_deviations, simultaneous_widths, smallest_interval, widths
from attention_atlas.stats.intervals import bootstrap_ratio
from attention_atlas.stats.levels import LEVEL, level_of_parts
from attention_atlas.studies.kovaleva2019.names import CLASSES, FEWEST_EXAMPLES, LINKS, VERB_LINKS
from attention_atlas.studies.kovaleva2019.words import FEATURES, MODES, TAGGED

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]
MODELS = ("base", "tuned")
"""The pre-trained and the fine-tuned model."""
MEASURED = (*FEATURES, "sep_sum")
"""The largest mean attention over the tokens with a feature; for separators their sum as well."""
ANNOTATORS = ("network", "rules")
OPTIONS = "task option option_a option_b mean_change largest_change rho n unit absent".split()
LINK_COLUMNS = "task model mode link layer head value value_zero control margin margin_all_low margin_all_high level".split()
LINK_COLUMNS += ["n", "n_margin", "unit", "absent"]
_MEAN_COLUMNS = ["value", "ci_low", "ci_high", "n", "unit", "seeds"]
_COLUMNS = {
    "classes": "task annotator class share ci_low ci_high maps n unit".split(),
    "head_classes": "task annotator layer head class maps n unit".split(),
    "cosine": ["task", "crop", "layer", "head", *_MEAN_COLUMNS],
    "special": ["task", "feature", "layer", "head", *_MEAN_COLUMNS],
    "first_row": ["task", "mode", "feature", "head", *_MEAN_COLUMNS, "absent"],
    "features": "task model mode feature layer head value value_zero n unit absent".split(),
    "links": LINK_COLUMNS,
    "options": OPTIONS,
}
"""Columns of the tables of `changes`.

crop: the compared maps, padded, real_same or real. maps: of a class, over examples and seeds. mode: tokens by their spelling
(as_published) or by their words (corrected). value_zero: over all examples, 0 without the feature or the link. control: other
pairs at the same distances; margin_all_low, margin_all_high: interval of the margin for all heads and tasks together (level:
that of one task). n: missing where only tags could tell how many examples have a feature. absent: why there is no value.
"""
NO_EXAMPLE = "no example has such words"
STATISTICS = "statistic of task value ci_low ci_high level n".split()
"""statistic: last_layers (smallest mean cosine of an earlier layer minus the largest of the last two layers: above 0 where both
change most), change (attention to tokens with a feature of `RAISED` after fine-tuning minus that before, mean over heads),
vertical_and_heterogeneous (smaller share of the two minus the largest share of another class, mean over tasks), diagonal (share
of these maps, mean over tasks). `of`: the compared maps (padded, real_same, real), the feature, or the annotator."""
RAISED = {"mrpc": ("noun", "obj"), "rte": ("noun", "obj"), "qqp": ("noun", "obj"), "qnli": ("neg",)}
"""Task -> features to which fine-tuning raises attention in the paper."""
RAISED_PARTS = sum(map(len, RAISED.values()))


@dataclass(frozen=True)
class Measures:
    """Measures of the models of a task (`models.measures`), from which tables are computed without a model.

    cosine: [example, layer, head] between the maps of the two models, without padding; padded: of maps padded to one length.
    columns: [model, mode, example, feature, layer, head] largest column mean over the tokens with a feature, NaN without one.
    first_row: [model, mode, example, feature, head] the same of the row of the first token in the last layer.
    classes: [annotator, example, layer, head] class of each map of the fine-tuned model.
    links: [model, mode, example, link, layer, head] largest weight over the pairs of tokens of a link; link_controls: of other
    pairs at the same distances; NaN without one.
    untagged, unlinked: why there are no tags, and no heads of words; empty where they exist.
    """

    records: npt.NDArray[np.int64]
    padded_records: npt.NDArray[np.int64]
    cosine: npt.NDArray[np.float32]
    padded: npt.NDArray[np.float32]
    columns: npt.NDArray[np.float32]
    first_row: npt.NDArray[np.float32]
    classes: npt.NDArray[np.int8]
    links: npt.NDArray[np.float32]
    link_controls: npt.NDArray[np.float32]
    untagged: str
    unlinked: str

    def cosines(self) -> dict[str, Floats]:
        """Compared maps (padded; the same examples, and all, at their real length) -> [example, layer, head] cosines."""
        if not len(self.padded):
            return {"real": self.cosine}
        return {
            "padded": self.padded,
            "real_same": self.cosine[np.isin(self.records, self.padded_records)],
            "real": self.cosine,
        }

    def feature(self, model: str, mode: str, feature: str) -> Floats:
        """[example, layer, head]"""
        return self.columns[MODELS.index(model), MODES.index(mode), :, MEASURED.index(feature)]

    def absent_feature(self, feature: str) -> str:
        """Why no example has a value of a feature."""
        return (self.untagged if feature in TAGGED else "") or NO_EXAMPLE

    def absent_link(self, link: str) -> str:
        """Why no example has a link."""
        return self.untagged or (self.unlinked if link in VERB_LINKS else "") or NO_EXAMPLE


def changes(measures: Mapping[str, Mapping[int, Measures]], resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """The tables of `_COLUMNS`, and statistics (`STATISTICS`), from the measures by task and seed of the model.

    Values of a task are means over its seeds, intervals by bootstrap over examples.
    """
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in _COLUMNS}
    by_task = {task: list(by_seed.values()) for task, by_seed in measures.items()}
    for task, of_seeds in by_task.items():
        frames = {
            "classes": _class_shares(of_seeds, resamples, seed),
            "head_classes": _head_classes(of_seeds),
            "cosine": [
                mean_rows(_mean([m.cosines()[crop] for m in of_seeds]), resamples, seed).assign(crop=crop)
                for crop in of_seeds[0].cosines()
            ],
            "special": [
                mean_rows(_mean([m.feature("tuned", "as_published", name) for m in of_seeds]), resamples, seed).assign(
                    feature=name
                )
                for name in ("sep", "cls", "sep_sum")
            ],
            "first_row": [_first_row(of_seeds, *key, resamples, seed) for key in product(MEASURED, MODES)],
            "features": [_feature_rows(of_seeds, *key) for key in product(MEASURED, MODELS, MODES)],
            "links": link_rows(of_seeds, resamples, seed, level_of_parts(len(measures))),
            "options": [pd.DataFrame(_options(task, of_seeds[0])).astype({"n": "Int64"})],
        }
        for name, of_task in frames.items():
            parts[name] += [frame.assign(task=task, unit="examples", seeds=len(of_seeds)) for frame in of_task]
    tables = {name: pd.concat(frames, ignore_index=True)[_COLUMNS[name]] for name, frames in parts.items()}
    return tables | {"statistics": statistics(by_task, resamples, seed)}


def _mean(of_seeds: Sequence[Floats]) -> Floats:
    return np.asarray(np.mean(of_seeds, axis=0))


def _first_row(of_seeds: Sequence[Measures], feature: str, mode: str, resamples: int, seed: int) -> pd.DataFrame:
    """Attention of the first token in the last layer of the fine-tuned models; a row with the reason where it is absent."""
    values = _mean([m.first_row[1, MODES.index(mode), :, MEASURED.index(feature)] for m in of_seeds])
    rows = mean_rows(values[:, None], resamples, seed).drop(columns="layer").assign(absent="")
    if rows.empty:
        absent = of_seeds[0].absent_feature(feature)
        rows = pd.DataFrame([{"n": example_count(0, absent), "absent": absent}], columns=rows.columns)
    return rows.astype({"head": "Int64", "n": "Int64"}).assign(feature=feature, mode=mode)


def _class_shares(of_seeds: Sequence[Measures], resamples: int, seed: int) -> list[pd.DataFrame]:
    maps = sum(m.classes[0].size for m in of_seeds)
    frames = []
    for annotator in ANNOTATORS:
        shares = _shares(of_seeds, annotator)
        low, high = bootstrap_ratio(shares, np.ones((len(shares), 1)), resamples, seed)
        columns = {"class": CLASSES, "share": [share.mean() for share in shares.T], "ci_low": low, "ci_high": high}
        frames.append(pd.DataFrame(columns).assign(annotator=annotator, maps=maps, n=len(shares)))
    return frames


def _head_classes(of_seeds: Sequence[Measures]) -> list[pd.DataFrame]:
    frames = []
    for (place, annotator), (k, name) in product(enumerate(ANNOTATORS), enumerate(CLASSES)):
        rows = head_rows(np.sum([(m.classes[place] == k).sum(axis=0) for m in of_seeds], axis=0), "maps")
        frames.append(rows.assign(annotator=annotator, n=len(of_seeds[0].records)).assign(**{"class": name}))
    return frames


def _feature_rows(of_seeds: Sequence[Measures], feature: str, model: str, mode: str) -> pd.DataFrame:
    values = _mean([m.feature(model, mode, feature) for m in of_seeds])
    count = int(_with_feature(values).sum())
    absent = "" if count else of_seeds[0].absent_feature(feature)
    facts = {"model": model, "mode": mode, "feature": feature, "absent": absent, "n": example_count(count, absent)}
    zero = _head_means(np.nan_to_num(values) if count else values)
    return head_rows(_head_means(values), "value").assign(value_zero=zero.ravel(), **facts).astype({"n": "Int64"})


def _options(task: str, measures: Measures) -> list[dict[str, Any]]:
    """Change in the values of heads under each option, of one seed."""
    rows = []
    cosines = measures.cosines()
    if "padded" in cosines:
        option = "Figure 5: maps padded, or of real length"
        rows.append(option_row(task, option, ("padded", "real_same"), (cosines["padded"], cosines["real_same"])))
    sums = [measures.feature("tuned", "as_published", name) for name in ("sep", "sep_sum")]
    rows.append(option_row(task, "Figure 6: separators", ("largest", "sum"), sums))
    spelling = "tokens by spelling, or by word"
    for feature in (*TAGGED, "neg"):
        columns = [measures.feature("tuned", mode, feature) for mode in MODES]
        first_rows = list(measures.first_row[1, :, :, MEASURED.index(feature), None])
        corrected = columns[1]
        absent = measures.absent_feature(feature) if np.isnan(corrected).all() else ""
        zero = corrected if absent else np.nan_to_num(corrected)
        rows += [
            option_row(task, f"Section 4.4, {feature}: {spelling}", MODES, columns, absent),
            option_row(task, f"Figure 7, {feature}: {spelling}", MODES, first_rows, absent),
            option_row(task, f"Section 4.4, {feature}: examples without it", ("skip", "zero"), (corrected, zero), absent),
        ]
    for link in VERB_LINKS:
        by_mode = list(measures.links[1, :, :, LINKS.index(link)])
        absent = measures.absent_link(link) if any(np.isnan(values).all() for values in by_mode) else ""
        option = f"Section 4.5, {link}: pairs as in the code, or of linked words"
        rows.append(option_row(task, option, MODES, by_mode, absent))
    return rows


def option_row(task: str, option: str, choices: tuple[str, str], values: Sequence[Floats], absent: str = "") -> dict[str, Any]:
    """Change of the means of both values [example, layer, head] under a choice; `absent` says why no example has a value."""
    means = [_head_means(of_choice).ravel() for of_choice in values]
    change = means[1] - means[0]
    is_known = np.isfinite(change).all()
    return {
        **{"task": task, "option": option, "option_a": choices[0], "option_b": choices[1]},
        "mean_change": float(change.mean()),
        "largest_change": float(change[np.abs(change).argmax()]) if is_known else float("nan"),
        "rho": float(spearmanr(*means).statistic) if is_known else float("nan"),
        "n": example_count(int(_with_feature(values[0]).sum()), absent),
        "absent": absent,
    }


def _head_means(values: Floats) -> Floats:
    with_feature = _with_feature(values)
    return values[with_feature].mean(axis=0) if with_feature.any() else np.full(values.shape[1:], np.nan)


def _with_feature(values: Floats) -> npt.NDArray[np.bool_]:
    """[example]"""
    return ~np.isnan(values[:, 0, 0])


def example_count(count: int, absent: str) -> float:
    """How many examples have the words; NaN, not 0, where only tags could tell (`absent`: why there is no value)."""
    return float("nan") if absent and absent != NO_EXAMPLE else float(count)


def link_rows(of_seeds: Sequence[Measures], resamples: int, seed: int, level: float) -> list[pd.DataFrame]:
    """A row for each head, model, mode and link; a row with the reason where a link is absent, one if all are."""
    frames: list[pd.DataFrame] = []
    absent: list[dict[str, Any]] = []
    for (model, model_name), (mode, mode_name), (link, link_name) in product(*map(enumerate, (MODELS, MODES, LINKS))):
        facts: dict[str, Any] = {"model": model_name, "mode": mode_name, "link": link_name}
        values: Doubles = np.mean([m.links[model, mode, :, link] for m in of_seeds], axis=0, dtype=np.float64)
        controls: Doubles = np.mean([m.link_controls[model, mode, :, link] for m in of_seeds], axis=0, dtype=np.float64)
        present = _with_feature(values)
        if present.any():
            facts |= {"n": int(present.sum()), "level": level, "absent": ""}
            facts |= {"value_zero": values[present].sum(axis=0).ravel() / len(values)}
            facts |= margin_columns(values[present], controls[present], resamples, seed, level)
            frames.append(head_rows(values[present].mean(axis=0), "value").assign(**facts))
        elif mode_name == "corrected" or link_name in VERB_LINKS:
            reason = of_seeds[0].absent_link(link_name)
            absent.append(facts | dict.fromkeys(("n", "n_margin"), example_count(0, reason)) | {"absent": reason})
    if not frames and len({row["absent"] for row in absent}) == 1:
        absent = [{name: absent[0][name] for name in ("n", "n_margin", "absent")}]
    frames += [pd.DataFrame([dict.fromkeys(LINK_COLUMNS, np.nan) | row]) for row in absent]
    return [frame.astype(dict.fromkeys(("layer", "head", "n", "n_margin"), "Int64")) for frame in frames]


def margin_columns(
    scores: Doubles, controls: Doubles, resamples: int, seed: int, level: float = LEVEL
) -> dict[str, Doubles | int]:
    """Columns of a table of heads, over the units with a control: control, margin, margin_all_low, margin_all_high (an interval
    that covers all heads together with `level`) and n_margin.

    scores, controls: [unit, layer, head] attention between linked words, and on random pairs (NaN for a unit without one).
    """
    margins = (scores - controls).reshape(len(scores), -1)
    margins = margins[~np.isnan(margins[:, 0])]
    control, margin, width = (np.full(scores[0].size, np.nan) for _ in range(3))
    if len(margins):
        control, margin = np.nanmean(controls, axis=0).ravel(), margins.mean(axis=0)
    if len(margins) >= FEWEST_EXAMPLES:
        width = simultaneous_widths(mean_deviations(margins, resamples, seed), level)
    ends = {"margin_all_low": margin - width, "margin_all_high": margin + width}
    return {"control": control, "margin": margin, **ends, "n_margin": len(margins)}


def statistics(measures: Mapping[str, Sequence[Measures]], resamples: int, seed: int) -> pd.DataFrame:
    """Statistics of all heads together, `STATISTICS`, for the claims about Figures 2 and 5 and section 4.4.

    Intervals are over examples; those of a task's last layers cover all tasks together, those of features all of `RAISED`.
    """
    rows: list[tuple[Any, ...]] = []
    for task, of_seeds in measures.items():
        for crop in of_seeds[0].cosines():
            layers: Doubles = np.mean([m.cosines()[crop] for m in of_seeds], axis=(0, 3), dtype=np.float64)
            if layers.shape[1] > 2:
                # [example, pair] each earlier layer minus each of the last two.
                pairs = (layers[:, :-2, None] - layers[:, None, -2:]).reshape(len(layers), -1)
                level, means, ends = level_of_parts(len(measures)), pairs.mean(axis=0), (np.nan, np.nan)
                if len(pairs) >= FEWEST_EXAMPLES:
                    ends = smallest_interval(means, mean_deviations(pairs, resamples, seed), level)
                rows.append(("last_layers", crop, task, float(means.min()), *ends, level, len(pairs)))
        for feature in RAISED.get(task, ()):
            gains = [m.feature("tuned", "corrected", feature) - m.feature("base", "corrected", feature) for m in of_seeds]
            change: Doubles = np.mean(gains, axis=(0, 2, 3), dtype=np.float64)
            change = change[~np.isnan(change)]
            if len(change):
                level, value, width = level_of_parts(RAISED_PARTS), float(change.mean()), np.nan
                if len(change) >= FEWEST_EXAMPLES:
                    width = float(widths(mean_deviations(change[:, None], resamples, seed), level)[0])
                rows.append(("change", feature, task, value, value - width, value + width, level, len(change)))
    for annotator in ANNOTATORS:
        # [example, class] of each task.
        tasks = [_shares(of_seeds, annotator) for of_seeds in measures.values()]
        n, enough = sum(map(len, tasks)), min(map(len, tasks)) >= FEWEST_EXAMPLES
        margins = [_frequent_margins(shares) for shares in tasks]
        diagonal = [shares[:, [CLASSES.index("diagonal")]] for shares in tasks]
        values = np.mean([margin.mean(axis=0) for margin in margins], axis=0)
        low, high = smallest_interval(values, _over_tasks(margins, resamples, seed), LEVEL) if enough else (np.nan, np.nan)
        rows.append(("vertical_and_heterogeneous", annotator, "", float(values.min()), low, high, LEVEL, n))
        value = float(np.mean([share.mean() for share in diagonal]))
        width = float(widths(_over_tasks(diagonal, resamples, seed), LEVEL)[0]) if enough else np.nan
        rows.append(("diagonal", annotator, "", value, value - width, value + width, LEVEL, n))
    return pd.DataFrame(rows, columns=STATISTICS)


def _over_tasks(values: Sequence[Doubles], resamples: int, seed: int) -> Doubles:
    """[statistic, draw] deviations of the mean over tasks; the examples of each task are resampled separately."""
    return np.asarray(np.mean([mean_deviations(v, resamples, seed + k) for k, v in enumerate(values)], axis=0))


def _shares(of_seeds: Sequence[Measures], annotator: str) -> Doubles:
    """[example, class] share of the maps of an example, over seeds and heads."""
    classes = np.stack([m.classes[ANNOTATORS.index(annotator)] for m in of_seeds], axis=1)
    return np.stack([(classes == k).mean(axis=(1, 2, 3)) for k in range(len(CLASSES))], axis=1)


def _frequent_margins(shares: Doubles) -> Doubles:
    """[example, pair] the share of vertical, and of heterogeneous maps, minus that of each other class."""
    frequent = [CLASSES.index(name) for name in ("vertical", "heterogeneous")]
    others = [k for k in range(len(CLASSES)) if k not in frequent]
    return (shares[:, frequent, None] - shares[:, None, others]).reshape(len(shares), -1)
