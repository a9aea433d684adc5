"""Detection of keyphrase words by heads alone and together: against loops, refits and planted heads."""

import math

import numpy as np
import pytest
from keyphrase_documents import CARD, HEADS, LAYERS, cached, tagged
from scipy.special import expit
from scipy.stats import spearmanr, ttest_1samp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attention_atlas.stats.held_out import folds_of
from attention_atlas.stats.intervals import correlation_interval
from attention_atlas.studies.stefanik2021 import detection
from attention_atlas.studies.stefanik2021.detection import Fit

CHANCE = np.random.default_rng(1)
DOCUMENTS = np.repeat(np.arange(20), 30)
KEY = CHANCE.random(len(DOCUMENTS)) < 0.2
# Two heads that detect keyphrase words, one that detects the opposite, one without information.
FEATURES = np.outer(KEY, [1.0, 1.0, -1.0, 0.0]) + CHANCE.normal(size=(len(KEY), 4)) * [0.8, 0.8, 0.8, 1.0]
# The same as attention, a share between 0 and 1.
ATTENTION = expit(FEATURES - 3)
FIT = Fit(folds=4, l2_penalty=1.0, fits=40, permutations=4, seed=0)


def ranking(key=KEY):
    calibrated = detection.calibrated_heads(ATTENTION, key, DOCUMENTS, 4)
    return detection.head_ranking(ATTENTION, key, DOCUMENTS, calibrated, heads=4).set_index("head")


def regression(training):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000))
    return model.fit(FEATURES[training], KEY[training])


@pytest.mark.parametrize("reduction", ["mean", "max"])
def test_words_receive_what_a_loop_finds(reduction):
    maps = np.random.default_rng(0).dirichlet(np.ones(6), (LAYERS, HEADS, 6))
    received = detection.received_attention(maps, [True, False, False, False, False, True], reduction)
    assert received.shape == (LAYERS, HEADS, 4)
    for layer, head, j in np.ndindex(LAYERS, HEADS, 4):
        values = [maps[layer, head, i, j + 1] for i in range(1, 5)]
        assert received[layer, head, j] == pytest.approx(max(values) if reduction == "max" else sum(values) / 4)
    expected = (received[..., 1] + received[..., 2]) / 2 - (received[..., 0] + received[..., 3]) / 2
    assert detection.relative_attention(received, [False, True, True, False]) == pytest.approx(expected)
    for same in (True, False):
        assert np.isnan(detection.relative_attention(received, [same] * 4)).all(), "texts with one kind of word say nothing"


def test_words_have_the_attention_that_they_receive():
    maps, examples = [cached(k, 4 + k) for k in range(3)], [tagged(k, 4 + k) for k in range(3)]
    table = detection.words(maps, examples)
    assert table["key"].tolist() == [tag != "O" for example in examples for tag in example.layers["tags"]]
    place = 4 + 2  # the third word of the second document
    received = maps[1].maps[1, 0, 1:6, 3].astype(float)
    assert detection.features_of(table, CARD, "max")[place, 2] == pytest.approx(received.max(), abs=1e-3)
    assert table["l2_h1_mean"][place] == pytest.approx(received.mean(), abs=1e-3)


def test_statistics_of_words_are_those_counted_by_hand():
    table = detection.word_statistics([["Parsers", "and", "a", "parser", "."], ["A", "parser"], ["Dogs"], ["Cats"]])
    rarity = math.log(4 / 2)  # two of four texts have the stem
    assert table.shape == (9, 9)
    assert table[3] == pytest.approx([3 / 5, 0, math.log(2), rarity, (1 + math.log(2)) * rarity, 6, 1, 0, 0])
    assert table[4:6, -3:].tolist() == [[0, 0, 0], [1, 1, 1]], "a full stop; A at the beginning of the second text"


def test_heads_that_follow_position_frequency_and_form_are_no_keyphrase_heads():
    """Two heads respond to the statistics of words, as keyphrases do; the third to keyphrases as well."""
    decided = np.zeros((2, 20, 3), dtype=bool)
    for seed in range(20):
        generator = np.random.default_rng(seed)
        documents = np.repeat(np.arange(40), generator.integers(30, 90, 40))
        statistics = generator.normal(size=(len(documents), 3))
        key = generator.random(len(documents)) < expit(statistics @ [1, 1, 0] - 1.5)
        attention = np.exp(0.5 * statistics[:, :1]) + np.maximum(statistics[:, 1:2], 0) * [1, 2, 0.5] + 0.5
        attention *= generator.gamma(2, 0.5, attention.shape) * np.where(key, 1.3, 1.0)[:, None] ** [0, 0, 1]
        attention /= np.bincount(documents)[documents, None]
        expected = detection.expected_attention(attention, statistics, documents, 5)
        for control, values in enumerate((attention, attention - expected)):
            by_document = [detection.relative_attention(values[documents == k].T, key[documents == k]) for k in range(40)]
            decided[control, seed] = detection.mean_rows_of_heads(np.stack(by_document)[:, None], 300, seed)["adjusted_low"] > 0
    assert decided[0].all(), "without the control"
    assert decided[1, :, :2].any(axis=1).sum() <= 4
    assert decided[1, :, 2].mean() > 0.9


def test_heads_are_ranked_by_calibrated_cross_entropy():
    table = ranking()
    assert table.index[-1] == 4
    assert (table["auc"][[1, 2]] > 0.7).all()
    assert table["auc"][3] < 0.3, "the opposite, which is as good once calibrated"
    assert table["cross_entropy"][4] == pytest.approx(table["cross_entropy_none"][4], abs=0.01)
    values = ATTENTION[:, 0]
    assert table["slide_entropy"][1] == pytest.approx(-np.log(np.where(KEY, values, 1 - values)).sum())
    assert table["auc"][1] == pytest.approx(roc_auc_score(KEY, values))
    assert table["average_precision"][1] == pytest.approx(average_precision_score(KEY, values))
    probabilities, none = np.empty((2, len(KEY)))
    for training, heldout in detection.splits_of(DOCUMENTS, 4):
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(values[training, None], KEY[training])
        probabilities[heldout] = model.predict_proba(values[heldout, None])[:, 1]
        none[heldout] = KEY[training].mean()
    row = table.loc[1, ["cross_entropy", "cross_entropy_none", "share"]].tolist()
    assert row == pytest.approx([log_loss(KEY, probabilities), log_loss(KEY, none), KEY.mean()])


def test_words_are_judged_by_other_documents_alone():
    scores = detection.heldout_scores(FEATURES, KEY, DOCUMENTS, FIT)
    training, heldout = detection.splits_of(DOCUMENTS, FIT.folds)[1]
    assert not set(DOCUMENTS[training]) & set(DOCUMENTS[heldout])
    expected = regression(training).predict_proba(FEATURES[heldout])[:, 1]
    assert np.allclose(scores["regression"][heldout], expected, atol=1e-6)
    best = max(range(4), key=lambda head: roc_auc_score(KEY[training], FEATURES[training, head]))
    assert np.array_equal(scores["best_head"][heldout], FEATURES[heldout, best])


def test_coefficients_have_the_signs_and_the_useless_head_loses_nothing():
    table = detection.coefficient_rows(FEATURES, KEY, DOCUMENTS, FIT, heads=2)
    assert table[["layer", "head"]].to_numpy().tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
    assert table["coefficient"].tolist() == pytest.approx(regression(slice(None))[-1].coef_[0].tolist())
    assert table["ci_low"].iloc[:2].min() > 0 > table["ci_high"].iloc[2]
    assert table["ci_low"].iloc[3] < 0 < table["ci_high"].iloc[3]
    assert table["permutation_importance"].iloc[:3].min() > 5 * abs(table["permutation_importance"].iloc[3])
    assert table["mix_weight"].sum() == pytest.approx(1)
    assert table["mix_weight"].iloc[:2].min() > table["mix_weight"].iloc[2:].max()


def test_shuffling_one_head_is_what_refilling_its_column_gives():
    fast = detection.coefficients_and_importances(FEATURES, KEY, DOCUMENTS, FIT)[1][1]
    training, heldout = detection.splits_of(DOCUMENTS, FIT.folds)[1]
    model = regression(training)
    whole = roc_auc_score(KEY[heldout], model.decision_function(FEATURES[heldout]))
    generator = np.random.default_rng([FIT.seed, 1])
    for draw in range(FIT.permutations):
        order = generator.permutation(len(heldout))
        for head in range(4):
            changed = FEATURES[heldout].copy()
            changed[:, head] = changed[order, head]
            slow = whole - roc_auc_score(KEY[heldout], model.decision_function(changed))
            assert fast[draw, head] == pytest.approx(slow, abs=1e-9)


def test_the_mix_is_a_minimum_of_its_loss():
    """For each change of the weights, with the best scale and bias for it: an unpenalised regression on the mixed heads."""
    weights, standard = detection.mix_weights(FEATURES, KEY), StandardScaler().fit_transform(FEATURES)

    def loss(logits):
        mixed = standard @ (np.exp(logits) / np.exp(logits).sum())
        model = LogisticRegression(C=1e10, tol=1e-10).fit(mixed[:, None], KEY)
        return log_loss(KEY, model.predict_proba(mixed[:, None])[:, 1])

    least = loss(np.log(weights))
    for head in range(4):
        for shift in (-0.2, 0.2):
            assert loss(np.log(weights) + shift * np.eye(4)[head]) > least - 1e-7


def test_detectors_are_compared_within_documents_and_paired():
    """Scores of half of the documents have another scale: AUC over all words falls, within documents it does not."""
    scores = KEY + 0.5 * np.random.default_rng(5).normal(size=len(KEY))
    detectors = {"regression": expit(np.where(DOCUMENTS < 10, scores, 10 + scores)), "best_head": scores - 0.8 * KEY}
    table = detection.detector_rows(detectors, KEY, DOCUMENTS).set_index("detector")
    by_document = {
        name: np.array([roc_auc_score(KEY[k == DOCUMENTS], values[k == DOCUMENTS]) for k in range(20)])
        for name, values in detectors.items()
    }
    row, difference = table.loc["regression"], by_document["regression"] - by_document["best_head"]
    assert row["auc"] == pytest.approx(roc_auc_score(KEY, detectors["regression"]))
    assert row["auc"] < row["document_auc"] - 0.1
    assert row["document_auc"] == pytest.approx(by_document["regression"].mean())
    low, high = ttest_1samp(difference, 0).confidence_interval(0.95)
    assert [row["difference"], row["difference_low"], row["difference_high"]] == pytest.approx([difference.mean(), low, high])


def test_rank_correlations_leave_out_groups_of_documents():
    fit = FIT._replace(fits=1, permutations=1)

    def table(kept):
        calibrated = detection.calibrated_heads(ATTENTION[kept], KEY[kept], DOCUMENTS[kept], fit.folds)
        return detection.rank_correlations(calibrated, FEATURES[kept], KEY[kept], DOCUMENTS[kept], fit).set_index("correlation")

    def correlation(kept):
        heads = detection.coefficient_rows(FEATURES[kept], KEY[kept], DOCUMENTS[kept], fit, heads=4)
        return spearmanr(heads["coefficient"].abs(), heads["permutation_importance"]).statistic

    of_all, ranked = table(slice(None)), ranking()
    whole, group = correlation(slice(None)), folds_of(20, 10, fit.seed)[DOCUMENTS]
    low, high = correlation_interval(whole, [correlation(group != number) for number in range(10)])
    assert of_all.loc["coefficients", ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([whole, low, high])
    value = spearmanr(ranked["slide_entropy"], ranked["cross_entropy"]).statistic
    assert of_all.loc["slide_entropy", ["value", "documents", "groups"]].tolist() == pytest.approx([value, 20, 10])
