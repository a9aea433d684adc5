"""The configuration: files, inheritance, defaults, families, shapes of models, its schema, and what studies declare."""

import copy
import json
import re

import pytest
from jsonschema import Draft202012Validator
from small_config import SHIPPED, SMALL, changed, sentence, with_family
from tiny_models import HEADS, LAYERS, WIDTH, tiny
from transformers import BertTokenizerFast

from attention_atlas.errors import AtlasError
from attention_atlas.models.card import SHAPE
from attention_atlas.models.loading import describe
from attention_atlas.workflow.config import merged, read_configuration, read_schema, resolve, write_configuration
from attention_atlas.workflow.paths import limit_of, shard_count, study_model
from attention_atlas.workflow.study import studies, study_corpora

SCHEMA = read_schema()


def test_overlays_are_merged_over_config_and_registries(tmp_path):
    written = copy.deepcopy(SMALL)
    written["models"]["tiny"]["reference"] = "Štefánik"
    write_configuration(written, tmp_path)
    assert read_configuration(tmp_path) == written
    (tmp_path / "mine.yaml").write_text("targets: [two]\nmodels: {tiny: {seed: 3}}\nruns: {two: {model: tiny}}\n")
    (tmp_path / "more.yaml").write_text("models: {tiny: {seed: 4, layers: 2}}\n")
    read = read_configuration(tmp_path, [tmp_path / "mine.yaml", tmp_path / "more.yaml"])
    assert read["targets"] == ["two"], "a list is replaced"
    assert set(read["runs"]) == {"one", "two"}
    assert read["models"]["tiny"] == written["models"]["tiny"] | {"seed": 4, "layers": 2}
    base, over = {"a": {"b": [1], "c": 2}}, {"a": {"b": [3]}, "d": {"e": 1}}
    both = merged(base, over)
    assert both == {"a": {"b": [3], "c": 2}, "d": {"e": 1}}
    both["d"]["e"] = both["a"]["b"] = 2
    assert (base, over) == ({"a": {"b": [1], "c": 2}}, {"a": {"b": [3]}, "d": {"e": 1}})


def test_a_file_of_a_thousand_levels_is_named(tmp_path):
    write_configuration(SHIPPED, tmp_path)
    deep = tmp_path / "deep.yaml"
    deep.write_text(f"a: {'[' * 1000}{']' * 1000}\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"deep\.yaml: values stand in each other too deeply"):
        read_configuration(tmp_path, [deep])


def test_every_shipped_run_resolves_with_known_models_and_corpora():
    config = resolve(SHIPPED)
    for run, settings in config["runs"].items():
        for study in set(studies()) & set(settings):
            assert study_model(config, run, study) in config["models"]
            for corpus in study_corpora(config, run, study).values():
                assert shard_count(config, run, corpus) * config["corpora"][corpus]["shard"] >= limit_of(config, run, corpus)
            whole = {"$defs": SCHEMA["$defs"], **SCHEMA["$defs"][study]}
            assert not list(Draft202012Validator(whole).iter_errors(settings[study])), (run, study)


def test_a_run_starts_from_the_run_it_extends_dictionaries_merged_and_lists_replaced():
    heads = [[1, 1], [2, 2], [3, 3], [4, 4]]
    config = copy.deepcopy(SMALL)
    config["runs"]["one"] |= {"limits": {"pairs": 4, "trees": 5}, "title": "One"}
    config["runs"]["one"]["clark2019"] |= {"figure1_heads": heads, "options": {"poss_rule": False, "offsets": [-1, 1]}}
    # The child stands before its parent and lacks the keys that the schema requires of the whole.
    config["runs"] = {
        "grandchild": {"extends": "child", "title": "G", "clark2019": {"options": {"offsets": [2]}}},
        "child": {"extends": "one", "model": "large", "limits": {"trees": 7}, "clark2019": {"figure1_heads": heads[::-1]}},
        **config["runs"],
    }
    runs = resolve(config)["runs"]
    assert runs["child"]["limits"] == runs["grandchild"]["limits"] == {"pairs": 4, "trees": 7}
    assert runs["child"]["clark2019"]["figure1_heads"] == heads[::-1]
    assert runs["child"]["clark2019"]["options"]["offsets"] == [-1, 1]
    assert runs["grandchild"]["clark2019"]["options"] == {"poss_rule": False, "offsets": [2], "preset": "as_published"}
    assert (runs["grandchild"]["title"], runs["grandchild"]["model"]) == ("G", "large")
    assert "title" not in runs["child"], "it would name the parent's model"
    assert runs["one"]["limits"] == {"pairs": 4, "trees": 5}
    circle = changed("runs/a/extends", "b", changed("runs/b/extends", "c", changed("runs/c/extends", "a")))
    assert "extend each other in a cycle" in sentence(circle)


def test_a_family_becomes_models_of_the_registry():
    config = with_family()
    config["models"]["tiny"] |= {"hidden_size": 384, "heads": 4}
    config["families"]["small"]["tasks"]["mrpc"]["epochs"] = 1.5
    resolved = resolve(config)
    names = ("rte-1", "rte-2", "rte-random-3", "mrpc-7", "mrpc-random-8", "mrpc-random-9")
    members = {name: resolved["models"][f"small-{name}"] for name in names}
    assert sum(name.startswith("small-") for name in resolved["models"]) == len(names)
    model = members["rte-2"]
    assert (model["source"], model["init"], model["seed"]) == ({"fine_tuned": "tiny"}, "pretrained", 2)
    expected = {"task": "labels", "corpus": "rte-train", "epochs": 2, "seed": 2, "batch": 32}
    assert model["training"].items() >= expected.items()
    assert members["rte-random-3"]["init"] == "random"
    assert {model["hidden_size"] for model in members.values()} == {384}, "that of the base"
    assert members["mrpc-7"]["training"]["epochs"] == 1.5
    assert study_model(resolved, "one", "kovaleva2019") == "tiny"


def test_the_width_of_a_model_is_stated_that_of_its_origin_or_64_for_each_head():
    raw = changed("models/large/heads", 16, changed("models/tiny/hidden_size", 384))
    parallel = {"limit": 10, "reader": "parallel", "languages": ["en", "fr"], "source": {"sample": "parallel.jsonl"}}
    raw["corpora"]["parallel"] = parallel
    new = {"source": {"untrained": {"corpus": "parallel", "hidden_size": 96}}, "init": "random", "layers": 2, "heads": 8}
    training = {"task": "translation", "corpus": "parallel"}
    trained = {"source": {"fine_tuned": "new"}, "layers": 2, "heads": 8, "training": training}
    # It stands before its base.
    raw["models"] = {"trained": trained, **raw["models"], "new": new}
    widths = {name: entry["hidden_size"] for name, entry in resolve(raw)["models"].items()}
    assert widths == {"trained": 96, "tiny": 384, "large": 1024, "new": 96}
    contradiction = sentence(changed("models/new/hidden_size", 512, raw))
    assert "models.new.hidden_size: 512 contradicts source.untrained, which says 96. Correct the key, or" in contradiction
    assert "256 contradicts its base 'new', which says 96" in sentence(changed("models/trained/hidden_size", 256, raw))


def test_a_stated_shape_that_contradicts_the_files_of_the_model_is_an_error_at_start(tmp_path):
    folder = tmp_path / "tiny"
    tiny("bert").save_pretrained(folder)
    BertTokenizerFast(vocab={"[UNK]": 0, "[PAD]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}).save_pretrained(folder)
    raw = changed("models/tiny", {"source": {"path": str(folder)}})
    for key, stated, actual in (("layers", 12, LAYERS), ("heads", 12, HEADS), ("hidden_size", 768, WIDTH)):
        message = sentence(changed(f"models/tiny/{key}", stated, raw))
        assert message.startswith(
            f"config: models.tiny.{key}: {stated} contradicts config.json in {folder}, which says {actual}."
        )
    entry = resolve(raw)["models"]["tiny"]
    assert {key: entry[key] for key in SHAPE} == {"layers": LAYERS, "heads": HEADS, "hidden_size": WIDTH}
    describe("tiny", entry, tmp_path / "card.json", tmp_path / "tokenizer.json")
    assert json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["layers"] == LAYERS


READERS = set(SCHEMA["$defs"]["corpus"]["properties"]["reader"]["enum"])
STUDIES = list(studies().values())
IDS = [declared.id for declared in STUDIES]


@pytest.mark.parametrize("declared", STUDIES, ids=IDS)
def test_roles_have_known_readers_and_models_that_are_settings(declared):
    properties = SCHEMA["$defs"][declared.id]["properties"]
    assert bool(declared.roles) == (declared.id != "scoreboard")
    for name, role in declared.roles.items():
        assert role.reader in READERS, name
        assert re.fullmatch(r"[A-Za-z].*\.", role.use), name
        assert not role.model or properties[role.model]["type"] == "string", name
    for artifact in declared.artifacts:
        assert {*artifact.needs, *artifact.uses} <= set(properties), artifact.id
    optional = {name.partition(".")[0] for key, together in declared.optional.items() for name in (key, *together)}
    assert optional <= set(properties)
    # A run can do without all that a study does not require.
    assert {name for name, role in declared.roles.items() if not role.required} == optional & {*declared.roles}
    if declared.records_key:
        assert properties[declared.records_key]["type"] == "integer"
