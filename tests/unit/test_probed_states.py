"""Hidden states that a job of probes stores: those of its targets, as the whole states would be, and removed at the end."""

import logging
from dataclasses import replace

import pytest
from edge_examples import edge_example
from pandas.testing import assert_frame_equal
from tiny_models import LAYERS, PAD, tiny

from attention_atlas.corpora.examples import Corpus
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import scratch_folder
from attention_atlas.models.card import ModelCard
from attention_atlas.models.extraction import HiddenStates
from attention_atlas.studies.tenney2019 import probing
from attention_atlas.studies.tenney2019.probing import Plan, pieces_of_targets, probe_tables, probes
from attention_atlas.studies.tenney2019.targets import CONTROL_TASK, EMBEDDINGS, LEXICAL, Recipe, task_targets

RECIPE = {"batch": 8, "learning_rate": 0.003, "evaluation_interval": 5, "max_steps": 20, "equal_steps": 10}
CARD = ModelCard("tiny", "", "bert", LAYERS, 4, 40, None, None, PAD, "", "pretrained", 0, "float32")


def example_of_two_tasks(record):
    """Targets of the task entities on two words, of pos on a third."""
    example = edge_example(record, "entities", False)
    targets = (*example.edges[1:3], replace(example.edges[4], task="pos"))
    return replace(example, edges=targets)


def corpus(records, build=example_of_two_tasks, limit=1000, shards=2):
    return Corpus([[build(record) for record in records[shard::shards]] for shard in range(shards)], limit)


PARTS = {"training": range(24), "development": range(24, 32)}
CORPORA = {name: corpus(records) for name, records in PARTS.items()}


def probed(folder, task, study_model="tiny", random_model=None, **changed):
    settings = {"task_settings": {}, "training": RECIPE, "seeds": (1,), "layer0": [EMBEDDINGS, LEXICAL]}
    settings |= {"max_targets": None, "max_traced_sentences": 4, "folder": str(folder)}
    settings |= {"corpora": CORPORA, "study_model": study_model, "random_model": random_model}
    return probes(task, tiny("bert"), CARD, **(settings | changed))


def whole_states(folder, name, part):
    """All states of a corpus."""
    return HiddenStates(tiny("bert"), part, lambda example: range(len(example.tokens)), PAD, folder / f"whole-{name}")


def test_only_pieces_of_the_targets_of_a_task_are_wanted():
    example = example_of_two_tasks(0)
    # Words 1 and 2 have the pieces 2, 3 and 4; word 4 has the piece 7.
    assert pieces_of_targets(example, "entities") == [2, 3, 4]
    assert pieces_of_targets(example, "pos") == [7]
    assert pieces_of_targets(example, "roles") == []
    pair = edge_example(0, "relations", True)
    assert pieces_of_targets(replace(pair, edges=pair.edges[:1]), "relations") == [1, 2, 3]


@pytest.mark.parametrize("task", ["pos", "entities"])
def test_probes_are_those_that_all_states_of_the_corpora_give(tmp_path, task):
    tables = probed(tmp_path / "states", task)
    targets = task_targets(task, *(part.examples for part in CORPORA.values()), seed=1)
    states = {name: whole_states(tmp_path, name, part) for name, part in CORPORA.items()}
    traced = {"development": [s for s in targets.development if s.example.record in (24, 26, 28, 30)], "cases": []}
    plan = Plan((1,), [EMBEDDINGS, LEXICAL], True, True)
    reference = probe_tables(targets, states, traced, plan, Recipe(**RECIPE))
    for kind, table in reference.items():
        assert_frame_equal(tables[kind], table)
    assert tables["constant"]["record"].tolist() == [e.record for e in CORPORA["development"].examples]
    assert not (tmp_path / "states").exists()


def test_of_the_random_model_fewer_probes_are_trained_and_no_targets_traced(tmp_path):
    cases = CORPORA | {"cases": corpus(range(40, 42))}
    first, second, random = (
        probed(tmp_path / "states", "pos", *models, corpora=cases) for models in (("tiny",), ("m",), ("m", "tiny"))
    )
    for tables, tops in ((first, range(LAYERS + 1)), (second, range(LAYERS + 1)), (random, (0, LAYERS))):
        assert sorted(set(tables["scores"]["top"])) == [*tops]
    assert CONTROL_TASK in set(first["scores"]["condition"])
    assert len(set(second["scores"]["condition"])) == len(set(random["scores"]["condition"])) == 1
    assert [set(tables["scores"]["layer0"]) for tables in (second, random)] == [{EMBEDDINGS, LEXICAL}, {EMBEDDINGS}]
    assert [len(tables["constant"]) for tables in (first, second, random)] == [8, 0, 0]
    assert set(first["cases"]["source"]) >= {"cases"}
    assert random["cases"].empty
    untraced = {name: corpus(records, lambda k: edge_example(k, "relations", False)) for name, records in PARTS.items()}
    assert probed(tmp_path / "states", "relations", corpora=untraced)["cases"].empty, "none of the five tasks of Figure 3"


def test_a_job_that_fails_leaves_nothing(tmp_path, monkeypatch):
    with pytest.raises(AtlasError, match="there is no target of the task roles"):
        probed(tmp_path / "states", "roles")

    def fail(*of):
        assert len(list((tmp_path / "states").iterdir())) == 2
        raise AtlasError("no")

    monkeypatch.setattr(probing, "probe_tables", fail)
    with pytest.raises(AtlasError, match="no"):
        probed(tmp_path / "states", "pos")
    assert not (tmp_path / "states").exists()


def test_a_scratch_folder_is_empty_and_removed_at_the_end(tmp_path, monkeypatch, caplog):
    left = tmp_path / "states" / "of-a-killed-job"
    left.parent.mkdir()
    left.write_text("x", encoding="utf-8")
    with caplog.at_level(logging.INFO), scratch_folder(tmp_path / "states") as folder:
        assert folder == left.parent
        assert not left.exists()
        (folder / "a").write_bytes(bytes(2000))
    assert not folder.exists()
    assert "held 2e-06 GB" in caplog.text
    monkeypatch.setenv("ATLAS_SCRATCH", str(tmp_path / "node"))
    with scratch_folder("results/a/b.states") as folder:
        assert folder == tmp_path / "node" / "results-a-b.states"
    assert not folder.exists()
