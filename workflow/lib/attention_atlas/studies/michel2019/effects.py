"""What masks do to a score, over examples: differences, intervals and tests, from what each example adds to the score."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.multitest import multipletests

from attention_atlas.bleu import bleu, sentence_counts
from attention_atlas.statistics import mcnemar, percentile_interval, resampled_counts
from attention_atlas.studies.michel2019 import masked_classes, masked_translations
from attention_atlas.studies.michel2019.masks import KEYS, NONE
from attention_atlas.tables import read_parquet

Floats = npt.NDArray[np.float64]
BLEU, ACCURACY = "BLEU", "accuracy"


@dataclass(frozen=True)
class Masked:
    """What every example adds to the score under each mask.

    Attributes:
        metric: `BLEU` or `ACCURACY`.
        keys: a row a mask, columns `KEYS`.
        base: [example, part] without a mask.
        parts: [mask, example, part]: counts of n-grams and lengths, or whether the answer is right.
    """

    metric: str
    keys: pd.DataFrame
    base: Floats
    parts: Floats

    def score(self, sums: Floats) -> Floats:
        """Scores in percent of summed parts, [..., part] -> [...]."""
        if self.metric == BLEU:
            return bleu(sums)
        return 100 * sums[..., 0] / sums[..., 1]

    def only(self, chosen: npt.NDArray[np.bool_]) -> Masked:
        """Some of the masks."""
        return Masked(self.metric, self.keys[chosen].reset_index(drop=True), self.base, self.parts[chosen])

    def of_examples(self, chosen: npt.NDArray[np.bool_]) -> Masked:
        """Some of the examples."""
        return Masked(self.metric, self.keys, self.base[chosen], self.parts[:, chosen])

    @property
    def baseline(self) -> float:
        """Score without a mask."""
        return float(self.score(self.base.sum(axis=0)))

    @property
    def deltas(self) -> Floats:
        """[mask] score under the mask minus that without."""
        return self.score(self.parts.sum(axis=1)) - self.baseline


def read_translations(path: str | Path) -> Masked:
    """Counts of n-grams of every translation (`masked_translations.COLUMNS`).

    Raises:
        AtlasError: the table cannot be used.
    """
    frame = read_parquet(path, masked_translations.COLUMNS)
    # Most masks change few translations: each text is counted once.
    distinct = frame[["translation", "reference"]].drop_duplicates()
    counts = sentence_counts(distinct["translation"].tolist(), distinct["reference"].tolist())
    places = pd.MultiIndex.from_frame(distinct).get_indexer(pd.MultiIndex.from_frame(frame[["translation", "reference"]]))
    return _by_mask(BLEU, frame, counts[places])


def read_classes(path: str | Path) -> Masked:
    """Right answers (`masked_classes.COLUMNS`).

    Raises:
        AtlasError: the table cannot be used.
    """
    frame = read_parquet(path, masked_classes.COLUMNS)
    right = (frame["prediction"] == frame["label"]).to_numpy(np.float64)
    return _by_mask(ACCURACY, frame, np.stack([right, np.ones_like(right)], axis=1))


def _by_mask(metric: str, frame: pd.DataFrame, parts: Floats) -> Masked:
    keys = frame[list(KEYS)].drop_duplicates(ignore_index=True)
    wide = parts.reshape(len(keys), -1, parts.shape[1])
    unmasked = (keys["masked"] == NONE).to_numpy()
    return Masked(metric, keys[~unmasked].reset_index(drop=True), wide[unmasked][0], wide[~unmasked])


def effect_rows(masked: Masked, resamples: int, seed: int) -> pd.DataFrame:
    """A row a mask: `KEYS`, metric, score, baseline, delta, ci_low, ci_high, p, p_holm, p_bh, n.

    BLEU: p of the paired bootstrap as in sacrebleu: how often the absolute difference of a resample exceeds the mean of all
    such differences by as much as the difference itself; 1 where no translation changes. Accuracy: McNemar's exact test. Both
    two-sided; Holm and Benjamini-Hochberg over all rows.

    Args:
        masked: what was measured.
        resamples, seed: of the bootstrap over examples, for intervals and p.
    """
    delta = masked.deltas
    drawn = []
    for counts in resampled_counts(len(masked.base), resamples, seed):
        own = masked.score(np.einsum("re,mep->rmp", counts, masked.parts, optimize=True))
        drawn.append(own - masked.score(counts @ masked.base)[:, None])
    differences = np.concatenate(drawn)
    low, high = percentile_interval(differences)
    if masked.metric == ACCURACY:
        p = mcnemar(masked.base[:, 0] > 0, masked.parts[:, :, 0] > 0)
    else:
        p = _paired_bootstrap(differences, delta)
    columns = {"metric": masked.metric, "score": masked.baseline + delta, "baseline": masked.baseline, "delta": delta}
    tests = {"p": p, "p_holm": multipletests(p, method="holm")[1], "p_bh": multipletests(p, method="fdr_bh")[1]}
    return masked.keys.assign(**columns, ci_low=low, ci_high=high, **tests, n=len(masked.base))


def _paired_bootstrap(differences: Floats, delta: Floats) -> Floats:
    sizes = np.abs(differences)
    # sacrebleu counts larger ones alone, which calls a head that changes no translation the surest of all.
    beyond = (sizes - sizes.mean(axis=0) >= np.abs(delta) - 1e-12).sum(axis=0)
    return (beyond + 1) / (len(differences) + 1)


def best_by_layer(masked: Masked, resamples: int, seed: int) -> pd.DataFrame:
    """For each kind and layer the mask with the best score: its row of `effect_rows`, and heldout_delta.

    heldout_delta: the difference on one half of the examples of the head that is best on the other half, mean of both ways; the
    paper chooses and reports on the same examples. Tests are corrected over the rows that are left.
    """
    rows = effect_rows(masked, resamples, seed)
    even = np.arange(len(masked.base)) % 2 == 0
    halves = [masked.of_examples(half).deltas for half in (even, ~even)]
    groups = rows.groupby(["kind", "layer"], sort=False)
    held = []
    for _, own in groups:
        places = own.index.to_numpy()
        held.append(np.mean([other[places[one[places].argmax()]] for one, other in (halves, halves[::-1])]))
    best = rows.loc[groups["delta"].idxmax()].assign(heldout_delta=held)
    corrected = {name: multipletests(best["p"], method=method)[1] for name, method in (("p_holm", "holm"), ("p_bh", "fdr_bh"))}
    return best.assign(**corrected).reset_index(drop=True)
