"""Inputs and parameters of the rules of Michel et al. (2019): roles with different models."""

import re
from pathlib import Path

import pytest
import yaml
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SHIPPED

from attention_atlas.errors import AtlasError
from attention_atlas.studies.michel2019.study import ID, STUDY, examples, same_file
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.requirements import required_for
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


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_the_model_of_its_experiment(role):
    assert INPUTS.pair(wildcards("paper"), role) == ROLES[role]
    assert INPUTS.model_name(role)(wildcards("paper")) == ROLES[role][0]
    assert INPUTS.card(role)(wildcards("paper")) == f"results/paper/models/{ROLES[role][0]}/card.json"


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
    assert INPUTS.examples(tested)(translation) == ["results/sample/examples/marian-sample-untrained/sample-parallel/0.parquet"]
    assert INPUTS.examples(tested)(classification) == ["results/sample/examples/minilm/sample-mnli-from-41/0.parquet"]
    assert INPUTS.examples(f"{tested}_other")(classification) == [
        "results/sample/examples/minilm/sample-mnli-from-121/0.parquet"
    ]
    assert INPUTS.limits(examples=tested)(translation) == {"examples": 24}
    opened = [INPUTS.opened(tested, "beams")(job) for job in (translation, classification)]
    assert [each["reader"] for each in opened] == ["parallel", "glue"]
    assert opened[0]["tokenizer"] == "results/sample/models/marian-sample/tokenizer.json"
    assert opened[1]["card"] == "results/sample/models/minilm-glue-mnli-42/card.json"
    assert opened[1]["model"]["source"] == {"path": "results/sample/models/minilm-glue-mnli-42/checkpoint"}
    assert [each["beams"] for each in opened] == [2, 2]


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


def test_the_classifier_of_the_open_run_has_one_task_on_all_its_corpora():
    """MNLI's two development sets are the paper's; the model is trained on neither."""
    config, run = shipped(), shipped()["runs"]["open"]["michel2019"]
    training = config["models"][run["classifier"]]["training"]["corpus"]
    roles = [role for role in run if role in ROLES and role.startswith("classification")]
    assert len(roles) == 4
    assert {config["corpora"][run[role]]["task"] for role in roles} == {config["corpora"][training]["task"]} == {"mnli"}
    splits = [config["corpora"][name]["source"]["split"] for name in (run["classification"], run["classification_other"])]
    assert config["corpora"][training]["source"]["split"] not in splits


def _records(config, name):
    """Records of a file that a corpus contains, by position in the corpus's order of the file."""
    corpus = config["corpora"][name]
    source, start = corpus["source"], corpus.get("skip", 0)
    return {(str(source), corpus.get("order"), record) for record in range(start, start + corpus["limit"])}


def test_heads_of_table_6_are_selected_on_examples_without_other_uses():
    """In the laptop run on pairs that no classifier was trained on; in the others, as in the paper, on training examples."""
    config = shipped()
    settings = config["runs"]["laptop"]["michel2019"]
    selection = _records(config, settings["classification_selection"])
    assert len(selection) == 300
    trained_on = {model["training"]["corpus"] for model in config["models"].values() if model.get("training")}
    families = {task["corpus"] for family in config["families"].values() for task in family["tasks"].values()}
    assert settings["classification_importance"] in trained_on, "the classifier's training corpus"
    for name in trained_on | families | {settings["classification"], settings["classification_other"]}:
        assert not selection & _records(config, name), name
    assert max(record for *_, record in selection) < 5463, "pairs of QNLI's development set"
    for run in ("open", "paper"):
        settings = config["runs"][run]["michel2019"]
        training = config["models"][settings["classifier"]]["training"]["corpus"]
        assert _records(config, settings["classification_selection"]) <= _records(config, training), run


TOKENISED = ("translation", "translation_other", "translation_importance", "translation_test")
"""Roles of the overlay in the documentation that names the paper's own translation model."""


@pytest.fixture(scope="module")
def with_fairseq():
    """The shipped configuration with that overlay."""
    page = (Path(__file__).parents[2] / "docs/licensed-corpora.md").read_text(encoding="utf-8")
    (overlay,) = re.findall(r"```yaml\n(# fairseq\.yaml\n.*?)```", page, re.DOTALL)
    return merged(SHIPPED, yaml.safe_load(overlay))


def test_the_documented_overlay_has_the_papers_data_tokenised(with_fairseq):
    config = resolve(with_fairseq)
    settings = config["runs"]["paper-fairseq"]["michel2019"]
    assert config["models"][settings["translator"]]["tokenised"] == "moses"
    for role in TOKENISED:
        tokenised, plain = (config["corpora"][name] for name in (settings[role], ROLES[role][1]))
        assert (tokenised["tokenised"], tokenised["reference"]) == ("moses", plain["reference"])
        for key in ("limit", "languages", "order", "shard", "max_tokens"):
            assert tokenised[key] == plain[key], (role, key)
        french = config["corpora"][tokenised["translations"]]
        assert tokenised["source"]["path"].removesuffix(".en") == french["source"]["path"].removesuffix(".fr")


@pytest.mark.parametrize("role", TOKENISED)
def test_a_translation_model_needs_text_tokenised_as_its_training_text(with_fairseq, role):
    plain, tokenised = ROLES[role][1], f"{ROLES[role][1]}-moses"
    raw = merged(with_fairseq, {"runs": {"paper-fairseq": {"michel2019": {role: plain}}}})
    message = rf"{role}: corpus '{plain}' has untokenised text, but model 'wmt14-en-fr-fairseq' needs text tokenised by moses"
    with pytest.raises(AtlasError, match=message):
        resolve(raw)
    other_model = merged(SHIPPED, {"runs": {"paper": {"michel2019": {role: tokenised}}}})
    message = (
        rf"{role}: corpus '{tokenised}' has text tokenised by moses, but model 'opus-mt-tc-big-en-fr' needs untokenised text"
    )
    with pytest.raises(AtlasError, match=message):
        resolve(other_model)


def test_importance_is_computed_on_sentences_of_all_years():
    corpora = shipped()["corpora"]
    assert corpora["newstest2009-2012"]["order"] == "shuffled", "the first 5,000 lines are 2009 and half of 2010"


def test_what_a_run_reads_and_names_of_what_was_left_out():
    # The corpora that its models are trained on, and the files with translations.
    laptop = set(required_for(shipped(), "laptop", STUDY, STUDY.artifact("table1")))
    french = {"corpus multi30k-train-french", "corpus multi30k-2016-french"}
    assert {"corpus multi30k-train", "corpus qnli-first-half"} | french <= laptop
    # The study has no single model, so each corpus is named with its model.
    names = list(INPUTS.shards_by_corpus(wildcards()))
    assert names[0] == "generated sample, English and French (marian-sample)"
    assert all(name.endswith(("(marian-sample)", "(minilm-glue-mnli-42)")) for name in names)
    assert len(names) == 6
