"""Small models with random weights in the hub's layout: layers and heads as published, but narrow heads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.io.files import whole_file, write_text

VOCABULARY = 1500
_SPREAD = 0.2
"""Standard deviation of the weights: wider than usual, so that heads attend to some tokens more than to others."""
_TRANSLATION_POSITIONS = 20
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True)
class Shape:
    """Number of layers, heads per layer, and width of a head."""

    layers: int
    heads: int
    head_size: int

    @property
    def hidden_size(self) -> int:
        """Width of the hidden states."""
        return self.heads * self.head_size


def write_bert(
    folder: Path, shape: Shape, texts: Sequence[str], seed: int, kind: str = "BertForPreTraining", cased: bool = False
) -> None:
    """A BERT with vocab.txt, tokenizer.json, config.json and model.safetensors.

    Args:
        folder: folder to write.
        shape: shape of the model.
        texts: texts from which the vocabulary of word pieces is learnt.
        seed: seed of the weights.
        kind: transformers class of the saved model.
        cased: whether the tokenizer keeps capitals.
    """
    import torch
    import transformers
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=not cased, strip_accents=not cased)
    tokenizer.train_from_iterator(
        texts, vocab_size=VOCABULARY, min_frequency=1, show_progress=False, special_tokens=list(_SPECIAL)
    )
    pieces = tokenizer.get_vocab()
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "vocab.txt", "".join(f"{piece}\n" for piece in sorted(pieces, key=lambda piece: pieces[piece])))
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    options = {"do_lower_case": not cased, "model_max_length": 512, "tokenizer_class": "BertTokenizer"}
    write_text(folder / "tokenizer_config.json", json.dumps(options))
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=2 * shape.hidden_size,
        initializer_range=_SPREAD,
    )
    torch.manual_seed(seed)
    _save(getattr(transformers, kind)(config), folder)


def write_marian(folder: Path, shape: Shape, pairs: Sequence[tuple[str, str]], seed: int) -> None:
    """An OPUS-MT model: two SentencePiece models, one vocabulary of both, and no tokenizer.json.

    Random weights repeat a token up to the maximum length of a translation, so the model has few positions to keep searches
    short; the end-of-sentence token has a raised bias, which makes some translations empty instead.
    """
    import torch
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir(parents=True, exist_ok=True)
    sides = (("source.spm", [first for first, _ in pairs]), ("target.spm", [second for _, second in pairs]))
    pieces = [piece for name, texts in sides for piece in _sentencepiece(texts, folder / name)]
    known = dict.fromkeys(["</s>", "<unk>", *(piece for piece in pieces if piece != "<s>")])
    vocabulary = {piece: number for number, piece in enumerate([*known, "<pad>"])}
    write_text(folder / "vocab.json", json.dumps(vocabulary, ensure_ascii=False))
    options = {
        "source_lang": "en",
        "target_lang": "fr",
        "model_max_length": _TRANSLATION_POSITIONS,
        "tokenizer_class": "MarianTokenizer",
    }
    write_text(folder / "tokenizer_config.json", json.dumps(options))
    pad, end = vocabulary["<pad>"], vocabulary["</s>"]
    sizes: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        sizes |= {
            f"{side}_layers": shape.layers,
            f"{side}_attention_heads": shape.heads,
            f"{side}_ffn_dim": 2 * shape.hidden_size,
        }
    torch.manual_seed(seed)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(vocabulary),
            d_model=shape.hidden_size,
            max_position_embeddings=_TRANSLATION_POSITIONS,
            init_std=_SPREAD,
            pad_token_id=pad,
            eos_token_id=end,
            forced_eos_token_id=end,
            decoder_start_token_id=pad,
            **sizes,
        )
    )
    model.final_logits_bias[0, end] = 6.0
    model.generation_config.bad_words_ids = [[pad]]
    _save(model, folder)


def _sentencepiece(texts: Iterable[str], path: Path) -> Iterator[str]:
    """Train a SentencePiece model, and yield its subwords."""
    import sentencepiece

    with whole_file(path) as part, part.open("wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(list(texts)), model_writer=stream, vocab_size=400, hard_vocab_limit=False, minloglevel=2
        )
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return (model.id_to_piece(k) for k in range(model.get_piece_size()))


def _save(model: Any, folder: Path) -> None:
    """Write config.json, generation_config.json if there is one, and model.safetensors."""
    model.save_pretrained(folder)
