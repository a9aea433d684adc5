"""Hidden states that a job of probes stores: those of its targets, as the whole states would be, and removed at the end."""

from dataclasses import replace

import numpy as np
import pytest
from edge_examples import edge_example
from tiny_models import LAYERS, PAD, tiny

from attention_atlas.corpora.examples import write_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.shards import write_shard
from attention_atlas.models.card import ModelCard
from attention_atlas.models.hidden_states import HiddenStates, hidden_states
from attention_atlas.studies.tenney2019 import probed_states
from attention_atlas.studies.tenney2019.names import EMBEDDINGS, LEXICAL
from attention_atlas.studies.tenney2019.probed_states import ProbedModel, pieces_of_targets, probe_model, stored_states
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask, probe_task
from attention_atlas.studies.tenney2019.recipe import Recipe

RECIPE = Recipe(batch=8, learning_rate=0.003, evaluation_interval=5, max_steps=20, equal_steps=10)
PLAN = Plan((1,), [EMBEDDINGS, LEXICAL], True, True, None, 4)
MODEL = ProbedModel({}, "card.json")
CARD = ModelCard("tiny", "", "bert", LAYERS, 4, 40, None, None, PAD, "", "pretrained", 0, "float32")


@pytest.fixture(autouse=True)
def tiny_bert(monkeypatch):
    monkeypatch.setattr(probed_states, "read_card", lambda path: CARD)
    monkeypatch.setattr(probed_states, "load_model", lambda entry, device: tiny("bert"))


def example_of_two_tasks(record):
    """Targets of the task entities on two words, of pos on a third."""
    example = edge_example(record, "entities", False)
    targets = (*example.edges[1:3], replace(example.edges[4], task="pos"))
    return replace(example, edges=targets)


def corpus(folder, name, records, build=example_of_two_tasks, shards=2):
    """A corpus in shards."""
    paths = []
    for shard in range(shards):
        paths.append(folder / f"{name}-{shard}.parquet")
        write_examples(paths[-1], [build(record) for record in records[shard::shards]])
    return ProbedCorpus(paths, (), 1000)


def whole_states(folder, part):
    """All states of a corpus, as they were cached for all jobs."""
    from attention_atlas.corpora.examples import read_examples

    paths = []
    for number, source in enumerate(part.examples):
        examples = list(read_examples([source]))
        facts = {
            "model": CARD.identity,
            "layers": LAYERS,
            "lexical": True,
            "examples": [{"record": e.record, "id": e.id, "tokens": e.tokens} for e in examples],
        }
        paths.append(folder / f"whole-{source.stem}-{number}.safetensors")
        states = {e.record: values for e, values in hidden_states(tiny("bert"), examples, PAD)}
        write_shard(paths[-1], paths[-1].with_suffix(".json"), states, facts)
    return replace(part, states=paths)


def outputs(folder, name):
    return Outputs(*(folder / f"{name}.{kind}" for kind in ("scores", "weights", "counts", "cases")))


@pytest.fixture
def parts(tmp_path):
    return [corpus(tmp_path, name, records) for name, records in (("train", range(24)), ("dev", range(24, 32)))]


def test_only_pieces_of_the_targets_of_a_task_are_wanted():
    example = example_of_two_tasks(0)
    # Words 1 and 2 have the pieces 2, 3 and 4; word 4 has the piece 7.
    assert pieces_of_targets(example, "entities") == [2, 3, 4]
    assert pieces_of_targets(example, "pos") == [7]
    assert pieces_of_targets(example, "roles") == []
    pair = edge_example(0, "relations", True)
    assert pieces_of_targets(replace(pair, edges=pair.edges[:1]), "relations") == [1, 2, 3]


def test_stored_states_are_those_of_the_whole_corpus_and_removed_at_the_end(tmp_path, parts):
    from attention_atlas.corpora.examples import read_examples

    folder = tmp_path / "states"
    folder.mkdir()
    (folder / "of-a-killed-job").write_text("x", encoding="utf-8")
    with stored_states(MODEL, "entities", ProbedTask(*parts, None, RECIPE), folder) as with_states:
        assert not (folder / "of-a-killed-job").exists()
        part = with_states.training
        sparse, whole = HiddenStates(part.states), HiddenStates(whole_states(tmp_path, parts[0]).states)
        for example in read_examples(part.examples):
            wanted = pieces_of_targets(example, "entities")
            assert np.array_equal(sparse[example][:, wanted], whole[example][:, wanted])
            rest = [piece for piece in range(len(example.tokens)) if piece not in wanted]
            assert not sparse[example][:, rest].any()
            assert whole[example][:, rest].any()
        stored = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        # Three pieces of eleven.
        assert stored < 0.5 * sum(path.stat().st_size for path in tmp_path.glob("whole-*.safetensors"))
        sparse.close()
    assert not folder.exists()


@pytest.mark.parametrize("task", ["pos", "entities"])
def test_probes_are_those_that_all_states_of_the_corpora_give(tmp_path, parts, task):
    probe_model(MODEL, task, ProbedTask(*parts, None, RECIPE), PLAN, outputs(tmp_path, "new"), tmp_path / "states")
    whole = [whole_states(tmp_path, part) for part in parts]
    probe_task(task, ProbedTask(*whole, None, RECIPE), PLAN, outputs(tmp_path, "reference"))
    for kind in ("scores", "weights", "counts", "cases"):
        new, reference = (getattr(outputs(tmp_path, name), kind).read_bytes() for name in ("new", "reference"))
        assert new == reference
    assert not (tmp_path / "states").exists()


def test_states_go_to_the_scratch_folder_where_there_is_one(tmp_path, parts, monkeypatch):
    places = []
    monkeypatch.setenv("ATLAS_SCRATCH", str(tmp_path / "node"))
    store = probed_states.store_hidden_states
    monkeypatch.setattr(probed_states, "store_hidden_states", lambda *of: (places.append(of[4].parent), store(*of)))
    probe_model(MODEL, "pos", ProbedTask(*parts, None, RECIPE), PLAN, outputs(tmp_path, "new"), "results/a/b.states")
    assert set(places) == {tmp_path / "node" / "results-a-b.states"}
    assert not places[0].exists()


def test_records_beyond_the_limit_are_not_stored(tmp_path, parts):
    probed = ProbedTask(replace(parts[0], limit=6), parts[1], None, RECIPE)
    with stored_states(MODEL, "pos", probed, tmp_path / "states") as with_states:
        assert len(HiddenStates(with_states.training.states)) == 6


def test_a_job_that_fails_leaves_nothing(tmp_path, parts):
    with pytest.raises(AtlasError, match="there is no target of the task roles"):
        probe_model(MODEL, "roles", ProbedTask(*parts, None, RECIPE), PLAN, outputs(tmp_path, "new"), tmp_path / "states")
    assert not (tmp_path / "states").exists()
    assert not outputs(tmp_path, "new").scores.exists()
