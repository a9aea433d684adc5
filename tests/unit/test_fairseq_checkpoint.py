"""Models of fairseq: a small checkpoint of the same layout, converted, against a forward pass written after fairseq's."""

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from attention_atlas.attention.engine import attention_shape
from attention_atlas.errors import AtlasError
from attention_atlas.models.marian import convert_fairseq, marian_weights, read_checkpoint, sinusoids

ROOT = Path(__file__).resolve().parents[2]
SIZE, HEADS, FORWARD, LAYERS = 16, 4, 24, 2
# "low" and "est</w>" are merged; "lo" only leads to "low", "w@@" is never a piece of its own.
MERGES = "#version: 0.2\nl o\nlo w\ne s\nes t</w>\nl o</w>\n"
ENTRIES = ["low@@", "est", "l@@", "o@@", "w@@", "e@@", "s@@", "t@@", "t", "w", ".", "lo"]
VOCABULARY = 16 + 8
SETTINGS = argparse.Namespace(
    arch="transformer_vaswani_wmt_en_fr_big",
    encoder_embed_dim=SIZE, encoder_layers=LAYERS, encoder_attention_heads=HEADS, encoder_ffn_embed_dim=FORWARD,
    decoder_embed_dim=SIZE, decoder_layers=LAYERS, decoder_attention_heads=HEADS, decoder_ffn_embed_dim=FORWARD,
    max_source_positions=32, max_target_positions=32, share_all_embeddings=True,
    encoder_normalize_before=False, decoder_normalize_before=False, encoder_learned_pos=False, decoder_learned_pos=False,
)  # fmt: skip


def checkpoint_state(numbered=True):
    """Weights by the names of fairseq's releases of 2018 (numbered norms), or of later ones."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape, scale=0.4):
        return scale * torch.randn(*shape, generator=generator)

    state = {"encoder.version": torch.tensor([2.0]), "encoder.embed_positions._float_tensor": torch.zeros(1)}
    state |= {"decoder.version": torch.tensor([2.0]), "decoder.embed_positions._float_tensor": torch.zeros(1)}
    embedding = drawn(VOCABULARY, SIZE)
    embedding[1] = 0
    state["encoder.embed_tokens.weight"] = state["decoder.embed_tokens.weight"] = embedding
    for side in ("encoder", "decoder"):
        norms = ["self_attn_layer_norm", *(["encoder_attn_layer_norm"] if side == "decoder" else []), "final_layer_norm"]
        for layer in range(LAYERS):
            place = f"{side}.layers.{layer}"
            for attention in ["self_attn", *(["encoder_attn"] if side == "decoder" else [])]:
                state[f"{place}.{attention}.in_proj_weight"] = drawn(3 * SIZE, SIZE)
                state[f"{place}.{attention}.in_proj_bias"] = drawn(3 * SIZE)
                state[f"{place}.{attention}.out_proj.weight"] = drawn(SIZE, SIZE)
                state[f"{place}.{attention}.out_proj.bias"] = drawn(SIZE)
            for name, shape in (("fc1", (FORWARD, SIZE)), ("fc2", (SIZE, FORWARD))):
                state[f"{place}.{name}.weight"], state[f"{place}.{name}.bias"] = drawn(*shape), drawn(shape[0])
            for number, norm in enumerate(norms):
                name = f"layer_norms.{number}" if numbered else norm
                state[f"{place}.{name}.weight"], state[f"{place}.{name}.bias"] = 1 + drawn(SIZE), drawn(SIZE)
    return state


def forward(state, source, previous):
    """Logits of one sentence, computed as fairseq does, from its own names."""

    def embedded(ids):
        half = SIZE // 2
        rates = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        # fairseq numbers the positions from that of padding plus one on.
        angles = torch.arange(2, len(ids) + 2)[:, None] * rates
        places = torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
        return math.sqrt(SIZE) * state["encoder.embed_tokens.weight"][ids] + places

    def attended(name, query, key, mask=None):
        weights = [state[f"{name}.{part}"] for part in ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")]
        arguments = (SIZE, HEADS, *weights[:2], None, None, False, 0.0, *weights[2:])
        return functional.multi_head_attention_forward(query, key, key, *arguments, False, None, False, mask)[0]

    def norm(place, number, values):
        weight, bias = (state[f"{place}.layer_norms.{number}.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(values, (SIZE,), weight, bias)

    def fed(place, values):
        inner = functional.relu(functional.linear(values, state[f"{place}.fc1.weight"], state[f"{place}.fc1.bias"]))
        return functional.linear(inner, state[f"{place}.fc2.weight"], state[f"{place}.fc2.bias"])

    encoded = embedded(source)
    for layer in range(LAYERS):
        place = f"encoder.layers.{layer}"
        encoded = norm(place, 0, encoded + attended(f"{place}.self_attn", encoded, encoded))
        encoded = norm(place, 1, encoded + fed(place, encoded))
    decoded = embedded(previous)
    future = torch.full((len(previous), len(previous)), -math.inf).triu(1)
    for layer in range(LAYERS):
        place = f"decoder.layers.{layer}"
        decoded = norm(place, 0, decoded + attended(f"{place}.self_attn", decoded, decoded, future))
        decoded = norm(place, 1, decoded + attended(f"{place}.encoder_attn", decoded, encoded))
        decoded = norm(place, 2, decoded + fed(place, decoded))
    return decoded @ state["decoder.embed_tokens.weight"].T


def write_archive(folder, state=None, settings=SETTINGS, **more):
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(
        {"args": settings, "model": state or checkpoint_state(), "extra_state": {"epoch": 1}, **more}, folder / "model.pt"
    )
    (folder / "dict.en.txt").write_text("".join(f"{entry} 7\n" for entry in ENTRIES), encoding="utf-8")
    (folder / "bpecodes").write_text(MERGES, encoding="utf-8")
    return [folder / name for name in ("model.pt", "dict.en.txt", "bpecodes")]


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fairseq")
    convert_fairseq(*write_archive(folder / "archive"), folder / "model")
    return folder / "model"


def test_the_converted_model_computes_what_fairseq_does(converted):
    from transformers import AutoModelForSeq2SeqLM

    model, info = AutoModelForSeq2SeqLM.from_pretrained(converted, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    model.eval()
    assert set(attention_shape(model).values()) == {(LAYERS, HEADS)}, "heads of all three kinds can be masked"
    source, previous = torch.tensor([4, 5, 12, 7, 2]), torch.tensor([2, 6, 9, 13])
    with torch.no_grad():
        logits = model(input_ids=source[None], decoder_input_ids=previous[None]).logits[0]
        padded = model(
            input_ids=torch.cat([source, torch.tensor([1, 1])])[None],
            attention_mask=torch.tensor([[1] * 5 + [0] * 2]),
            decoder_input_ids=previous[None],
        ).logits[0]
    expected = forward(checkpoint_state(), source, previous)
    assert logits[:, :VOCABULARY] == pytest.approx(expected, abs=2e-5)
    assert padded == pytest.approx(logits, abs=2e-5)
    assert (logits[:, VOCABULARY:] < -1e8).all(), "pieces that fairseq does not know are never produced"
    assert model.config.decoder_start_token_id == 2


def test_numbered_and_named_norms_are_the_same_weights():
    of_2018, later = (marian_weights(checkpoint_state(numbered), SETTINGS, VOCABULARY) for numbered in (True, False))
    assert of_2018.keys() == later.keys()
    assert all(torch.equal(of_2018[name], later[name]) for name in later)


def test_pieces_are_those_of_subword_nmt(converted):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))

    def ids(*entries):
        return [4 + ENTRIES.index(entry) for entry in entries]

    assert tokenizer.encode("lowest .").ids == [*ids("low@@", "est", "."), 2]
    assert tokenizer.encode("lo").ids == [*ids("lo"), 2]
    assert tokenizer.encode("q").ids == [3, 2], "an unknown letter"
    assert tokenizer.decode([*ids("low@@", "est", "."), 2]) == "lowest ."
    # No merge leads to "low" at the end of a word, and fairseq has no id for "lo@@", which is unknown to it.
    first, last, _ = tokenizer.encode("low").ids
    assert first >= VOCABULARY
    assert [last] == ids("w")


def test_added_pieces_have_the_embedding_of_the_unknown_one():
    weights = marian_weights(checkpoint_state(), SETTINGS, VOCABULARY + 3)
    unknown = checkpoint_state()["encoder.embed_tokens.weight"][3]
    assert torch.equal(weights["model.shared.weight"][VOCABULARY:], unknown.expand(3, -1))
    assert sinusoids(3, 4)[0].tolist() == pytest.approx([math.sin(2), math.sin(2e-4), math.cos(2), math.cos(2e-4)])


NEVER_WRITTEN = Path(tempfile.gettempdir()) / "never-written-by-a-checkpoint"


class _Unsafe:
    def __reduce__(self):
        return (open, (str(NEVER_WRITTEN), "w"))


def test_what_cannot_be_converted_is_refused(tmp_path):
    files = write_archive(tmp_path / "unsafe", criterion=_Unsafe())
    with pytest.raises(AtlasError, match=r"model\.pt: not a checkpoint of fairseq"):
        read_checkpoint(files[0])
    assert not NEVER_WRITTEN.exists()
    files = write_archive(
        tmp_path / "prenorm", settings=argparse.Namespace(**vars(SETTINGS) | {"encoder_normalize_before": True})
    )
    with pytest.raises(AtlasError, match="encoder_normalize_before is True"):
        convert_fairseq(*files, tmp_path / "out")
    files = write_archive(tmp_path / "strange", checkpoint_state() | {"encoder.layers.0.gate": torch.zeros(1)})
    with pytest.raises(AtlasError, match=r"encoder\.layers\.0\.gate of this checkpoint has no counterpart in Marian"):
        convert_fairseq(*files, tmp_path / "out")
    files = write_archive(tmp_path / "other")
    files[1].write_text("a 1\n" * 40, encoding="utf-8")
    with pytest.raises(AtlasError, match="44 entries, but the model has 24"):
        convert_fairseq(*files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_script(tmp_path):
    write_archive(tmp_path / "archive")
    command = [sys.executable, str(ROOT / "tools/convert_fairseq.py"), str(tmp_path / "archive"), str(tmp_path / "model")]
    assert subprocess.run(command, check=False).returncode == 0
    assert (tmp_path / "model/config.json").is_file()
    (tmp_path / "archive/model.pt").unlink()
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "not a checkpoint of fairseq" in refused.stderr
