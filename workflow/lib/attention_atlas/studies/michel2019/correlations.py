"""Figure 2: are the heads that matter for one corpus those that matter for another? Correlations over heads, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import write_table
from attention_atlas.methods.names import HEAD, KEYS, ONE
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.studies.michel2019.effects import Masked, read_answers, resampled_deltas
from attention_atlas.studies.michel2019.names import TITLES

Floats = npt.NDArray[np.float64]
FIGURE2 = ["experiment", *HEAD, "metric", "delta", "other_delta", "extreme"]
CORRELATIONS = [
    *("experiment", "statistic", "value", "ci_low", "ci_high", "ci_examples_low", "ci_examples_high", "heads", "n", "other_n"),
]
PEARSON, SPEARMAN, TRIMMED = "pearson", "spearman", "pearson_without_extremes"


def correlations(
    answers: Mapping[str, str | Path],
    other_answers: Mapping[str, str | Path],
    settings: Mapping[str, Setting],
    extremes: int,
    resamples: int,
    seed: int,
    out: str | Path,
    correlations_out: str | Path,
    html_out: str | Path,
) -> None:
    """Write what masking each head does on two corpora, and how far the two agree.

    Args:
        answers: experiment -> table of `masked_answers`.
        other_answers: experiment -> the same on its second corpus.
        settings: role -> what was looked at.
        extremes: heads that `TRIMMED` leaves out, see `extreme_heads`.
        resamples, seed: of both bootstraps.
        out: columns `FIGURE2`.
        correlations_out, html_out: columns `CORRELATIONS`; intervals by bootstrap over heads, and over the examples of both
            corpora (which adds their noise once more, so that it lies below the value where differences are small).

    Raises:
        AtlasError: a table cannot be used.
    """
    scattered, rows = [], []
    for name, path in answers.items():
        own, other = _single(path, name), _single(other_answers[name], name)
        extreme = extreme_heads(own.deltas, other.deltas, extremes)
        columns = {"metric": own.metric, "delta": own.deltas, "other_delta": other.deltas, "extreme": extreme.astype(int)}
        scattered.append(own.keys[HEAD].assign(experiment=name, **columns))
        rows.append(_agreement(own, other, extreme, resamples, seed).assign(experiment=name))
    write_table(pd.concat(scattered, ignore_index=True)[FIGURE2], out)
    table = pd.concat(rows, ignore_index=True)[CORRELATIONS]
    write_table(table, correlations_out)
    notes = [
        *(setting.line for setting in settings.values()),
        "Correlation over heads between what masking a head does to the score on one corpus and on another, with intervals by "
        "bootstrap over heads, and over examples of both corpora. Without extremes: without the heads that lie farthest from "
        f"the median, {extremes} of them; a correlation that they carry alone says little of the other heads.",
    ]
    shown = table.assign(experiment=[TITLES[name] for name in table["experiment"]])
    formats = dict.fromkeys(CORRELATIONS[2:7], ".2f") | dict.fromkeys(CORRELATIONS[7:], "d")
    write_html_table(shown, html_out, "Michel et al. 2019, Figure 2: correlation across data", notes, formats=formats)


def _single(path: str | Path, experiment: str) -> Masked:
    found = read_answers(path, KEYS, experiment)
    return found.only((found.keys["masked"] == ONE).to_numpy())


def extreme_heads(one: Floats, other: Floats, count: int) -> npt.NDArray[np.bool_]:
    """The heads that lie farthest from the median of either corpus, in units of its standard deviation."""
    far = np.zeros(len(one))
    for values in (one, other):
        if values.std() > 0:
            far = np.maximum(far, np.abs(values - np.median(values)) / values.std())
    chosen = np.zeros(len(one), dtype=bool)
    chosen[np.argsort(-far, kind="stable")[:count]] = True
    return chosen


def _agreement(own: Masked, other: Masked, extreme: npt.NDArray[np.bool_], resamples: int, seed: int) -> pd.DataFrame:
    one, two = own.deltas, other.deltas
    by_example = [resampled_deltas(masked, resamples, seed + k) for k, masked in enumerate((own, other))]
    sizes = {"n": len(own.base), "other_n": len(other.base)}
    rows = []
    for statistic in (PEARSON, SPEARMAN, TRIMMED):
        kept = ~extreme if statistic == TRIMMED else np.ones(len(one), dtype=bool)
        ranked = statistic == SPEARMAN
        heads = np.concatenate(list(resampled_counts(int(kept.sum()), resamples, seed)))
        low, high = percentile_interval(weighted_pearson(_values(one[kept], ranked), _values(two[kept], ranked), heads))
        drawn = [_values(values[:, kept], ranked) for values in by_example]
        examples = percentile_interval(weighted_pearson(*drawn, np.ones_like(drawn[0])))
        rows.append(
            {
                "statistic": statistic,
                "value": weighted_pearson(_values(one[kept], ranked), _values(two[kept], ranked), np.ones((1, kept.sum())))[0],
                **dict(zip(CORRELATIONS[3:7], map(float, (low, high, *examples)), strict=True)),
                **{"heads": int(kept.sum()), **sizes},
            }
        )
    return pd.DataFrame(rows)


def _values(values: Floats, ranked: bool) -> Floats:
    from scipy.stats import rankdata

    return rankdata(values, axis=-1) if ranked else values


def weighted_pearson(one: Floats, other: Floats, weights: Floats) -> Floats:
    """[...] Pearson's r over the last axis, each value counted so often; NaN where one of the two is constant."""
    total = weights.sum(axis=-1, keepdims=True)
    left, right = (values - (weights * values).sum(axis=-1, keepdims=True) / total for values in (one, other))
    spread = [(weights * values**2).sum(axis=-1) for values in (left, right)]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (weights * left * right).sum(axis=-1) / np.sqrt(spread[0] * spread[1])
    return np.where((spread[0] > 0) & (spread[1] > 0), found, np.nan)


def in_words(value: float, low: float, high: float) -> str:
    """A correlation with its interval, or why there is none."""
    return f"{value:.2f} ({low:.2f} to {high:.2f})" if value == value else "none: nothing differs"
