"""Translation models of fairseq, converted, against a forward pass written after fairseq's; tokenizers of OPUS-MT models."""

import argparse
import json
import math
from pathlib import Path

import pytest
import sentencepiece
import torch
from sample_corpus.parallel import parallel_lines
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from attention_atlas.errors import AtlasError
from attention_atlas.models.loading import describe
from attention_atlas.models.marian import SOURCE, TARGET, convert_fairseq, marian_tokenizer, marian_weights
from attention_atlas.studies.michel2019.experiments import open_experiment

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

    def drawn(*shape):
        return 0.4 * torch.randn(*shape, generator=generator)

    embedding = drawn(VOCABULARY, SIZE)
    embedding[1] = 0
    state = {}
    for side in ("encoder", "decoder"):
        state |= {f"{side}.version": torch.tensor([2.0]), f"{side}.embed_positions._float_tensor": torch.zeros(1)}
        state[f"{side}.embed_tokens.weight"] = embedding
        attentions = ["self_attn", "encoder_attn"][: 1 if side == "encoder" else 2]
        for place in (f"{side}.layers.{layer}" for layer in range(LAYERS)):
            for attention in (f"{place}.{name}" for name in attentions):
                state |= {f"{attention}.in_proj_weight": drawn(3 * SIZE, SIZE), f"{attention}.in_proj_bias": drawn(3 * SIZE)}
                state |= {f"{attention}.out_proj.weight": drawn(SIZE, SIZE), f"{attention}.out_proj.bias": drawn(SIZE)}
            for name, shape in (("fc1", (FORWARD, SIZE)), ("fc2", (SIZE, FORWARD))):
                state[f"{place}.{name}.weight"], state[f"{place}.{name}.bias"] = drawn(*shape), drawn(shape[0])
            for number, norm in enumerate([*(f"{name}_layer_norm" for name in attentions), "final_layer_norm"]):
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
    assert not info["missing_keys"] | info["unexpected_keys"]
    model.eval()
    source, previous = torch.tensor([4, 5, 12, 7, 2]), torch.tensor([2, 6, 9, 13])
    with torch.no_grad():
        logits = model(input_ids=source[None], decoder_input_ids=previous[None]).logits[0]
    expected = forward(checkpoint_state(), source, previous)
    assert logits[:, :VOCABULARY] == pytest.approx(expected, abs=2e-5)
    assert (logits[:, VOCABULARY:] < -1e8).all(), "pieces that fairseq does not know are never produced"
    later = marian_weights(checkpoint_state(numbered=False), SETTINGS, len(model.model.shared.weight))
    assert all(torch.equal(values, model.state_dict()[name]) for name, values in later.items()), "names of later releases"


def test_pieces_are_those_of_subword_nmt(converted):
    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))

    def ids(*entries):
        return [4 + ENTRIES.index(entry) for entry in entries]

    assert tokenizer.encode("lowest .").ids == [*ids("low@@", "est", "."), 2]
    assert tokenizer.encode("q").ids == [3, 2], "an unknown letter"
    assert tokenizer.decode([*ids("low@@", "est", "."), 2]) == "lowest ."
    # No merge leads to "low" at the end of a word, and fairseq has no id for "lo@@", which is unknown to it.
    first, last, _ = tokenizer.encode("low").ids
    assert first >= VOCABULARY
    assert [last] == ids("w")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"criterion": Path()}, r"model\.pt: not a checkpoint of fairseq"),  # only settings and weights are unpickled
        ({"settings": argparse.Namespace(encoder_normalize_before=True)}, "encoder_normalize_before is True"),
        ({"state": checkpoint_state() | {"encoder.layers.0.gate": torch.zeros(1)}}, "gate .* has no counterpart in Marian"),
        ({"dictionary": "a 1\n" * 40}, "44 entries, but the model has 24"),
        ({"dictionary": "a 1\nb\n"}, r"dict\.en\.txt:2: expected an entry and its count"),
        ({"merges": "l o\nl\n"}, "bpecodes:2: expected two word pieces"),
    ],
)
def test_what_cannot_be_converted_is_refused(tmp_path, changes, message):
    texts = [changes.pop(name, None) for name in ("dictionary", "merges")]
    files = write_archive(tmp_path / "archive", **changes)
    for path, text in zip(files[1:], texts, strict=True):
        if text:
            path.write_text(text, encoding="utf-8")
    with pytest.raises(AtlasError, match=message):
        convert_fairseq(*files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


ODD = ["", "  two   spaces  ", "ﬁne ＡＢＣ", "où est-il?", "日本語 zzz", "tab\tand\u00a0space", "\u200bzero"]


@pytest.fixture(scope="module")
def opus(tmp_path_factory):
    """A model in the form of the hub's: two SentencePiece models, a vocabulary of both, no tokenizer.json."""
    folder = tmp_path_factory.mktemp("opus")
    rows = [json.loads(line) for line in parallel_lines(300, 5)]
    pieces = []
    for name, language in ((SOURCE, "en"), (TARGET, "fr")):
        with (folder / name).open("wb") as stream:
            options = {"vocab_size": 250, "hard_vocab_limit": False, "minloglevel": 2, "model_writer": stream}
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([row[language] for row in rows]), **options)
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
        pieces += [model.id_to_piece(k) for k in range(model.get_piece_size())]
    known = dict.fromkeys(["</s>", "<unk>", *(piece for piece in pieces if piece != "<s>")])
    vocabulary = {piece: number for number, piece in enumerate([*known, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 48, "tokenizer_class": "MarianTokenizer"}')
    size = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 48}
    pad = vocabulary["<pad>"]
    ids = {"vocab_size": len(vocabulary), "pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad}
    MarianMTModel(MarianConfig(**size, **heads, **ids, forced_eos_token_id=None)).save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_pieces_and_texts_are_those_of_transformers(opus):
    slow, pairs = MarianTokenizer.from_pretrained(opus), [json.loads(line) for line in parallel_lines(100, 77)]
    source, target = marian_tokenizer(opus), marian_tokenizer(opus, TARGET)
    for text in [*(pair["en"] for pair in pairs), *ODD]:
        assert source.encode(text).ids == slow(text)["input_ids"], text
    for text in (pair["fr"] for pair in pairs):
        ids = slow(text_target=text)["input_ids"]
        assert target.encode(text).ids == ids, text
        assert target.decode(ids) == slow.decode(ids, skip_special_tokens=True), text
        assert 1 in ids or target.decode(ids) == text


def test_translations_of_a_model_of_the_hub_are_read_by_the_tokenizer_of_their_language(opus, tmp_path):
    shape = {"layers": 2, "heads": 4, "hidden_size": 16}
    entry = {"source": {"path": str(opus)}, "init": "pretrained", **shape, "seed": 0, "dtype": "float32"}
    files = {"card": tmp_path / "card.json", "tokenizer": tmp_path / "tokenizer.json"}
    describe("opus", entry, *files.values())
    experiment = open_experiment({"reader": "parallel", "model": entry, **files, "beams": 2})
    text = json.loads(next(iter(parallel_lines(1, 3))))["fr"]
    wanted = marian_tokenizer(opus, TARGET).encode(text).ids
    assert experiment.target_tokenizer.encode(text).ids == wanted
    assert Tokenizer.from_file(str(files["tokenizer"])).encode(text).ids != wanted, "that of the source"
