"""The configuration: what is filled in and inherited, and its schema."""

from __future__ import annotations

import copy

from jsonschema import Draft202012Validator
from small_config import ABSENT, SHIPPED, SMALL, changed, sentence, with_family

from attention_atlas.workflow.config import read_schema, resolve
from attention_atlas.workflow.paths import limit_of, shard_count, study_model, study_runs
from attention_atlas.workflow.study import studies, study_corpora

SCHEMA = read_schema()


def test_every_shipped_run_resolves_with_a_title_a_model_and_known_corpora():
    config = resolve(SHIPPED)
    assert {"sample", "laptop", "open", "paper"} <= set(config["runs"])
    for run, settings in config["runs"].items():
        assert settings["title"]
        for study in set(studies()) & set(settings):
            assert study_model(config, run, study) in config["models"]
            for corpus in study_corpora(config, run, study).values():
                assert shard_count(config, run, corpus) * config["corpora"][corpus]["shard"] >= limit_of(config, run, corpus)
    assert study_runs(config, "clark2019") == config["targets"]


def test_everything_that_is_not_said_has_its_default():
    assert resolve(SMALL) == {
        "targets": ["one"],
        "missing": "error",
        "accept_licences": [],
        "data_mirror": None,
        "device": "auto",
        "keep_attention": True,
        "sample": {"documents": 220, "train_documents": 125, "seed": 2019},
        "models": {
            name: {
                "source": {"path": f"models/{name}", "folder": "."},
                "layers": 12,
                "heads": 12,
                "hidden_size": 768,
                "init": "pretrained",
                "seed": 0,
                "dtype": "float32",
                "mlm_head": {"copies": 4, "epochs": 4, "steps": 3000, "batch": 256, "learning_rate": 0.001, "seed": 0},
            }
            for name in ("tiny", "large")
        },
        "families": {},
        "corpora": {
            name: {
                "reader": reader,
                "source": {**source, "split": "train", "column": "text", "rows": 1000},
                "optional": False,
                "limit": 10,
                "shard": 128,
                "max_tokens": 128,
                "level": "tokens",
                "windows": "first",
                "skip": 0,
                "format": "records",
                "part": "all",
                "files": "*gold_conll",
                "overlong": "drop",
                "stemmed": False,
                "document_names": [],
                "stride": 128,
                "order": "shuffled",
                "view": "none",
                "lines": "paragraphs",
                "recipe": "authors",
                "segment_ids": "zeros",
                "seed": 0,
            }
            for name, reader, source in (
                ("pairs", "segments", {"sample": "sentences.txt"}),
                ("trees", "conllu", {"path": "nowhere/trees.conllu"}),
            )
        },
        "runs": {
            "one": {
                "model": "tiny",
                "stand_ins": False,
                "limits": {},
                "clark2019": {
                    "segments": "pairs",
                    "dependencies": "trees",
                    "variants": {},
                    "min_count": 100,
                    "folds": 10,
                    "resamples": 1000,
                    "seed": 0,
                    "figure1_heads": "auto",
                    "figure5_heads": "auto",
                    "options": {"preset": "as_published"},
                    "coreference_options": {
                        "candidates": "earlier_mentions",
                        "scored": "with_antecedent",
                        "head_rule": "auto",
                        "singletons": False,
                        "shared_heads": "keep",
                        "word_mode": "mean",
                    },
                    "probes": {
                        "seeds": [0, 1, 2],
                        "batch": 8,
                        "epochs": 3,
                        "learning_rate": 0.002,
                        "order": "shuffled",
                        "duplicates": "corrected",
                        "dimensions": 100,
                        "random_models": [],
                    },
                    "clustering": {
                        "smoothing": 0.001,
                        "broad_entropy": 3.8,
                        "position": 0.5,
                        "special": 0.6,
                        "permutations": 9999,
                        "blocks": 50,
                    },
                },
            }
        },
    }
    assert resolve(changed("targets", ABSENT) | {"runs": {"sample": {}}})["targets"] == ["sample"]


def test_resolving_changes_neither_its_argument_nor_shares_parts_with_it():
    before = copy.deepcopy(SMALL)
    resolved = resolve(SMALL)
    resolved["corpora"]["pairs"]["source"]["sample"] = "changed"
    resolved["runs"]["one"]["limits"]["pairs"] = 3
    assert before == SMALL
    assert resolve(SMALL)["runs"]["one"]["limits"] == {}


def test_a_run_starts_from_the_run_it_extends_dictionaries_merged_and_lists_replaced():
    heads = [[1, 1], [2, 2], [3, 3], [4, 4]]
    config = copy.deepcopy(SMALL)
    config["runs"]["one"]["limits"] = {"pairs": 4, "trees": 5}
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
    assert runs["one"]["limits"] == {"pairs": 4, "trees": 5}
    assert not any("extends" in run for run in runs.values())


def test_runs_that_extend_each_other_in_a_circle_are_listed():
    config = changed("runs/a/extends", "b", changed("runs/b/extends", "c", changed("runs/c/extends", "a")))
    message = sentence(config)
    assert "extend each other in a cycle" in message
    assert all(name in message for name in ("a", "b", "c"))


def resolved_node(node: dict) -> dict:
    while "$ref" in node:
        node = SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def nodes(node: dict, place: str):
    """Every key of the configuration with its place and its part of the schema, alternatives and items included."""
    node = resolved_node(node)
    yield place, node
    for key, child in node.get("properties", {}).items():
        yield from nodes(child, f"{place}.{key}")
    for key in ("additionalProperties", "items"):
        if isinstance(node.get(key), dict):
            yield from nodes(node[key], f"{place}.<{key}>")
    for number, child in enumerate(node.get("oneOf", [])):
        yield from nodes(child, f"{place}.<{number}>")


EVERYTHING = list(nodes(SCHEMA, "config"))


def test_every_key_is_described_and_no_object_takes_unknown_ones():
    assert len(EVERYTHING) > 60
    for place, node in EVERYTHING:
        for key, child in node.get("properties", {}).items():
            assert child.get("description") or resolved_node(child).get("description"), f"{place}.{key} has no description"
        if node.get("type") == "object" or "properties" in node:
            # A registry takes any name, but only values that its schema describes.
            assert node.get("additionalProperties") is False or isinstance(node["additionalProperties"], dict), place
            assert "properties" not in node or node["additionalProperties"] is False, place


def test_every_default_is_allowed_by_its_own_schema():
    Draft202012Validator.check_schema(SCHEMA)
    with_default = [(place, node) for place, node in EVERYTHING if "default" in node]
    assert len(with_default) > 20
    for place, node in with_default:
        whole = {"$defs": SCHEMA["$defs"], **node}
        assert list(Draft202012Validator(whole).iter_errors(node["default"])) == [], place


def test_every_study_has_its_part_of_the_schema():
    shared_keys = {"extends", "title", "model", "limits", "accepting", "stand_ins"}
    assert set(SCHEMA["$defs"]["run"]["properties"]) - shared_keys == set(studies())


def test_a_title_is_not_inherited():
    config = resolve(SHIPPED | {"runs": SHIPPED["runs"] | {"mine": {"extends": "sample", "model": "bert-base-cased"}}})
    assert "title" not in config["runs"]["mine"], "it would name the parent's model"
    assert config["runs"]["mine"]["clark2019"] == config["runs"]["sample"]["clark2019"]


def test_a_family_becomes_models_of_the_registry():
    resolved = resolve(with_family())
    names = {name for name in resolved["models"] if name.startswith("small-")}
    assert names == {
        "small-rte-1",
        "small-rte-2",
        "small-rte-random-3",
        "small-mrpc-7",
        "small-mrpc-random-8",
        "small-mrpc-random-9",
    }
    model = resolved["models"]["small-rte-2"]
    assert model["source"] == {"fine_tuned": "tiny"}
    assert (model["init"], model["seed"], model["training"]["seed"]) == ("pretrained", 2, 2)
    assert model["training"] == {
        "task": "labels",
        "corpus": "rte-train",
        "epochs": 2,
        "batch": 32,
        "learning_rate": 5e-5,
        "warmup": 0.1,
        "weight_decay": 0.01,
        "optimiser": "adamw",
        "seed": 2,
        "stored_dtype": "float32",
        "freeze_word_embeddings": False,
    }
    assert resolved["models"]["small-rte-random-3"]["init"] == "random"
    assert (model["layers"], model["heads"]) == (resolved["models"]["tiny"]["layers"], resolved["models"]["tiny"]["heads"])
    assert study_model(resolved, "one", "kovaleva2019") == "tiny"


def test_a_task_of_a_family_may_have_epochs_that_differ():
    config = with_family()
    config["families"]["small"]["tasks"]["mrpc"]["epochs"] = 1.5
    models = resolve(config)["models"]
    epochs = {name: models[name]["training"]["epochs"] for name in models if name.startswith("small-")}
    assert epochs == {name: 1.5 if "mrpc" in name else 2 for name in epochs}


def test_every_model_that_paper_trains_has_random_batches():
    """As in the papers' code; translation always has them."""
    config = resolve(SHIPPED)

    def names(node):
        if isinstance(node, dict):
            return {name for part in node.values() for name in names(part)}
        return {name for part in node for name in names(part)} if isinstance(node, list) else {node}

    named = names(config["runs"]["paper"])
    members = {
        name for name in config["models"] for family in config["families"] if family in named and name.startswith(family)
    }
    recipes = {name: config["models"][name].get("training") for name in (named | members) & set(config["models"])}
    trained = {name: recipe for name, recipe in recipes.items() if recipe and recipe["task"] != "translation"}
    assert {"bert-base-keyphrases-keyphrases-42", "bert-base-glue-mrpc-42", "bert-base-squad", "bert-large-mrpc"} <= set(
        trained
    )
    by_length = {name for name, recipe in trained.items() if recipe.get("batches") != "random"}
    # Families that `paper` does not name, whose names begin alike.
    assert {name for name in by_length if "-open-" not in name} == set()
