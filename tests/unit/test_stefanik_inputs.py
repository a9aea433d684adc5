"""Inputs and parameters of the rules of Štefánik's study: taggers, one a seed."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.study import corpora, examples, taggers
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


def test_a_run_without_taggers_is_told_so():
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
    settings = INPUTS.fit_settings(wildcards())
    assert set(settings) == {"folds", "penalty", "fits", "permutations", "seed"}
    assert settings["fits"] == 40


def test_labels_of_figures():
    assert INPUTS.tagging_label(wildcards())["model"] == "minilm-keyphrases (3 seeds)"
    assert INPUTS.tagging_label(wildcards("paper"))["corpus"].startswith("Inspec")
    figures = INPUTS.figure_labels(wildcards())
    assert set(figures) == {"relative_attention", "head_ranking", "logistic_regression", "model_view"}
    # A pair of sentences is written by hand, whatever the run reads.
    pair = " / ".join(shipped()["runs"]["sample"]["stefanik2021"]["pairs"][0])
    view = figures["model_view"]
    assert (view["corpus"], view["corpus_reference"], view["sample"]) == (pair, "", False)
    assert figures["head_ranking"]["sample"]
    tagging = INPUTS.tagging_labels(wildcards())
    assert {name: label["model"] for name, label in tagging.items()} == {
        **dict.fromkeys(("fine_tuning", "ablation", "cumulative_ablation"), "minilm-keyphrases (3 seeds)"),
        "baselines": "minilm",
    }
