"""Probabilities of traced targets: means over seeds, and which targets of the development set are traced."""

import numpy as np
import pandas as pd
import pytest

from attention_atlas.studies.tenney2019.scores import CASES, TRACES
from attention_atlas.studies.tenney2019.traces import traced_cases


def trace(probability, gold=(True, False), source="cases", target=0, task="pos"):
    about = {"source": source, "task": task, "id": "e0", "record": 0, "target": target}
    spans = {"span1": "w", "span2": "", "words": "w v"}
    values = {"labels": ["A", "B"], "gold": np.asarray(gold), "probability": np.asarray(probability, np.float32)}
    return about | spans | values


def cases_of(*by_seed):
    rows = traced_cases([pd.DataFrame(rows, columns=TRACES) for rows in by_seed])
    return pd.DataFrame(rows, columns=CASES)


def test_probabilities_are_normalised_over_labels_and_averaged_over_seeds():
    table = cases_of([trace([0.2, 0.2, 0.9, 0.1])], [trace([0.1, 0.3, 0.6, 0.2])])
    by_layer = table.pivot_table(index="top", columns="label", values="probability")
    assert by_layer["A"].tolist() == pytest.approx([(0.5 + 0.25) / 2, (0.9 + 0.75) / 2])
    assert by_layer["B"].tolist() == pytest.approx([(0.5 + 0.75) / 2, (0.1 + 0.25) / 2])
    assert dict(zip(table["label"], table["gold"], strict=True)) == {"A": 1, "B": 0}


def test_a_target_of_the_development_set_is_traced_where_no_label_is_likely_in_all_layers():
    rows = [
        trace([0.9, 0.1, 0.9, 0.1], source="development", target=0),  # sure
        trace([0.9, 0.1, 0.4, 0.1], source="development", target=1),
        trace([0.4, 0.1, 0.4, 0.1], (True, True), source="development", target=2),  # no wrong label
        trace([0.4, 0.1, 0.4, 0.1], (False, False), source="development", target=3),  # no right one
    ]
    assert set(cases_of(rows)["target"]) == {1}
    assert len(cases_of()) == len(cases_of([], [])) == 0
