"""Every figure of every study can be read when it is drawn from tables of the largest shape: text size, overlap, size."""

import pytest
from largest_inputs import INPUTS, LABEL, MODEL, long_labels
from text_boxes import saved_figures

from attention_atlas.workflow.shown import call_function, shown
from attention_atlas.workflow.study import studies

FIGURES = {(study, item.id): item for study in studies() for item in shown(study) if item.kind == "figure"}
CASES = [(study, case) for study, cases in INPUTS.items() for case in cases]


def test_every_figure_has_inputs_of_the_largest_shape():
    assert {(study, case.partition(" ")[0]) for study, case in CASES} == {*FIGURES}


@pytest.mark.parametrize(("study", "case"), CASES, ids=map(" ".join, CASES))
def test_a_figure_of_the_largest_shape_can_be_read(study, case, tmp_path):
    item = FIGURES[study, case.partition(" ")[0]]
    # Another label for each role, and for each of the eight members of a group, such as tasks.
    groups = studies()[item.study].groups
    labels = long_labels([f"{role}{k or ''}" for role in item.labels for k in range(8 if role in groups else 1)])
    inputs = INPUTS[study][case]()
    with saved_figures() as figures:
        drawn = call_function(item.call)(**inputs, **({"labels": labels} if "labels" in item.arguments else {}))
        drawn.write({"png": tmp_path / "figure.png"}, labels, run_title=LABEL.run)
    (figure,) = figures
    assert figure.problems == []
    texts = " ".join(" ".join(figure.texts).split())
    assert LABEL.run in texts
    assert MODEL in texts or not labels
