"""Keyphrase detection from all heads at once: logistic regression, and the analogue of scalar mixing (softmax over heads).

Held out by document: the score of a word comes from a fit to other documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from attention_atlas.methods.units import DOCUMENTS
from attention_atlas.stats.auc import aucs
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.stats.paired_tests import mean_interval
from attention_atlas.studies.stefanik2021.names import HEAD, MIX, REGRESSION, STATISTICS
from attention_atlas.studies.stefanik2021.ranking import splits_of

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
COEFFICIENTS = ["layer", "head", "coefficient", "ci_low", "ci_high", "permutation_importance", "permutation_sd", "mix_weight"]
DETECTORS = [
    *("detector", "auc", "average_precision", "f1", "cross_entropy", "share", "words", "documents"),
    *("document_auc", "ci_low", "ci_high", "difference", "difference_low", "difference_high", "n", "unit"),
]


@dataclass(frozen=True)
class Fit:
    """Options of the combination of heads.

    Attributes:
        folds: of documents.
        l2_penalty: of the squares of the coefficients (scikit-learn's 1 / C).
        fits: regressions on resampled documents, for intervals.
        permutations: shuffles of each head.
        seed: of resampling and shuffling.
    """

    folds: int
    l2_penalty: float
    fits: int
    permutations: int
    seed: int


def heldout_scores(features: Floats, key: Bools, documents: Sequence[object], fit: Fit) -> dict[str, Floats]:
    """Detector -> [word] probability (for the best head: attention), fitted or selected on other documents.

    Args:
        features: [word, head].
        key: [word].
        documents: [word] its document.
        fit: options of the regression.

    Raises:
        AtlasError: fewer documents than folds, or a fold with only one kind of words.
    """
    scores = {REGRESSION: heldout_regression(features, key, documents, fit)}
    scores |= {name: np.zeros(len(key)) for name in (MIX, HEAD)}
    for training, heldout in splits_of(documents, fit.folds):
        scores[MIX][heldout] = Mix.fitted(features[training], key[training]).probabilities(features[heldout])
        best = np.argmax(aucs(features[training], key[training]))
        scores[HEAD][heldout] = features[heldout, best]
    return scores


def heldout_regression(features: Floats, key: Bools, documents: Sequence[object], fit: Fit, balanced: bool = True) -> Floats:
    """[word] probability from a regression over features [word, feature] that is fitted to other documents.

    Balanced probabilities, of two kinds of words with the same total weight, are those of a corpus where every second word
    belongs to a keyphrase: only others have a cross-entropy that compares with that of the base rate.

    Raises:
        AtlasError: as `heldout_scores`.
    """
    probabilities = np.zeros(len(key))
    for training, heldout in splits_of(documents, fit.folds):
        if key[training].all() or not key[training].any():
            raise AtlasError("a fold has no keyphrase words, or no others: raise `limit` for more documents.")
        model = _regression(fit.l2_penalty, balanced).fit(features[training], key[training])
        probabilities[heldout] = model.predict_proba(features[heldout])[:, 1]
    return probabilities


def detector_rows(
    scores: Mapping[str, Floats], unbalanced: Mapping[str, Floats], key: Bools, documents: Sequence[object]
) -> pd.DataFrame:
    """One row for each detector (`DETECTORS`).

    auc, average_precision: over all words; detectors of different folds have different scales, which lowers both. f1: at
    probability 0.5 of the balanced regression, none for a head's attention. cross_entropy: nats per word, of probabilities from
    fits in which every word has the same weight; none for a head's attention. document_auc: mean over documents of the AUC of
    the words of a document, which does not depend on the scale, with its interval over the n documents that have both kinds of
    words. difference: from the document_auc of the best head, paired by document.

    Args:
        scores: detector -> [word] its score, as `heldout_scores`.
        unbalanced: detector -> [word] probability of a fit without class weights, for cross_entropy.
        key: [word].
        documents: [word] its document.
    """
    groups = pd.Series(range(len(key))).groupby(pd.factorize(np.asarray(documents, dtype=object))[0]).indices.values()
    both = [places for places in groups if key[places].any() and not key[places].all()]
    columns = np.column_stack(list(scores.values()))
    document_aucs = np.array([aucs(columns[places], key[places]) for places in both]).reshape(len(both), len(scores))
    by_name = dict(zip(scores, document_aucs.T, strict=True))
    rows = []
    for name, values in scores.items():
        difference = by_name[name] - by_name[HEAD]
        rows.append(
            [
                name,
                roc_auc_score(key, values),
                average_precision_score(key, values),
                f1_score(key, values >= 0.5) if name in (REGRESSION, STATISTICS) else np.nan,
                log_loss(key, unbalanced[name]) if name in unbalanced else np.nan,
                key.mean(),
                len(key),
                len(set(documents)),
                *(by_name[name].mean(), *mean_interval(by_name[name])),
                *(difference.mean(), *mean_interval(difference)),
                len(both),
                DOCUMENTS,
            ]
        )
    return pd.DataFrame(rows, columns=DETECTORS)


def coefficient_rows(features: Floats, key: Bools, documents: Sequence[object], fit: Fit) -> pd.DataFrame:
    """One row for each head (`COEFFICIENTS`).

    coefficient: of the standardised feature, with the interval over resampled documents (heads with similar attention
    share their weight: a coefficient does not measure importance). permutation_importance: AUC on other documents lost when the
    head's feature is shuffled over words. mix_weight: softmax weight of the mix.

    Args:
        features: [word, layer, head].
        key, documents, fit: see `heldout_scores`.

    Raises:
        AtlasError: as `heldout_scores`.
    """
    words, layers, heads = features.shape
    flat = features.reshape(words, -1)
    coefficients, auc_losses = coefficients_and_importances(flat, key, documents, fit)
    low, high = percentile_interval(_resampled_coefficients(flat, key, documents, fit))
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    mix = Mix.fitted(flat, key).weights
    columns = (layer, head, coefficients, low, high, auc_losses.mean(axis=(0, 1)), auc_losses.std(axis=(0, 1)), mix)
    return pd.DataFrame(dict(zip(COEFFICIENTS, columns, strict=True)))


def coefficients_and_importances(features: Floats, key: Bools, documents: Sequence[object], fit: Fit) -> tuple[Floats, Floats]:
    """[head] coefficients of the regression, and [fold, shuffling, head] AUC lost on the documents of a fold.

    Args:
        features: [word, head].
        key, documents, fit: see `heldout_scores`.

    Raises:
        AtlasError: fewer documents than folds.
    """
    splits = splits_of(documents, fit.folds)
    coefficients = _coefficients(_regression(fit.l2_penalty).fit(features, key))
    return coefficients, np.stack([_permuted(features, key, split, fit, number) for number, split in enumerate(splits)])


def _regression(l2_penalty: float, balanced: bool = True) -> Pipeline:
    # Words of keyphrases are rare: when balanced, both classes get the same total weight.
    weight = "balanced" if balanced else None
    return make_pipeline(StandardScaler(), LogisticRegression(C=1 / l2_penalty, class_weight=weight, max_iter=1000))


def _coefficients(model: Pipeline) -> Floats:
    return np.asarray(model[-1].coef_[0], dtype=np.float64)


def _resampled_coefficients(features: Floats, key: Bools, documents: Sequence[object], fit: Fit) -> Floats:
    """[fit, head] coefficients on bootstrap resamples of documents; a document drawn twice has weight two."""
    groups = pd.factorize(np.asarray(documents, dtype=object))[0]
    coefficients = []
    for counts in resampled_counts(groups.max() + 1, fit.fits, fit.seed):
        for resample in counts:
            weights = resample[groups]
            drawn = weights > 0
            if key[drawn].any() and not key[drawn].all():
                steps = {"standardscaler__sample_weight": weights[drawn], "logisticregression__sample_weight": weights[drawn]}
                coefficients.append(_coefficients(_regression(fit.l2_penalty).fit(features[drawn], key[drawn], **steps)))
    return np.array(coefficients)


def _permuted(
    features: Floats, key: Bools, split: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]], fit: Fit, number: int
) -> Floats:
    """[shuffling, head] AUC lost on the held-out words.

    The regression is linear: shuffling one feature changes its score by the difference of one product.
    """
    training, heldout = split
    model = _regression(fit.l2_penalty).fit(features[training], key[training])
    scaled = model[0].transform(features[heldout])
    score, weights = model.decision_function(features[heldout]), _coefficients(model)
    whole = roc_auc_score(key[heldout], score)
    generator = np.random.default_rng([fit.seed, number])
    lost = np.zeros((fit.permutations, features.shape[1]))
    for draw in range(fit.permutations):
        order = generator.permutation(len(heldout))
        changed = score[:, None] + weights * (scaled[order] - scaled)
        lost[draw] = whole - aucs(changed, key[heldout])
    return lost


@dataclass(frozen=True)
class Mix:
    """p(key) = sigmoid(gamma * sum_h softmax(a)_h z_h + bias) of standardised features z: the analogue of scalar mixing
    (Tenney et al. 2019, equation 1), which the slides name.

    Attributes:
        weights: [head] softmax(a).
        gamma, bias: of the mixed feature.
        mean, scale: [head] of the training features.
    """

    weights: Floats
    gamma: float
    bias: float
    mean: Floats
    scale: Floats

    @classmethod
    def fitted(cls, features: Floats, key: Bools) -> Mix:
        """The mix with the lowest cross-entropy, starting from equal weights; a and gamma by L-BFGS with exact gradients.

        The initial gamma has the sign under which equal weights detect; positive weights give all heads the same sign.
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
        start = np.concatenate([np.zeros(heads), [sign, np.log(key.mean() / (1 - key.mean()))]])
        free = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        return cls(softmax(free[:heads]), float(free[heads]), float(free[heads + 1]), mean, scale)

    def probabilities(self, features: Floats) -> Floats:
        """[word] of features [word, head]."""
        return expit(self.gamma * (((features - self.mean) / self.scale) @ self.weights) + self.bias)
