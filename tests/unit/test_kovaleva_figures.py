"""The figures of Kovaleva et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from largest_tables import HEADS, LABEL, LAYERS, all_heads, combined, generator, long_labels
from text_boxes import saved_figures

from attention_atlas.studies.kovaleva2019 import CLASSES, TASKS
from attention_atlas.studies.kovaleva2019 import figures as study_figures
from attention_atlas.studies.kovaleva2019.figures import _FEATURES as FEATURES
from attention_atlas.studies.kovaleva2019.figures import role_runs

LABELS = long_labels(TASKS)
METRICS = {"mrpc": "f1", "qqp": "f1", "stsb": "correlation"}


def by_head(keys, **values):
    frame = combined(keys).merge(all_heads()[["layer", "head"]], how="cross")
    return frame.assign(value=generator().random(len(frame)), n=12345, seeds=10, **values)


def of_figure1(size=40):
    tokens = ["[CLS]", "incomprehensibilities", "$5", "counterrevolutionaries", "of", *["characteristically"] * 50][:size]
    cells = pd.DataFrame([(q + 1, k + 1, tokens[q]) for q in range(size) for k in range(size)])
    cells.columns = ["query", "key", "query_token"]
    facts = {"probability": 0.999, "task": "mrpc", "example": "12345", "layer": LAYERS, "head": HEADS}
    parts = [cells.assign(**{"class": name}, **facts, weight=generator().random(len(cells))) for name in CLASSES]
    return {"drawn": pd.concat(parts)}


def of_figure2():
    rows = combined(
        {"task": TASKS, "annotator": ["rules", "network"], "class": CLASSES}, {"share": 0.2, "maps": 10**6, "n": 12345}
    )
    patterns = pd.DataFrame({"annotator": ["rules", "network"], "folds": "layer", "class": "macro", "f1": [0.72, 0.47]})
    return {"classes": rows, "patterns": patterns}


def of_figure3():
    rows = all_heads()[["layer", "head"]].assign(value=generator().random(LAYERS * HEADS), control=0.1, n=12345)
    rows = rows.assign(margin=rows["value"] - 0.5, margin_all_low=rows["value"] - 0.7)
    return {"frame_heads": rows, "direction": "target_to_fe", "pairing": "all"}


def of_figure4():
    words = ["The", "$2", "counterrevolutionaries", "were", "then", "characteristically", "agitated"]
    words += ["by", "the", "other", "revolutionaries", "."]
    roles = ["element"] * 3 + [""] * 3 + ["target", ""] + ["element"] * 3 + [""]
    facts = {"frame": "Emotion_directed_at_someone", "example": "12345"}
    return {"frame_sentence": pd.DataFrame({"word": words, "role": roles, **facts})}


def of_figure5():
    return {"cosine": by_head({"task": TASKS, "crop": ["padded", "real_same", "real"]})}


def of_figure6():
    return {"special": by_head({"task": TASKS, "feature": ["sep", "sep_sum", "cls"]})}


def of_figure7():
    keys = {"task": TASKS, "mode": ["as_published", "corrected"], "feature": list(FEATURES), "head": range(1, HEADS + 1)}
    return {"first_row": combined(keys, {"value": 0.2, "n": 12345})}


def changed(rows):
    """Changes of scores; none in one task."""
    delta = np.where(rows["task"] == "rte", 0, generator().normal(-3, 8, len(rows)))
    metric = rows["task"].map(METRICS).fillna("accuracy")
    facts = {"baseline": 88.8, "p_adjusted": 0.04, "n": 12345, "seeds": 10}
    return rows.assign(metric=metric, delta=delta, ci_low=delta - 5, ci_high=delta + 5, **facts)


def of_figure8():
    return {"disabling_heads": changed(combined({"task": TASKS}).merge(all_heads(), how="cross"))}


def of_figure9():
    rows = combined({"task": TASKS, "layer": range(1, LAYERS + 1)})
    return {"disabling_layers": changed(rows)}


FRAMES = {f"figure{k}": globals()[f"of_figure{k}"] for k in range(1, 10)}


def saved(name, frames, folder, labels=LABELS):
    """The figure as it stands in its file."""
    draw = getattr(study_figures, name)
    with saved_figures() as figures:
        draw(**frames).write({"png": folder / f"{name}.png"}, labels)
    (figure,) = figures
    return figure


@pytest.mark.parametrize("name", FRAMES)
def test_a_figure_of_the_largest_shape_can_be_read(tmp_path, name):
    figure = saved(name, FRAMES[name](), tmp_path, {"mrpc": LABEL} if name in ("figure1", "figure3", "figure4") else LABELS)
    assert figure.problems == []
    if name in ("figure8", "figure9"):
        assert [text.splitlines()[0] for text in figure.texts if "no change" in text] == ["RTE: accuracy 88.8"]
    if name in ("figure2", "figure3", "figure5", "figure6", "figure7", "figure8", "figure9"):
        assert any("ublished" in text for text in figure.texts)


def test_figure7_keeps_the_published_rows_of_features_without_a_value_here(tmp_path):
    rows = combined(
        {"task": ["mrpc"], "mode": ["as_published", "corrected"], "feature": ["sep", "punct"], "head": range(1, 13)},
        {"value": 0.2, "n": 40},
    )
    figure = saved("figure7", {"first_row": rows}, tmp_path, {"mrpc": LABEL})
    assert figure.problems == []
    assert {*FEATURES.values()} - {*figure.texts} == set(), "the paper has all but punctuation, which is ours"


def test_one_head_with_a_large_change_leaves_the_others_their_colours(tmp_path):
    rows = changed(all_heads(layers=6, heads=12).assign(task="stsb"))
    rows["delta"] = np.tile(np.linspace(-1.5, 1.5, 36), 2)
    rows.loc[13, "delta"] = -30.7
    figure = saved("figure8", {"disabling_heads": rows}, tmp_path, {"stsb": LABEL})
    assert figure.problems == []
    (title,) = (text for text in figure.texts if text.startswith("STS-B"))
    assert title.splitlines()[1:4] == ["n = 12345, 10 seeds", "−30.7 to +1.5", "published 89.0, −0.3 to +0.1"]
    assert any("points (accuracy and F1 in %, correlation × 100)" in text for text in figure.texts)


def test_adjacent_words_of_a_role_are_one_text():
    assert role_runs(["a", "b", "c", "d"], ["", "element", "element", "target"]) == [
        ("a", ""),
        ("b c", "element"),
        ("d", "target"),
    ]
