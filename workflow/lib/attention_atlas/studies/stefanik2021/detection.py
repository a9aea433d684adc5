"""Attention as a keyphrase detector: how well each head alone, and all heads together, detect keyphrases.

Word-level attention: sum over the word pieces of the attended word, mean over those of the query word. [CLS] and [SEP] are
excluded as rows and as columns, without renormalisation. Held out by document: the score of a word comes from a fit to other
documents. In all functions, `features` are the attention that words receive, [word, head]; `key` says which words belong to
keyphrases; `documents` are the numbers of their documents, from 0 in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from attention_atlas.attention.cache import Attention
from attention_atlas.corpora.examples import Examples
from attention_atlas.corpora.keyphrases import OUTSIDE, stem
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import DOCUMENTS, head_rows, mean_rows
from attention_atlas.models.card import Card
from attention_atlas.stats.held_out import Bools, folds_of
from attention_atlas.stats.intervals import Floats, correlation_interval, percentile_interval, resampled_counts
from attention_atlas.stats.ranks import aucs, clustered_auc_intervals, spearman
from attention_atlas.stats.significance import mean_interval
from attention_atlas.stats.simultaneous import random_exchanges, simultaneous_interval

Ints = npt.NDArray[np.intp]
REDUCTIONS = ("mean", "max")
"""How the attention that a word receives is pooled over query words; features are maxima, as in the slides."""
_CLIP = 1e-12
"""Least probability in the slides' entropy, which uses attention as a probability; attention may be 0."""
_GROUPS = 10
"""Groups of documents of the jackknife."""


class Fit(NamedTuple):
    folds: int  # of documents
    l2_penalty: float  # of squared coefficients (scikit-learn's 1 / C)
    fits: int  # to resampled documents, for intervals
    permutations: int  # of each head
    seed: int  # of resampling and shuffling


def detection(
    attention: Attention,
    examples: Examples,
    card: Card,
    folds: int,
    l2_penalty: float,
    fits: int,
    permutations: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """The table of `words` with the held-out score of each word by every detector, and what is derived from it."""
    fit, table = Fit(folds, l2_penalty, fits, permutations, seed), words(attention, examples)
    features, key, documents = features_of(table, card, "max"), table["key"].to_numpy(), pd.factorize(table["record"])[0]
    calibrated = calibrated_heads(features, key, documents, folds)
    scores = heldout_scores(features, key, documents, fit)
    statistics = word_statistics([list(names) for _, names in table.groupby("record", sort=False)["word"]])
    scores["word_statistics"] = heldout_regression(statistics, key, documents, fit)
    return {
        "words": table.assign(**scores),
        "relative_attention": relative_rows(table, card, statistics, documents, folds, resamples, seed),
        "head_ranking": head_ranking(features, key, documents, calibrated, card.heads),
        "logistic_regression": coefficient_rows(features, key, documents, fit, card.heads),
        "detectors": detector_rows(scores, key, documents),
        "rank_correlations": rank_correlations(calibrated, features, key, documents, fit),
    }


def words(attention: Attention, examples: Examples) -> pd.DataFrame:
    """One row for each word: record and name of the document, place of the word, the word, whether it is part of a keyphrase
    (key), then the attention that it receives, a column for each reduction and head: `l3_h1_max`, counted from 1.
    """
    frames = []
    for cached, example in zip(attention, examples, strict=True):
        if cached.record != example.record or "tags" not in example.layers:
            raise AtlasError(f"example {example.id}: attention and tags do not belong together: use a corpus with keyphrases.")
        key = [tag != OUTSIDE for tag in example.layers["tags"]]
        columns = {"record": example.record, "document": example.id, "place": np.arange(len(key)), "word": example.words}
        columns["key"] = key
        word_maps = cached.word_maps()
        for reduction in REDUCTIONS:
            received = received_attention(word_maps, cached.special_units, reduction).astype(np.float32)
            names = _feature_names(received.shape[0], received.shape[1], reduction)
            columns |= dict(zip(names, received.reshape(-1, len(key)), strict=True))
        frames.append(pd.DataFrame(columns))
    if not frames:
        raise AtlasError("there is no document with attention: raise the limit of the corpus, or its max_tokens.")
    return pd.concat(frames, ignore_index=True)


def _feature_names(layers: int, heads: int, reduction: str) -> list[str]:
    return [f"l{layer + 1}_h{head + 1}_{reduction}" for layer, head in np.ndindex(layers, heads)]


def received_attention(maps: npt.ArrayLike, special: npt.ArrayLike, reduction: str = "mean") -> Floats:
    """[layer, head, word] attention that each word receives from the words of its text, itself included.

    maps: [layer, head, m, m] over words and special tokens, row = query; special: [m] which are special tokens.
    """
    is_word = ~np.asarray(special, dtype=np.bool_)
    word_maps = np.asarray(maps, dtype=np.float64)[:, :, is_word][:, :, :, is_word]
    return word_maps.mean(axis=2) if reduction == "mean" else word_maps.max(axis=2)


def features_of(words: pd.DataFrame, card: Card, reduction: str) -> Floats:
    """[word, head] attention that the words of a table of `words` receive from the heads of all layers."""
    return words[_feature_names(card.layers, card.heads, reduction)].to_numpy(np.float64)


def relative_rows(
    words: pd.DataFrame, card: Card, statistics: Floats, documents: Ints, folds: int, resamples: int, seed: int
) -> pd.DataFrame:
    """Relative attention of each head by each reduction, mean over documents.

    adjusted_low, adjusted_high: 95 % intervals that are simultaneous for all heads, by random signs of the documents.
    controlled: relative attention beyond what `word_statistics` predict, with such intervals.
    """
    key, tables = words["key"].to_numpy(), []
    places_by_document = words.groupby("record", sort=False).indices.values()

    def rows_of(attention: Floats) -> pd.DataFrame:
        by_document = np.stack([relative_attention(attention[places].T, key[places]) for places in places_by_document])
        return mean_rows_of_heads(by_document.reshape(-1, card.layers, card.heads), resamples, seed)

    for reduction in REDUCTIONS:
        received = features_of(words, card, reduction)
        rows = rows_of(received)
        controlled = rows_of(received - expected_attention(received, statistics, documents, folds))
        rows.insert(0, "reduction", reduction)
        ends = {f"controlled_{end}": controlled[f"adjusted_{end}"] for end in ("low", "high")}
        tables.append(rows.assign(unit=DOCUMENTS, controlled=controlled["value"], **ends))
    return pd.concat(tables, ignore_index=True)


def expected_attention(features: Floats, statistics: Floats, documents: Ints, folds: int) -> Floats:
    """[word, head] attention that words receive by their `word_statistics` alone, fitted to words of other documents.

    Additive splines of the statistics, fitted to attention in units of its mean over the document.
    """
    means = pd.DataFrame(features).groupby(documents).transform("mean").to_numpy() + 1e-12
    model = make_pipeline(SplineTransformer(extrapolation="linear"), LinearRegression())
    return means * cross_val_predict(model, statistics, features / means, cv=splits_of(documents, folds))


def relative_attention(received: Floats, key: npt.ArrayLike) -> Floats:
    """[...] mean attention [..., word] that keyphrase words receive minus that of all other words; NaN without both kinds."""
    flags = np.asarray(key, dtype=np.bool_)
    if flags.all() or not flags.any():
        return np.full(received.shape[:-1], np.nan)
    return received[..., flags].mean(axis=-1) - received[..., ~flags].mean(axis=-1)


def mean_rows_of_heads(by_document: Floats, resamples: int, seed: int) -> pd.DataFrame:
    """Means over documents, [document, layer, head], with intervals for each head and simultaneous ones for all heads."""
    rows = mean_rows(by_document, resamples, seed)
    present = by_document[~np.isnan(by_document[:, 0, 0])].reshape(-1, by_document[0].size)
    if not len(present):
        return rows.assign(adjusted_low=np.nan, adjusted_high=np.nan)
    exchanges = np.concatenate(list(random_exchanges(len(present), resamples, seed)))
    null = ((1 - 2 * exchanges) @ present / len(present)).T
    low, high = simultaneous_interval(present.mean(axis=0), null)
    return rows.assign(adjusted_low=low, adjusted_high=high)


def word_statistics(texts: Sequence[Sequence[str]]) -> Floats:
    """[word, 9] position, frequency and form of the words of all texts, one text after the other: a control.

    Position of the word and of the first word with its stem, as shares of the length of the text; logarithms of the frequency
    of its stem in the text and of its inverse document frequency, and TF-IDF; length, letters, capital, stop word.
    """
    stems = [[stem(word.lower()) for word in text] for text in texts]
    texts_with = Counter(name for names in stems for name in set(names))
    rows = []
    for text, names in zip(texts, stems, strict=True):
        counts = Counter(names)
        for place, (word, name) in enumerate(zip(text, names, strict=True)):
            frequency, rarity = np.log(counts[name]), np.log(len(texts) / texts_with[name])
            form = any(letter.isalpha() for letter in word), word[:1].isupper(), word.lower() in ENGLISH_STOP_WORDS
            places = place / len(text), names.index(name) / len(text)
            rows.append([*places, frequency, rarity, (1 + frequency) * rarity, len(word), *form])
    return np.array(rows, dtype=np.float64)


class CalibratedHeads(NamedTuple):
    """Cross-entropies in nats, summed over the words of each document."""

    cross_entropy: Floats  # [document, head] of a probability by a logistic function of attention, fitted to other documents
    base: Floats  # [document] of the base rate of other documents
    slide: Floats  # [document, head] of attention itself


def calibrated_heads(features: Floats, key: Bools, documents: Ints, folds: int) -> CalibratedHeads:
    """Calibrate each head alone, with folds of documents."""
    splits = splits_of(documents, folds)
    if key.all() or not key.any():
        raise AtlasError("these documents have no keyphrase words, or no others: raise `limit`, or name another corpus.")
    heldout = partial(cross_val_predict, y=key, cv=splits, method="predict_proba")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    calibrated = np.stack([heldout(model, attention[:, None])[:, 1] for attention in features.T], axis=1)
    base_rates = heldout(DummyClassifier(), features)[:, 1:]
    least = np.finfo(np.float64).eps
    fitted, base = (_losses(probabilities, key, documents, least) for probabilities in (calibrated, base_rates))
    return CalibratedHeads(fitted, base[:, 0], _losses(features, key, documents, _CLIP))


def _losses(probabilities: Floats, key: Bools, documents: Ints, least: float) -> Floats:
    """[document, head] sums of the negative logarithm of the probability [word, head] of each word's kind."""
    clipped = np.clip(probabilities, least, 1 - least)
    sums = np.zeros((documents.max() + 1, probabilities.shape[1]))
    np.add.at(sums, documents, -np.where(key[:, None], np.log(clipped), np.log1p(-clipped)))
    return sums


def head_ranking(features: Floats, key: Bools, documents: Ints, calibrated: CalibratedHeads, heads: int) -> pd.DataFrame:
    """One row for each head, the best by calibrated cross-entropy first, of a model with `heads` per layer.

    auc, average_precision: of raw attention; interval over documents. cross_entropy: in nats per word, of the calibrated heads;
    cross_entropy_none: of the base rate. slide_entropy: the slides' sum over words; slide_rank: rank by it. share: of keyphrase
    words among the n words.
    """
    low, high = clustered_auc_intervals(features, key, documents)
    columns: dict[str, Any] = {"average_precision": [average_precision_score(key, column) for column in features.T]}
    columns |= {"cross_entropy": calibrated.cross_entropy.sum(axis=0) / len(key)}
    columns |= {"cross_entropy_none": calibrated.base.sum() / len(key), "slide_entropy": calibrated.slide.sum(axis=0)}
    columns |= {"share": key.mean(), "n": len(key), "auc_low": low, "auc_high": high}
    ranking = head_rows(aucs(features, key).reshape(-1, heads), "auc")
    ranking = ranking.assign(**columns, documents=len(calibrated.base), n_unit="words")
    ranking = ranking.sort_values("cross_entropy", kind="stable", ignore_index=True)
    return ranking.assign(slide_rank=ranking["slide_entropy"].rank(method="first").astype(int))


def rank_correlations(calibrated: CalibratedHeads, features: Floats, key: Bools, documents: Ints, fit: Fit) -> pd.DataFrame:
    """Spearman correlations over heads between two rankings of heads, with jackknife intervals over groups of documents.

    `slide_entropy`: the slides' summed entropy with calibrated cross-entropy; the calibration is not refitted without a group
    of documents. `coefficients`: absolute coefficients of the regression with permutation importance, both refitted.
    """
    count = len(calibrated.base)
    group = folds_of(count, min(_GROUPS, count), fit.seed)

    def slide(kept: Bools) -> float:
        return float(spearman(calibrated.slide[kept].sum(axis=0), calibrated.cross_entropy[kept].sum(axis=0)))

    def coefficient(kept: Bools) -> float:
        words = kept[documents]
        coefficients, importances = coefficients_and_importances(features[words], key[words], documents[words], fit)
        return float(spearman(np.abs(coefficients), importances.mean(axis=(0, 1))))

    statistics: dict[str, Callable[[Bools], float]] = {"slide_entropy": slide, "coefficients": coefficient}
    rows = []
    for name, statistic in statistics.items():
        value = statistic(np.ones(count, dtype=bool))
        # The regression needs a document in every fold after a group is left out.
        too_few = name == "coefficients" and count - int(np.bincount(group).max()) < fit.folds
        left = [] if too_few else [statistic(group != number) for number in np.unique(group)]
        low, high = correlation_interval(value, left)
        row = {"correlation": name, "value": value, "ci_low": low, "ci_high": high, "heads": features.shape[1]}
        rows.append(row | {"documents": count, "groups": len(left)})
    return pd.DataFrame(rows)


def splits_of(documents: Ints, folds: int) -> list[tuple[Ints, Ints]]:
    """(training words, held-out words) of each fold; the words of a document are on one side."""
    count = len(np.unique(documents))
    if count < folds:
        raise AtlasError(f"{count} documents cannot be split into {folds} folds: use more documents.")
    return list(GroupKFold(folds).split(documents, groups=documents))


def heldout_scores(features: Floats, key: Bools, documents: Ints, fit: Fit) -> dict[str, Floats]:
    """Detector -> [word] probability (for the best head: attention), fitted or selected on other documents."""
    regression, best_head = heldout_regression(features, key, documents, fit), np.zeros(len(key))
    for training, heldout in splits_of(documents, fit.folds):
        best_head[heldout] = features[heldout, np.argmax(aucs(features[training], key[training]))]
    return {"regression": regression, "best_head": best_head}


def heldout_regression(features: Floats, key: Bools, documents: Ints, fit: Fit) -> Floats:
    """[word] probability from a regression over features [word, feature] that is fitted to other documents."""
    splits = splits_of(documents, fit.folds)
    if any(key[training].all() or not key[training].any() for training, _ in splits):
        raise AtlasError("a fold has no keyphrase words, or no others: raise `limit` for more documents.")
    return cross_val_predict(_regression(fit), features, key, cv=splits, method="predict_proba")[:, 1]


def detector_rows(scores: Mapping[str, Floats], key: Bools, documents: Ints) -> pd.DataFrame:
    """One row for each detector, of its scores of words.

    auc: over all words; detectors of different folds have different scales, which lowers it. document_auc: mean over documents
    of the AUC of the words of a document, which does not depend on the scale, over the n documents that have both kinds of
    words. difference: from the document_auc of the best head, paired by document, with its interval.
    """
    groups = pd.Series(range(len(key))).groupby(documents).indices.values()
    both = [places for places in groups if key[places].any() and not key[places].all()]
    columns = np.column_stack(list(scores.values()))
    document_aucs = np.array([aucs(columns[places], key[places]) for places in both]).reshape(len(both), len(scores))
    by_name = dict(zip(scores, document_aucs.T, strict=True))
    rows = []
    for name, values in scores.items():
        difference = by_name[name] - by_name["best_head"]
        low, high = mean_interval(difference)
        row = {"detector": name, "auc": roc_auc_score(key, values), "document_auc": by_name[name].mean(), "n": len(both)}
        rows.append(row | {"difference": difference.mean(), "difference_low": low, "difference_high": high})
    return pd.DataFrame(rows)


def coefficient_rows(features: Floats, key: Bools, documents: Ints, fit: Fit, heads: int) -> pd.DataFrame:
    """One row for each head of a model with `heads` per layer.

    coefficient: of the standardised feature, with the interval over resampled documents (heads with similar attention
    share their weight: a coefficient does not measure importance). permutation_importance: AUC on other documents lost when the
    head's feature is shuffled over words. mix_weight: see `mix_weights`.
    """
    coefficients, auc_losses = coefficients_and_importances(features, key, documents, fit)
    low, high = percentile_interval(_resampled_coefficients(features, key, documents, fit))
    rows = head_rows(coefficients.reshape(-1, heads), "coefficient").assign(ci_low=low, ci_high=high)
    return rows.assign(permutation_importance=auc_losses.mean(axis=(0, 1)), mix_weight=mix_weights(features, key))


def coefficients_and_importances(features: Floats, key: Bools, documents: Ints, fit: Fit) -> tuple[Floats, Floats]:
    """[head] coefficients of the regression, and [fold, shuffling, head] AUC lost on the documents of a fold."""
    splits = splits_of(documents, fit.folds)
    coefficients = _coefficients(_regression(fit).fit(features, key))
    return coefficients, np.stack([_permuted(features, key, split, fit, number) for number, split in enumerate(splits)])


def _regression(fit: Fit) -> Pipeline:
    # Words of keyphrases are rare: both classes get the same total weight.
    return make_pipeline(StandardScaler(), LogisticRegression(C=1 / fit.l2_penalty, class_weight="balanced", max_iter=1000))


def _coefficients(model: Pipeline) -> Floats:
    return np.asarray(model[-1].coef_[0], dtype=np.float64)


def _resampled_coefficients(features: Floats, key: Bools, documents: Ints, fit: Fit) -> Floats:
    """[fit, head] coefficients on bootstrap resamples of documents; a document drawn twice has weight two."""
    coefficients = []
    for counts in resampled_counts(documents.max() + 1, fit.fits, fit.seed):
        for resample in counts:
            weights = resample[documents]
            drawn = weights > 0
            if key[drawn].any() and not key[drawn].all():
                steps = {"standardscaler__sample_weight": weights[drawn], "logisticregression__sample_weight": weights[drawn]}
                coefficients.append(_coefficients(_regression(fit).fit(features[drawn], key[drawn], **steps)))
    return np.array(coefficients)


def _permuted(features: Floats, key: Bools, split: tuple[Ints, Ints], fit: Fit, number: int) -> Floats:
    """[shuffling, head] AUC lost on the held-out words; shuffling one feature changes the linear score by one product."""
    training, heldout = split
    model = _regression(fit).fit(features[training], key[training])
    scaled = model[0].transform(features[heldout])
    score, weights = model.decision_function(features[heldout]), _coefficients(model)
    whole = roc_auc_score(key[heldout], score)
    generator = np.random.default_rng([fit.seed, number])
    lost = []
    for _ in range(fit.permutations):
        order = generator.permutation(len(heldout))
        lost.append(whole - aucs(score[:, None] + weights * (scaled[order] - scaled), key[heldout]))
    return np.array(lost)


def mix_weights(features: Floats, key: Bools) -> Floats:
    """[head] softmax(a) of p(key) = sigmoid(gamma * sum_h softmax(a)_h z_h + bias), standardised features z: the analogue of
    scalar mixing (Tenney et al. 2019, equation 1), which the slides name.

    The lowest cross-entropy from equal weights on, by L-BFGS with exact gradients. The initial gamma has the sign under which
    equal weights detect; positive weights give all heads the same sign.
    """
    scale = features.std(axis=0)
    inputs = (features - features.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    targets, heads = key.astype(np.float64), features.shape[1]

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
    return softmax(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x[:heads])
