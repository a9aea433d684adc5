"""Ranking of heads by how well their attention detects keyphrases, against hand-made heads and loops."""

import math

import numpy as np
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.detection import calibrated_heads, head_ranking, splits_of

WORDS, DOCUMENTS = 400, 10
CHANCE = np.random.default_rng(0)
KEY = CHANCE.random(WORDS) < 0.3
GROUPS = np.arange(WORDS) % DOCUMENTS
NOISE = CHANCE.random(WORDS) * 0.02 + 0.01


def ranking(received, key, documents, folds=5):
    return head_ranking(received, key, documents, calibrated_heads(received, key, documents, folds), heads=received.shape[1])


def features():
    """[word, 3]: a head that detects keyphrase words, one that detects the opposite, one without information."""
    return np.stack([NOISE + 0.03 * KEY, NOISE + 0.03 * ~KEY, NOISE], axis=1)


def test_a_head_that_detects_is_first_and_its_opposite_is_as_good_once_calibrated():
    table = ranking(features(), KEY, GROUPS)
    by_head = table.set_index("head")
    assert table["head"].iloc[-1] == 3
    assert by_head.loc[1, "auc"] == 1
    assert by_head.loc[2, "auc"] == 0
    assert by_head.loc[3, "auc"] == pytest.approx(0.5, abs=0.1)
    assert by_head.loc[1, "cross_entropy"] == pytest.approx(by_head.loc[2, "cross_entropy"], rel=0.2)
    assert by_head.loc[3, "cross_entropy"] > by_head.loc[1, "cross_entropy"] + 0.2
    assert by_head.loc[3, "cross_entropy"] == pytest.approx(by_head.loc[3, "cross_entropy_none"], abs=0.01)
    assert (table["share"] == KEY.mean()).all()


def test_quantities_are_those_of_loops():
    values = features()[:, 2]
    row = ranking(features(), KEY, GROUPS).set_index("head").loc[3]
    above = [(a > b) + 0.5 * (a == b) for a in values[KEY] for b in values[~KEY]]
    assert row["auc"] == pytest.approx(sum(above) / len(above))
    slide = -sum(math.log(v if flag else 1 - v) for v, flag in zip(values, KEY, strict=True))
    assert row["slide_entropy"] == pytest.approx(slide)


def test_attention_of_0_and_1_has_an_entropy():
    sure = np.stack([KEY.astype(float), (~KEY).astype(float)], axis=1)
    table = ranking(sure, KEY, GROUPS).set_index("head")
    assert table.loc[1, "slide_entropy"] == pytest.approx(0, abs=1e-6)
    assert np.isfinite(table.loc[2, "slide_entropy"])


def test_too_few_documents_or_words_of_one_kind_are_refused():
    with pytest.raises(AtlasError, match="2 documents cannot be split into 5 folds"):
        ranking(features()[:2], KEY[:2], np.arange(2))
    with pytest.raises(AtlasError, match="have no keyphrase words, or no others"):
        ranking(features(), np.ones(WORDS, bool), GROUPS)


def test_sums_by_document_are_those_of_a_loop_over_words():
    received = features()
    calibrated = calibrated_heads(received, KEY, GROUPS, 5)
    for number in range(DOCUMENTS):
        words = np.flatnonzero(number == GROUPS)
        slide = sum(-math.log(received[k, 1] if KEY[k] else 1 - received[k, 1]) for k in words)
        assert calibrated.slide[number, 1] == pytest.approx(slide)
    table = ranking(received, KEY, GROUPS).set_index("head")
    for head in (1, 2, 3):
        assert calibrated.cross_entropy[:, head - 1].sum() / WORDS == pytest.approx(table.loc[head, "cross_entropy"])
    assert (table["documents"] == DOCUMENTS).all()
    assert table.loc[3, "auc_low"] < table.loc[3, "auc"] < table.loc[3, "auc_high"]


def test_calibrated_cross_entropy_is_that_of_a_fit_to_other_documents():
    received = features()
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    probabilities = np.empty(WORDS)
    for training, heldout in splits_of(GROUPS, 5):
        values = received[:, 0]
        mean, deviation = values[training].mean(), values[training].std()
        model = LogisticRegression().fit(((values[training] - mean) / deviation)[:, None], KEY[training])
        probabilities[heldout] = model.predict_proba(((values[heldout] - mean) / deviation)[:, None])[:, 1]
    row = ranking(received, KEY, GROUPS).set_index("head").loc[1]
    assert row["cross_entropy"] == pytest.approx(log_loss(KEY, probabilities))
