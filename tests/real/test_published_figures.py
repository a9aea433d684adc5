"""Published figures show the heads of the laptop run on generated sentences; weights by transformers and numpy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import built

FIGURES = {
    "clark2019/figure1": ["kind", "layer", "head", "value"],
    "clark2019/figure5": ["relation", "layer", "head", "direction", "accuracy"],
    "kovaleva2019/figure1": ["class", "layer", "head"],
}
"""Figure that shows text -> columns that are the same on generated text."""
OVER_WORDS = "pobj"
"""Drawn without [CLS] and [SEP]."""


def table(name: str) -> pd.DataFrame:
    """A table of the laptop run; skips the test where its study has not been built."""
    study, _, file = name.partition("/")
    return pd.read_csv(built(study) / f"{file}.tsv", sep="\t", keep_default_na=False, na_values=[""])


@pytest.mark.parametrize("name", FIGURES)
def test_the_heads_on_generated_text_are_those_of_the_run(name):
    of_corpus, generated = (table(file)[FIGURES[name]].drop_duplicates() for file in (name, f"{name}_generated"))
    print(of_corpus.to_string(index=False))
    pd.testing.assert_frame_equal(of_corpus.reset_index(drop=True), generated.reset_index(drop=True))
    texts = [table(file).filter(regex="^(from_word|from_token|query_token)$") for file in (name, f"{name}_generated")]
    assert list(texts[0].iloc[:, 0]) != list(texts[1].iloc[:, 0]), "the text is another one"


def test_the_lines_of_figure_5_are_the_weights_of_transformers(plain_attention, between_words):
    weights = table("clark2019/figure5_generated").query("relation != 'coreference'")
    panels = list(weights.groupby(["relation", "example"], sort=False))
    assert len(panels) == 10
    largest = 0.0
    for (relation, _), panel in panels:
        drawn = panel["weight"].to_numpy().reshape([panel["from_position"].max()] * 2)
        named = list(panel.drop_duplicates("from_position")["from_word"])
        words = named if relation == OVER_WORDS else named[1:-1]
        maps, word_of_token = plain_attention(words)
        of_head = maps[panel["layer"].iloc[0] - 1, panel["head"].iloc[0] - 1]
        if relation == OVER_WORDS:
            expected = between_words(of_head, word_of_token)
            expected = expected / expected.sum(axis=1, keepdims=True)
        else:
            assert (named[0], named[-1]) == ("[CLS]", "[SEP]")
            expected = between_words(of_head, [0, *(word + 1 for word in word_of_token[1:-1]), len(words) + 1])
        difference = np.abs(drawn - expected).max()
        largest = max(largest, float(difference))
        # Maps are kept in half precision.
        assert difference < 2e-3, relation
    print(f"largest difference of a weight: {largest:.1e}")
