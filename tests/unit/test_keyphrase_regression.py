"""Heads together: regression held out by document, shuffled heads, softmax weights; against refits and finite differences."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.names import HEAD, MIX, REGRESSION
from attention_atlas.studies.stefanik2021.ranking import splits_of
from attention_atlas.studies.stefanik2021.regression import (
    COEFFICIENTS,
    DETECTORS,
    Fit,
    Mix,
    _permuted,
    coefficient_rows,
    detector_rows,
    heldout_scores,
)

CHANCE = np.random.default_rng(1)
WORDS = 600
DOCUMENTS = np.repeat(np.arange(20), 30)
KEY = CHANCE.random(WORDS) < 0.2
# Two heads that detect key words, one that detects the opposite, one without information.
FEATURES = np.stack([KEY + 0.8 * CHANCE.normal(size=WORDS) for _ in range(2)], axis=1)
FEATURES = np.column_stack([FEATURES, -1.0 * KEY + 0.8 * CHANCE.normal(size=WORDS), CHANCE.normal(size=WORDS)])
FIT = Fit(folds=4, l2_penalty=1.0, fits=40, permutations=4, seed=0)


def test_words_are_judged_by_other_documents_alone():
    scores = heldout_scores(FEATURES, KEY, DOCUMENTS, FIT)
    training, heldout = splits_of(DOCUMENTS, FIT.folds)[1]
    assert not set(DOCUMENTS[training]) & set(DOCUMENTS[heldout])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000))
    model.fit(FEATURES[training], KEY[training])
    assert np.allclose(scores[REGRESSION][heldout], model.predict_proba(FEATURES[heldout])[:, 1], atol=1e-6)
    best = max(range(4), key=lambda head: roc_auc_score(KEY[training], FEATURES[training, head]))
    assert np.array_equal(scores[HEAD][heldout], FEATURES[heldout, best])
    # The labels of a held-out document must not change its scores.
    changed = KEY.copy()
    changed[heldout] = ~changed[heldout]
    again = heldout_scores(FEATURES, changed, DOCUMENTS, FIT)
    assert np.allclose(again[REGRESSION][heldout], scores[REGRESSION][heldout])
    assert np.allclose(again[MIX][heldout], scores[MIX][heldout])


def test_all_heads_detect_better_than_one():
    table = detector_rows(heldout_scores(FEATURES, KEY, DOCUMENTS, FIT), KEY, DOCUMENTS).set_index("detector")
    assert [table.index.name, *table.columns] == DETECTORS
    assert table.loc[REGRESSION, "auc"] > table.loc[HEAD, "auc"] > 0.6
    assert table["documents"].tolist() == [20, 20, 20]


def test_coefficients_have_the_signs_and_the_useless_head_loses_nothing():
    table = coefficient_rows(FEATURES[:, None, :], KEY, DOCUMENTS, FIT)
    assert list(table.columns) == COEFFICIENTS
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
    mix = Mix.fitted(FEATURES, KEY)
    assert mix.weights.sum() == pytest.approx(1)
    logits = np.log(mix.weights)

    def loss(logits, gamma, bias):
        weights = np.exp(logits) / np.exp(logits).sum()
        changed = Mix(weights, gamma, bias, mix.mean, mix.scale)
        p = changed.probabilities(FEATURES)
        return -np.mean(np.where(KEY, np.log(p), np.log(1 - p)))

    least = loss(logits, mix.gamma, mix.bias)
    for head in range(4):
        for shift in (-0.2, 0.2):
            assert loss(logits + shift * np.eye(4)[head], mix.gamma, mix.bias) > least - 1e-7
    for shift in (-0.05, 0.05):
        assert loss(logits, mix.gamma + shift, mix.bias) > least
        assert loss(logits, mix.gamma, mix.bias + shift) > least


def test_a_head_without_any_spread_is_no_division_by_zero():
    flat = np.column_stack([FEATURES[:, 0], np.zeros(WORDS)])
    assert np.isfinite(Mix.fitted(flat, KEY).weights).all()


def test_too_few_documents_or_words_of_one_kind_are_errors():
    with pytest.raises(AtlasError, match="cannot be split"):
        splits_of(np.zeros(10), 2)
    with pytest.raises(AtlasError, match="needs words of keyphrases and other words"):
        heldout_scores(FEATURES, np.zeros(WORDS, bool), DOCUMENTS, FIT)
