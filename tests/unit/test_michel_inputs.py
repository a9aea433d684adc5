"""Inputs and parameters of the rules of Michel et al. (2019): roles with different models."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SHIPPED

from attention_atlas.errors import AtlasError
from attention_atlas.studies.michel2019.study import ID, same_file
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.study_inputs import StudyInputs

INPUTS = StudyInputs(shipped(), ID)


def test_without_a_training_there_is_no_figure_5():
    config = shipped_copy()
    for key in ("trained_translator", "dynamics", "dynamics_importance"):
        del config["runs"]["paper"]["michel2019"][key]
    inputs = StudyInputs(config, ID)
    assert inputs.table_if("dynamics", "figure5.tsv")(wildcards("paper")) == []
    assert INPUTS.table_if("dynamics", "figure5.tsv")(wildcards("paper")) == ["results/paper/michel2019/figure5.tsv"]
    with pytest.raises(AtlasError, match=r"runs\.paper\.michel2019 names no corpus for the role 'dynamics'"):
        inputs.of_role("dynamics", "{model}")(wildcards("paper"))


def test_the_experiment_in_the_path_chooses_the_role():
    translation, classification = (wildcards(experiment=name) for name in ("translation", "classification"))
    tested = "{wildcards.experiment}"
    # Examples are those of the model whose tokenizer it is.
    for role, job, folder in (
        (tested, translation, "marian-sample-untrained/sample-parallel"),
        (f"{tested}_other", classification, "minilm/sample-mnli-from-121"),
    ):
        assert INPUTS.examples(role)(job) == [f"results/sample/examples/{folder}/0.parquet"]
    assert INPUTS.limits(examples=tested)(translation) == {"examples": 24}
    opened = INPUTS.opened(tested, "beams")(classification)
    assert (opened["reader"], opened["card"]) == ("glue", "results/sample/models/minilm-glue-mnli-42/card.json")


def test_a_slice_of_the_same_file_is_not_another_corpus():
    assert same_file(shipped(), "sample") == {"translation": True, "classification": True}
    assert same_file(shipped(), "laptop") == {"translation": False, "classification": True}
    for run in ("open", "paper"):
        assert same_file(shipped(), run) == {"translation": False, "classification": False}, run


def test_a_translation_model_needs_text_tokenised_as_its_training_text():
    other = SHIPPED["corpora"]["newstest2014"] | {"tokenised": "moses"}
    overlay = {"runs": {"paper": {"michel2019": {"translation_test": "other"}}}, "corpora": {"other": other}}
    with pytest.raises(AtlasError, match="tokenised by moses, but model 'opus-mt-tc-big-en-fr' needs untokenised text"):
        resolve(merged(SHIPPED, overlay))
