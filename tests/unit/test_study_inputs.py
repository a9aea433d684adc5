"""Inputs and parameters of the rules of studies: variants, roles with different models, seeds, missing files, artefacts."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SHIPPED, with_family

from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019.study import ID, examples, tasks_of
from attention_atlas.studies.michel2019.study import same_file
from attention_atlas.workflow.artifacts import listed_artifacts
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.requirements import without_missing
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

INPUTS = StudyInputs(shipped(), "clark2019")
SMALL = StudyInputs(resolve(with_family(measured_records=3)), ID)
MEASURES = "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors"


def test_a_variant_names_another_corpus_or_another_model():
    recipe = wildcards("paper", variant="recipe")
    assert INPUTS.pair(recipe, "segments") == ("bert-base-uncased", "wikipedia-segments-clean")
    casing = wildcards("paper", variant="casing")
    assert INPUTS.pair(casing, "dependencies") == ("bert-base-cased", "wsj-dev")
    # Its tokenizer is another one, so that it has examples of its own.
    assert INPUTS.examples("dependencies")(casing)[0] == "results/paper/examples/bert-base-cased/wsj-dev/0.parquet"
    # The probes of the run's model come before those of random ones; the model in the path, on the corpus of the role.
    probes = INPUTS.of_group("probed", "results/{run}/clark2019/probes/{model}.tsv")(wildcards("open"))
    assert list(probes) == ["bert-base-uncased", *(f"bert-base-random-{number}" for number in (1, 2, 3))]
    (shard,) = INPUTS.shards("probe_training", suffix="json")(wildcards(model="minilm-random-1"))
    assert shard == "results/sample/attention/minilm-random-1/sample-trees-train/0.json"


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


def test_artefacts_of_a_run_are_listed_with_the_reason_why_some_are_not_built():
    entries = StudyInputs(shipped(), "scoreboard").of_run("entries")(wildcards())
    assert len(entries) == len(listed_artifacts(shipped(), "sample")) > 70
    config = shipped_copy("skip")
    config["corpora"]["sample-frames"]["source"] = {"path": "absent/frames.json"}
    del config["runs"]["sample"]["clark2019"]["gap"]
    reduced = without_missing(config)
    skipped = {f"{one.study.id}/{one.artifact.id}": one.skipped for one in listed_artifacts(reduced, "sample") if one.skipped}
    assert "absent/frames.json" in skipped["kovaleva2019/figure3"]
    assert skipped["clark2019/gap"] == "The run names no gap (runs.sample.clark2019)."
    files = StudyInputs(reduced, "scoreboard").of_run("built")(wildcards())
    assert files["scoreboard.tsv"] == "results/sample/scoreboard.tsv"
    assert not any(file.startswith(f"{name}.") for file in files for name in skipped)
