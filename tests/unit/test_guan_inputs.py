"""Inputs and parameters of the rules of Guan et al. (2020), and the models that the study compares."""

from shipped_runs import shipped, shipped_copy, wildcards
from small_config import give_model

from attention_atlas.studies.guan2020.study import ID, STUDY, compared_models
from attention_atlas.workflow.requirements import required_for
from attention_atlas.workflow.study import extracted
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

INPUTS = StudyInputs(shipped(), ID)
FEATURES = "results/{run}/guan2020/features/{model}/{corpus}.safetensors"


def test_features_are_averaged_over_so_many_records():
    config = shipped_copy()
    config["runs"]["laptop"]["guan2020"]["samples"] = 150
    inputs = StudyInputs(config, ID)
    job = wildcards("laptop", model="minilm", corpus="xquad-en")
    shards = [each.shards("questions", "samples", suffix="json") for each in (INPUTS, inputs)]
    # Of three shards of 100 questions, those with the first 150.
    assert shards[0](job) == [f"results/laptop/attention/minilm/xquad-en/{n}.json" for n in range(3)]
    assert shards[1](job) == [f"results/laptop/attention/minilm/xquad-en/{n}.json" for n in range(2)]
    squad = wildcards("laptop", model="minilm-squad-laptop", corpus="xquad-en")
    assert inputs.examples("questions", "samples")(squad) == [
        f"results/laptop/examples/minilm/xquad-en/{n}.parquet" for n in range(2)
    ]
    assert [each.bounded("questions", "samples")(job) for each in (INPUTS, inputs)] == [240, 150]
    assert ("minilm-squad-laptop", "xquad-en", 150) in extracted(config, "laptop", "guan2020")


def test_compared_models_the_pretrained_one_first():
    assert list(compared_models(shipped(), "sample").items()) == [
        ("pretrain", ("minilm", "sample-questions")),
        ("squad", ("minilm-squad", "sample-questions")),
    ]
    features = "results/laptop/guan2020/features"
    assert list(INPUTS.of_group("compared", FEATURES)(wildcards("laptop")).items()) == [
        ("pretrain", f"{features}/minilm/xquad-en.safetensors"),
        ("squad", f"{features}/minilm-squad-laptop/xquad-en.safetensors"),
        ("stsb", f"{features}/minilm-glue-laptop-stsb-42/stsb-dev.safetensors"),
    ]
    assert INPUTS.of_role("questions", FEATURES)(wildcards("laptop")) == f"{features}/minilm-squad-laptop/xquad-en.safetensors"
    labels = INPUTS.labels("compared")(wildcards("laptop"))
    assert {name: (label["model"], label["corpus"]) for name, label in labels.items()} == {
        "pretrain": ("minilm", "XQuAD English"),
        "squad": ("minilm-squad-laptop", "XQuAD English"),
        "stsb": ("minilm-glue-laptop-stsb-42", "STS-B dev"),
    }


def test_models_that_are_missing_or_whose_corpora_are_are_compared_only_where_that_is_an_error(without_files):
    assert list(compared_models(shipped(), "paper")) == ["pretrain", "squad", "mrpc", "mnli"]
    skipping = shipped_copy("skip")
    skipping["models"]["bert-large-wwm"]["source"] = {"path": "models/wwm"}
    # Neither the pre-trained model nor what others are trained on is there.
    assert list(compared_models(skipping, "paper")) == ["squad"]
    give_model(without_files, skipping["models"]["bert-large-wwm"])
    assert list(compared_models(skipping, "paper")) == ["pretrain", "squad"]
    assert leaves(StudyInputs(skipping, ID).of_group("compared", FEATURES))(wildcards("paper")) == [
        f"results/paper/guan2020/features/{model}/squad-dev.safetensors" for model in ("bert-large-wwm", "bert-large-wwm-squad")
    ]


def test_a_fine_tuned_model_needs_what_it_is_trained_on():
    needed = required_for(shipped(), "paper", STUDY, STUDY.artifact("figure4"))
    assert {title.partition(" ")[2] for title in needed if title.startswith("corpus")} == {
        *("squad-dev", "mrpc-dev", "mrpc-train", "mnli-dev", "mnli-train")
    }
