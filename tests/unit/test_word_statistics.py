"""Features of words that need no model, against values counted by hand."""

import math

import numpy as np
import pytest

from attention_atlas.studies.stefanik2021.word_statistics import WORD_STATISTICS, word_statistics


def test_values_are_those_counted_by_hand():
    texts = [["Parsers", "and", "a", "parser", "."], ["A", "parser"], ["Dogs"], ["Cats"]]
    table = word_statistics(texts)
    assert table.shape == (9, len(WORD_STATISTICS))
    row = dict(zip(WORD_STATISTICS, table[3], strict=True))
    rarity = math.log(4 / 2)  # two of four texts have the stem
    assert row == {
        "place": pytest.approx(3 / 5),
        "first_place": 0.0,
        "log_frequency": pytest.approx(math.log(2)),
        "log_inverse_document_frequency": pytest.approx(rarity),
        "tf_idf": pytest.approx((1 + math.log(2)) * rarity),
        "length": 6,
        "has_letters": 1,
        "capitalised": 0,
        "stop_word": 0,
    }
    forms = table[:, -3:]
    assert forms[4].tolist() == [0, 0, 0], "a full stop"
    assert forms[5].tolist() == [1, 1, 1], "A at the beginning of the second text"
    assert np.array_equal(word_statistics(texts), table)
