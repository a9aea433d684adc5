"""Figure 2: do the same heads matter on two corpora? Correlations over heads, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_table
from attention_atlas.methods.names import HEAD, KEYS, ONE
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.studies.michel2019.claim_statistics import UNCHANGED
from attention_atlas.studies.michel2019.effects import MaskedScores, read_answers, resampled_deltas, unit_of
from attention_atlas.studies.michel2019.names import ANOTHER_CORPUS, SAME_FILE, TITLES
from attention_atlas.studies.michel2019.translation_lengths import overlong, overlong_note

Floats = npt.NDArray[np.float64]
FIGURE2 = [
    *("experiment", *HEAD, "metric", "delta", "second_delta", "extreme", "ci_low", "ci_high", "second_low", "second_high"),
    *("n", "second_n", "unit", "baseline", "second_baseline"),
    *("overlong", "overlong_unmasked", "second_overlong", "second_overlong_unmasked"),
]
"""Columns; overlong: translations under the mask, of the n, see `translation_lengths`; unmasked: of the full model."""
CORRELATIONS = [
    *("experiment", "statistic", "value", "ci_low", "ci_high", "ci_examples_low", "ci_examples_high", "heads", "n", "second_n"),
    *("second_data", "unit"),
]
_ROUNDING = 1e-9
"""Largest difference of tied heads, in standard deviations."""
PEARSON, SPEARMAN, TRIMMED = "pearson", "spearman", "pearson_without_extremes"


def correlations(
    answers: Mapping[str, str | Path],
    second_answers: Mapping[str, str | Path],
    labels: Mapping[str, RunLabel],
    translator: str,
    extremes: int,
    second_data: Mapping[str, str],
    resamples: int,
    seed: int,
    out: str | Path,
    correlations_out: str | Path,
    html_out: str | Path,
) -> None:
    """Write the effect of masking each head on two corpora, and the correlation of the two.

    Args:
        answers: experiment -> table of `masked_answers`.
        second_answers: experiment -> the same on its second corpus.
        labels: role -> model and corpus of the run.
        translator: the translation model in words.
        extremes: number of heads that `TRIMMED` excludes (more if heads are tied), see `extreme_heads`.
        second_data: experiment -> `names.ANOTHER_CORPUS` or `names.SAME_FILE`.
        resamples, seed: of both bootstraps.
        out: columns `FIGURE2`; intervals of both differences by bootstrap over examples. All differences share the unmasked
            score of their corpus (baseline, second_baseline).
        correlations_out, html_out: columns `CORRELATIONS`; intervals by bootstrap over heads, and over the examples of both
            corpora (which adds their noise once more, and so lies below the value where differences are small).

    Raises:
        AtlasError: a table cannot be used.
    """
    points, rows = [], []
    for name, path in answers.items():
        first, second = _single_heads(path, name), _single_heads(second_answers[name], name)
        extreme = extreme_heads(first.deltas, second.deltas, extremes)
        deltas = {"delta": first.deltas, "second_delta": second.deltas}
        by_example = [resampled_deltas(masked, resamples, seed + k) for k, masked in enumerate((first, second))]
        (low, high), (second_low, second_high) = map(percentile_interval, by_example)
        ends = {"ci_low": low, "ci_high": high, "second_low": second_low, "second_high": second_high}
        sizes = {"n": len(first.base), "second_n": len(second.base)}
        columns = {"metric": first.metric, **deltas, "extreme": extreme.astype(int), **ends, **sizes}
        columns |= {"unit": unit_of(first.metric), "baseline": first.baseline, "second_baseline": second.baseline}
        for part, masked in (("", first), ("second_", second)):
            columns[f"{part}overlong_unmasked"], columns[f"{part}overlong"] = overlong(masked)
        points.append(first.keys[HEAD].assign(experiment=name, **columns))
        rows.append(_agreement(first.deltas, second.deltas, by_example, extreme, seed))
        rows[-1] = rows[-1].assign(experiment=name, **sizes, second_data=second_data[name], unit=unit_of(first.metric))
    heads = pd.concat(points, ignore_index=True)[FIGURE2]
    write_table(heads, out)
    table = pd.concat(rows, ignore_index=True)[CORRELATIONS]
    write_table(table, correlations_out)
    notes = [
        *(label.line for label in labels.values()),
        f"Translation model: {translator}.",
        "Correlation over heads between the changes in score on two corpora when a head is masked, with intervals by "
        "bootstrap over heads, and over examples of both corpora. Without extremes: without the heads farthest from the "
        f"median, {extremes} of them and all that are tied with the last of these (column heads: how many remain); a "
        "correlation that depends on these heads says little about the others.",
        *(
            f"{TITLES[name]}: the second data are {SAME_FILE}, not {ANOTHER_CORPUS}."
            for name in answers
            if second_data[name] == SAME_FILE
        ),
        "All changes on a corpus share the score of the full model there: if it is low or high by chance, most heads seem to "
        "raise or to lower the score.",
        *(note for name in answers for note in _baseline_notes(heads[heads["experiment"] == name], name)),
    ]
    shown = table.assign(experiment=[TITLES[name] for name in table["experiment"]])
    formats = dict.fromkeys(CORRELATIONS[2:7], ".2f") | dict.fromkeys(CORRELATIONS[7:10], "d")
    write_html_table(shown, html_out, "Michel et al. 2019, Figure 2: correlation across data", notes, formats=formats)


def above_full_model(heads: pd.DataFrame) -> tuple[int, int]:
    """How many heads, rows of `FIGURE2` of one experiment, score above the full model when masked, on each corpus."""
    first, second = (int((heads[name] > UNCHANGED).sum()) for name in ("delta", "second_delta"))
    return first, second


def _baseline_notes(heads: pd.DataFrame, name: str) -> list[str]:
    """Sentences on the full model's score beside that of masked ones, for the experiment of these rows of `FIGURE2`."""
    notes = []
    for count, part, corpus in zip(above_full_model(heads), ("", "second_"), ("first", "second"), strict=True):
        mean = heads[f"{part}delta"].mean()
        words = f"{TITLES[name]}, {corpus} corpus: {count} of {len(heads)} heads score above the full model "
        words += f"({heads[f'{part}baseline'].iloc[0]:.2f}) when masked, mean change {mean:+.2f}."
        unmasked, median = heads[f"{part}overlong_unmasked"].iloc[0], heads[f"{part}overlong"].median()
        if pd.notna(unmasked):
            words += f" {overlong_note(unmasked, median, int(heads[f'{part}n'].iloc[0]))}"
        notes.append(words)
    return notes


def _single_heads(path: str | Path, experiment: str) -> MaskedScores:
    masked = read_answers(path, KEYS, experiment)
    return masked.only((masked.keys["masked"] == ONE).to_numpy())


def extreme_heads(first: Floats, second: Floats, count: int) -> npt.NDArray[np.bool_]:
    """[head] whether a head is among the `count` farthest from the median on either corpus, in standard deviations.

    Heads at the same distance are extreme together: with few examples many heads change the score by the same amount, and their
    order in the table must not choose among them. There can then be more than `count`. Heads at both medians are never extreme,
    so that there can be fewer.

    Args:
        first, second: [head] change in score on each corpus.
        count: number of extreme heads if none are tied.
    """
    distances = np.zeros(len(first))
    for values in (first, second):
        if values.std() > 0:
            distances = np.maximum(distances, np.abs(values - np.median(values)) / values.std())
    smallest = np.sort(distances)[-min(count, len(distances))]
    # Equal changes are summed in different orders: distances that differ by rounding are tied.
    return (distances > _ROUNDING) & (distances >= smallest - _ROUNDING)


def _agreement(
    deltas: Floats, second_deltas: Floats, by_example: Sequence[Floats], extreme: npt.NDArray[np.bool_], seed: int
) -> pd.DataFrame:
    """One row for each statistic: value, intervals and heads of `CORRELATIONS`; by_example: [resample, head] of each corpus."""
    resamples = len(by_example[0])
    rows = []
    for statistic in (PEARSON, SPEARMAN, TRIMMED):
        included = ~extreme if statistic == TRIMMED else np.ones(len(deltas), dtype=bool)
        ranked = statistic == SPEARMAN
        if not included.any():
            empty = dict.fromkeys(CORRELATIONS[2:7], np.nan)
            rows.append({"statistic": statistic, **empty, "heads": 0})
            continue
        pair = _values(deltas[included], ranked), _values(second_deltas[included], ranked)
        heads = np.concatenate(list(resampled_counts(int(included.sum()), resamples, seed)))
        low, high = percentile_interval(weighted_pearson(*pair, heads))
        resampled, second_resampled = (_values(values[:, included], ranked) for values in by_example)
        examples = percentile_interval(weighted_pearson(resampled, second_resampled, np.ones_like(resampled)))
        rows.append(
            {
                "statistic": statistic,
                "value": weighted_pearson(*pair, np.ones((1, included.sum())))[0],
                **dict(zip(CORRELATIONS[3:7], map(float, (low, high, *examples)), strict=True)),
                "heads": int(included.sum()),
            }
        )
    return pd.DataFrame(rows)


def _values(values: Floats, ranked: bool) -> Floats:
    from scipy.stats import rankdata

    return rankdata(values, axis=-1) if ranked else values


def weighted_pearson(first: Floats, second: Floats, weights: Floats) -> Floats:
    """[...] Pearson's r over the last axis, each value with its weight; NaN where one of the two is constant."""
    total = weights.sum(axis=-1, keepdims=True)
    centred = [values - (weights * values).sum(axis=-1, keepdims=True) / total for values in (first, second)]
    variances = [(weights * values**2).sum(axis=-1) for values in centred]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (weights * centred[0] * centred[1]).sum(axis=-1) / np.sqrt(variances[0] * variances[1])
    return np.where((variances[0] > 0) & (variances[1] > 0), r, np.nan)


def in_words(value: float, low: float, high: float) -> str:
    """A correlation with its interval; undefined where all heads have the same value."""
    return f"{value:.2f} ({low:.2f} to {high:.2f})" if value == value else "undefined"
