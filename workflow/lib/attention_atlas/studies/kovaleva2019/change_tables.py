"""Tables behind Figures 2, 5, 6 and 7 and the grid of section 4.4, from the measures of all tasks and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import head_rows, mean_rows
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.studies.kovaleva2019.change_statistics import ChangeStatistics
from attention_atlas.studies.kovaleva2019.link_tables import COUNTED, LINK_COLUMNS, NO_EXAMPLE, known_count, link_rows
from attention_atlas.studies.kovaleva2019.measured import ANNOTATORS, MEASURED, MODELS, SEP_SUM, Measures, read_measures
from attention_atlas.studies.kovaleva2019.names import CLASSES, LINKS, PADDED, REAL_SAME, TUNED, VERB_LINKS
from attention_atlas.studies.kovaleva2019.word_features import AS_PUBLISHED, CLS, CORRECTED, MODES, NEG, SEP, TAGGED

Floats = npt.NDArray[np.floating]
OPTIONS = ["task", "option", "option_a", "option_b", "mean_change", "largest_change", "rho", "n", "unit", "absent"]


@dataclass(frozen=True)
class ChangeOutputs:
    """Files of `change_tables`. unit: what n counts; n is missing where only tags could tell how many examples have a feature.

    Attributes:
        classes: task, annotator, class, share, ci_low, ci_high, maps, n, unit.
        head_classes: task, annotator, layer, head, class, maps (how many maps of a head are of a class, over examples and
            seeds), n, unit.
        cosine: task, crop (padded, real_same, real), layer, head, value, ci_low, ci_high, n, unit, seeds.
        special: task, feature (sep, cls, sep_sum), layer, head, value, ci_low, ci_high, n, unit, seeds.
        first_row: task, mode (as_published: tokens by their spelling; corrected: by their words), feature, head, value, ci_low,
            ci_high, n, unit, seeds, absent (why there is no value, in one row without a head).
        features: task, model, mode, feature, layer, head, value (examples with the feature), value_zero (all examples, 0
            without it), n, unit, absent (why there is no value).
        links: task, model, mode, link, layer, head, value (examples with the link), value_zero (all examples, 0 without it),
            control (other pairs at the same distances), margin, margin_all_low, margin_all_high (an interval for all heads
            together), n, n_margin, unit, absent (why there is no value; a row without a link where a task has none).
        options: `OPTIONS`.
        statistics: `change_statistics.STATISTICS`.
    """

    classes: str | Path
    head_classes: str | Path
    cosine: str | Path
    special: str | Path
    first_row: str | Path
    features: str | Path
    links: str | Path
    options: str | Path
    statistics: str | Path


def change_tables(
    files: Mapping[str, Mapping[int, str | Path]],
    resamples: int,
    seed: int,
    outputs: ChangeOutputs,
) -> None:
    """Write the tables; values of a task are means over its seeds, intervals by bootstrap over examples.

    Args:
        files: task -> seed of the model -> its measures (`measures.measure`).
        resamples, seed: of the bootstrap.
        outputs: tables to write.

    Raises:
        AtlasError: measures cannot be read.
    """
    classes, of_heads, cosine, special, first_row, features, options = [], [], [], [], [], [], []
    links: list[pd.DataFrame] = []
    statistics = ChangeStatistics(len(files), resamples, seed)
    for task, paths in files.items():
        seed_measures = [read_measures(path) for path in paths.values()]
        facts = {"task": task, "seeds": len(seed_measures)}
        classes += _class_shares(task, seed_measures, resamples, seed)
        of_heads += _head_classes(task, seed_measures)
        for crop in seed_measures[0].cosines():
            values = np.mean([m.cosines()[crop] for m in seed_measures], axis=0)
            cosine.append(mean_rows(values, resamples, seed).assign(crop=crop, **facts))
        for feature in (SEP, CLS, SEP_SUM):
            values = np.mean([m.feature(TUNED, AS_PUBLISHED, feature) for m in seed_measures], axis=0)
            special.append(mean_rows(values, resamples, seed).assign(feature=feature, **facts))
        for place, feature in enumerate(MEASURED):
            for number, mode in enumerate(MODES):
                values = np.mean([m.first_row[MODELS.index(TUNED), number, :, place] for m in seed_measures], axis=0)
                rows = mean_rows(values[:, None], resamples, seed).drop(columns="layer").assign(absent="")
                if rows.empty:
                    reason = _reason(seed_measures[0], feature)
                    rows = pd.DataFrame([{"n": known_count(0, reason), "absent": reason}], columns=rows.columns)
                first_row.append(rows.astype({"head": "Int64", "n": "Int64"}).assign(feature=feature, mode=mode, **facts))
            features += [
                _feature_rows(seed_measures, model, mode_name, feature).assign(
                    task=task, model=model, mode=mode_name, feature=feature
                )
                for model in MODELS
                for mode_name in MODES
            ]
        links += link_rows(task, seed_measures, resamples, seed)
        options += _option_rows(task, seed_measures)
        statistics.add(task, seed_measures)
    head = ["layer", "head"]
    measured = ["value", "ci_low", "ci_high", "n", "unit", "seeds"]
    keys = ["task", "model", "mode", "feature"]
    write_table(pd.DataFrame(classes).assign(unit=COUNTED), outputs.classes)
    write_table(pd.concat(of_heads, ignore_index=True).assign(unit=COUNTED), outputs.head_classes)
    for frames, columns, path in (
        (cosine, ["task", "crop", *head, *measured], outputs.cosine),
        (special, ["task", "feature", *head, *measured], outputs.special),
        (first_row, ["task", "mode", "feature", "head", *measured, "absent"], outputs.first_row),
        (features, [*keys, *head, "value", "value_zero", "n", "unit", "absent"], outputs.features),
    ):
        write_table(pd.concat(frames, ignore_index=True).assign(unit=COUNTED)[columns], path)
    write_table(pd.concat(links, ignore_index=True)[LINK_COLUMNS], outputs.links)
    write_table(pd.DataFrame(options).assign(unit=COUNTED).astype({"n": "Int64"})[OPTIONS], outputs.options)
    write_table(statistics.table(), outputs.statistics)


def _class_shares(task: str, seed_measures: Sequence[Measures], resamples: int, seed: int) -> list[dict[str, Any]]:
    rows = []
    for place, annotator in enumerate(ANNOTATORS):
        # [example, seed, layer, head]
        map_classes = np.stack([m.classes[place] for m in seed_measures], axis=1)
        shares = np.stack([(map_classes == k).mean(axis=(1, 2, 3)) for k in range(len(CLASSES))], axis=1)
        low, high = bootstrap_ratio(shares, np.ones((len(shares), 1)), resamples, seed)
        for k, name in enumerate(CLASSES):
            facts = {"task": task, "annotator": annotator, "class": name, "share": float(shares[:, k].mean())}
            rows.append(facts | {"ci_low": low[k], "ci_high": high[k], "maps": map_classes.size, "n": len(map_classes)})
    return rows


def _head_classes(task: str, seed_measures: Sequence[Measures]) -> list[pd.DataFrame]:
    """How many maps of each head, over examples and seeds, are of each class, and n, the number of examples."""
    frames = []
    for place, annotator in enumerate(ANNOTATORS):
        map_classes = np.concatenate([m.classes[place] for m in seed_measures])
        for k, name in enumerate(CLASSES):
            rows = head_rows((map_classes == k).sum(axis=0), "maps").assign(task=task, annotator=annotator)
            rows["class"], rows["n"] = name, len(seed_measures[0].classes[place])
            frames.append(rows[["task", "annotator", "layer", "head", "class", "maps", "n"]])
    return frames


def _feature_rows(seed_measures: Sequence[Measures], model: str, mode: str, feature: str) -> pd.DataFrame:
    values = np.mean([m.feature(model, mode, feature) for m in seed_measures], axis=0)
    count = _with_feature(values).sum()
    zero = np.nan_to_num(values) if count else values
    reason = "" if count else _reason(seed_measures[0], feature)
    rows = head_rows(_head_means(values), "value")
    return rows.assign(value_zero=_head_means(zero).ravel(), n=known_count(int(count), reason), absent=reason).astype(
        {"n": "Int64"}
    )


def _reason(measures: Measures, feature: str) -> str:
    """Why no example has a value of a feature."""
    return (measures.untagged if feature in TAGGED else "") or NO_EXAMPLE


def _option_rows(task: str, seed_measures: Sequence[Measures]) -> list[dict[str, Any]]:
    """Change in the values of heads under each option."""
    rows = []
    first = seed_measures[0]
    cosines = first.cosines()
    if PADDED in cosines:
        maps = (cosines[PADDED], cosines[REAL_SAME])
        rows.append(_moved(task, "Figure 5: maps padded, or of real length", PADDED, REAL_SAME, maps[0], maps[1]))
    sums = [first.feature(TUNED, AS_PUBLISHED, name) for name in (SEP, SEP_SUM)]
    rows.append(_moved(task, "Figure 6: separators", "largest", "sum", sums[0], sums[1]))
    for feature in (*TAGGED, NEG):
        by_mode = [first.feature(TUNED, mode, feature) for mode in MODES]
        tuned_rows = first.first_row[MODELS.index(TUNED), :, :, MEASURED.index(feature), None]
        corrected = by_mode[MODES.index(CORRECTED)]
        reason = _reason(first, feature) if np.isnan(corrected).all() else ""
        zero = corrected if reason else np.nan_to_num(corrected)
        rows += [
            _moved(task, f"Section 4.4, {feature}: tokens by spelling, or by word", *MODES, by_mode[0], by_mode[1], reason),
            _moved(task, f"Figure 7, {feature}: tokens by spelling, or by word", *MODES, tuned_rows[0], tuned_rows[1], reason),
            _moved(task, f"Section 4.4, {feature}: examples without it", "skip", "zero", corrected, zero, reason),
        ]
    for link in VERB_LINKS:
        by_mode = list(first.links[MODELS.index(TUNED), :, :, LINKS.index(link)])
        reason = first.untagged or first.unlinked or NO_EXAMPLE
        absent = reason if any(np.isnan(values).all() for values in by_mode) else ""
        rows.append(
            _moved(
                task, f"Section 4.5, {link}: pairs as in the code, or of linked words", *MODES, by_mode[0], by_mode[1], absent
            )
        )
    return rows


def _moved(
    task: str, option: str, first_choice: str, second_choice: str, first: Floats, second: Floats, absent: str = ""
) -> dict[str, Any]:
    """Change of the means of [example, layer, head] under a choice; `absent` says why no example has a value."""
    means = [_head_means(values).ravel() for values in (first, second)]
    change = means[1] - means[0]
    facts = {"task": task, "option": option, "option_a": first_choice, "option_b": second_choice}
    rho = float(spearmanr(*means).statistic) if np.isfinite(change).all() else float("nan")
    return facts | {
        "mean_change": float(change.mean()),
        "largest_change": float(change[np.abs(change).argmax()]) if np.isfinite(change).all() else float("nan"),
        "rho": rho,
        "n": known_count(int(_with_feature(first).sum()), absent),
        "absent": absent,
    }


def _head_means(values: Floats) -> Floats:
    with_feature = _with_feature(values)
    return values[with_feature].mean(axis=0) if with_feature.any() else np.full(values.shape[1:], np.nan)


def _with_feature(values: Floats) -> npt.NDArray[np.bool_]:
    """[example] which have the feature, of values [example, layer, head]."""
    return ~np.isnan(values[:, 0, 0])
