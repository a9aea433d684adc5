"""Štefánik's study: attention that words receive by plain transformers and numpy, and the ranking of heads by scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

HALF_PRECISION = {"rtol": 1e-3, "atol": 1e-6}
"""The run keeps attention maps in half precision, which has eleven binary digits and nothing below 6e-8."""
DOCUMENTS = 20


def column(layer: int, head: int, reduction: str) -> str:
    return f"l{layer}_h{head}_{reduction}"


@pytest.fixture(scope="module")
def words(stefanik2021):
    """One row per word of all documents: whether it belongs to a keyphrase, and the attention it receives from each head."""
    return pd.read_parquet(stefanik2021 / "words.parquet")


def test_transformers_gives_the_attention_that_words_receive(words, plain_attention, between_words):
    largest = 0.0
    for _, rows in list(words.groupby("record"))[:DOCUMENTS]:
        by_word = between_words(*plain_attention(rows["word"].tolist()))
        for reduction, received in (("mean", by_word.mean(axis=2)), ("max", by_word.max(axis=2))):
            names = [column(layer + 1, head + 1, reduction) for layer, head in np.ndindex(received.shape[:2])]
            run = rows[names].to_numpy().T
            largest = max(largest, float(np.abs(run - received.reshape(run.shape)).max()))
            np.testing.assert_allclose(run, received.reshape(run.shape), **HALF_PRECISION)
    print(f"{DOCUMENTS} documents, largest difference of the attention that a word receives: {largest:.1e}")


def test_scikit_learn_gives_the_ranking_of_heads_and_the_scores_of_detectors(stefanik2021, words):
    table = pd.read_csv(stefanik2021 / "head_ranking.tsv", sep="\t")
    assert len(table) == 72
    for row in table.itertuples():
        received = words[column(row.layer, row.head, "max")]
        assert roc_auc_score(words["key"], received) == pytest.approx(row.auc, rel=6e-6)
        assert average_precision_score(words["key"], received) == pytest.approx(row.average_precision, rel=6e-6)
    detectors = pd.read_csv(stefanik2021 / "detection/detectors.tsv", sep="\t").set_index("detector")["auc"]
    assert {"regression", "best_head", "word_statistics"} <= set(detectors.index) & set(words)
    for detector in detectors.index.intersection(words.columns):
        assert roc_auc_score(words["key"], words[detector]) == pytest.approx(detectors[detector], rel=6e-6)
