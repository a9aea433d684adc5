"""What a run reads: studies, models, records and shards, and files that are not there."""

import json
from pathlib import Path

import pytest
from small_config import ABSENT, SMALL, changed

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.paths import has_files, limit_of, local_file, shard_count, study_model, study_runs
from attention_atlas.workflow.requirements import raw_path


def test_limits_and_whole_shards():
    config = resolve(changed("corpora/pairs/shard", 4))
    for limit, shards in ((1, 1), (4, 1), (5, 2), (8, 2), (9, 3)):
        config["runs"]["one"]["limits"] = {"pairs": limit}
        assert limit_of(config, "one", "pairs") == limit
        assert shard_count(config, "one", "pairs") == shards
    config["runs"]["one"]["limits"] = {"trees": 1}
    assert (limit_of(config, "one", "pairs"), shard_count(config, "one", "pairs")) == (10, 3)


TREE = "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n\n"
QUESTION = {"context": "a b c", "question": "a?", "answer": "a"}
DOCUMENT = "d 0 0 a - - - - - - - -\n" * 2


@pytest.mark.parametrize(
    ("entry", "text", "records"),
    [
        ({"reader": "conllu"}, TREE * 300, 300),
        ({"reader": "conllu", "skip": 250}, TREE * 300, 50),
        ({"reader": "conllu", "skip": 400}, TREE * 300, 1),
        ({"reader": "conllu"}, TREE * 7000, 5000),
        ({"reader": "glue", "task": "sst2"}, "sentence\tlabel\n" + "a\t1\n" * 300, 300),
        ({"reader": "squad"}, json.dumps([QUESTION] * 7), 7),
        ({"reader": "squad", "windows": "all"}, json.dumps([QUESTION] * 7), 35),
        ({"reader": "conll2012"}, f"#begin document (a);\n{DOCUMENT}#end document\n#begin document (b);\n{DOCUMENT}", 2),
        ({"reader": "conll2012", "windows": "all"}, f"#begin document (a);\n{DOCUMENT}", 2),
        ({"reader": "segments"}, "One two. Three.\n\nFour.\n", 4),
        ({"reader": "edges", "format": "conllu", "edge_tasks": ["pos"]}, TREE * 300, 300),
        ({"reader": "parallel", "languages": ["en", "fr"]}, '{"en": "a", "fr": "b"}\n' * 9, 9),
        # Nothing to count, or nothing that can be: the limit stands.
        ({"reader": "conllu"}, "", 5000),
        ({"reader": "glue", "task": "sst2"}, "<html>\n</html>\n", 5000),
        ({"reader": "parallel", "languages": ["en", "fr"], "translations": "texts"}, "a\n", 5000),
    ],
)
def test_a_limit_above_the_size_of_a_users_file_plans_no_empty_shards(tmp_path, entry, text, records):
    (tmp_path / "mine").write_text(text, encoding="utf-8")
    mine = {"source": {"path": str(tmp_path / "mine")}, "limit": 5000, **entry}
    texts = {"reader": "lines", "source": {"sample": "sentences.txt"}, "limit": 1}
    config = resolve(changed("corpora", SMALL["corpora"] | {"mine": mine, "texts": texts}))
    assert limit_of(config, "one", "mine") == records
    assert shard_count(config, "one", "mine") == -(-records // 128)


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


def test_files_of_corpora(tmp_path):
    assert has_files(resolve(SMALL), ["pairs"])
    assert not has_files(resolve(SMALL), ["pairs", "trees"])
    (tmp_path / "here").write_text("x")
    assert has_files(resolve(changed("corpora/trees/source/path", str(tmp_path / "here"))), ["trees"])
    assert not has_files(resolve(changed("corpora/trees/source/path", str(tmp_path))), ["trees"])


def test_a_missing_file_is_named_with_licence_and_layout():
    with pytest.raises(AtlasError, match=r"^corpus trees: nowhere/trees.conllu does not exist\.$"):
        raw_path(resolve(SMALL), "one", "trees")
    base = changed("corpora/trees/licence", "LDC99T42")
    config = resolve(changed("corpora/trees/layout", "ten columns", base))
    with pytest.raises(AtlasError, match=r"does not exist\. Licence: LDC99T42\. Expected layout: ten columns\.$"):
        raw_path(config, "one", "trees")


def test_a_local_file_is_looked_for_in_the_mirror(tmp_path, monkeypatch):
    config = {"data_mirror": str(tmp_path), "corpora": {"x": {"source": {"path": "a/b.json", "mirror": "m/b.json"}}}}
    assert local_file(config, "x") == Path("a/b.json")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "b.json").write_text("[]")
    assert local_file(config, "x") == tmp_path / "m" / "b.json"
    monkeypatch.setenv("ATLAS_DATA", str(tmp_path))
    assert local_file(config | {"data_mirror": None}, "x") == tmp_path / "m" / "b.json"
