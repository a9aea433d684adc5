"""The atlas of any model: the run of a folder or of a hub name, and models without a tokenizer."""

import json
from types import SimpleNamespace

import pytest
from workspaces import ROOT

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import merged, read_configuration, resolve
from attention_atlas.workflow.study import studies
from tools.atlas import overlay, text_notes, users_text

SHAPE = {"model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 48}
TREE = "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def folder(tmp_path):
    """A model folder that says its shape, with a tokenizer."""
    model_folder = tmp_path / "Tiny_Model" / "hf"
    model_folder.mkdir(parents=True)
    (model_folder / "config.json").write_text(json.dumps(SHAPE), encoding="utf-8")
    (model_folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return model_folder


def configured(*arguments):
    """Run and resolved configuration for arguments of the tool."""
    run, added = overlay(*arguments)
    return run, resolve(merged(read_configuration(ROOT), added))


def test_a_folder_becomes_a_run_beside_random_weights(folder):
    run, config = configured(str(folder))
    assert run == "atlas-tiny-model-hf"
    assert (config["targets"], config["runs"][run]["model"]) == ([run], "tiny-model-hf")
    assert config["runs"][run]["atlas"]["compared"] == ["tiny-model-hf-random"]
    pretrained, random = (config["models"][name] for name in ("tiny-model-hf", "tiny-model-hf-random"))
    assert [pretrained[key] for key in ("layers", "heads", "hidden_size", "init")] == [2, 4, 48, "pretrained"]
    assert (random["hidden_size"], random["init"]) == (48, "random")
    assert pretrained["source"] == random["source"] == {"path": str(folder), "folder": "."}
    # The studies that need no training, and none else.
    assert {"clark2019", "stefanik2021", "atlas"} == config["runs"][run].keys() & {*studies()}


def test_plain_sentences_are_shown_and_trees_are_measured_as_well(folder, tmp_path):
    (tmp_path / "My text.txt").write_text("Dogs bark.\nCats sleep.\n" * 75, encoding="utf-8")
    (tmp_path / "my.conllu").write_text(TREE, encoding="utf-8")
    run, config = configured(str(folder), tmp_path / "My text.txt")
    assert run == "atlas-tiny-model-hf-on-my-text"
    settings = config["runs"][run]
    assert (settings["atlas"]["sentences"], settings["atlas"]["shown"]) == ("sample-trees", "text-my-text")
    assert settings["clark2019"]["dependencies"] == "sample-trees"
    shown, measured = text_notes(users_text(tmp_path / "My text.txt"))
    assert "the first 100 of 150 sentences are shown" in shown
    assert "heads are measured on generated English" in measured
    run, config = configured(str(folder), tmp_path / "my.conllu")
    settings = config["runs"][run]
    assert (settings["atlas"]["sentences"], "shown" in settings["atlas"]) == ("text-my", False)
    assert (settings["clark2019"]["dependencies"], settings["clark2019"]["coreference"]) == ("text-my", "sample-coreference")
    assert text_notes(users_text(tmp_path / "my.conllu")) == []


def test_a_model_of_the_hub_has_the_shape_of_its_revision(folder, monkeypatch):
    asked = []
    siblings = [SimpleNamespace(rfilename=name) for name in ("config.json", "model.safetensors")]

    def resolved(*_, revision, **__):
        asked.append(revision)
        return SimpleNamespace(resolved="c" * 40)

    monkeypatch.setattr("huggingface_hub.HfApi.resolve_revision", resolved)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: SimpleNamespace(siblings=siblings))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(folder))
    run, config = configured("someone/some-model@step10")
    assert (run, set(asked)) == ("atlas-someone-some-model-step10", {"step10"})
    entry = config["models"]["someone-some-model-step10"]
    assert {"hub": "someone/some-model", "revision": "step10"}.items() <= entry["source"].items()
    assert (entry["layers"], entry["heads"], entry["hidden_size"]) == (2, 4, 48)


WRONG_FOLDERS = [
    ("tokenizer.json", None, "there is no tokenizer here"),
    ("config.json", {"model_type": "unknown", "auto_map": {"AutoConfig": "a.B"}}, r"\(auto_map\), which is never run"),
    ("config.json", {"architectures": ["RobertaModel"]}, "architectures: RobertaModel, which is of type roberta"),
    ("config.json", {"model_type": "mpnet"}, "MPNetModel computes attention without the attention interface"),
    ("config.json", {"model_type": "gpt_oss", "num_local_experts": 2}, "learnt sinks"),
    ("config.json", {"model_type": "jamba", "num_hidden_layers": 8, "num_experts": 2}, "7 of 8 layers"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG_FOLDERS, ids=[message for *_, message in WRONG_FOLDERS])
def test_a_folder_that_holds_no_model_to_measure_is_refused_at_the_start(folder, name, content, message):
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(json.dumps(SHAPE | content), encoding="utf-8")
    with pytest.raises(AtlasError, match=message):
        overlay(str(folder))
