"""Heads together: regression held out by document, shuffled heads, softmax weights; against refits and finite differences."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr, ttest_1samp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attention_atlas.errors import AtlasError
from attention_atlas.stats.held_out import folds_of
from attention_atlas.stats.intervals import correlation_interval
from attention_atlas.studies.stefanik2021.detection import (
    Fit,
    _permuted,
    calibrated_heads,
    coefficient_rows,
    detector_rows,
    head_ranking,
    heldout_scores,
    mix_weights,
    rank_correlations,
    splits_of,
)

CHANCE = np.random.default_rng(1)
WORDS = 600
DOCUMENTS = np.repeat(np.arange(20), 30)
KEY = CHANCE.random(WORDS) < 0.2
# Two heads that detect keyphrase words, one that detects the opposite, one without information.
FEATURES = np.stack([KEY + 0.8 * CHANCE.normal(size=WORDS) for _ in range(2)], axis=1)
FEATURES = np.column_stack([FEATURES, -1.0 * KEY + 0.8 * CHANCE.normal(size=WORDS), CHANCE.normal(size=WORDS)])
FIT = Fit(folds=4, l2_penalty=1.0, fits=40, permutations=4, seed=0)


def test_words_are_judged_by_other_documents_alone():
    scores = heldout_scores(FEATURES, KEY, DOCUMENTS, FIT)
    training, heldout = splits_of(DOCUMENTS, FIT.folds)[1]
    assert not set(DOCUMENTS[training]) & set(DOCUMENTS[heldout])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000))
    model.fit(FEATURES[training], KEY[training])
    assert np.allclose(scores["regression"][heldout], model.predict_proba(FEATURES[heldout])[:, 1], atol=1e-6)
    best = max(range(4), key=lambda head: roc_auc_score(KEY[training], FEATURES[training, head]))
    assert np.array_equal(scores["best_head"][heldout], FEATURES[heldout, best])
    # The labels of a held-out document must not change its scores.
    changed = KEY.copy()
    changed[heldout] = ~changed[heldout]
    again = heldout_scores(FEATURES, changed, DOCUMENTS, FIT)
    assert np.allclose(again["regression"][heldout], scores["regression"][heldout])


def test_all_heads_detect_better_than_one():
    table = detector_rows(heldout_scores(FEATURES, KEY, DOCUMENTS, FIT), KEY, DOCUMENTS).set_index("detector")
    assert table.loc["regression", "auc"] > table.loc["best_head", "auc"] > 0.6
    assert table["n"].tolist() == [20, 20]


def test_coefficients_have_the_signs_and_the_useless_head_loses_nothing():
    table = coefficient_rows(FEATURES, KEY, DOCUMENTS, FIT, heads=4)
    assert table[["layer", "head"]].to_numpy().tolist() == [[1, 1], [1, 2], [1, 3], [1, 4]]
    assert (table["coefficient"] > 0).tolist()[:3] == [True, True, False]
    assert table["ci_low"].iloc[0] > 0 > table["ci_high"].iloc[2]
    assert table["ci_low"].iloc[3] < 0 < table["ci_high"].iloc[3]
    assert table["permutation_importance"].iloc[:3].min() > 5 * abs(table["permutation_importance"].iloc[3])
    assert table["mix_weight"].sum() == pytest.approx(1)
    assert table["mix_weight"].iloc[:2].min() > table["mix_weight"].iloc[2:].max()


def test_shuffling_one_head_is_what_refilling_its_column_gives():
    split = splits_of(DOCUMENTS, FIT.folds)[0]
    fast = _permuted(FEATURES, KEY, split, FIT, 0)
    training, heldout = split
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000))
    model.fit(FEATURES[training], KEY[training])
    whole = roc_auc_score(KEY[heldout], model.decision_function(FEATURES[heldout]))
    generator = np.random.default_rng([FIT.seed, 0])
    for draw in range(FIT.permutations):
        order = generator.permutation(len(heldout))
        for head in range(4):
            changed = FEATURES[heldout].copy()
            changed[:, head] = changed[order, head]
            slow = whole - roc_auc_score(KEY[heldout], model.decision_function(changed))
            assert fast[draw, head] == pytest.approx(slow, abs=1e-9)


def test_the_mix_is_a_minimum_of_its_loss():
    """For each change of the weights, with the best scale and bias for it: an unpenalised regression on the mixed heads."""
    weights, standard = mix_weights(FEATURES, KEY), StandardScaler().fit_transform(FEATURES)
    assert weights.sum() == pytest.approx(1)

    def loss(logits):
        mixed = standard @ (np.exp(logits) / np.exp(logits).sum())
        model = LogisticRegression(C=1e10, tol=1e-10).fit(mixed[:, None], KEY)
        return log_loss(KEY, model.predict_proba(mixed[:, None])[:, 1])

    least = loss(np.log(weights))
    for head in range(4):
        for shift in (-0.2, 0.2):
            assert loss(np.log(weights) + shift * np.eye(4)[head]) > least - 1e-7


def test_a_head_without_any_spread_is_no_division_by_zero():
    flat = np.column_stack([FEATURES[:, 0], np.zeros(WORDS)])
    assert np.isfinite(mix_weights(flat, KEY)).all()


def test_too_few_documents_or_words_of_one_kind_are_errors():
    with pytest.raises(AtlasError, match="cannot be split"):
        splits_of(np.zeros(10, int), 2)
    with pytest.raises(AtlasError, match="has no keyphrase words, or no others"):
        heldout_scores(FEATURES, np.zeros(WORDS, bool), DOCUMENTS, FIT)


def test_detectors_are_compared_within_documents_and_paired():
    """Scores of half of the documents have another scale: AUC over all words falls, within documents it does not."""
    chance = np.random.default_rng(5)
    scores = KEY + 0.5 * chance.normal(size=WORDS)
    scaled = expit(np.where(DOCUMENTS < 10, scores, 10 + scores))
    table = detector_rows({"regression": scaled, "best_head": scores - 0.8 * KEY}, KEY, DOCUMENTS).set_index("detector")
    by_document = {
        name: [roc_auc_score(KEY[k == DOCUMENTS], values[k == DOCUMENTS]) for k in range(20)]
        for name, values in (("regression", scaled), ("best_head", scores - 0.8 * KEY))
    }
    row = table.loc["regression"]
    assert row["auc"] < row["document_auc"] - 0.1
    assert row["document_auc"] == pytest.approx(np.mean(by_document["regression"]))
    difference = np.subtract(by_document["regression"], by_document["best_head"])
    low, high = ttest_1samp(difference, 0).confidence_interval(0.95)
    assert [row["difference"], row["difference_low"], row["difference_high"]] == pytest.approx([difference.mean(), low, high])
    assert table.loc["best_head", "difference"] == 0
    one_kind = np.where(DOCUMENTS == 3, False, KEY)
    assert (detector_rows({"best_head": scores}, one_kind, DOCUMENTS)["n"] == 19).all(), (
        "a document without keyphrase words has no AUC"
    )


def test_rank_correlations_leave_out_groups_of_documents():
    calibrated = calibrated_heads(FEATURES, KEY, DOCUMENTS, FIT.folds)
    table = rank_correlations(calibrated, FEATURES, KEY, DOCUMENTS, FIT).set_index("correlation")
    assert (table["documents"].tolist(), table["groups"].tolist()) == ([20, 20], [10, 10])
    heads = coefficient_rows(FEATURES, KEY, DOCUMENTS, FIT, heads=4)
    whole = spearmanr(heads["coefficient"].abs(), heads["permutation_importance"]).statistic
    assert table.loc["coefficients", "value"] == pytest.approx(whole)
    group = folds_of(20, 10, FIT.seed)
    left = []
    for number in range(10):
        words = group[DOCUMENTS] != number
        rows = coefficient_rows(FEATURES[words], KEY[words], DOCUMENTS[words], FIT, heads=4)
        left.append(spearmanr(rows["coefficient"].abs(), rows["permutation_importance"]).statistic)
    low, high = correlation_interval(whole, left)
    assert [table.loc["coefficients", "ci_low"], table.loc["coefficients", "ci_high"]] == pytest.approx([low, high])
    ranked = head_ranking(FEATURES, KEY, DOCUMENTS, calibrated, heads=4)
    value = spearmanr(ranked["slide_entropy"], ranked["cross_entropy"]).statistic
    assert table.loc["slide_entropy", "value"] == pytest.approx(value)


def test_too_few_documents_for_the_jackknife_give_no_interval():
    few = DOCUMENTS < 4
    fit = Fit(folds=4, l2_penalty=1.0, fits=10, permutations=1, seed=0)
    calibrated = calibrated_heads(FEATURES[few], KEY[few], DOCUMENTS[few], fit.folds)
    table = rank_correlations(calibrated, FEATURES[few], KEY[few], DOCUMENTS[few], fit).set_index("correlation")
    assert table.loc["coefficients", "groups"] == 0
    assert np.isnan(table.loc["coefficients", "ci_low"])
    assert table.loc["slide_entropy", "groups"] == 4
