"""Inputs and parameters of the rules of Kovaleva et al. (2019): tasks, seeds, and files that may be missing."""

from shipped_runs import wildcards
from small_config import with_family

from attention_atlas.studies.kovaleva2019.study import ID, examples, tasks_of
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

SMALL = StudyInputs(resolve(with_family(measured_records=3)), ID)
MEASURES = "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors"


def test_models_of_a_task_by_seed_and_by_what_they_are_trained_from():
    mrpc, second = wildcards("one", task="mrpc"), wildcards("one", task="rte", seed=2)
    weights = "results/one/models/small-mrpc-{}/checkpoint/model.safetensors"
    assert SMALL.tuned_weights("tasks")(mrpc) == [weights.format(name) for name in ("7", "random-8", "random-9")]
    members = SMALL.tuned("tasks")(mrpc)
    assert {state: list(seeds) for state, seeds in members.items()} == {"tuned": [7], "random": [8, 9]}
    assert SMALL.seed_weights("tasks")(second) == "results/one/models/small-rte-2/checkpoint/model.safetensors"
    assert SMALL.of_seed("tasks")(second)["source"] == {"path": "results/one/models/small-rte-2/checkpoint"}
    files = [f"results/one/kovaleva2019/measures/{name}.safetensors" for name in ("rte-1", "rte-2", "mrpc-7")]
    by_seed = SMALL.by_seed("tasks", MEASURES)
    assert by_seed(wildcards("one")) == {"rte": {1: files[0], 2: files[1]}, "mrpc": {7: files[2]}}
    assert leaves(by_seed)(wildcards("one")) == files


def test_tasks_whose_files_are_missing_are_skipped_where_that_may_be(without_files):
    skipping = resolve(with_family() | {"missing": "skip"})
    assert list(tasks_of(skipping, "one")) == []
    (without_files / "mrpc.tsv").touch()
    assert tasks_of(skipping, "one") == {"mrpc": "mrpc-dev"}
    assert examples(skipping, "one") == [("tiny", "mrpc-dev"), ("tiny", "mrpc-train")]
    # A task is built where its models can be trained as well.
    skipping["corpora"]["mrpc-train"]["source"]["path"] = "mrpc-train.tsv"
    assert tasks_of(skipping, "one") == {}
    # Where missing files are an error, all tasks stay, so that the error names their files.
    assert list(tasks_of(resolve(with_family()), "one")) == ["rte", "mrpc"]
