"""What a run reads: studies, models, records and shards, and files that are not there."""

from pathlib import Path

from small_config import ABSENT, SMALL, changed

from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.lookups import limit_of, local_file, missing_files, shard_count, study_model, study_runs


def test_limits_and_whole_shards():
    config = resolve(changed("corpora/pairs/shard", 4))
    for limit, shards in ((1, 1), (4, 1), (5, 2), (8, 2), (9, 3)):
        config["runs"]["one"]["limits"] = {"pairs": limit}
        assert limit_of(config, "one", "pairs") == limit
        assert shard_count(config, "one", "pairs") == shards
    config["runs"]["one"]["limits"] = {"trees": 1}
    assert (limit_of(config, "one", "pairs"), shard_count(config, "one", "pairs")) == (10, 3)


def test_a_studys_own_model_comes_before_the_runs():
    assert study_model(resolve(SMALL), "one", "clark2019") == "tiny"
    assert study_model(resolve(changed("runs/one/clark2019/model", "large")), "one", "clark2019") == "large"
    assert study_model(
        resolve(changed("runs/one/model", ABSENT, changed("runs/one/clark2019/model", "large"))), "one", "clark2019"
    )


def test_runs_without_a_study_are_left_out():
    config = resolve(changed("runs/bare", {}) | {"targets": ["bare", "one"]})
    assert study_runs(config, "clark2019") == ["one"]
    assert study_runs(config, "clark2019", ["bare"]) == []


def test_missing_files_name_file_licence_and_layout(tmp_path):
    base = changed("corpora/trees/licence", "LDC99T42")
    config = resolve(changed("corpora/trees/layout", "ten columns", base))
    assert missing_files(config, ["pairs", "trees"]) == {
        "trees": "corpus trees: the file nowhere/trees.conllu is not there. Licence: LDC99T42. Expected layout: ten columns."
    }
    assert missing_files(resolve(SMALL), ["trees"]) == {"trees": "corpus trees: the file nowhere/trees.conllu is not there."}
    (tmp_path / "here").write_text("x")
    assert missing_files(resolve(changed("corpora/trees/source/path", str(tmp_path / "here"))), ["trees"]) == {}
    assert "trees" in missing_files(resolve(changed("corpora/trees/source/path", str(tmp_path))), ["trees"])


def test_a_local_file_is_looked_for_in_the_mirror(tmp_path, monkeypatch):
    config = {"data_mirror": str(tmp_path), "corpora": {"x": {"source": {"path": "a/b.json", "mirror": "m/b.json"}}}}
    assert local_file(config, "x") == Path("a/b.json")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "b.json").write_text("[]")
    assert local_file(config, "x") == tmp_path / "m" / "b.json"
    monkeypatch.setenv("ATLAS_DATA", str(tmp_path))
    assert local_file(config | {"data_mirror": None}, "x") == tmp_path / "m" / "b.json"
