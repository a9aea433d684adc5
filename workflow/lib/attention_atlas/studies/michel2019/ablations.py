"""Effects of masked heads and their importance: each head alone, two corpora, orders of pruning, and epochs of training.

Every job also gives the statistics that test the paper's claims. Intervals are by bootstrap over examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm, rankdata, t

from attention_atlas.methods.head_measures import (
    ALL,
    CLASSIFICATION,
    CODE,
    DEFINITIONS,
    HEAD,
    KEYS,
    NONE,
    ONE,
    OTHERS,
    PAPER,
    PER_BATCH,
    SCRIPT,
    STEP,
    TRANSLATION,
)
from attention_atlas.methods.importance import Derivatives, HeadDerivatives, importance, normalised, unnormalised
from attention_atlas.stats.intervals import expanded_level, percentile_interval, resampled_counts
from attention_atlas.stats.levels import LEVEL, level_of_parts
from attention_atlas.stats.ranks import pearson, spearman
from attention_atlas.stats.simultaneous import largest_size_interval
from attention_atlas.studies.michel2019.effects import (
    ACCURACY,
    BEST,
    BLEU,
    HELDOUT,
    IMPORTANCE,
    RANDOM,
    TABLE1,
    UNCHANGED,
    UNITS,
    MaskedScores,
    Row,
    best_by_layer,
    best_on_other_half,
    effect_rows,
    masked_scores,
    resampled_deltas,
    resampled_scores,
    statistic_row,
    statistics_table,
    with_opposite_examples,
)

Floats = npt.NDArray[np.float64]
ANOTHER_CORPUS, SAME_FILE = "another corpus", "another part of the same file"
"""How the second corpus of Figure 2 relates to the first; a part of the same file says nothing about other data."""
PEARSON, SPEARMAN, TRIMMED = "pearson", "spearman", "pearson_without_extremes"
FIGURE1 = ["experiment", *TABLE1]
FIGURE2 = [
    *("experiment", *HEAD, "metric", "delta", "second_delta", "extreme", "ci_low", "ci_high", "second_low", "second_high"),
    *("n", "second_n", "unit", "baseline", "second_baseline"),
    *("overlong", "overlong_unmasked", "second_overlong", "second_overlong_unmasked"),
]
"""Columns; overlong: translations under the mask, of the n, see `MaskedScores.overlong`; unmasked: of the full model."""
CORRELATIONS = [
    *("experiment", "statistic", "value", "ci_low", "ci_high", "ci_examples_low", "ci_examples_high", "heads", "n", "second_n"),
    *("second_data", "unit"),
]
HEAD_IMPORTANCE = ["model", "task", *HEAD, "definition", "importance", "ci_low", "ci_high", "spearman", "n", "unit"]
CURVE = ["metric", "score", "ci_low", "ci_high", "baseline", "delta"]
"""Columns of a step of pruning: the score with its interval, that of the full model, their difference."""
FIGURE3 = ["experiment", "order", "draw", "percent", "count", "heads", *CURVE, "floor", "n", "unit"]
FIGURE4 = ["kind", "percent", "count", "heads", *CURVE, "n", "unit"]
FIGURE5 = ["epoch", "percent", "count", "heads", *CURVE, "share", "n", "unit"]
PRUNABLE = {TRANSLATION: 20, CLASSIFICATION: 40}
"""Percent of heads that can be pruned without noticeable loss (section 4.2)."""
LEAST_BLEU = 3.0
"""Smallest score of a full model at which pruned scores are shown as shares of it: the paper's after its first epoch."""
TRAINED_WITHOUT = 40
"""Percent of heads masked in the summary of Figure 5."""


def masked_heads(
    translation: pd.DataFrame,
    translation_other: pd.DataFrame,
    classification: pd.DataFrame,
    classification_other: pd.DataFrame,
    same_file: Mapping[str, bool],
    excluded_extremes: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Effects of masked heads, of answers of `experiments.masked` on two corpora; same_file: see `on_two_corpora`.

    heads (`FIGURE1`): each head masked alone. best_translation, best_classification (`BEST`): each layer with all heads masked
    but the best one; distinct_answers: of the full model, 1 if it gives the same answer to all examples. correlation_heads and
    correlations: of `on_two_corpora`. statistics: of the claims.
    """
    answers = {TRANSLATION: (translation, translation_other), CLASSIFICATION: (classification, classification_other)}
    heads, best, statistics, pairs = [], {}, list[Row](), []
    for name, (first, second) in answers.items():
        scores = masked_scores(first, KEYS, name)
        single, one_left = scores.masking(ONE), scores.masking(OTHERS)
        heads.append(effect_rows(single, resamples, seed).assign(experiment=name))
        distinct = first.loc[first["masked"] == NONE, "answer"].nunique()
        best[f"best_{name}"] = best_by_layer(one_left, resamples, seed).assign(distinct_answers=distinct)[BEST]
        if name == TRANSLATION:
            statistics += single_head_statistics(single, name, resamples, seed)
        statistics.append(one_head_statistic(one_left, name, resamples, seed))
        second_scores = masked_scores(second, KEYS, name).masking(ONE)
        pairs.append(on_two_corpora(name, single, second_scores, same_file[name], excluded_extremes, resamples, seed))
    tables = {"heads": heads, "correlation_heads": [pair[0] for pair in pairs], "correlations": [pair[1] for pair in pairs]}
    joined = {name: pd.concat(frames, ignore_index=True) for name, frames in tables.items()}
    return joined | best | {"heads": joined["heads"][FIGURE1], "statistics": statistics_table(statistics)}


def on_two_corpora(
    name: str, first: MaskedScores, second: MaskedScores, same_file: bool, extremes: int, resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Effects of single heads on two corpora (`FIGURE2`), and their correlations over heads (`CORRELATIONS`).

    All differences share the unmasked score of their corpus. Intervals of correlations are by bootstrap over heads, and over
    the examples of both corpora (which adds their noise once more, and so lies below the value where differences are small).
    same_file: whether the second corpus is another part of the file of the first; extremes: number of `extreme_heads`.
    """
    by_example = [resampled_deltas(masked, resamples, seed + k) for k, masked in enumerate((first, second))]
    extreme = extreme_heads(first.deltas, second.deltas, extremes)
    sizes = {"experiment": name, "n": len(first.base), "second_n": len(second.base), "unit": first.unit}
    columns: dict[str, Any] = {"metric": first.metric, "extreme": extreme.astype(int)}
    for prefix, masked, resampled in (("", first, by_example[0]), ("second_", second, by_example[1])):
        (low, high), (unmasked, overlong) = percentile_interval(resampled), masked.overlong
        columns |= {f"{prefix}delta": masked.deltas, f"{prefix}baseline": masked.baseline}
        columns |= {f"{prefix or 'ci_'}low": low, f"{prefix or 'ci_'}high": high}
        columns |= {f"{prefix}overlong": overlong, f"{prefix}overlong_unmasked": unmasked}
    heads = first.keys[HEAD].assign(**sizes, **columns)
    rows = []
    for statistic in (PEARSON, SPEARMAN, TRIMMED):
        included = ~extreme if statistic == TRIMMED else np.ones_like(extreme)
        values = [changes[..., included] for changes in (first.deltas, second.deltas, *by_example)]
        if statistic == SPEARMAN:
            values = [rankdata(changes, axis=-1) for changes in values]
        row: dict[str, Any] = {"statistic": statistic, "heads": int(included.sum())}
        if included.any():
            deltas, second_deltas, resampled, second_resampled = values
            row["value"] = pearson(deltas, second_deltas)
            counts = np.concatenate(list(resampled_counts(row["heads"], resamples, seed)))
            row["ci_low"], row["ci_high"] = percentile_interval(weighted_pearson(deltas, second_deltas, counts))
            row["ci_examples_low"], row["ci_examples_high"] = percentile_interval(pearson(resampled, second_resampled))
        rows.append(row)
    numbers = dict.fromkeys(CORRELATIONS[2:7], float)
    agreement = pd.DataFrame(rows, columns=["statistic", *numbers, "heads"]).astype(numbers)
    agreement = agreement.assign(**sizes, second_data=SAME_FILE if same_file else ANOTHER_CORPUS)
    return heads[FIGURE2], agreement[CORRELATIONS]


def extreme_heads(first: Floats, second: Floats, count: int) -> npt.NDArray[np.bool_]:
    """[head] whether a head's change is among the `count` farthest from the median on either corpus, in standard deviations.

    Heads at the same distance are extreme together, so that there can be more than `count`; heads at both medians never are.
    """
    distances = np.zeros(len(first))
    for values in (first, second):
        if values.std() > 0:
            distances = np.maximum(distances, np.abs(values - np.median(values)) / values.std())
    smallest = np.sort(distances)[-min(count, len(distances))]
    # Equal changes are summed in different orders: distances that differ by rounding are tied.
    return (distances > UNCHANGED) & (distances >= smallest - UNCHANGED)


def weighted_pearson(first: Floats, second: Floats, weights: Floats) -> Floats:
    """[...] Pearson's r over the last axis, each value with its weight; NaN where one of the two is constant."""
    total = weights.sum(axis=-1, keepdims=True)
    first, second = (values - (weights * values).sum(axis=-1, keepdims=True) / total for values in (first, second))
    variances = [(weights * values**2).sum(axis=-1) for values in (first, second)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights * first * second).sum(axis=-1) / np.sqrt(variances[0] * variances[1])


def in_words(value: float, low: float, high: float) -> str:
    """A correlation with its interval; undefined where all heads have the same value."""
    return f"{value:.2f} ({low:.2f} to {high:.2f})" if value == value else "undefined"


def single_head_statistics(masked: MaskedScores, experiment: str, resamples: int, seed: int) -> Iterator[Row]:
    """Statistics of each kind of attention whose heads are masked one at a time.

    median_change: of the heads, change in score. largest_change: absolute, of all heads; the interval is simultaneous for all
    heads, by the maximum of their standardised differences. raised_minus_lowered: heads that raise the score minus heads that
    lower it; heads that leave it unchanged count for neither.
    """
    n, deltas, padded = len(masked.base), masked.deltas, with_opposite_examples(masked)
    resampled, padded_resampled = (resampled_deltas(scores, resamples, seed) for scores in (masked, padded))
    for kind in masked.keys["kind"].unique():
        places = np.flatnonzero(masked.keys["kind"] == kind)
        medians = np.median(padded_resampled[:, places], axis=1)
        largest = simultaneous_largest(padded.deltas[places], padded_resampled[:, places], expanded_level(LEVEL, n))
        yield statistic_row("median_change", experiment, kind, np.median(deltas[places]), medians, n)
        yield statistic_row("largest_change", experiment, kind, np.abs(deltas[places]).max(), largest, n)
        yield statistic_row("raised_minus_lowered", experiment, kind, balance(deltas[places]), balance(resampled[:, places]), n)


def simultaneous_largest(deltas: Floats, resampled: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Interval of the largest absolute difference over heads, from simultaneous intervals; resampled: [resample, head]."""
    spread = resampled.std(axis=0)
    standardised = np.divide(np.abs(resampled - deltas), spread, out=np.zeros_like(resampled), where=spread > 0)
    reach = np.quantile(standardised.max(axis=1), level) * spread
    return largest_size_interval(deltas - reach, deltas + reach)


def balance(deltas: Floats) -> Floats:
    """[...] heads that raise the score minus heads that lower it, of differences [..., head]."""
    return np.where(np.abs(deltas) > UNCHANGED, np.sign(deltas), 0.0).sum(axis=-1)


def one_head_statistic(masked: MaskedScores, experiment: str, resamples: int, seed: int) -> Row:
    """one_head_median: median over layers of the change in score with the best head.

    The best head is chosen on one half of the examples and measured on the other; mean of both directions. The interval
    resamples the examples that it is measured on.
    """
    halves = best_on_other_half(masked)
    observed = np.mean([heads.deltas for heads in halves], axis=0)
    resampled = [resampled_deltas(with_opposite_examples(heads), resamples, seed + k) for k, heads in enumerate(halves)]
    medians = np.median(np.mean(resampled, axis=0), axis=1)
    return statistic_row("one_head_median", experiment, ALL, np.median(observed), medians, len(masked.base))


def head_importance(
    translation: HeadDerivatives,
    classification: HeadDerivatives,
    models: Mapping[str, str],
    batch: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Importance of all heads by all definitions, from derivatives of `experiments.gradients`.

    Intervals where the definition is a mean over examples. spearman: rank correlation with the paper's definition over all
    heads. models: experiment -> name of its model; batch: examples of a batch, for definitions over batches.
    """
    tables, statistics = [], list[Row]()
    for name, of in ((TRANSLATION, translation), (CLASSIFICATION, classification)):
        n = len(of.gradient)
        for definition in DEFINITIONS:
            values = importance(of, definition, batch)
            ends: tuple[Any, Any] = (np.nan, np.nan)
            if definition in (PAPER, CODE):
                drawn = resampled_counts(n, resamples, seed)
                resampled = [normalised(unnormalised(of, definition, batch, counts), of.heads) for counts in drawn]
                ends = percentile_interval(np.concatenate(resampled))
            rows = of.heads.assign(
                model=models[name],
                task=name,
                definition=definition,
                importance=values,
                ci_low=ends[0],
                ci_high=ends[1],
                spearman=spearman(values, importance(of, PAPER, batch)),
                n=n,
                unit=UNITS[BLEU if name == TRANSLATION else ACCURACY],
            )
            tables.append(rows[HEAD_IMPORTANCE])
        statistics += agreement_statistics(of, name, batch, resamples, seed)
    return {"importance": pd.concat(tables, ignore_index=True), "statistics": statistics_table(statistics)}


def agreement_statistics(of: Derivatives, experiment: str, batch: int, resamples: int, seed: int) -> Iterator[Row]:
    """spearman_with_paper of each definition of published code: rank correlation over heads with the paper's."""
    size, names = len(of.gradient), [name for name in DEFINITIONS if name != PAPER]
    drawn = np.random.default_rng(seed).integers(0, size, (resamples, size))
    counts = np.stack([np.bincount(examples, minlength=size) for examples in drawn]).astype(np.float64)
    resampled = {name: unnormalised(of, name, batch, counts) for name in (PAPER, CODE)}
    for name in (PER_BATCH, SCRIPT):
        # Batches of the resample, in the order of its draws.
        redrawn = (replace(of, gradient=of.gradient[examples]) for examples in drawn)
        resampled[name] = np.stack([unnormalised(derivatives, name, batch) for derivatives in redrawn])
    scaled = {name: normalised(values, of.heads) for name, values in resampled.items()}
    for name in names:
        value = spearman(importance(of, name, batch), importance(of, PAPER, batch))
        # Reflected: a resample repeats examples, which adds up within batches and makes the definitions more similar.
        reflected = np.clip(2 * value - spearman(scaled[name], scaled[PAPER]), -1, 1)
        yield statistic_row("spearman_with_paper", experiment, name, value, reflected, size, level_of_parts(len(names)))


def pruning_curves(
    translation: pd.DataFrame, classification: pd.DataFrame, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Scores of all steps of pruning, of answers of `experiments.pruned`; floor: share of the most frequent label."""
    tables, statistics = {}, list[Row]()
    for name, answers in ((TRANSLATION, translation), (CLASSIFICATION, classification)):
        masked = masked_scores(answers, STEP, name)
        resampled, floor = resampled_scores(masked, resamples, seed), 0.0
        if name == CLASSIFICATION:
            labels = answers.drop_duplicates("record")["expected"]
            floor = 100 * float(labels.value_counts(normalize=True).iloc[0])
        rows = curve_rows(masked, resampled)
        tables[name] = rows.assign(heads=rows.groupby("scope")["count"].transform("max"), experiment=name, floor=floor)
        statistics += pruning_statistics(masked, resampled, name, resamples, seed)
    curves = pd.concat([rows[rows["scope"] == ALL] for rows in tables.values()], ignore_index=True)
    by_kind = tables[TRANSLATION][tables[TRANSLATION]["scope"] != ALL].rename(columns={"scope": "kind"})
    return {"curves": curves[FIGURE3], "by_kind": by_kind[FIGURE4], "statistics": statistics_table(statistics)}


def training_curves(dynamics: pd.DataFrame, resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """The same for one model after several epochs of its training, of answers of `experiments.dynamics`.

    share: the score over that of the full model after the same epoch, from `LEAST_BLEU` on.
    """
    keys = ["epoch", "percent", "count"]
    epochs = {int(str(epoch)): masked_scores(answers, keys, TRANSLATION) for epoch, answers in dynamics.groupby("epoch")}
    resampled = {epoch: resampled_scores(masked, resamples, seed) for epoch, masked in epochs.items()}
    table = pd.concat([curve_rows(masked, resampled[epoch]) for epoch, masked in epochs.items()], ignore_index=True)
    share = table["score"] / table["baseline"].where(table["baseline"] >= LEAST_BLEU)
    statistics = statistics_table(training_statistics(epochs, resampled, TRANSLATION))
    return {"curves": table.assign(heads=table["count"].max(), share=share)[FIGURE5], "statistics": statistics}


def curve_rows(masked: MaskedScores, resampled: Floats) -> pd.DataFrame:
    """One row for each step: its keys, `CURVE`, n, unit; resampled: [resample, step] scores."""
    low, high = percentile_interval(resampled)
    delta = masked.deltas
    columns = {"metric": masked.metric, "score": masked.baseline + delta, "baseline": masked.baseline, "delta": delta}
    return masked.keys.assign(**columns, ci_low=low, ci_high=high, n=len(masked.base), unit=masked.unit)


def pruning_statistics(masked: MaskedScores, resampled: Floats, experiment: str, resamples: int, seed: int) -> Iterator[Row]:
    """Statistics of the pruning curves of an experiment.

    pruned_change: change in score when the share of heads of `PRUNABLE` is masked, by importance. importance_over_single_heads:
    mean of the curve by importance minus that by scores with one head masked, these selected on other examples.
    importance_over_random: the same minus the mean of random orders, see `predicted_difference`. over_encoder_decoder: mean of
    the curve of a kind of attention minus that of encoder-decoder attention. resampled: [resample, step] scores.
    """
    n, scores = len(masked.base), np.vstack([masked.baseline + masked.deltas, resampled])
    groups = masked.keys.groupby(["order", "scope", "draw"], sort=False)
    curves = {curve: steps.sort_values("percent") for curve, steps in groups}
    # [1 + resample]: mean over percent of heads masked, of all examples and of the resamples.
    means = {curve: np.trapezoid(scores[:, steps.index], steps["percent"], axis=-1) / 100 for curve, steps in curves.items()}
    by_importance, single, cross = (IMPORTANCE, ALL, 0), (HELDOUT, ALL, 0), (IMPORTANCE, "enc_dec", 0)
    share, steps = PRUNABLE[experiment], curves[by_importance]
    step = masked.only(steps.index[steps["percent"] >= share][:1].to_numpy())
    changes = resampled_deltas(with_opposite_examples(step), resamples, seed)[:, 0]
    yield statistic_row("pruned_change", experiment, str(share), step.deltas[0], changes, n)
    if single in means:
        differences = means[by_importance] - means[single]
        yield statistic_row("importance_over_single_heads", experiment, ALL, differences[0], differences[1:], n)
    random = np.array([mean for (order, _, _), mean in means.items() if order == RANDOM])
    differences = means[by_importance] - random.mean(axis=0)
    interval = predicted_difference(differences[0], random[:, 0], differences[1:])
    yield statistic_row("importance_over_random", experiment, ALL, differences[0], interval, len(random))
    others = [curve for curve in curves if cross in curves and curve[1] not in (ALL, cross[1])]
    for curve in others:
        differences = means[curve] - means[cross]
        level = level_of_parts(len(others))
        yield statistic_row("over_encoder_decoder", experiment, curve[1], differences[0], differences[1:], n, level)


def predicted_difference(difference: float, random: Floats, over_examples: Floats) -> tuple[float, float]:
    """Interval of a difference from the mean of random orders, which contains 0 if the order could be one more of them.

    It predicts how far a further random order lies from their mean (Student's t, which needs two orders) and adds the variance
    over examples. random: [order] values of the random orders; over_examples: [resample] the difference in resamples.
    """
    orders, tail = len(random), (1 + LEVEL) / 2
    if orders < 2:
        return np.nan, np.nan
    over_orders = t.ppf(tail, orders - 1) * random.std(ddof=1) * np.sqrt(1 + 1 / orders)
    reach = float(np.hypot(over_orders, norm.ppf(tail) * over_examples.std()))
    return difference - reach, difference + reach


def training_statistics(epochs: Mapping[int, MaskedScores], resampled: Mapping[int, Floats], experiment: str) -> Iterator[Row]:
    """Statistics of Figure 5: share of the full model's BLEU that remains with `TRAINED_WITHOUT` % of the heads masked.

    share_left: after the last epoch. share_gained: that minus the share after the first epoch. Epochs whose full model scores
    below `LEAST_BLEU` do not count; all epochs are measured on the same examples, which are resampled together. NaN where
    there is no such epoch, or for share_gained only one. resampled: [resample, step] scores after each epoch.
    """
    shares = []
    for epoch, masked in sorted(epochs.items()):
        (pruned,), (full,) = (np.nonzero(masked.keys["percent"] == percent) for percent in (TRAINED_WITHOUT, 0))
        if masked.baseline >= LEAST_BLEU and len(pruned):
            scores = np.vstack([masked.baseline + masked.deltas, resampled[epoch]])
            pruned_scores, full_scores = scores[:, pruned[0]], scores[:, full[0]]
            empty = np.full(len(scores), np.nan)
            shares.append(np.divide(pruned_scores, full_scores, out=empty, where=full_scores > 0))
    nothing, n = np.full(2, np.nan), len(next(iter(epochs.values())).base)
    gained = shares[-1] - shares[0] if len(shares) > 1 else nothing
    left = shares[-1] if shares else nothing
    for statistic, share in (("share_gained", gained), ("share_left", left)):
        yield statistic_row(statistic, experiment, str(TRAINED_WITHOUT), share[0], share[1:], n)
