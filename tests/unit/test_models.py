"""Models by registry entry: their folders, the checks, and a message of one sentence for each fault."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from functools import partial

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import HEADS, LAYERS, PAD, VOCABULARY, WIDTH, batch_for, main_output, saved_model, tiny
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    BertTokenizerFast,
    PreTrainedTokenizerFast,
)

from attention_atlas.attention.engine import NAME
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import sha256
from attention_atlas.models.card import ModelCard, read_card, write_card
from attention_atlas.models.loading import describe, initialised, load_model, locate

ENTRIES = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "cat"]
CARD = ModelCard("tiny", "folder é", "bert", 3, 4, 40, "[CLS]", None, None, "", "random", 7, "float32")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model folder: configuration, weights and tokenizer of a tiny BERT."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    tiny("bert").save_pretrained(path)
    vocabulary = {entry: i for i, entry in enumerate(ENTRIES)}
    BertTokenizerFast(vocab=vocabulary, model_max_length=512).save_pretrained(path)
    return path


def entry_for(folder, **changes) -> dict:
    entry = {"source": {"path": str(folder)}, "layers": LAYERS, "heads": HEADS, "hidden_size": WIDTH, "init": "pretrained"}
    return entry | {"seed": 0, "dtype": "float32"} | changes


def refusal(call, *arguments) -> str:
    with pytest.raises(AtlasError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def described(tmp_path, entry: dict) -> ModelCard:
    describe("tiny", entry, tmp_path / "card.json", tmp_path / "tokenizer.json")
    return read_card(tmp_path / "card.json")


def not_described(tmp_path, entry: dict) -> str:
    message = refusal(describe, "tiny", entry, tmp_path / "out" / "card.json", tmp_path / "out" / "tokenizer.json")
    assert not (tmp_path / "out" / "card.json").exists()
    return message


def copied(folder, tmp_path, leave_out: tuple[str, ...] = ()):
    target = tmp_path / "copy"
    target.mkdir()
    for file in folder.iterdir():
        if file.name not in leave_out:
            (target / file.name).write_bytes(file.read_bytes())
    return target


def test_a_folder_is_located_directly_and_as_a_local_copy_of_the_hub(folder):
    assert locate({"source": {"path": str(folder)}}) == folder
    assert locate({"source": {"hub": str(folder)}}) == folder


def test_a_folder_inside_a_package_is_located(folder, tmp_path, monkeypatch):
    package = tmp_path / "tiny_weights_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    (package / "inner" / "config.json").write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = {"package": "tiny-weights", "module": "tiny_weights_package", "folder": "inner"}
    assert locate({"source": source}) == package / "inner"
    assert "tiny_weights_package" not in sys.modules
    message = refusal(locate, {"source": source | {"folder": "outer"}})
    assert message == f"{package}/outer: this is not a model folder (it has no config.json). Check the model's source."


@pytest.mark.parametrize("module", ["no_such_module", "no_such_module.inner"])
def test_a_package_that_is_not_installed_is_named_with_the_remedy(module):
    message = refusal(locate, {"source": {"package": "no-such-thing", "module": module, "folder": "."}})
    assert message == "the package no-such-thing is not installed: pip install no-such-thing."


def test_a_missing_folder_and_one_without_a_configuration_are_named(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path):
        message = refusal(locate, {"source": {"path": str(path)}})
        assert message == f"{path}: this is not a model folder (it has no config.json). Check the model's source."


def test_a_model_of_the_hub_that_was_never_fetched_is_not_located(without_files):
    message = refusal(locate, {"source": {"hub": "someone/something", "revision": "0123456789" * 4}})
    assert message.startswith(
        "model someone/something: its files are not on this machine. The job describe_model downloads them"
    )
    assert "HF_HOME" in message


def test_a_model_is_described(folder, tmp_path):
    assert described(tmp_path, entry_for(folder)) == ModelCard(
        name="tiny",
        origin=f"folder {folder}",
        model_type="bert",
        layers=LAYERS,
        heads=HEADS,
        max_tokens=40,
        cls="[CLS]",
        sep="[SEP]",
        pad=PAD,
        weights_sha256=sha256(folder / "model.safetensors"),
        init="pretrained",
        seed=0,
        dtype="float32",
        mask=4,
    )
    written = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert written.encode("The cat").tokens == ["[CLS]", "the", "cat", "[SEP]"]


def test_the_origin_says_where_the_weights_are_from(folder, tmp_path, monkeypatch):
    hub = {"hub": "a/b", "revision": "1" * 40}
    shutil.copytree(folder, tmp_path / "hub_cache" / "models--a--b" / "snapshots" / ("1" * 40))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub_cache"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *args, **options: str(folder))
    assert described(tmp_path, entry_for(folder, source=hub)).origin == f"hub a/b at {'1' * 40}"
    assert described(tmp_path, entry_for(folder, source={"hub": str(folder)})).origin == f"hub {folder} at a local copy"
    # A folder of the user's need not be the commit that the cache has for its name.
    shutil.copytree(folder, tmp_path / "models" / "b")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hub_cache/models--a--b/refs").mkdir()
    (tmp_path / "hub_cache/models--a--b/refs/main").write_text("2" * 40)
    assert described(tmp_path, entry_for(folder, source={"hub": "a/b"})).origin == "hub a/b at a local copy"


@pytest.mark.parametrize(("layers", "heads", "hidden"), [(12, HEADS, WIDTH), (LAYERS, 12, WIDTH), (LAYERS, HEADS, 64)])
def test_another_shape_than_the_registrys_is_refused(folder, tmp_path, layers, heads, hidden):
    assert not_described(tmp_path, entry_for(folder, layers=layers, heads=heads, hidden_size=hidden)) == (
        f"model tiny has {LAYERS} layers of {HEADS} heads and hidden states of {WIDTH} numbers, but the registry says "
        f"{layers}, {heads} and {hidden}: set layers: {LAYERS}, heads: {HEADS} and hidden_size: {WIDTH} in models.tiny."
    )


def test_the_checksum_of_the_weights_is_compared(folder, tmp_path):
    checksum, wrong = sha256(folder / "model.safetensors"), "ab" * 32
    assert described(tmp_path, entry_for(folder, sha256=checksum)).weights_sha256 == checksum
    message = not_described(tmp_path, entry_for(folder, sha256=wrong))
    assert (
        message == f"{folder}/model.safetensors: wrong checksum: models.tiny.sha256 is {wrong}, but the file's is {checksum}."
    )


def test_weights_may_be_missing_only_where_they_are_not_used(folder, tmp_path):
    bare = copied(folder, tmp_path, leave_out=("model.safetensors",))
    message = not_described(tmp_path, entry_for(bare))
    files = "model.safetensors or model.safetensors.index.json or pytorch_model.bin or pytorch_model.bin.index.json"
    assert message == f"{bare}: model tiny has no weights ({files}) in this folder."
    assert described(tmp_path, entry_for(bare, init="random")).weights_sha256 == ""


def test_random_initialisation_has_no_checksum_even_beside_weights(folder, tmp_path):
    card = described(tmp_path, entry_for(folder, init="random", seed=5))
    assert (card.init, card.seed, card.weights_sha256) == ("random", 5, "")


def test_a_tokenizer_that_cannot_be_read_is_a_sentence(folder, tmp_path):
    bad = copied(folder, tmp_path)
    (bad / "tokenizer.json").write_text("{")
    assert not_described(tmp_path, entry_for(bad)).startswith(f"{bad}: the tokenizer cannot be read (")
    (bad / "config.json").write_text("{")
    assert not_described(tmp_path, entry_for(bad)).startswith(f"{bad}: the configuration cannot be read (")


def test_a_tokenizer_with_more_tokens_than_embeddings_is_refused(folder, tmp_path):
    large = copied(folder, tmp_path)
    BertTokenizerFast(vocab={f"t{i}" if i else "[UNK]": i for i in range(VOCABULARY + 1)}).save_pretrained(large)
    assert f"embeddings for {VOCABULARY} tokens, but its tokenizer has" in not_described(tmp_path, entry_for(large))


@pytest.mark.parametrize(("name", "expected"), [("roberta", 38), ("bert", 40), ("gpt2", 40)])
def test_the_longest_input_counts_positions_as_the_architecture_does(tmp_path, name, expected):
    path = tmp_path / name
    tiny(name).save_pretrained(path)
    tokenizer = Tokenizer(models.WordLevel({entry: i for i, entry in enumerate(ENTRIES)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(path)
    # RoBERTa's positions begin behind the padding index, which is 1 here.
    assert described(tmp_path, entry_for(path)).max_tokens == expected
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=16).save_pretrained(path)
    card = described(tmp_path, entry_for(path))
    assert (card.max_tokens, card.cls, card.sep, card.pad) == (16, None, None, None)


def test_a_loaded_model_computes_what_was_saved_with_the_engine_installed(folder):
    model = load_model(entry_for(folder))
    assert not model.training
    assert model.config._attn_implementation == NAME
    with torch.no_grad():
        ours, saved = (main_output(m(**batch_for("bert"))) for m in (model, tiny("bert")))
    torch.testing.assert_close(ours, saved, rtol=0, atol=1e-6)


def test_the_precision_is_the_registrys(folder):
    for init in ("pretrained", "random"):
        model = load_model(entry_for(folder, dtype="bfloat16", init=init))
        assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
        assert not model.training


def test_the_precision_may_be_that_of_the_checkpoint(folder, tmp_path):
    assert load_model(entry_for(folder, dtype="auto")).dtype == torch.float32
    half = copied(folder, tmp_path, leave_out=("model.safetensors", "config.json"))
    tiny("bert").bfloat16().save_pretrained(half)
    assert load_model(entry_for(half, dtype="auto")).dtype == torch.bfloat16
    assert load_model(entry_for(half, dtype="auto", init="random")).dtype == torch.bfloat16


def test_random_initialisation_is_seeded_and_is_not_the_trained_model(folder):
    def weights(**changes) -> torch.Tensor:
        torch.manual_seed(99)
        return load_model(entry_for(folder, **changes)).encoder.layer[0].attention.self.query.weight.detach()

    trained = weights()
    first = weights(init="random", seed=1)
    torch.manual_seed(123)
    assert torch.equal(first, load_model(entry_for(folder, init="random", seed=1)).encoder.layer[0].attention.self.query.weight)
    assert not torch.allclose(first, weights(init="random", seed=2), atol=1e-3)
    assert not torch.allclose(first, trained, atol=1e-3)
    assert torch.equal(trained, tiny("bert").encoder.layer[0].attention.self.query.weight)


def test_weights_that_cannot_be_read_are_a_sentence(folder, tmp_path):
    bad = copied(folder, tmp_path)
    (bad / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:500])
    assert refusal(load_model, entry_for(bad)).startswith(f"{bad}: the weights cannot be read (")


def stored(model: str, folder, settings: dict = {}, rename=lambda name: name, index="", keep=lambda name: True):  # noqa: B006
    """A folder with a tiny model: its configuration changed, its weights renamed, as .bin, or in two files with an index."""
    tiny(model).save_pretrained(folder)
    config, weights = folder / "config.json", load_file(folder / "model.safetensors")
    config.write_text(json.dumps(json.loads(config.read_text()) | settings))
    weights = {rename(name): values for name, values in weights.items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    if index:
        (folder / "model.safetensors").unlink()
        shards = {name: index.replace(".", f"-{2 * number // len(weights)}.", 1) for number, name in enumerate(sorted(weights))}
        save = torch.save if index.endswith(".bin") else partial(save_file, metadata={"format": "pt"})
        for shard in set(shards.values()):
            save({name: weights[name] for name in weights if shards[name] == shard}, folder / shard)
        listed = {name: shard for name, shard in shards.items() if keep(name)}
        (folder / f"{index}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": listed}))
    return folder


ROBERTA = {"model_type": "roberta"}


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ("bert", {"rename": lambda n: f"module.{n}"}, "53 of the model's 55 weights .*has other names .module.embeddings"),
        (
            "bert",
            {"rename": lambda n: f"transformer.{n}", "index": "pytorch_model.bin"},
            r"embeddings\.LayerNorm\.bias, .*\.\.\.\): .* other names .transformer\.",
        ),
        ("bert", {"rename": lambda n: n.replace("layer.", "layers.")}, "48 of .*other names .encoder.layers.0"),
        (
            "bert",
            {"index": "model.safetensors", "keep": lambda n: n < "encoder.layer.1.attention.self.q"},
            "it is incomplete, or has other names .none.. .* fetch the checkpoint with its index again",
        ),
        ("bert_mlm", {"settings": ROBERTA | {"architectures": None}}, "has other names .bert.* Correct model_type"),
        ("bert", {"settings": ROBERTA}, "model_type: roberta, but architectures: BertModel, which is of type bert"),
        ("bert", {"settings": {"num_hidden_layers": 4}}, "16 of .* Correct model_type or the number of layers"),
        ("bert_mlm", {"settings": {"num_hidden_layers": 4}}, "16 of .* Correct model_type or the number of layers"),
        ("bert_mlm", {"settings": {"num_hidden_layers": 2}}, "16 weights of layers that config.json does not have"),
        ("gpt2", {"settings": {"n_layer": 2}}, "11 weights of layers that config.json does not have .h.2"),
        ("bert", {"settings": {"intermediate_size": 64}}, r"9 weights .*dense\.bias \[32\] instead of \[64\]"),
        ("bert", {"settings": {"pruned_heads": {"0": [1]}}}, "config.json has pruned_heads"),
        ("bert", {"rename": lambda n: n.replace("word_emb", "emb")}, "1 of the model's 55 .*embeddings.word_embeddings"),
    ],
)
@pytest.mark.parametrize("init", ["pretrained", "random_encoder"])
def test_weights_of_the_encoder_that_do_not_load_are_an_error(tmp_path, model, changes, message, init):
    folder = stored(model, tmp_path, **changes)
    said = refusal(load_model, entry_for(folder, init=init))
    assert said.startswith(f"{folder}: ")
    assert re.search(message, said), said
    kind = AutoModelForCausalLM if model == "gpt2" else AutoModelForSequenceClassification
    assert re.search(message.replace("of the model's 55", "of the model's 57"), refusal(initialised, kind, entry_for(folder)))


POOLER = ["pooler.dense.bias", "pooler.dense.weight"]
CLASSIFIER = ["classifier.bias", "classifier.weight"]


@pytest.mark.parametrize(
    ("model", "changes", "kind", "new"),
    [
        ("bert", {}, AutoModel, []),
        ("bert", {"rename": lambda n: f"bert.{n}".replace("Norm.weight", "Norm.gamma")}, AutoModel, []),
        ("bert", {"settings": {"attn_implementation": "flash_attention_2"}}, AutoModel, []),
        ("bert", {"settings": {"_attn_implementation": "no_such_kernel"}}, AutoModel, []),
        ("bert", {"index": "pytorch_model.bin"}, AutoModel, []),
        ("bert", {"index": "model.safetensors"}, AutoModel, []),
        ("bert", {}, AutoModelForSequenceClassification, CLASSIFIER),
        ("bert_mlm", {}, AutoModel, POOLER),
        ("bert_mlm", {}, AutoModelForMaskedLM, []),
        ("bert_mlm", {}, AutoModelForSequenceClassification, [*(f"bert.{name}" for name in POOLER), *CLASSIFIER]),
        ("bert_classifier", {}, AutoModelForSequenceClassification, []),
        *((model, {}, AutoModel, []) for model in ("albert", "distilbert", "electra", "roberta", "gpt2", "llama", "marian")),
        ("gpt2", {"rename": lambda n: f"transformer.{n}"}, AutoModel, []),
        ("gpt2", {}, AutoModelForCausalLM, []),
        ("llama", {}, AutoModelForCausalLM, ["lm_head.weight"]),
        ("marian", {}, AutoModelForSeq2SeqLM, []),
    ],
)
def test_new_heads_and_poolers_are_named_and_every_load_gives_the_same_weights(tmp_path, model, changes, kind, new):
    entry = entry_for(stored(model, tmp_path, **changes))
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first, missing = initialised(kind, entry)
    assert missing == new
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    second, _ = initialised(kind, entry)
    assert all(torch.equal(values, second.state_dict()[name]) for name, values in first.state_dict().items())
    if new:
        reseeded = initialised(kind, entry | {"seed": 1})[0].state_dict()
        assert {name for name, values in first.state_dict().items() if not torch.equal(values, reseeded[name])} <= set(new)
        assert any(not torch.equal(first.state_dict()[name], reseeded[name]) for name in new)


def test_weights_that_are_not_finite_are_an_error(tmp_path):
    model = tiny("bert")
    model.encoder.layer[1].output.dense.bias.data[3] = float("nan")
    message = refusal(load_model, saved_model(model, tmp_path))
    assert message.startswith(f"{tmp_path}: 1 of 55 weights are not finite (encoder.layer.1.output.dense.bias). ")


@pytest.mark.parametrize("index", ["model.safetensors", "pytorch_model.bin"])
def test_the_checksum_of_weights_in_several_files_covers_all_of_them(folder, tmp_path, index):
    sharded = stored("bert", copied(folder, tmp_path), index=index)
    first, second = sorted(path.name for path in sharded.glob(f"{index.partition('.')[0]}-*"))
    lines = [f"{sha256(sharded / name)}  {name}\n" for name in (f"{index}.index.json", first, second)]
    checksum = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert described(tmp_path, entry_for(sharded, sha256=checksum)).weights_sha256 == checksum
    with (sharded / second).open("ab") as stream:
        stream.write(b" ")
    assert "wrong checksum" in not_described(tmp_path, entry_for(sharded, sha256=checksum))
    (sharded / second).unlink()
    assert second in not_described(tmp_path, entry_for(sharded))


def test_cards_come_back_as_they_were_written(tmp_path):
    write_card(CARD, tmp_path / "card.json")
    assert read_card(tmp_path / "card.json") == CARD


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"name": "x"}', json.dumps(vars(CARD) | {"further": 1}), b"\xff"])
def test_anything_else_is_no_card(tmp_path, content):
    path = tmp_path / "card.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refusal(read_card, path)
    assert message.startswith(f"{path}: not a readable model card (")
    assert message.endswith("Delete it and run again: only this file is rebuilt.")
