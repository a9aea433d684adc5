"""Statistics of the claims, with intervals by bootstrap over examples, computed from the answers to each example.

Their table has one row for each statistic and part, columns `STATISTICS`; scores are in percent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.importance import Derivatives, importance, normalised, unnormalised
from attention_atlas.methods.names import ALL, CODE, DEFINITIONS, PAPER, PER_BATCH, SCRIPT
from attention_atlas.stats.bootstrap import expanded_level, percentile_interval
from attention_atlas.stats.levels import LEVEL, level_of_parts
from attention_atlas.stats.rank_correlation import spearman
from attention_atlas.studies.michel2019.effects import ACCURACY, MaskedScores, chosen_by_layer, resampled_deltas
from attention_atlas.studies.michel2019.names import HELDOUT, IMPORTANCE, LEAST_BLEU, PRUNABLE, RANDOM

Floats = npt.NDArray[np.float64]
Row = dict[str, object]
STATISTICS = ["statistic", "experiment", "part", "value", "ci_low", "ci_high", "level", "n"]
"""Columns. part: kind of attention, percent of heads, or definition; level: coverage of the interval; n: examples, or random
orders."""
MEDIAN_CHANGE, LARGEST_CHANGE, BALANCE = "median_change", "largest_change", "raised_minus_lowered"
ONE_HEAD = "one_head_median"
PRUNED_CHANGE, OVER_SINGLE, OVER_RANDOM = "pruned_change", "importance_over_single_heads", "importance_over_random"
OVER_CROSS = "over_encoder_decoder"
AGREEMENT = "spearman_with_paper"
SHARE_GAINED, SHARE_LEFT = "share_gained", "share_left"
TRAINED_WITHOUT = 40
"""Percent of heads masked in the summary of Figure 5."""
UNCHANGED = 1e-9
"""Differences of scores below this are rounding."""


def single_head_statistics(masked: MaskedScores, experiment: str, resamples: int, seed: int) -> Iterator[Row]:
    """Rows of each kind of attention whose heads are masked one at a time.

    median_change: of the heads, change in score. largest_change: absolute, of all heads; the interval is simultaneous for all
    heads, by the maximum of their standardised differences. raised_minus_lowered: heads that raise the score minus heads that
    lower it; heads that leave it unchanged count for neither.
    """
    deltas = masked.deltas
    resampled, padded = resampled_deltas(masked, resamples, seed), with_opposite_examples(masked)
    padded_deltas, padded_resampled = padded.deltas, resampled_deltas(padded, resamples, seed)
    for kind in masked.keys["kind"].unique():
        places = np.flatnonzero(masked.keys["kind"] == kind)
        medians = np.median(padded_resampled[:, places], axis=1)
        yield _row(MEDIAN_CHANGE, experiment, kind, np.median(deltas[places]), medians, len(masked.base))
        level = expanded_level(LEVEL, len(masked.base))
        largest = simultaneous_largest(padded_deltas[places], padded_resampled[:, places], level)
        yield _row(LARGEST_CHANGE, experiment, kind, np.abs(deltas[places]).max(), largest, len(masked.base))
        yield _row(BALANCE, experiment, kind, balance(deltas[places]), balance(resampled[:, places]), len(masked.base))


def with_opposite_examples(masked: MaskedScores) -> MaskedScores:
    """The examples and two more: one that only the full model gets right, and one that only the full model gets wrong.

    Where few examples change, a bootstrap that has not seen a loss would exclude it. Two such examples give the interval of
    Bonett and Price (2012, Adjusted Wald confidence interval for a difference of binomial proportions based on paired data)
    instead of one of zero width. For BLEU, right is a translation with the mean counts of the full model, wrong one without a
    match.
    """
    if masked.metric == ACCURACY:
        right, wrong = np.array([1.0, 1.0]), np.array([0.0, 1.0])
    else:
        right = masked.base.mean(axis=0)
        wrong = right * (np.arange(len(right)) >= (len(right) - 2) // 2)
    added = np.broadcast_to(np.stack([wrong, right]), (len(masked.parts), 2, len(right)))
    return MaskedScores(
        masked.metric,
        masked.keys,
        np.concatenate([masked.base, np.stack([right, wrong])]),
        np.concatenate([masked.parts, added], axis=1),
    )


def simultaneous_largest(deltas: Floats, resampled: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Interval of the largest absolute difference of several heads, from simultaneous intervals of all of them.

    Args:
        deltas: [head] observed differences.
        resampled: [resample, head] differences in bootstrap resamples.
        level: coverage of the intervals of all heads together.
    """
    spread = resampled.std(axis=0)
    standardised = np.divide(np.abs(resampled - deltas), spread, out=np.zeros_like(resampled), where=spread > 0)
    reach = np.quantile(standardised.max(axis=1), level) * spread
    return float(np.maximum(np.abs(deltas) - reach, 0).max()), float((np.abs(deltas) + reach).max())


def balance(deltas: Floats) -> Floats:
    """[...] heads that raise the score minus heads that lower it, of differences [..., head]."""
    return np.where(np.abs(deltas) > UNCHANGED, np.sign(deltas), 0.0).sum(axis=-1)


def one_head_statistics(masked: MaskedScores, experiment: str, resamples: int, seed: int) -> Iterator[Row]:
    """Row of the layers with one head kept: median over layers of the change in score with the best head.

    The best head is chosen on one half of the examples and measured on the other; mean of both directions. The interval
    resamples the examples that it is measured on.
    """
    directions, observed = [], []
    for direction, (chosen, measured) in enumerate(chosen_by_layer(masked)):
        heads = measured.only(chosen)
        observed.append(heads.deltas)
        directions.append(resampled_deltas(with_opposite_examples(heads), resamples, seed + direction))
    medians = np.median(np.mean(directions, axis=0), axis=1)
    yield _row(ONE_HEAD, experiment, ALL, np.median(np.mean(observed, axis=0)), medians, len(masked.base))


def pruning_statistics(masked: MaskedScores, resampled: Floats, experiment: str, resamples: int, seed: int) -> Iterator[Row]:
    """Rows of the pruning curves of an experiment.

    pruned_change: change in score when the share of heads of `PRUNABLE` is masked, by importance. importance_over_single_heads:
    mean of the curve by importance minus that by scores with one head masked, these selected on other examples.
    importance_over_random: the same minus the mean of random orders; the interval predicts how far a further random order lies
    from their mean (Student's t, which needs two orders) and adds the variance over examples. over_encoder_decoder: mean of
    the curve of a kind of attention minus that of encoder-decoder attention; `level_of_parts`.

    Args:
        masked: the steps.
        resampled: [resample, step] their scores.
        experiment: of the steps.
        resamples, seed: of the bootstrap.
    """
    keys, scores = masked.keys, masked.baseline + masked.deltas
    n = len(masked.base)
    curves = curves_of(keys)
    means = {name: mean_of_curve(rows, scores) for name, rows in curves.items()}
    resampled_means = {name: mean_of_curve(rows, resampled) for name, rows in curves.items()}
    by_importance, single = (IMPORTANCE, ALL, 0), (HELDOUT, ALL, 0)
    share = PRUNABLE[experiment]
    step = curves[by_importance][curves[by_importance]["percent"] >= share].index[:1]
    in_step = masked.only(keys.index.isin(step))
    changes = resampled_deltas(with_opposite_examples(in_step), resamples, seed)[:, 0]
    yield _row(PRUNED_CHANGE, experiment, str(share), in_step.deltas[0], changes, n)
    if single in means:
        differences = resampled_means[by_importance] - resampled_means[single]
        yield _row(OVER_SINGLE, experiment, ALL, means[by_importance] - means[single], differences, n)
    random = [name for name in curves if name[0] == RANDOM]
    difference = means[by_importance] - np.mean([means[name] for name in random])
    over_examples = resampled_means[by_importance] - np.mean([resampled_means[name] for name in random], axis=0)
    interval = predicted_difference(float(difference), np.array([means[name] for name in random]), over_examples)
    yield _row(OVER_RANDOM, experiment, ALL, difference, interval, len(random))
    crossed = (IMPORTANCE, "enc_dec", 0)
    others = [name for name in curves if crossed in curves and name[1] not in (ALL, crossed[1])]
    for name in others:
        differences = resampled_means[name] - resampled_means[crossed]
        row = _row(
            OVER_CROSS, experiment, name[1], means[name] - means[crossed], differences, n, level=level_of_parts(len(others))
        )
        yield row


def curves_of(keys: pd.DataFrame) -> dict[tuple[str, str, int], pd.DataFrame]:
    """(order, scope, draw) -> the keys of its steps in order."""
    groups = keys.groupby(["order", "scope", "draw"], sort=False)
    return {(str(order), str(scope), int(draw)): rows.sort_values("percent") for (order, scope, draw), rows in groups}


def mean_of_curve(rows: pd.DataFrame, scores: Floats) -> Floats:
    """[...] mean over percent of heads masked of scores [..., step]; rows are the steps of one curve in order."""
    return np.trapezoid(scores[..., rows.index], rows["percent"], axis=-1) / 100


def predicted_difference(difference: float, random: Floats, over_examples: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Interval of a difference from the mean of random orders, which contains 0 if the order could be one more of them.

    Args:
        difference: of an order's value from the mean of the random orders.
        random: [order] values of the random orders.
        over_examples: [resample] the difference in bootstrap resamples of examples.
        level: coverage.
    """
    from scipy.stats import norm, t

    orders, tail = len(random), (1 + level) / 2
    if orders < 2:
        return np.nan, np.nan
    over_orders = t.ppf(tail, orders - 1) * random.std(ddof=1) * np.sqrt(1 + 1 / orders)
    reach = float(np.hypot(over_orders, norm.ppf(tail) * over_examples.std()))
    return difference - reach, difference + reach


def agreement_statistics(of: Derivatives, experiment: str, batch: int, resamples: int, seed: int) -> Iterator[Row]:
    """Rows of each definition of published code: rank correlation over heads with the paper's; `level_of_parts`."""
    size, names = len(of.gradient), [name for name in DEFINITIONS if name != PAPER]
    drawn = np.random.default_rng(seed).integers(0, size, (resamples, size))
    counts = np.stack([np.bincount(places, minlength=size) for places in drawn]).astype(np.float64)
    resampled = {name: unnormalised(of, name, batch, counts) for name in (PAPER, CODE)}
    for name in (PER_BATCH, SCRIPT):
        # Batches of the resample, in the order of its draws.
        redrawn = (replace(of, gradient=of.gradient[places]) for places in drawn)
        resampled[name] = np.stack([unnormalised(derivatives, name, batch) for derivatives in redrawn])
    scaled = {name: normalised(values, of.heads) for name, values in resampled.items()}
    for name in names:
        value = spearman(importance(of, name, batch), importance(of, PAPER, batch))
        # Reflected at the value: a resample repeats examples, which adds up within batches and makes the definitions more
        # similar.
        reflected = np.clip(2 * value - spearman(scaled[name], scaled[PAPER]), -1, 1)
        yield _row(AGREEMENT, experiment, name, value, reflected, size, level=level_of_parts(len(names)))


def training_statistics(
    epochs: Mapping[int, MaskedScores], resampled_scores: Mapping[int, Floats], experiment: str
) -> Iterator[Row]:
    """Rows of Figure 5: share of the full model's BLEU that remains with `TRAINED_WITHOUT` % of the heads masked.

    share_left: after the last epoch. share_gained: that minus the share after the first epoch. Epochs whose full model scores
    below `LEAST_BLEU` do not count; all epochs are measured on the same examples, which are resampled together. NaN where
    there is no such epoch, or for share_gained only one.

    Args:
        epochs: epoch -> the steps after it.
        resampled_scores: epoch -> [resample, step] their scores, over the same resamples of examples.
        experiment: name of the rows.
    """
    shares, resampled = [], []
    for epoch, masked in sorted(epochs.items()):
        percents = masked.keys["percent"]
        if masked.baseline >= LEAST_BLEU and (percents == TRAINED_WITHOUT).any():
            step, whole = int(np.flatnonzero(percents == TRAINED_WITHOUT)[0]), int(np.flatnonzero(percents == 0)[0])
            scores = resampled_scores[epoch]
            shares.append((masked.baseline + masked.deltas[step]) / masked.baseline)
            empty = np.full(len(scores), np.nan)
            resampled.append(np.divide(scores[:, step], scores[:, whole], out=empty, where=scores[:, whole] > 0))
    n = len(next(iter(epochs.values())).base)
    nothing = np.full(1, np.nan)
    part = str(TRAINED_WITHOUT)
    gained, resampled_gains = (shares[-1] - shares[0], resampled[-1] - resampled[0]) if len(shares) > 1 else (np.nan, nothing)
    yield _row(SHARE_GAINED, experiment, part, gained, resampled_gains, n)
    left, resampled_left = (shares[-1], resampled[-1]) if shares else (np.nan, nothing)
    yield _row(SHARE_LEFT, experiment, part, left, resampled_left, n)


def statistics_table(rows: Sequence[Row]) -> pd.DataFrame:
    """A table with columns `STATISTICS`."""
    return pd.DataFrame(rows, columns=STATISTICS).astype(dict.fromkeys(("value", "ci_low", "ci_high", "level"), float))


def _row(
    statistic: str,
    experiment: str,
    part: object,
    value: object,
    resampled: Floats | tuple[float, float],
    n: int,
    level: float = LEVEL,
) -> Row:
    """A row with the percentile interval of values of resampled examples, widened for few examples, or with the given ends."""
    low, high = resampled if isinstance(resampled, tuple) else percentile_interval(resampled, expanded_level(level, n))
    return dict(zip(STATISTICS, (statistic, experiment, part, value, low, high, level, n), strict=True))
