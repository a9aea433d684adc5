"""Ranking of heads: how well the attention of each head alone detects keyphrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attention_atlas.errors import AtlasError
from attention_atlas.stats.auc import aucs, clustered_auc_intervals

Floats = npt.NDArray[np.float64]
RANKING = [
    *("layer", "head", "auc", "average_precision", "cross_entropy", "cross_entropy_none", "slide_entropy", "share", "n"),
    *("auc_low", "auc_high", "documents", "n_unit"),
]
_CLIP = 1e-12
"""Least probability in the slides' entropy, which uses attention as a probability; attention may be 0."""


def splits_of(documents: Sequence[object], folds: int) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """(training words, held-out words) of each fold; the words of a document are on one side.

    Raises:
        AtlasError: fewer documents than folds.
    """
    groups = pd.factorize(np.asarray(documents, dtype=object))[0]
    if len(np.unique(groups)) < folds:
        raise AtlasError(f"{len(np.unique(groups))} documents cannot be split into {folds} folds: use more documents.")
    return list(GroupKFold(folds).split(groups, groups=groups))


@dataclass(frozen=True)
class CalibratedHeads:
    """Sums over the words of each document, in the order of the documents.

    Attributes:
        cross_entropy: [document, head] nats, of a probability by a logistic function of the attention, which is fitted to other
            documents.
        base: [document] of the base rate of other documents.
        slide: [document, head] the slides' sum, with attention itself as probability.
    """

    cross_entropy: Floats
    base: Floats
    slide: Floats


def calibrated_heads(features: npt.ArrayLike, key: npt.ArrayLike, documents: Sequence[object], folds: int) -> CalibratedHeads:
    """Calibrate each head alone, for `head_ranking`.

    Args:
        features: [word, layer, head] attention that each word receives.
        key: [word] whether it belongs to a keyphrase.
        documents: [word] its document; words of one document are in one fold.
        folds: of documents.

    Raises:
        AtlasError: fewer documents than folds, or words of only one kind.
    """
    splits = splits_of(documents, folds)
    received, flags = _checked(features, key)
    numbers = pd.factorize(np.asarray(documents, dtype=object))[0]
    base_rates = np.empty(len(flags))
    for training, heldout in splits:
        base_rates[heldout] = flags[training].mean()
    model = make_pipeline(StandardScaler(), LogisticRegression())
    cross_entropy, slide = [], []
    for values in received.reshape(len(flags), -1).T:
        calibrated = cross_val_predict(model, values[:, None], flags, cv=splits, method="predict_proba")[:, 1]
        cross_entropy.append(np.bincount(numbers, _losses(calibrated, flags, np.finfo(np.float64).eps)))
        slide.append(np.bincount(numbers, _losses(values, flags, _CLIP)))
    base = np.bincount(numbers, _losses(base_rates, flags, np.finfo(np.float64).eps)).astype(np.float64)
    return CalibratedHeads(np.stack(cross_entropy, axis=1), base, np.stack(slide, axis=1))


def head_ranking(
    features: npt.ArrayLike, key: npt.ArrayLike, documents: Sequence[object], calibrated: CalibratedHeads
) -> pd.DataFrame:
    """One row for each head (`RANKING`), the best by calibrated cross-entropy first.

    Args:
        features, key, documents: see `calibrated_heads`.
        calibrated: their calibration.

    Returns:
        auc, average_precision: of the raw attention; auc_low, auc_high: 95 % interval of the AUC over documents. cross_entropy:
        nats per word, of a probability by a logistic function of the attention that was fitted to other documents;
        cross_entropy_none: of the base rate of other documents. slide_entropy: the slides' sum over words, with attention
        itself as probability. share: of keyphrase words; n: number of words (n_unit); documents: their number.

    Raises:
        AtlasError: words of only one kind.
    """
    received, flags = _checked(features, key)
    numbers = pd.factorize(np.asarray(documents, dtype=object))[0]
    flat = received.reshape(len(flags), -1)
    low, high = clustered_auc_intervals(flat, flags, numbers)
    layer, head = np.indices(received.shape[1:]).reshape(2, -1) + 1
    columns = {
        "layer": layer,
        "head": head,
        "auc": aucs(flat, flags),
        "average_precision": [average_precision_score(flags, values) for values in flat.T],
        "cross_entropy": calibrated.cross_entropy.sum(axis=0) / len(flags),
        "cross_entropy_none": calibrated.base.sum() / len(flags),
        "slide_entropy": calibrated.slide.sum(axis=0),
        "share": flags.mean(),
        "n": len(flags),
        "auc_low": low,
        "auc_high": high,
        "documents": len(calibrated.base),
        "n_unit": "words",
    }
    return pd.DataFrame(columns)[RANKING].sort_values("cross_entropy", kind="stable", ignore_index=True)


def _checked(features: npt.ArrayLike, key: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.bool_]]:
    flags = np.asarray(key, dtype=np.bool_)
    if flags.all() or not flags.any():
        raise AtlasError("these documents have no keyphrase words, or no others: raise `limit`, or name another corpus.")
    return np.asarray(features, dtype=np.float64), flags


def _losses(probabilities: Floats, flags: npt.NDArray[np.bool_], least: float) -> Floats:
    """[word] negative logarithm of the probability of the word's kind."""
    clipped = np.clip(probabilities, least, 1 - least)
    return -np.where(flags, np.log(clipped), np.log1p(-clipped))
