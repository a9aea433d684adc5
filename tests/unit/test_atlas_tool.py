"""The atlas of any model: the run of a folder or of a hub name, and models without a tokenizer."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from workspaces import ROOT

from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_shape
from attention_atlas.workflow.config import merged, read_configuration, resolve
from tools.atlas import check_files, in_braces, main, overlay, text_notes, users_text

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
    assert config["targets"] == [run]
    assert config["runs"][run]["model"] == "tiny-model-hf"
    assert config["runs"][run]["atlas"]["compared"] == ["tiny-model-hf-random"]
    pretrained, random = (config["models"][name] for name in ("tiny-model-hf", "tiny-model-hf-random"))
    assert (pretrained["layers"], pretrained["heads"], pretrained["hidden_size"], pretrained["init"]) == (
        2,
        4,
        48,
        "pretrained",
    )
    assert (random["hidden_size"], random["init"]) == (48, "random")
    assert pretrained["source"] == random["source"]
    assert pretrained["source"]["path"] == str(folder)
    assert "tokenizer" not in pretrained
    # The studies that need no training, and none else.
    assert {"clark2019", "stefanik2021", "atlas"} == config["runs"][run].keys() & {
        *("clark2019", "guan2020", "kovaleva2019", "michel2019", "tenney2019", "stefanik2021", "atlas", "scoreboard")
    }


@pytest.mark.parametrize(
    "settings",
    [
        {"model_type": "distilbert", "n_layers": 2, "n_heads": 4, "dim": 48},
        {"model_type": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 48},
        {"model_type": "t5", "num_layers": 2, "num_heads": 4, "d_model": 48, "d_kv": 12, "num_decoder_layers": 3},
        {"model_type": "bart", "encoder_layers": 2, "encoder_attention_heads": 4, "d_model": 48, "decoder_layers": 3},
        {"model_type": "dpr", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 48},
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "bigbird_pegasus", "encoder_layers": 1, "decoder_layers": 1}, "without the attention interface"),
        ({"model_type": "gpt_oss", "num_hidden_layers": 2, "num_local_experts": 2}, "learnt sinks"),
        ({"model_type": "jamba", "num_hidden_layers": 8, "num_experts": 2}, "7 of 8 layers"),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_models_that_the_studies_cannot_measure_are_refused_at_the_start(folder, settings, message):
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(AtlasError, match=message):
        overlay(str(folder))


def test_a_folder_without_a_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(AtlasError, match="there is no tokenizer here"):
        overlay(str(folder))


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


def test_a_bad_text_stops_before_anything_is_written(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tools.atlas.ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["atlas.py", str(folder), "--text", str(tmp_path / "none.txt")])
    assert main() == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'none.txt'}: there is no such file")
    assert not (tmp_path / "results").exists()


def test_a_folder_without_weights_stops_before_anything_is_written(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tools.atlas.ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["atlas.py", str(folder)])
    assert main() == 1
    message = capsys.readouterr().err
    assert message.startswith(f"error: model tiny-model-hf: the folder {folder} has no weights (*.safetensors or")
    assert message.count("\n") == 1
    assert not (tmp_path / "results").exists()
    (folder / "model.safetensors").touch()
    check_files(overlay(str(folder))[1]["models"])


def test_an_architecture_whose_attention_cannot_be_observed_is_refused(folder, monkeypatch):
    """transformers computes MPNet's attention without its attention interface."""
    (folder / "config.json").write_text(json.dumps(SHAPE | {"model_type": "mpnet"}), encoding="utf-8")
    with pytest.raises(AtlasError, match=r"MPNetModel computes attention without the attention interface .* use another model"):
        overlay(str(folder))
    on_the_hub(folder, monkeypatch)
    with pytest.raises(AtlasError, match="MPNetModel computes attention without the attention interface"):
        overlay("someone/some-mpnet")


def test_a_configuration_that_builds_no_model_is_refused(folder):
    (folder / "config.json").write_text(json.dumps(SHAPE | {"hidden_size": 50}), encoding="utf-8")
    with pytest.raises(AtlasError, match=r"the configuration cannot be read \(.*multiple of the number"):
        overlay(str(folder))


def test_a_folder_whose_name_has_no_latin_letters_has_a_name_in_the_registry(folder):
    renamed = folder.parent.rename(folder.parents[1] / "数据") / "模型"
    (renamed.parent / folder.name).rename(renamed)
    run, added = overlay(str(renamed))
    assert (run, [*added["models"]]) == ("atlas-model", ["model", "model-random"])
    assert added["models"]["model"]["source"] == {"path": str(renamed)}


def test_what_the_configuration_of_a_model_asks_for(folder):
    config = folder / "config.json"
    config.write_text(json.dumps(SHAPE | {"attn_implementation": "flash_attention_2"}), encoding="utf-8")
    overlay(str(folder))
    for settings, message in (
        ({"pruned_heads": {"0": [1]}}, "config.json has pruned_heads"),
        (
            {"model_type": "unknown", "auto_map": {"AutoConfig": "a.B"}},
            r"code from this folder \(auto_map\), which is never run",
        ),
        ({"architectures": ["RobertaModel"]}, "model_type: bert, but architectures: RobertaModel, which is of type roberta"),
    ):
        config.write_text(json.dumps(SHAPE | settings), encoding="utf-8")
        with pytest.raises(AtlasError, match=message):
            overlay(str(folder))


def test_what_is_no_model_is_a_sentence(folder, monkeypatch):
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"the configuration cannot be read .*JSON"):
        overlay(str(folder))
    (folder / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(AtlasError, match="the configuration cannot be read"):
        overlay(str(folder))
    (folder / "config.json").write_text('{"model_type": "resnet"}', encoding="utf-8")
    with pytest.raises(AtlasError, match="without the attention interface"):
        overlay(str(folder))
    (folder / "config.json").unlink()
    with pytest.raises(AtlasError, match=r"no config\.json"):
        overlay(str(folder))
    with pytest.raises(AtlasError, match="no such folder"):
        overlay("./nowhere/at/all")
    monkeypatch.setattr(
        "huggingface_hub.HfApi.resolve_revision", lambda *_, **__: (_ for _ in ()).throw(ConnectionError("no network"))
    )
    with pytest.raises(AtlasError, match=r"no such folder, and no such model to download: .* \(ConnectionError: no network\)"):
        overlay("someone/some-model")


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


def test_a_model_of_the_hub_without_weights_is_refused(folder, monkeypatch):
    on_the_hub(folder, monkeypatch, files=("config.json", "tf_model.h5"))
    with pytest.raises(AtlasError, match=r"some-model at main: this repository has none of model\.safetensors, model"):
        overlay("someone/some-model")


@pytest.mark.parametrize("files", [["pytorch_model.bin"], ["model.safetensors.index.json"], None])
def test_other_names_of_weights_and_hubs_that_list_no_files_are_accepted(folder, monkeypatch, files):
    on_the_hub(folder, monkeypatch, files)
    assert overlay("someone/some-model")[0] == "atlas-someone-some-model"


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


def test_several_models_are_compared(folder):
    parent = checkpoints(folder, "b", "c")
    arguments = [str(parent / name) for name in ("b", "hf", "c")]
    run, added = overlay(" ".join(arguments))
    assert overlay(arguments) == (run, added), "in one argument, or several"
    atlas = configured(added)["runs"][run]["atlas"]
    assert atlas["compared"] == ["tiny-model-hf", "tiny-model-c", "tiny-model-b-random"]
    assert configured(added)["runs"][run]["model"] == "tiny-model-b"
    assert run == "atlas-tiny-model-b-tiny-model-hf-tiny-model-c"


def test_folders_that_fit_a_pattern_are_in_the_order_of_their_numbers(folder):
    parent = checkpoints(folder, "step2", "step10", "step1")
    run, added = overlay([str(parent / "step*"), str(folder)])
    settings = configured(added)["runs"][run]
    assert settings["model"] == "tiny-model-step10", "the last one"
    assert settings["atlas"]["compared"] == [
        *("tiny-model-step1", "tiny-model-step2", "tiny-model-hf", "tiny-model-step10-random"),
    ]
    assert run.startswith("atlas-tiny-model-step10-and-3-more-")


def test_the_last_of_several_revisions_of_one_model_is_that_of_the_run(folder, monkeypatch):
    on_the_hub(folder, monkeypatch)
    run, added = overlay("someone/m@step1 someone/m@step5")
    assert configured(added)["runs"][run]["model"] == "someone-m-step5"
    run, added = overlay("someone/m@step1 other/m@step1")
    assert configured(added)["runs"][run]["model"] == "someone-m-step1"


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("g/m-seed_{0..2}", ["g/m-seed_0", "g/m-seed_1", "g/m-seed_2"]),
        ("g/m@step{1,512,2}", ["g/m@step1", "g/m@step512", "g/m@step2"]),
        ("{a,b}/m", ["a/m", "b/m"]),
    ],
)
def test_a_name_with_braces_stands_for_several(name, names):
    assert in_braces(name) == names


@pytest.mark.parametrize("name", ["m{", "m{}", "m{3}", "m{1,}", "m{4..1}", "m{2..2}", "m{0..100}", "m{a..c}", "m{1,2}{3,4}"])
def test_braces_that_name_no_models_are_a_sentence(name):
    with pytest.raises(AtlasError, match=r"braces|a range goes from"):
        overlay(name)


def test_names_on_the_hub_in_braces_are_compared(folder, monkeypatch):
    on_the_hub(folder, monkeypatch)
    run, added = overlay("someone/m-seed_{0..2} other/m")
    settings = configured(added)["runs"][run]
    assert settings["model"] == "someone-m-seed-2"
    assert settings["atlas"]["compared"] == [
        *("someone-m-seed-0", "someone-m-seed-1", "other-m", "someone-m-seed-2-random"),
    ]
    run, added = overlay("someone/m@step{1,5}")
    atlas = configured(added)["runs"][run]["atlas"]
    assert atlas["compared"] == ["someone-m-step1", "someone-m-step5-random"], "each of them once"


def test_folders_in_braces_are_compared(folder):
    parent = checkpoints(folder, "seed_0", "seed_1", "seed_2")
    run, added = overlay(str(parent / "seed_{0..2}"))
    settings = configured(added)["runs"][run]
    assert settings["model"] == "tiny-model-seed-2"
    for seed in range(3):
        assert Path(added["models"][f"tiny-model-seed-{seed}"]["source"]["path"]).name == f"seed_{seed}"


def test_folders_of_one_name_stay_apart(folder, tmp_path):
    other = tmp_path / "more" / "tiny model" / "hf"
    shutil.copytree(folder, other)
    entries = overlay([str(folder), str(other)])[1]["models"]
    assert {name: entry["source"]["path"] for name, entry in entries.items() if "random" not in name} == {
        "tiny-model-hf": str(folder),
        "tiny-model-hf-2": str(other),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder} {folder}"], "named twice"),
        (["{folder}", "./nowhere/at/all"], "no such folder"),
        (["{parent}/step*"], r"step\*: no folder matches this pattern"),
        ([" "], "Name a model"),
        (["{parent}/h*", "g/m-seed_{{0..2}}"], r"h\* and g/m-seed_\{0\.\.2\}: the last model of a pattern"),
    ],
)
def test_models_that_cannot_be_compared_are_a_sentence(folder, arguments, message):
    with pytest.raises(AtlasError, match=message):
        overlay([argument.format(folder=folder, parent=folder.parent) for argument in arguments])
