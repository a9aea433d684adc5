"""Figure 5 of Clark et al. on the laptop run: its weights by transformers and numpy."""

import numpy as np
import pandas as pd
from conftest import built

OVER_WORDS = "pobj"
"""Drawn without [CLS] and [SEP]."""


def test_the_lines_of_figure_5_are_the_weights_of_transformers(plain_attention, between_words):
    weights = pd.read_csv(built("clark2019") / "figure5.tsv", sep="\t", keep_default_na=False, na_values=[""])
    weights = weights[weights["relation"] != "coreference"]
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
