"""Inputs and parameters of the rules of Michel et al. (2019): roles with different models."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SHIPPED

from attention_atlas.errors import AtlasError
from attention_atlas.studies.michel2019.study import ID, examples, same_file
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.study_inputs import StudyInputs

INPUTS = StudyInputs(shipped(), ID)
ROLES = {
    "translation": ("opus-mt-tc-big-en-fr", "newstest2013"),
    "translation_other": ("opus-mt-tc-big-en-fr", "mtnt"),
    "translation_importance": ("opus-mt-tc-big-en-fr", "newstest2009-2012"),
    "classification": ("bert-base-glue-mnli-42", "mnli-dev-whole"),
    "classification_other": ("bert-base-glue-mnli-42", "mnli-dev-mismatched"),
    "classification_importance": ("bert-base-glue-mnli-42", "mnli-train"),
    "translation_test": ("opus-mt-tc-big-en-fr", "newstest2014"),
    "classification_selection": ("bert-base-glue-mnli-42", "mnli-train-5000"),
    "dynamics": ("marian-iwslt14", "iwslt14-test"),
    "dynamics_importance": ("marian-iwslt14", "iwslt14-valid"),
}


def test_roles_have_the_models_of_their_experiments():
    assert {role: INPUTS.pair(wildcards("paper"), role) for role in ROLES} == ROLES


def test_without_a_training_there_is_no_figure_5():
    config = shipped_copy()
    for key in ("trained_translator", "dynamics", "dynamics_importance"):
        del config["runs"]["paper"]["michel2019"][key]
    assert examples(config, "paper") == [pair for role, pair in ROLES.items() if not role.startswith("dynamics")]
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
        (tested, classification, "minilm/sample-mnli-from-41"),
        (f"{tested}_other", classification, "minilm/sample-mnli-from-121"),
    ):
        assert INPUTS.examples(role)(job) == [f"results/sample/examples/{folder}/0.parquet"]
    assert INPUTS.limits(examples=tested)(translation) == {"examples": 24}
    opened = [INPUTS.opened(tested, "beams")(job) for job in (translation, classification)]
    assert [each["reader"] for each in opened] == ["parallel", "glue"]
    assert opened[0]["tokenizer"] == "results/sample/models/marian-sample/tokenizer.json"
    assert opened[1]["card"] == "results/sample/models/minilm-glue-mnli-42/card.json"


def test_importance_is_computed_on_so_many_examples():
    scored, training = ("classification_importance", "importance", "records"), wildcards("laptop")
    assert INPUTS.bounded(*scored)(training) == 500
    config = shipped_copy()
    config["corpora"]["qnli-first-half"] |= {"shard": 300}
    config["runs"]["laptop"]["michel2019"]["importance"]["records"] = 301
    shards = [f"results/laptop/examples/minilm/qnli-first-half/{shard}.parquet" for shard in range(2)]
    assert StudyInputs(config, ID).examples(*scored)(training) == shards
    config["runs"]["laptop"]["michel2019"]["importance"]["records"] = 10**6
    assert StudyInputs(config, ID).limits(scored=scored)(training) == {"scored": 3500}


def test_a_slice_of_the_same_file_is_not_another_corpus():
    assert same_file(shipped(), "sample") == {"translation": True, "classification": True}
    assert same_file(shipped(), "laptop") == {"translation": False, "classification": True}
    for run in ("open", "paper"):
        assert same_file(shipped(), run) == {"translation": False, "classification": False}, run


def _common_records(config, one, two):
    """Records that two corpora share: parts of one file, in the same order."""
    one, two = (config["corpora"][name] for name in (one, two))
    starts = [corpus.get("skip", 0) for corpus in (one, two)]
    ends = [start + corpus["limit"] for start, corpus in zip(starts, (one, two), strict=True)]
    same = all(one.get(key) == two.get(key) for key in ("source", "order"))
    return max(0, min(ends) - max(starts)) if same else 0


def test_heads_of_table_6_are_selected_on_examples_without_other_uses():
    """In the laptop run on pairs that no classifier was trained on; in the others, as in the paper, on training examples."""
    config = shipped()
    settings = config["runs"]["laptop"]["michel2019"]
    trained_on = {model["training"]["corpus"] for model in config["models"].values() if model.get("training")}
    assert settings["classification_importance"] in trained_on, "the classifier's training corpus"
    trained_on |= {task["corpus"] for family in config["families"].values() for task in family["tasks"].values()}
    for name in trained_on | {settings["classification"], settings["classification_other"]}:
        assert _common_records(config, settings["classification_selection"], name) == 0, name
    for run in ("open", "paper"):
        settings = config["runs"][run]["michel2019"]
        selection, training = settings["classification_selection"], config["models"][settings["classifier"]]["training"]
        assert _common_records(config, selection, training["corpus"]) == config["corpora"][selection]["limit"], run


@pytest.mark.parametrize("role", ["translation", "translation_test"])
def test_a_translation_model_needs_text_tokenised_as_its_training_text(role):
    corpus = ROLES[role][1]
    overlay = {"runs": {"paper": {"michel2019": {role: "other"}}}, "corpora": {"other": SHIPPED["corpora"][corpus]}}
    resolve(merged(SHIPPED, overlay))
    overlay["corpora"]["other"] = overlay["corpora"]["other"] | {"tokenised": "moses"}
    message = rf"{role}: corpus 'other' has text tokenised by moses, but model 'opus-mt-tc-big-en-fr' needs untokenised text"
    with pytest.raises(AtlasError, match=message):
        resolve(merged(SHIPPED, overlay))
