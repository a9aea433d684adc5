"""Figures 8 and 9 as tables: the effect of disabling a head, or a layer, on the score of a task, with tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_parquet, write_table
from attention_atlas.stats.bootstrap import expanded_level, percentile_interval, resampled_counts
from attention_atlas.stats.extremes import largest_interval
from attention_atlas.stats.levels import level_of_parts
from attention_atlas.stats.paired_tests import mcnemar
from attention_atlas.stats.rank_correlation import spearman
from attention_atlas.stats.seed_variation import with_seed_variation
from attention_atlas.stats.simultaneous import adjusted_p, corrected_p, random_exchanges, too_few_draws, two_sided_p
from attention_atlas.studies.kovaleva2019.names import BASELINE, DISABLED_COLUMNS, LEVEL, TASK_TITLES
from attention_atlas.studies.kovaleva2019.points import POINTS
from attention_atlas.studies.kovaleva2019.scoring import (
    ACCURACY,
    METRICS,
    as_numbers,
    one_answer_note,
    score,
    swapped_differences,
)

Floats = npt.NDArray[np.float64]
_STATISTICS = ["score", "delta", "ci_low", "ci_high", "p", "p_mcnemar", "p_adjusted", "p_bh"]
_COUNTED = "examples"
"""What n counts."""
FRAME_HEADS = 2
"""Heads for frame-semantic relations, whose disabling section 5 discusses."""
_PAIR = ["pair_ci_low", "pair_ci_high", "pair_level"]
FIGURE8 = ["task", "action", "layer", "head", "metric", "baseline", *_STATISTICS, *_PAIR, "seed_rho", "seeds", "n", "unit"]
FIGURE9 = [name for name in FIGURE8 if name not in ("head", *_PAIR)]
BY_SEED = ["task", "seed", "kind", "layer", "head", "metric", "baseline", "value", "p", "p_adjusted"]


@dataclass(frozen=True)
class Effects:
    """Predictions of a task's models under one action, [seed, condition, example], and unchanged, [seed, example].

    Attributes:
        changed, base: predictions as numbers.
        truth: [example].
        metric: of the task.
    """

    changed: Floats
    base: Floats
    truth: Floats
    metric: str

    def deltas(self, counts: Floats | None = None) -> Floats:
        """[seed, condition] (with counts [seed, condition, resample]) score minus that of the unchanged model."""
        changed = score(self.metric, self.changed, self.truth, counts)
        return changed - score(self.metric, self.base, self.truth, counts)[:, None]

    def among(self, examples: npt.NDArray[np.bool_]) -> Effects:
        """The effects on some of the examples."""
        return Effects(self.changed[:, :, examples], self.base[:, examples], self.truth[examples], self.metric)

    def by_seed(self) -> list[Effects]:
        """The effects of each seed separately."""
        pairs = zip(self.changed, self.base, strict=True)
        return [Effects(changed[None], base[None], self.truth, self.metric) for changed, base in pairs]


def disabling_tables(
    files: Mapping[str, Mapping[int, str | Path]],
    labels: Mapping[str, RunLabel],
    resamples: int,
    seed: int,
    by_seed_out: str | Path,
    heads_out: str | Path,
    layers_out: str | Path,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write `BY_SEED`, `FIGURE8` and `FIGURE9`, and a row for each task, action and unit with its page.

    Args:
        files: task -> seed of the model -> predictions written by `disabling.disable`.
        labels: task -> run, model and corpus.
        resamples, seed: of the bootstrap and of the exchanges.
        by_seed_out: `BY_SEED`, each model separately; kind is the action, head is empty for a whole layer.
        heads_out, layers_out: `FIGURE8`, `FIGURE9`; scores and differences are means over seeds, in points (`points`).
            ci_low, ci_high: over examples and, with several, over seeds; pair_ci_low, pair_ci_high: the same of a level
            (pair_level) that covers for `FRAME_HEADS` heads of every task together. seed_rho: Spearman's rank correlation of
            the differences of all heads (or layers) between two seeds, mean over pairs of seeds. unit: what n counts.
        out, html_out: the summary: best and worst, the held-out gain (chosen on one half of the examples, measured on the
            other), p_adjusted of the best and of the worst, and intervals of the largest true gain (best_ci_low, best_ci_high)
            and of the held-out gain that cover for all tasks together (level); n_unit: what n counts.

    Raises:
        AtlasError: a table cannot be used.
    """
    single: list[pd.DataFrame] = []
    heads: list[pd.DataFrame] = []
    layers: list[pd.DataFrame] = []
    summary: list[dict[str, Any]] = []
    unchanged: dict[str, Floats] = {}
    for task, paths in files.items():
        for action in _actions(next(iter(paths.values()))):
            keys, effects = _effects(task, list(paths.values()), action)
            unchanged[TASK_TITLES[task]] = effects.base
            for unit, chosen, rows in (("heads", keys["head"] > 0, heads), ("layers", keys["head"] == 0, layers)):
                unit_effects = Effects(effects.changed[:, chosen.to_numpy()], effects.base, effects.truth, effects.metric)
                levels = level_of_parts(len(files)), level_of_parts(FRAME_HEADS * len(files))
                table, facts = effect_rows(unit_effects, resamples, seed, *levels)
                places = keys[chosen].reset_index(drop=True)
                by_seed = [table]
                if len(paths) > 1:
                    by_seed = [effect_rows(seed_effects, resamples, seed)[0] for seed_effects in unit_effects.by_seed()]
                metric = unit_effects.metric
                single += [_one_model(task, action, metric, *pair, places) for pair in zip(paths, by_seed, strict=True)]
                named = {"task": task, "action": action, "metric": metric, "seeds": len(paths), "n": len(effects.truth)}
                rows.append(pd.concat([places, table], axis=1).assign(**named, seed_rho=facts["seed_rho"], unit=_COUNTED))
                summary.append({**named, "unit": unit, "n_unit": _COUNTED, **_named(facts, places)})
    write_table(pd.concat(single, ignore_index=True)[BY_SEED], by_seed_out)
    write_table(pd.concat(heads, ignore_index=True)[FIGURE8], heads_out)
    write_table(pd.concat(layers, ignore_index=True)[FIGURE9], layers_out)
    intervals = ["best_ci_low", "best_ci_high", "heldout_delta", "heldout_ci_low", "heldout_ci_high", "level"]
    best = ["best", "best_delta", *intervals, "best_p_adjusted"]
    worst = ["worst", "worst_delta", "worst_p_adjusted"]
    others = ["mean_delta", "above", "seed_rho", "seeds", "n", "n_unit"]
    columns = ["task", "action", "unit", "metric", "baseline", *best, *worst, *others]
    table = pd.DataFrame(summary)[columns]
    write_table(table, out)
    refusals = [
        f"{name}: {too_few_draws('p_bh', max(map(len, frames)), LEVEL)}"
        for name, frames in (("figure8.tsv", heads), ("figure9.tsv", layers))
        if any(frame["p_bh"].isna().any() for frame in frames)
    ]
    warnings = [f"{sentence} Changes of their scores say nothing about their heads." for sentence in one_answer_note(unchanged)]
    _page(table, labels, resamples, [*refusals, *warnings], html_out)


def _one_model(task: str, action: str, metric: str, seed: int, table: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """The rows of `BY_SEED` for one seed, from those of `effect_rows`."""
    head = places["head"].astype("Int64").where(places["head"] > 0)
    facts = {"task": task, "seed": seed, "kind": action, "metric": metric}
    return table.rename(columns={"score": "value"}).assign(layer=places["layer"], head=head, **facts)


def _actions(path: str | Path) -> list[str]:
    """Actions of a table of predictions, in order, without the unchanged model."""
    return [action for action in read_parquet(path, ["action"])["action"].unique() if action != BASELINE]


def _effects(task: str, paths: Sequence[str | Path], action: str) -> tuple[pd.DataFrame, Effects]:
    """Conditions of an action, and their effects; for a large task at most one action of one seed is read at a time."""
    changed, base = [], []
    keys, truth = pd.DataFrame(), np.empty(0)
    for path in paths:
        unchanged = read_parquet(path, DISABLED_COLUMNS, {"action": BASELINE}).sort_values("record")
        base.append(as_numbers(task, unchanged["prediction"].tolist()))
        if not len(truth):
            truth = as_numbers(task, unchanged["label"].tolist())
        rows = read_parquet(path, ["layer", "head", "record", "prediction"], {"action": action})
        codes, predictions = pd.factorize(rows["prediction"])
        rows["prediction"] = as_numbers(task, predictions.tolist())[codes]
        numbers = rows.pivot(index=["layer", "head"], columns="record", values="prediction").sort_index()
        keys = numbers.index.to_frame(index=False)
        changed.append(numbers.to_numpy())
    return keys, Effects(np.stack(changed), np.stack(base), truth, METRICS[task][0])


def effect_rows(
    effects: Effects, resamples: int, seed: int, level: float = 1 - LEVEL, pair_level: float = 1 - LEVEL
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Score, difference, interval and tests of every condition, and what holds for all of them together.

    ci_low, ci_high: of the mean over models trained with any seed, over resampled examples and seeds (over examples alone with
    a single seed); tests and the other intervals are about the models as they are, over examples.
    p: paired permutation test, two-sided: predictions with the head enabled and disabled are exchanged at random, example by
    example. p_mcnemar: McNemar's exact test on the first seed (accuracy alone).
    p_adjusted: adjusted for all conditions by the maximum statistic of the same exchanges (`simultaneous.adjusted_p`).
    p_bh: p corrected by Benjamini and Hochberg, empty with too few exchanges (`simultaneous.corrected_p`).

    Args:
        effects: predictions under the conditions.
        resamples: of the bootstrap, and exchanges.
        seed: of both.
        level: coverage of the intervals of the largest and of the held-out gain.
        pair_level: coverage of the intervals pair_ci_low, pair_ci_high.
    """
    examples = len(effects.truth)
    by_seed = effects.deltas()
    delta = by_seed.mean(axis=0)
    drawn = [effects.deltas(counts).mean(axis=0) for counts in resampled_counts(examples, resamples, seed)]
    over_seeds = with_seed_variation(np.concatenate(drawn, axis=-1).T, by_seed, seed)
    low, high = percentile_interval(over_seeds)
    pair_low, pair_high = percentile_interval(over_seeds, pair_level)
    null = _exchanged(effects, resamples, seed)
    p, p_adjusted = two_sided_p(delta, null), adjusted_p(delta, null)
    baseline = float(score(effects.metric, effects.base, effects.truth).mean())
    table = pd.DataFrame(
        {
            "baseline": 100 * baseline,
            "score": 100 * (baseline + delta),
            "delta": 100 * delta,
            "ci_low": 100 * low,
            "ci_high": 100 * high,
            "pair_ci_low": 100 * pair_low,
            "pair_ci_high": 100 * pair_high,
            "pair_level": pair_level,
            "p": p,
            "p_mcnemar": _mcnemar(effects) if effects.metric == ACCURACY else np.nan,
            "p_adjusted": p_adjusted,
            "p_bh": corrected_p(p, "bh", 1 / (1 + resamples), LEVEL),
        }
    )
    best, worst = int(delta.argmax()), int(delta.argmin())
    best_low, best_high = largest_interval(delta, null, level)
    heldout, heldout_low, heldout_high = heldout_gain(effects, resamples, seed, level)
    facts = {
        "baseline": 100 * baseline,
        "best": best,
        "best_delta": 100 * float(delta[best]),
        "best_ci_low": 100 * best_low,
        "best_ci_high": 100 * best_high,
        "best_p_adjusted": float(p_adjusted[best]),
        # A loss and a gain of the same size leave a rest of -1e-15, which would be shown as a loss; adding 0 makes -0 a 0.
        "heldout_delta": round(100 * heldout, 9) + 0.0,
        "heldout_ci_low": 100 * heldout_low,
        "heldout_ci_high": 100 * heldout_high,
        "level": level,
        "worst": worst,
        "worst_delta": 100 * float(delta[worst]),
        "worst_p_adjusted": float(p_adjusted[worst]),
        "mean_delta": 100 * float(delta.mean()),
        "above": float((delta > 1e-12).mean()),
        "seed_rho": _between_seeds(by_seed),
    }
    return table, facts


def _exchanged(effects: Effects, draws: int, seed: int) -> Floats:
    """[condition, draw] mean difference over seeds after the predictions of some examples are exchanged, in all seeds alike."""
    null = []
    for exchanges in random_exchanges(len(effects.truth), draws, seed):
        by_seed = [
            swapped_differences(effects.metric, base, changed, effects.truth, exchanges)
            for base, changed in zip(effects.base, effects.changed, strict=True)
        ]
        null.append(np.mean(by_seed, axis=0))
    return np.concatenate(null, axis=1)


def _between_seeds(by_seed: Floats) -> float:
    """Mean over pairs of seeds of the rank correlation of [seed, condition] differences; NaN for a single seed."""
    pairs = [float(spearman(first, second)) for first, second in combinations(by_seed, 2)]
    return float(np.mean(pairs)) if pairs else float("nan")


def _mcnemar(effects: Effects) -> Floats:
    """[condition] between the unchanged model and each condition, on the first seed."""
    return mcnemar(effects.base[0] == effects.truth, effects.changed[0] == effects.truth)


def heldout_gain(effects: Effects, resamples: int, seed: int, level: float) -> tuple[float, float, float]:
    """The difference on one half of the examples of the condition that is best on the other half, mean of both directions.

    Its interval is about the two conditions that were chosen: the mean of their paired bootstrap intervals, each over the half
    that did not choose. The two directions are not independent, since the half that chooses one condition is the half that
    the other is measured on: if conditions are alike, both differences err to the same side. Resampling the mean of both
    directions as if they were independent would exclude a true difference of 0 in up to 10 % of data sets instead of 5 %. The
    mean of the intervals covers even if both err by the same amount, so that it is rather too wide.

    Args:
        effects: predictions under the conditions.
        resamples, seed: of the bootstrap over the examples of a half.
        level: coverage of the interval.

    Returns:
        The difference, and the ends of its interval; the models are those at hand, so that the interval is over examples.
    """
    even = np.arange(len(effects.truth)) % 2 == 0
    halves = [effects.among(half) for half in (even, ~even)]
    best = [int(half.deltas().mean(axis=0).argmax()) for half in halves]
    directions = []
    for number, (half, condition) in enumerate(zip(halves, reversed(best), strict=True)):
        chosen = Effects(half.changed[:, [condition]], half.base, half.truth, half.metric)
        counts = resampled_counts(len(half.truth), resamples, seed + number)
        drawn = np.concatenate([chosen.deltas(drawn).mean(axis=0)[0] for drawn in counts])
        low, high = percentile_interval(drawn, expanded_level(level, len(half.truth)))
        directions.append((float(chosen.deltas().mean()), float(low), float(high)))
    gain, low, high = np.mean(directions, axis=0)
    return float(gain), float(low), float(high)


def _named(facts: dict[str, Any], places: pd.DataFrame) -> dict[str, Any]:
    def name(row: int) -> str:
        layer, head = int(places["layer"][row]), int(places["head"][row])
        return f"{layer}-{head}" if head else str(layer)

    return facts | {key: name(facts[key]) for key in ("best", "worst")}


def _page(
    table: pd.DataFrame, labels: Mapping[str, RunLabel], resamples: int, warnings: Sequence[str], path: str | Path
) -> None:
    shown = table.assign(task=[TASK_TITLES[name] for name in table["task"]])
    notes = [
        *joint_lines(labels.values()),
        f"Scores and differences in {POINTS}. best_delta is the largest of many differences, measured on the examples "
        "on which it is selected; heldout_delta selects on one half of the examples and measures on the other, and vice versa "
        "(mean). best_ci_low to best_ci_high: interval of the largest true difference, corrected for the selection (maximum "
        "statistic of the exchanges below); heldout_ci_low to heldout_ci_high: interval of heldout_delta, paired bootstrap of "
        "the selected heads (or layers) on the half that did not select them. Both cover all tasks together with 95 % (level "
        "is that of one task), and are over examples, for the models of these seeds. best_p_adjusted and "
        "worst_p_adjusted: two-sided p of these differences, adjusted for all heads (or layers) by the maximum statistic when "
        f"predictions with the head enabled and disabled are exchanged at random ({resamples} exchanges; Westfall and Young "
        "1993; predictions of STS-B are standardised or ranked within each model before they are exchanged). above: share of "
        "heads (or layers) whose disabling raises the score. seed_rho: rank correlation between seeds of the differences of "
        "all heads (or layers), mean over pairs of seeds. uniform: uniform attention to all real "
        "tokens (the paper); zero: zero output; mean: mean output. No model is retrained.",
        "In the paper the largest gain on RTE, 1.1 percentage points, is three of 277 examples; that on SST-2 is two of 872.",
        f"Intervals and tests resample {_COUNTED}: the corpora name no documents.",
        *warnings,
    ]
    intervals = ("best_ci_low", "best_ci_high", "heldout_ci_low", "heldout_ci_high")
    points = ("baseline", "best_delta", "heldout_delta", "worst_delta", "mean_delta", *intervals)
    formats = {"seeds": "d", "n": "d", "above": ".0%", "level": ".4g"} | dict.fromkeys(points, ".2f")
    formats |= dict.fromkeys(("best_p_adjusted", "worst_p_adjusted"), ".3f") | {"seed_rho": ".2f"}
    write_html_table(shown, path, "Kovaleva et al. 2019, Figures 8 and 9: disabling heads and layers", notes, formats=formats)
