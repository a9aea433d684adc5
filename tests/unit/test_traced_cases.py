"""Probabilities of traced targets: means over seeds, and which targets of the development set are traced."""

import numpy as np
import pandas as pd
import pytest

from attention_atlas.studies.tenney2019.probing import traced_cases
from attention_atlas.studies.tenney2019.targets import CASES


def cases_of(*by_seed, gold=((True, False),), source="cases"):
    """Cases of targets whose labels A and B have probabilities [seed][target][top][label]."""
    targets = [{"source": source, "target": number, "gold": np.asarray(right)} for number, right in enumerate(gold)]
    arrays = [np.asarray(probabilities, np.float32).transpose(1, 0, 2) for probabilities in by_seed]
    return pd.DataFrame(traced_cases(targets, ["A", "B"], arrays, source == "cases"), columns=CASES)


def test_probabilities_are_normalised_over_labels_and_averaged_over_seeds():
    table = cases_of([[[0.2, 0.2], [0.9, 0.1]]], [[[0.1, 0.3], [0.6, 0.2]]])
    by_layer = table.pivot_table(index="top", columns="label", values="probability")
    assert by_layer["A"].tolist() == pytest.approx([(0.5 + 0.25) / 2, (0.9 + 0.75) / 2])
    assert by_layer["B"].tolist() == pytest.approx([(0.5 + 0.75) / 2, (0.1 + 0.25) / 2])
    assert dict(zip(table["label"], table["gold"], strict=True)) == {"A": 1, "B": 0}


def test_a_target_of_the_development_set_is_traced_where_no_label_is_likely_in_all_layers():
    probabilities = [
        [[0.9, 0.1], [0.9, 0.1]],  # sure
        [[0.9, 0.1], [0.4, 0.1]],
        [[0.4, 0.1], [0.4, 0.1]],  # no wrong label
        [[0.4, 0.1], [0.4, 0.1]],  # no right one
    ]
    gold = [(True, False), (True, False), (True, True), (False, False)]
    assert set(cases_of(probabilities, gold=gold, source="development")["target"]) == {1}
    assert set(cases_of(probabilities, gold=gold)["target"]) == {0, 1}
