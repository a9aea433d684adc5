"""The atlas of any model: the run of a folder or of a hub name, and models without a tokenizer."""

import json
import shutil
from types import SimpleNamespace

import pytest
from workspaces import ROOT

from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_shape
from attention_atlas.workflow.config import merged, read_configuration, resolve
from attention_atlas.workflow.study import studies
from tools.atlas import check_files, main, overlay, text_notes, users_text

SHAPE = {"model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 48}


@pytest.fixture
def folder(tmp_path):
    """A model folder that says its shape, with a tokenizer."""
    model_folder = tmp_path / "Tiny_Model" / "hf"
    model_folder.mkdir(parents=True)
    (model_folder / "config.json").write_text(json.dumps(SHAPE), encoding="utf-8")
    (model_folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return model_folder


def configured(added):
    return resolve(merged(read_configuration(ROOT), added))


def test_a_folder_becomes_a_run_beside_random_weights(folder):
    run, added = overlay(str(folder))
    assert run == "atlas-tiny-model-hf"
    config = configured(added)
    assert (config["targets"], config["runs"][run]["model"]) == ([run], "tiny-model-hf")
    assert config["runs"][run]["atlas"]["compared"] == ["tiny-model-hf-random"]
    pretrained, random = (config["models"][name] for name in ("tiny-model-hf", "tiny-model-hf-random"))
    assert [pretrained[key] for key in ("layers", "heads", "hidden_size", "init")] == [2, 4, 48, "pretrained"]
    assert (random["hidden_size"], random["init"]) == (48, "random")
    assert pretrained["source"] == random["source"] == {"path": str(folder), "folder": "."}
    # The studies that need no training, and none else.
    assert {"clark2019", "stefanik2021", "atlas"} == config["runs"][run].keys() & {*studies()}


@pytest.mark.parametrize(
    "settings",
    [
        {"model_type": "distilbert", "n_layers": 2, "n_heads": 4, "dim": 48},
        {"model_type": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 48},
        {"model_type": "t5", "num_layers": 2, "num_heads": 4, "d_model": 48, "d_kv": 12, "num_decoder_layers": 3},
        {
            "model_type": "gemma3",
            "text_config": {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 48, "num_key_value_heads": 2},
            "vision_config": {"num_hidden_layers": 3, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16},
        },
    ],
    ids=lambda settings: settings["model_type"],
)
def test_shapes_are_read_under_the_names_of_each_architecture(folder, settings):
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    entry = overlay(str(folder))[1]["models"]["tiny-model-hf"]
    assert (entry["layers"], entry["heads"], entry["hidden_size"]) == (2, 4, 48)
    # Read again from config.json at each start, without transformers.
    assert {"layers": 2, "heads": 4, "hidden_size": 48}.items() <= read_shape(folder).items()


TREE = "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


def test_plain_sentences_are_shown_and_trees_are_measured_as_well(folder, tmp_path):
    (tmp_path / "My text.txt").write_text("Dogs bark.\nCats sleep.\n", encoding="utf-8")
    run, added = overlay(str(folder), tmp_path / "My text.txt")
    config = configured(added)
    assert run == "atlas-tiny-model-hf-on-my-text"
    atlas = config["runs"][run]["atlas"]
    assert (atlas["sentences"], atlas["shown"]) == ("sample-trees", "text-my-text")
    assert config["runs"][run]["clark2019"]["dependencies"] == "sample-trees"
    assert (config["corpora"]["text-my-text"]["limit"], atlas["shown_sentences"]["shortest"]) == (2, 1)
    (tmp_path / "my.conllu").write_text(TREE, encoding="utf-8")
    run, added = overlay(str(folder), tmp_path / "my.conllu")
    config = configured(added)
    assert config["runs"][run]["atlas"]["sentences"] == "text-my"
    assert "shown" not in config["runs"][run]["atlas"]
    assert config["runs"][run]["clark2019"]["dependencies"] == "text-my"
    assert config["runs"][run]["clark2019"]["coreference"] == "sample-coreference"
    assert "my.conllu" in config["runs"][run]["title"]


def test_the_notes_say_what_becomes_of_a_text(tmp_path):
    path = tmp_path / "my.txt"
    path.write_text("Dogs bark.\n" * 150, encoding="utf-8")
    first, second = text_notes(users_text(path))
    assert "the first 100 of 150 sentences are shown" in first
    assert "heads are measured on generated English" in second
    path = tmp_path / "my.conllu"
    path.write_text(TREE, encoding="utf-8")
    assert text_notes(users_text(path)) == []


def test_a_folder_without_weights_stops_before_anything_is_written(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tools.atlas.ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["atlas.py", str(folder)])
    assert main() == 1
    message = capsys.readouterr().err
    assert message.startswith(f"error: model tiny-model-hf: the folder {folder} has no weights (*.safetensors or")
    assert message.count("\n") == 1
    monkeypatch.setattr("sys.argv", ["atlas.py", str(folder), "--text", str(tmp_path / "none.txt")])
    assert main() == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'none.txt'}: there is no such file")
    assert not (tmp_path / "results").exists()
    (folder / "model.safetensors").touch()
    check_files(overlay(str(folder))[1]["models"])


def on_the_hub(folder, monkeypatch, files=("config.json", "model.safetensors")):
    """A hub that has the configuration of a folder, and lists these files."""
    siblings = None if files is None else [SimpleNamespace(rfilename=name) for name in files]
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.HfApi.resolve_revision", lambda *_, **named: asked.append(named) or SimpleNamespace(resolved="c" * 40)
    )
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: SimpleNamespace(siblings=siblings))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(folder))
    return asked


def test_a_model_of_the_hub_has_the_shape_of_its_revision(folder, monkeypatch):
    asked = on_the_hub(folder, monkeypatch)
    run, added = overlay("someone/some-model@step10")
    assert run == "atlas-someone-some-model-step10"
    assert {named["revision"] for named in asked} == {"step10"}
    entry = added["models"]["someone-some-model-step10"]
    assert entry["source"] == {"hub": "someone/some-model", "revision": "step10"}
    assert (entry["layers"], entry["heads"], entry["hidden_size"]) == (2, 4, 48)
    configured(added)


def checkpoints(folder, *names):
    for name in names:
        shutil.copytree(folder, folder.parent / name)
    return folder.parent


def test_folders_that_fit_a_pattern_are_in_the_order_of_their_numbers(folder):
    parent = checkpoints(folder, "step2", "step10", "step1")
    run, added = overlay(f"{parent / 'step*'} {folder}")
    settings = configured(added)["runs"][run]
    assert settings["model"] == "tiny-model-step10", "the last one"
    assert settings["atlas"]["compared"] == [
        *("tiny-model-step1", "tiny-model-step2", "tiny-model-hf", "tiny-model-step10-random"),
    ]
    assert run.startswith("atlas-tiny-model-step10-and-3-more-")


def test_names_on_the_hub_in_braces_are_compared(folder, monkeypatch):
    on_the_hub(folder, monkeypatch)
    run, added = overlay("someone/m-seed_{0..2} other/m")
    settings = configured(added)["runs"][run]
    assert settings["model"] == "someone-m-seed-2"
    assert settings["atlas"]["compared"] == [
        *("someone-m-seed-0", "someone-m-seed-1", "other-m", "someone-m-seed-2-random"),
    ]
    for names in ("someone/m@step{1,5}", "someone/m@step1 someone/m@step5"):
        run, added = overlay(names)
        atlas = configured(added)["runs"][run]["atlas"]
        assert atlas["compared"] == ["someone-m-step1", "someone-m-step5-random"], "each of them once"


NO_MODELS = {
    "{folder} {folder}": "named twice",
    "./nowhere/at/all": "no such folder",
    "{parent}/step*": r"step\*: no folder matches this pattern",
    " ": "Name a model",
    "{parent}/h* g/m-seed_{{0..2}}": r"h\* and g/m-seed_\{0\.\.2\}: the last model of a pattern",
    **dict.fromkeys(("m{{", "m{{3}}", "m{{1,}}", "m{{a..c}}", "m{{1,2}}{{3,4}}"), "in one pair of braces"),
    **dict.fromkeys(("m{{4..1}}", "m{{2..2}}", "m{{0..100}}"), "a range goes from"),
}


@pytest.mark.parametrize(("arguments", "message"), NO_MODELS.items())
def test_models_that_cannot_be_compared_are_a_sentence(folder, arguments, message):
    with pytest.raises(AtlasError, match=message):
        overlay([argument.format(folder=folder, parent=folder.parent) for argument in [arguments]])


WRONG_FOLDERS = [
    ("config.json", None, r"no config\.json"),
    ("tokenizer.json", None, "there is no tokenizer here"),
    ("config.json", "{", "the configuration cannot be read .*JSON"),
    ("config.json", "{}", "the configuration cannot be read"),
    ("config.json", {"hidden_size": 50}, r"the configuration cannot be read \(.*multiple of the number"),
    ("config.json", {"pruned_heads": {"0": [1]}}, "config.json has pruned_heads"),
    ("config.json", {"model_type": "unknown", "auto_map": {"AutoConfig": "a.B"}}, r"\(auto_map\), which is never run"),
    ("config.json", {"architectures": ["RobertaModel"]}, "architectures: RobertaModel, which is of type roberta"),
    ("config.json", {"model_type": "mpnet"}, "MPNetModel computes attention without the attention interface"),
    ("config.json", {"model_type": "gpt_oss", "num_local_experts": 2}, "learnt sinks"),
    ("config.json", {"model_type": "jamba", "num_hidden_layers": 8, "num_experts": 2}, "7 of 8 layers"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG_FOLDERS, ids=[message for *_, message in WRONG_FOLDERS])
def test_a_folder_that_holds_no_model_to_measure_is_refused_at_the_start(folder, monkeypatch, name, content, message):
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(SHAPE | content), encoding="utf-8")
    with pytest.raises(AtlasError, match=message):
        overlay(str(folder))
    if content == {"model_type": "mpnet"}:
        on_the_hub(folder, monkeypatch)
        with pytest.raises(AtlasError, match=message):
            overlay("someone/some-mpnet")


def test_a_model_that_is_nowhere_is_a_sentence(monkeypatch):
    def fail(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.setattr("huggingface_hub.HfApi.resolve_revision", fail)
    with pytest.raises(AtlasError, match=r"no such folder, and no such model to download: .* \(ConnectionError: no network\)"):
        overlay("someone/some-model")
