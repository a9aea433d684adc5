"""The registries: files of their own beside config.yaml, and the width of models."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from small_config import SHIPPED, SMALL, changed, sentence, with_family
from tiny_models import HEADS, LAYERS, WIDTH, tiny
from transformers import BertTokenizerFast

from attention_atlas.errors import AtlasError
from attention_atlas.models.card import SHAPE
from attention_atlas.models.loading import describe
from attention_atlas.workflow.config import merged, read_configuration, resolve, write_configuration
from attention_atlas.workflow.shared_inputs import SharedInputs

ROOT = Path(__file__).parents[2]
UNTRAINED = {"source": {"untrained": {"corpus": "parallel", "hidden_size": 96}}, "init": "random", "layers": 2, "heads": 8}
PARALLEL = {"reader": "parallel", "languages": ["en", "fr"], "source": {"sample": "parallel.jsonl"}, "limit": 10}


def widths(raw: dict) -> dict[str, int]:
    return {name: entry["hidden_size"] for name, entry in resolve(raw)["models"].items()}


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_configuration_that_is_written_is_read_again(tmp_path):
    written = copy.deepcopy(SMALL) | {"families": {}, "missing": "skip"}
    written["models"]["tiny"]["reference"] = "Štefánik"
    write_configuration(written, tmp_path)
    assert read_configuration(tmp_path) == written
    assert set(yaml.safe_load((tmp_path / "config.yaml").read_text(encoding="utf-8"))) == set(written) - {"models", "corpora"}
    for key in ("models", "corpora"):
        text = (tmp_path / "config" / f"{key}.yaml").read_text(encoding="utf-8")
        assert yaml.safe_load(text) == {key: written[key]}
    write_configuration(SHIPPED, tmp_path)
    assert read_configuration(tmp_path) == SHIPPED


def test_overlays_are_merged_over_all_files(tmp_path):
    write_configuration(SMALL, tmp_path)
    (tmp_path / "mine.yaml").write_text("targets: [two]\nmodels: {tiny: {seed: 3}}\nruns: {two: {model: tiny}}\n")
    (tmp_path / "more.yaml").write_text("models: {tiny: {seed: 4, layers: 2}}\n")
    read = read_configuration(tmp_path, [tmp_path / "mine.yaml", tmp_path / "more.yaml"])
    assert read["targets"] == ["two"]
    assert set(read["runs"]) == {"one", "two"}
    assert read["models"]["tiny"] == {"source": {"path": "models/tiny"}, "seed": 4, "layers": 2}
    assert read["models"]["large"] == SMALL["models"]["large"]


def test_merging_changes_neither_side():
    base, over = {"a": {"b": [1], "c": 2}}, {"a": {"b": [3]}, "d": {"e": 1}}
    both = merged(base, over)
    assert both == {"a": {"b": [3], "c": 2}, "d": {"e": 1}}
    both["a"]["b"].append(4)
    both["d"]["e"] = 2
    assert (base, over) == ({"a": {"b": [1], "c": 2}}, {"a": {"b": [3]}, "d": {"e": 1}})


def test_an_overlay_may_hold_anything_and_goes_over_the_registries(tmp_path):
    write_configuration(SMALL, tmp_path)
    overlay = {"models": {"tiny": {"seed": 3}, "more": {"source": {"path": "more"}}}, "targets": ["one"]}
    config = merged(read_configuration(tmp_path), overlay)
    assert config["models"]["tiny"] == SMALL["models"]["tiny"] | {"seed": 3}
    assert config["models"]["more"] == {"source": {"path": "more"}}
    assert config["corpora"] == SMALL["corpora"]
    assert config["targets"] == ["one"]


def test_a_name_that_a_registry_does_not_have_is_one_sentence():
    config = SharedInputs(resolve(SMALL)).config
    assert config["models"]["tiny"]["hidden_size"] == 768
    with pytest.raises(AtlasError, match=r"^there is no model 'tinny'; did you mean 'tiny'\.$"):
        config["models"]["tinny"]
    with pytest.raises(AtlasError, match="there is no corpus 'forest'"):
        config["corpora"]["forest"]


# --- widths -----------------------------------------------------------------------------------------------------------


def test_a_model_without_a_width_has_64_for_each_head_as_bert_has():
    raw = changed("models/large/heads", 16, changed("models/tiny/hidden_size", 384))
    assert widths(raw) == {"tiny": 384, "large": 1024}


def test_a_new_model_has_the_width_that_it_is_initialised_with():
    raw = changed("corpora/parallel", PARALLEL, changed("models/new", UNTRAINED))
    # What is trained from it has the same, also where it stands before it.
    training = {"task": "translation", "corpus": "parallel"}
    trained = {"source": {"fine_tuned": "new"}, "layers": 2, "heads": 8, "training": training}
    raw["models"] = {"trained": trained} | raw["models"]
    assert widths(raw) == {"trained": 96, "tiny": 768, "large": 768, "new": 96}
    assert sentence(changed("models/new/hidden_size", 512, raw)) == (
        "config: models.new.hidden_size: 512 contradicts source.untrained, which says 96. Correct the key, or remove it: the "
        "value is then read from there."
    )


def test_models_have_the_width_of_the_one_that_they_are_trained_from():
    raw = with_family()
    raw["models"]["tiny"] |= {"hidden_size": 384, "heads": 4}
    # It stands before its base.
    training = {"task": "labels", "corpus": "rte-train"}
    raw["models"] = {"tuned": {"source": {"fine_tuned": "tiny"}, "heads": 4, "training": training}} | raw["models"]
    hidden_sizes = widths(raw)
    assert hidden_sizes["tuned"] == 384
    assert {width for name, width in hidden_sizes.items() if name.startswith("small-")} == {384}
    message = sentence(changed("models/tuned/hidden_size", 256, raw))
    assert message.startswith("config: models.tuned.hidden_size: 256 contradicts its base 'tiny', which says 384. Correct")
    assert widths(changed("models/tuned/hidden_size", 384, raw))["tuned"] == 384


def test_a_model_that_is_trained_from_an_unknown_one_is_told_so():
    raw = with_family()
    raw["models"]["tuned"] = {"source": {"fine_tuned": "tny"}, "training": {"task": "labels", "corpus": "rte-train"}}
    assert "models.tuned.source.fine_tuned: there is no model 'tny'; did you mean 'tiny'" in sentence(raw)


@pytest.mark.parametrize("width", [0, 48.5, "48"])
def test_a_width_is_a_whole_number(width):
    assert "config: models.tiny.hidden_size: " in sentence(changed("models/tiny/hidden_size", width))


def test_a_stated_width_that_contradicts_the_files_of_the_model_is_an_error_at_start(tmp_path):
    folder = tmp_path / "tiny"
    tiny("bert").save_pretrained(folder)
    BertTokenizerFast(vocab={"[UNK]": 0, "[PAD]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}).save_pretrained(folder)
    raw = changed("models/tiny", {"source": {"path": str(folder)}})
    for key, stated, actual in (("layers", 12, LAYERS), ("heads", 12, HEADS), ("hidden_size", 768, WIDTH)):
        assert sentence(changed(f"models/tiny/{key}", stated, raw)) == (
            f"config: models.tiny.{key}: {stated} contradicts config.json in {folder}, which says {actual}. Correct the key, "
            "or remove it: the value is then read from there."
        )
    out = tmp_path / "card.json", tmp_path / "tokenizer.json"
    entry = resolve(raw)["models"]["tiny"]
    assert {key: entry[key] for key in SHAPE} == {"layers": LAYERS, "heads": HEADS, "hidden_size": WIDTH}
    describe("tiny", entry, *out)
    assert json.loads(out[0].read_text(encoding="utf-8"))["layers"] == LAYERS
