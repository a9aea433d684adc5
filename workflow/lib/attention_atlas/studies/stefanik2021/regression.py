"""Keyphrase detection from all heads at once: logistic regression, and the analogue of scalar mixing (softmax over heads).

Everything is held out by document: a word is judged by what was fitted to other documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from attention_atlas.errors import AtlasError
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.studies.stefanik2021.names import HEAD, MIX, REGRESSION
from attention_atlas.studies.stefanik2021.ranking import splits_of

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
COEFFICIENTS = ["layer", "head", "coefficient", "ci_low", "ci_high", "permutation_importance", "permutation_sd", "mix_weight"]
DETECTORS = ["detector", "auc", "average_precision", "f1", "cross_entropy", "share", "words", "documents"]


@dataclass(frozen=True)
class Fit:
    """How heads are combined.

    Attributes:
        folds: of documents.
        penalty: of the squares of the coefficients (scikit-learn's 1 / C).
        fits: regressions on resampled documents, for intervals.
        permutations: shufflings of a head.
        seed: of resampling and shuffling.
    """

    folds: int
    penalty: float
    fits: int
    permutations: int
    seed: int


def heldout_scores(features: Floats, key: Bools, documents: Sequence[object], fit: Fit) -> dict[str, Floats]:
    """Detector -> [word] probability (of the best head: attention) by what was fitted to, or chosen on, other documents.

    Args:
        features: [word, head].
        key: [word].
        documents: [word] what each stands in.
        fit: how.

    Raises:
        AtlasError: fewer documents than folds, or a fold with words of one kind alone to fit to.
    """
    found = {name: np.zeros(len(key)) for name in (REGRESSION, MIX, HEAD)}
    for training, held in splits_of(documents, fit.folds):
        if key[training].all() or not key[training].any():
            raise AtlasError("there are no words of keyphrases, or no others, to fit to: take more documents.")
        model = _regression(fit.penalty).fit(features[training], key[training])
        found[REGRESSION][held] = model.predict_proba(features[held])[:, 1]
        found[MIX][held] = Mix.fitted(features[training], key[training]).probabilities(features[held])
        best = np.argmax([roc_auc_score(key[training], features[training, head]) for head in range(features.shape[1])])
        found[HEAD][held] = features[held, best]
    return found


def detector_rows(scores: dict[str, Floats], key: Bools, documents: Sequence[object]) -> pd.DataFrame:
    """A row a detector (`DETECTORS`); f1 at probability 0.5 of the balanced regression, none for a head's attention."""
    rows = []
    for name, own in scores.items():
        proper = name != HEAD
        rows.append(
            [
                name,
                roc_auc_score(key, own),
                average_precision_score(key, own),
                f1_score(key, own >= 0.5) if name == REGRESSION else np.nan,
                log_loss(key, own) if proper else np.nan,
                key.mean(),
                len(key),
                len(set(documents)),
            ]
        )
    return pd.DataFrame(rows, columns=DETECTORS)


def coefficient_rows(features: Floats, key: Bools, documents: Sequence[object], fit: Fit) -> pd.DataFrame:
    """A row a head (`COEFFICIENTS`).

    coefficient: of the standardised feature, with the interval over resampled documents (heads of like attention share their
    weight: a coefficient is no importance). permutation_importance: what AUC on other documents loses when the head's
    feature is shuffled over words. mix_weight: softmax weight of the mix.

    Args:
        features: [word, layer, head].
        key, documents, fit: see `heldout_scores`.

    Raises:
        AtlasError: as `heldout_scores`.
    """
    words, layers, heads = features.shape
    flat = features.reshape(words, -1)
    splits = splits_of(documents, fit.folds)
    coefficients = _coefficients(_regression(fit.penalty).fit(flat, key))
    low, high = percentile_interval(_resampled_coefficients(flat, key, documents, fit))
    losses = np.stack([_permuted(flat, key, split, fit, number) for number, split in enumerate(splits)])
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    mix = Mix.fitted(flat, key).weights
    columns = (layer, head, coefficients, low, high, losses.mean(axis=(0, 1)), losses.std(axis=(0, 1)), mix)
    return pd.DataFrame(dict(zip(COEFFICIENTS, columns, strict=True)))


def _regression(penalty: float) -> Pipeline:
    # Words of keyphrases are few: both kinds weigh the same.
    return make_pipeline(StandardScaler(), LogisticRegression(C=1 / penalty, class_weight="balanced", max_iter=1000))


def _coefficients(model: Pipeline) -> Floats:
    return np.asarray(model[-1].coef_[0], dtype=np.float64)


def _resampled_coefficients(features: Floats, key: Bools, documents: Sequence[object], fit: Fit) -> Floats:
    """[fit, head] coefficients on documents drawn anew; a document drawn twice weighs twice."""
    groups = pd.factorize(np.asarray(documents, dtype=object))[0]
    found = []
    for counts in resampled_counts(groups.max() + 1, fit.fits, fit.seed):
        for own in counts:
            weights = own[groups]
            kept = weights > 0
            if key[kept].any() and not key[kept].all():
                steps = {"standardscaler__sample_weight": weights[kept], "logisticregression__sample_weight": weights[kept]}
                found.append(_coefficients(_regression(fit.penalty).fit(features[kept], key[kept], **steps)))
    return np.array(found)


def _permuted(
    features: Floats, key: Bools, split: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]], fit: Fit, number: int
) -> Floats:
    """[shuffling, head] AUC lost on the held words.

    The regression is linear, so that shuffling one feature changes its score by the difference of one product.
    """
    training, held = split
    model = _regression(fit.penalty).fit(features[training], key[training])
    scaled = model[0].transform(features[held])
    score, weights = model.decision_function(features[held]), _coefficients(model)
    whole = roc_auc_score(key[held], score)
    generator = np.random.default_rng([fit.seed, number])
    lost = np.zeros((fit.permutations, features.shape[1]))
    for draw in range(fit.permutations):
        order = generator.permutation(len(held))
        for head in range(features.shape[1]):
            changed = score + weights[head] * (scaled[order, head] - scaled[:, head])
            lost[draw, head] = whole - roc_auc_score(key[held], changed)
    return lost


@dataclass(frozen=True)
class Mix:
    """p(key) = sigmoid(gamma * sum_h softmax(a)_h z_h + bias) of standardised features z: the analogue of scalar mixing
    (Tenney et al. 2019, equation 1), which the slides name.

    Attributes:
        weights: [head] softmax(a).
        gamma, bias: of the mixed feature.
        mean, scale: [head] of the features that it was fitted to.
    """

    weights: Floats
    gamma: float
    bias: float
    mean: Floats
    scale: Floats

    @classmethod
    def fitted(cls, features: Floats, key: Bools) -> Mix:
        """The mix of least cross-entropy, from even weights; a and gamma by L-BFGS with exact gradients.

        The first gamma has the sign under which the even mix detects; a mix of positive weights has one sign for all heads.
        """
        mean, scale = features.mean(axis=0), features.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        inputs, targets = (features - mean) / scale, key.astype(np.float64)
        heads = inputs.shape[1]

        def loss(free: Floats) -> tuple[float, Floats]:
            weights = softmax(free[:heads])
            mixed = inputs @ weights
            score = free[heads] * mixed + free[heads + 1]
            value = np.mean(np.logaddexp(0, score) - targets * score)
            slope = (expit(score) - targets) / len(targets)
            by_weight = free[heads] * (slope @ inputs)
            by_logit = weights * (by_weight - weights @ by_weight)
            return float(value), np.concatenate([by_logit, [slope @ mixed, slope.sum()]])

        even = inputs.mean(axis=1)
        sign = 1.0 if even[key].mean() >= even[~key].mean() else -1.0
        begin = np.concatenate([np.zeros(heads), [sign, np.log(key.mean() / (1 - key.mean()))]])
        free = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        return cls(softmax(free[:heads]), float(free[heads]), float(free[heads + 1]), mean, scale)

    def probabilities(self, features: Floats) -> Floats:
        """[word] of features [word, head]."""
        return expit(self.gamma * (((features - self.mean) / self.scale) @ self.weights) + self.bias)
