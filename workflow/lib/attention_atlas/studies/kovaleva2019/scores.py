"""Scores of the tasks of GLUE: of many sets of predictions, of Table 1, and with heads or layers disabled (Figures 8, 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from attention_atlas.stats import intervals
from attention_atlas.stats.simultaneous import adjusted_p, largest_interval, random_exchanges, two_sided_p, widths
from attention_atlas.studies.kovaleva2019 import FRAME_HEADS, LEVEL, STATES, TASKS

Floats = npt.NDArray[np.float64]
SCORES = "task metric state value min max ci_low ci_high constant_models seeds n unit".split()
GAINS = "task metric value ci_low ci_high level seeds random_seeds n unit".split()
_STATISTICS = ["metric", "baseline", "score", "delta", "ci_low", "ci_high", "p", "p_adjusted"]
FIGURE9 = ["task", "layer", *_STATISTICS, "seeds", "n", "unit"]
FIGURE8 = ["task", "layer", "head", *_STATISTICS, "pair_ci_low", "pair_ci_high", "pair_level", *FIGURE9[-3:]]
_GAIN = ("delta", "ci_low", "ci_high")
SUMMARY = ["task", "unit", "baseline", *(f"best_{end}" for end in _GAIN), *(f"heldout_{end}" for end in _GAIN)]
SUMMARY += ["level", "mean_delta", "above", "seeds", "n"]
"""best_delta: largest gain, with an interval corrected for the choice; heldout_delta: `heldout_gain`. Both intervals cover for
all tasks together (level: that of one task). above: share of heads or layers whose disabling raises the score."""
METRICS: dict[str, tuple[str, ...]] = dict.fromkeys(TASKS, ("accuracy",))
METRICS |= {"mrpc": ("f1", "accuracy"), "qqp": ("f1", "accuracy"), "stsb": ("correlation",)}
"""Task -> its metrics, the metric of Figures 8 and 9 first (Kovaleva et al. 2019, Table 1, and their code)."""
_POSITIVE = frozenset({"1", "equivalent", "duplicate"})


def as_numbers(task: str, values: npt.ArrayLike) -> Floats:
    """Regression scores, or 1 for the positive class and another number for each other class, the same in every call."""
    texts = np.asarray(values, dtype=object)
    codes, names = pd.factorize(texts.ravel())
    if METRICS[task] == ("correlation",):
        numbers = [float(name) for name in names]
    else:
        others = [float(int.from_bytes(name.encode()[:6].ljust(6, b"\0"), "big") + 2) for name in names]
        numbers = [1.0 if name in _POSITIVE else number for name, number in zip(names, others, strict=True)]
    return np.asarray(numbers, dtype=np.float64)[codes].reshape(texts.shape)


def score(metric: str, predictions: Floats, truth: Floats, weights: Floats | None = None) -> Floats:
    """[...] scores of sets of predictions [..., example], or [..., resample] with weights [resample, example]; 0 where the
    denominator is 0. metric: accuracy; f1 of the class 1; correlation: mean of Pearson's and Spearman's (ranks over all).
    """
    flat = predictions.reshape(-1, predictions.shape[-1]).astype(np.float64)
    counts = np.ones((1, len(truth))) if weights is None else np.asarray(weights, np.float64)
    scores = _combined(metric, [terms @ counts.T for terms in _terms(metric, flat, truth)], counts.sum(axis=1))
    shaped = scores.reshape(*predictions.shape[:-1], len(counts))
    return shaped[..., 0] if weights is None else shaped


def swapped_differences(metric: str, base: Floats, changed: Floats, truth: Floats, swaps: Floats) -> Floats:
    """[set, permutation] differences of scores of `changed` [set, example] minus `base` [example] when the predictions of both
    are exchanged where `swaps` [permutation, example] are 1: the null distribution of a paired permutation test. They are
    standardised (for Pearson's) or ranked (for Spearman's) within each model before: a mixture of two scales correlates badly.
    """
    terms = [_terms(metric, values.astype(np.float64), truth) for values in (changed, base[None])]
    total, unswapped = np.full(len(swaps), float(len(truth))), 1 - swaps
    pairs = list(zip(*terms, strict=True))
    changed_sums = [new @ unswapped.T + old @ swaps.T for new, old in pairs]
    base_sums = [new @ swaps.T + old @ unswapped.T for new, old in pairs]
    return _combined(metric, changed_sums, total) - _combined(metric, base_sums, total)


def _terms(metric: str, flat: Floats, truth: Floats) -> list[Floats]:
    """Per-example terms, [set or 1, example] each; each metric is a function of their sums."""
    if metric == "accuracy":
        return [(flat == truth).astype(np.float64)]
    if metric == "f1":
        predicted, positive = (flat == 1).astype(np.float64), (truth == 1).astype(np.float64)
        return [predicted * positive, predicted, np.broadcast_to(positive, predicted.shape)]
    terms = []
    for values, reference in ((flat, truth), (rankdata(flat, axis=1), rankdata(truth))):
        x, y = _standardised(values), np.broadcast_to(_standardised(reference), values.shape)
        terms += [x, y, x * x, y * y, x * y]
    return terms


def _standardised(values: Floats) -> Floats:
    """Mean 0 and standard deviation 1 over the last axis; 0 where all values are equal."""
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = centred.std(axis=-1, keepdims=True)
    # Rounding of the mean leaves a spread in equal values.
    varies = spread > 1e-12 * np.abs(values).max(axis=-1, keepdims=True)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=varies)


def _combined(metric: str, sums: Sequence[Floats], total: Floats) -> Floats:
    """Scores of the sums of `_terms`, [set, resample] each, over `total` [resample] examples."""
    if metric == "accuracy":
        return sums[0] / total
    if metric == "f1":
        return _ratio(2 * sums[0], sums[1] + sums[2])
    return (_pearson(sums[:5], total) + _pearson(sums[5:], total)) / 2


def _pearson(sums: Sequence[Floats], total: Floats) -> Floats:
    x, y, xx, yy, xy = (term_sum / total for term_sum in sums)
    variances = (xx - x * x) * (yy - y * y)
    return _ratio(xy - x * y, np.sqrt(np.clip(variances, 0, None)), least=1e-12)


def _ratio(top: Floats, bottom: Floats, least: float = 0.0) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > least)


def scores(predictions: Mapping[str, pd.DataFrame], resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """Scores of every state of a model on every task (`models.predictions`), and gains from pre-training, in `POINTS`.

    Scores (`SCORES`) are means over seeds, with intervals over examples and, with several, over seeds. Gains (`GAINS`) are from
    pre-trained minus from random weights: their intervals, by `exchanged_gain`, cover all tasks together.
    """
    rows: list[dict[str, Any]] = []
    gains: list[dict[str, Any]] = []
    for task, frame in predictions.items():
        truth = as_numbers(task, frame.drop_duplicates("record").sort_values("record")["label"].astype(str))
        wide = frame.pivot(index=["state", "seed"], columns="record", values="prediction").sort_index()
        answers = {state: as_numbers(task, of_state) for state, of_state in wide.groupby("state")}
        counts = np.concatenate(list(intervals.resampled_counts(len(truth), resamples, seed)))
        for metric in METRICS[task]:
            facts = {"task": task, "metric": metric, "n": len(truth), "unit": "examples"}
            if {"tuned", "random"} <= answers.keys():
                tuned, random = answers["tuned"], answers["random"]
                seeds = {"seeds": len(tuned), "random_seeds": len(random)}
                gain = exchanged_gain(metric, tuned, random, truth, intervals.level_of_parts(len(predictions)), resamples, seed)
                gains.append(facts | seeds | gain)
            for state in [state for state in STATES if state in answers]:
                constant = int((answers[state] == answers[state][:, :1]).all(axis=1).sum())
                of_models = {"state": state, "seeds": len(answers[state]), "constant_models": constant}
                values = 100 * score(metric, answers[state], truth)
                of_models |= {"value": values.mean(), "min": values.min(), "max": values.max()}
                over_examples = 100 * score(metric, answers[state], truth, counts).mean(axis=0)
                over_seeds = intervals.with_seed_variation(over_examples[:, None], values[:, None], seed)[:, 0]
                # Student's t has no bounds, but scores have.
                low, high = intervals.percentile_interval(np.clip(over_seeds, -100 if metric == "correlation" else 0, 100))
                rows.append(facts | of_models | {"ci_low": low, "ci_high": high})
            if metric != "correlation":
                classes, frequencies = np.unique(truth, return_counts=True)
                majority = np.full(len(truth), classes[frequencies.argmax()])
                rows.append(facts | {"state": "majority", "seeds": 1, "value": 100 * float(score(metric, majority, truth))})
    return {
        "scores": pd.DataFrame(rows, columns=SCORES).astype({"constant_models": "Int64"}),
        "gains": pd.DataFrame(gains, columns=GAINS),
    }


def exchanged_gain(
    metric: str, tuned: Floats, random: Floats, truth: Floats, level: float, draws: int, seed: int
) -> dict[str, float]:
    """value, ci_low, ci_high (in points) and level of the difference of the mean scores of [seed, example] predictions: pairs
    of seeds, in order, cycling through the shorter list, exchange their predictions at random.
    """
    pairs = [(random[k % len(random)], tuned[[k % len(tuned)]]) for k in range(max(len(tuned), len(random)))]
    value = float(np.mean([score(metric, after[0], truth) - score(metric, before, truth) for before, after in pairs]))
    width = float(widths(_exchanged(metric, pairs, truth, draws, seed), level)[0])
    return {"value": 100 * value, "ci_low": 100 * (value - width), "ci_high": 100 * (value + width), "level": level}


def _exchanged(metric: str, pairs: Sequence[tuple[Floats, Floats]], truth: Floats, draws: int, seed: int) -> Floats:
    """[condition, draw] mean differences over pairs (base, changed) of `swapped_differences`; all share the exchanges."""
    exchanges = random_exchanges(len(truth), draws, seed)
    null = [np.mean([swapped_differences(metric, *pair, truth, swaps) for pair in pairs], axis=0) for swaps in exchanges]
    return np.concatenate(null, axis=1)


def disabling(disabled: Mapping[str, Mapping[int, pd.DataFrame]], resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """What disabling each head, and each layer, does to the scores of task -> seed -> predictions (`models.disabled`); in
    `POINTS`, means of seeds.

    heads, layers: `FIGURE8`, `FIGURE9`. ci_*: over examples and, with several, over seeds; pair_ci_*: the same of a level that
    covers for `FRAME_HEADS` heads of every task together. summary: `SUMMARY`, a row for each task and unit (heads or layers).
    """
    parts: dict[str, list[pd.DataFrame]] = {"heads": [], "layers": []}
    summary: list[dict[str, Any]] = []
    levels = intervals.level_of_parts(len(disabled)), intervals.level_of_parts(FRAME_HEADS * len(disabled))
    for task, by_seed in disabled.items():
        frames = [frame.sort_values("record") for frame in by_seed.values()]
        truth = as_numbers(task, frames[0]["label"].astype(str))
        base = np.stack([as_numbers(task, frame["unchanged"]) for frame in frames])
        conditions = frames[0].columns.drop(["record", "label", "unchanged"])
        places = conditions.to_series().str.extract(r"(?P<layer>\d+)-(?P<head>\d+)").astype(int)
        changed = np.stack([as_numbers(task, frame[conditions].T) for frame in frames])
        facts = {"task": task, "metric": METRICS[task][0], "seeds": len(frames), "n": len(truth)}
        for unit, chosen in (("heads", places["head"] > 0), ("layers", places["head"] == 0)):
            effects = Effects(changed[:, chosen.to_numpy()], base, truth, METRICS[task][0])
            table, over_all = effect_rows(effects, resamples, seed, *levels)
            parts[unit].append(table.assign(**facts, **places[chosen].reset_index(drop=True), unit="examples"))
            summary.append(facts | {"unit": unit} | over_all)
    heads, layers = (pd.concat(parts[unit], ignore_index=True) for unit in ("heads", "layers"))
    return {"heads": heads[FIGURE8], "layers": layers[FIGURE9], "summary": pd.DataFrame(summary)[SUMMARY]}


class Effects(NamedTuple):
    """Predictions of a task's models with heads disabled, [seed, condition, example], and unchanged, [seed, example]."""

    changed: Floats
    base: Floats
    truth: Floats
    metric: str

    def deltas(self, counts: Floats | None = None) -> Floats:
        """[seed, condition] (with counts [seed, condition, resample]) score minus that of the unchanged model."""
        changed = score(self.metric, self.changed, self.truth, counts)
        return changed - score(self.metric, self.base, self.truth, counts)[:, None]


def effect_rows(
    effects: Effects, resamples: int, seed: int, level: float = 1 - LEVEL, pair_level: float = 1 - LEVEL
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Score, difference, interval and tests of every condition, and what holds for all of them together.

    ci_*: of the mean over models trained with any seed, over examples and seeds; tests and the other intervals are about these
    models, over examples. p: paired permutation test, two-sided: predictions with the head enabled and disabled are exchanged
    at random, in all seeds alike; p_adjusted: for all conditions. level: coverage of the largest and the held-out gain.
    """
    by_seed = effects.deltas()
    delta = by_seed.mean(axis=0)
    drawn = [effects.deltas(counts).mean(axis=0) for counts in intervals.resampled_counts(len(effects.truth), resamples, seed)]
    over_seeds = intervals.with_seed_variation(np.concatenate(drawn, axis=-1).T, by_seed, seed)
    low, high = intervals.percentile_interval(over_seeds)
    pair_low, pair_high = intervals.percentile_interval(over_seeds, pair_level)
    pairs = list(zip(effects.base, effects.changed, strict=True))
    null = _exchanged(effects.metric, pairs, effects.truth, resamples, seed)
    baseline = float(score(effects.metric, effects.base, effects.truth).mean())
    points = {"score": baseline + delta, "delta": delta, "ci_low": low, "ci_high": high}
    points |= {"pair_ci_low": pair_low, "pair_ci_high": pair_high}
    table = 100 * pd.DataFrame({"baseline": baseline, **points})
    table = table.assign(pair_level=pair_level, p=two_sided_p(delta, null), p_adjusted=adjusted_p(delta, null))
    best = (float(delta.max()), *largest_interval(delta, null, level))
    facts = {"baseline": 100 * baseline, "level": level, "mean_delta": 100 * float(delta.mean())}
    for name, gain in (("best", best), ("heldout", heldout_gain(effects, resamples, seed, level))):
        facts |= {f"{name}_{end}": 100 * value for end, value in zip(_GAIN, gain, strict=True)}
    # A loss and a gain of the same size leave -1e-15, shown as a loss; adding 0 makes -0 a 0.
    facts["heldout_delta"] = round(facts["heldout_delta"], 9) + 0.0
    return table, facts | {"above": float((delta > 1e-12).mean())}


def heldout_gain(effects: Effects, resamples: int, seed: int, level: float) -> tuple[float, float, float]:
    """The difference on one half of the examples of the condition that is best on the other half, mean of both directions, and
    its interval over examples: the mean of the paired bootstrap intervals of the two chosen conditions, which covers even if
    both err by the same amount.
    """
    changed, base, truth, metric = effects
    even = np.arange(len(truth)) % 2 == 0
    halves = [Effects(changed[:, :, half], base[:, half], truth[half], metric) for half in (even, ~even)]
    best = [int(half.deltas().mean(axis=0).argmax()) for half in halves]
    directions = []
    for number, (half, condition) in enumerate(zip(halves, reversed(best), strict=True)):
        chosen = half._replace(changed=half.changed[:, [condition]])
        counts = intervals.resampled_counts(len(half.truth), resamples, seed + number)
        drawn = np.concatenate([chosen.deltas(drawn).mean(axis=0)[0] for drawn in counts])
        low, high = intervals.percentile_interval(drawn, intervals.expanded_level(level, len(half.truth)))
        directions.append((float(chosen.deltas().mean()), float(low), float(high)))
    gain, low, high = np.mean(directions, axis=0)
    return float(gain), float(low), float(high)
