"""Ranking of heads: how well the attention of each head alone detects keyphrases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attention_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
RANKING = ["layer", "head", "auc", "average_precision", "cross_entropy", "cross_entropy_none", "slide_entropy", "share", "n"]
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


def head_ranking(features: npt.ArrayLike, key: npt.ArrayLike, documents: Sequence[object], folds: int = 5) -> pd.DataFrame:
    """A row a head (`RANKING`), the best by calibrated cross-entropy first.

    Args:
        features: [word, layer, head] attention that each word receives.
        key: [word] whether it belongs to a keyphrase.
        documents: [word] its document; words of one document are in one fold.
        folds: of documents, for the calibration.

    Returns:
        auc, average_precision: of the raw attention. cross_entropy: nats per word, of a probability by a logistic function of
        the attention that was fitted to other documents; cross_entropy_none: of the base rate of other documents.
        slide_entropy: the slides' sum over words, with attention itself as probability. share: of key words; n: words.

    Raises:
        AtlasError: fewer documents than folds, or words of one kind alone.
    """
    received, flags = np.asarray(features, dtype=np.float64), np.asarray(key, dtype=np.bool_)
    splits = splits_of(documents, folds)
    if flags.all() or not flags.any():
        raise AtlasError("keyphrase detection needs words of keyphrases and other words.")
    base_rates = np.empty(len(flags))
    for training, heldout in splits:
        base_rates[heldout] = flags[training].mean()
    base_entropy = log_loss(flags, base_rates, labels=[False, True])
    rows = []
    for layer, head in np.ndindex(received.shape[1:]):
        values = received[:, layer, head]
        model = make_pipeline(StandardScaler(), LogisticRegression())
        calibrated = cross_val_predict(model, values[:, None], flags, cv=splits, method="predict_proba")[:, 1]
        clipped = np.clip(values, _CLIP, 1 - _CLIP)
        slide = -(np.log(clipped[flags]).sum() + np.log1p(-clipped[~flags]).sum())
        quality = roc_auc_score(flags, values), average_precision_score(flags, values)
        rows.append([layer + 1, head + 1, *quality, log_loss(flags, calibrated, labels=[False, True]), base_entropy, slide])
    table = pd.DataFrame(rows, columns=RANKING[:-2]).assign(share=flags.mean(), n=len(flags))
    return table.sort_values("cross_entropy", kind="stable", ignore_index=True)
