"""Fast tokenizers of models that publish other files: bytes (ByT5, CANINE), and Marian's two vocabularies.

SentencePiece vocabularies with byte fallback (as in Llama models) start with <unk>, <s>, </s> and the 256 bytes, in this order.
Any text can be encoded as bytes, but this input is out of distribution: in training, bytes occur only if no other token fits.

Subwords come from the language's SentencePiece model and ids from `vocab.json`; subwords without an id are unknown tokens. The
output equals that of transformers' MarianTokenizer without its optional Moses step (which alters punctuation), except for runs
of several characters that the SentencePiece model lacks: MarianTokenizer looks up the whole run in the vocabulary, these
tokenizers look up each character.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast


_SPECIAL = ("<unk>", "<s>", "</s>")
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))


def byte_tokenizer(settings: Any) -> PreTrainedTokenizerFast:
    """A tokenizer that encodes text as <s> and the bytes of its words, with a space between words."""
    from tokenizers import Tokenizer, decoders, models, processors
    from transformers import PreTrainedTokenizerFast

    if settings.vocab_size < len(_SPECIAL) + len(_BYTES):
        raise AtlasError(
            f"a vocabulary of {settings.vocab_size} entries cannot contain 256 bytes: put the model's tokenizer.json into its "
            "folder instead of tokenizer: bytes."
        )
    entries = {piece: number for number, piece in enumerate((*_SPECIAL, *_BYTES))}
    tokenizer = Tokenizer(models.BPE(vocab=entries, merges=[], unk_token="<unk>", byte_fallback=True))
    tokenizer.decoder = decoders.ByteFallback()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)])
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=settings.max_position_embeddings, **names)


_log = logging.getLogger(__name__)
SOURCE, TARGET = "source.spm", "target.spm"
_VOCABULARY = "vocab.json"
_PAD, _END, _UNKNOWN = "<pad>", "</s>", "<unk>"
_UNLIKELY = -1e4  # log-probability of a subword of the other language: far below any segmentation without it


def is_marian(folder: Path) -> bool:
    """Whether a model's folder has these files, and no tokenizer of the tokenizers library."""
    return (
        all((folder / name).is_file() for name in (SOURCE, TARGET, _VOCABULARY)) and not (folder / "tokenizer.json").is_file()
    )


def marian_tokenizer(folder: Path, pieces: str = SOURCE) -> Tokenizer:
    """The tokenizer of one language."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    vocabulary = _vocabulary(folder / _VOCABULARY)
    proto = _sentencepiece(folder / pieces)
    scores = {piece.piece: piece.score for piece in proto.pieces if piece.type in (_NORMAL, _USER)}
    lost = sum(piece not in vocabulary for piece in scores)
    if lost:
        _log.warning("%s: %d subwords have no entry in %s and become unknown tokens", folder / pieces, lost, _VOCABULARY)
    # Subwords of the other language keep their ids; a text gets one only for characters that this language lacks.
    entries = [(piece, scores.get(piece, _UNLIKELY)) for piece in vocabulary]
    tokenizer = Tokenizer(models.Unigram(entries, unk_id=vocabulary[_UNKNOWN], byte_fallback=False))
    steps: list[Any] = [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    if proto.normalizer_spec.precompiled_charsmap:
        steps.insert(0, normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([_PAD, _END, _UNKNOWN])
    end = vocabulary[_END]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {_END}", pair=f"$A {_END} $B {_END}", special_tokens=[(_END, end)]
    )
    return tokenizer


_UNIGRAM, _NORMAL, _USER = 1, 1, 4  # constants of SentencePiece's format: the kind of model, and kinds of subwords


def _vocabulary(path: Path) -> dict[str, int]:
    """Subword -> id, in the order of the ids."""
    try:
        id_of_piece = json.loads(path.read_text(encoding="utf-8"))
        ids = sorted(id_of_piece.values())
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise AtlasError(f"{path}: this is not the vocabulary of a Marian model ({error}). Fetch the model again.") from error
    if ids != list(range(len(ids))) or not {_PAD, _END, _UNKNOWN} <= set(id_of_piece):
        raise AtlasError(f"{path}: the vocabulary must have ids from 0 on, and {_PAD}, {_END} and {_UNKNOWN}.")
    return dict(sorted(id_of_piece.items(), key=lambda item: item[1]))


def _sentencepiece(path: Path) -> Any:
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    try:
        proto.ParseFromString(path.read_bytes())
    except Exception as error:  # of protobuf
        raise AtlasError(f"{path}: this SentencePiece model cannot be read ({error}). Fetch the model again.") from error
    if proto.trainer_spec.model_type != _UNIGRAM or not proto.pieces:
        raise AtlasError(f"{path}: only unigram models of SentencePiece are supported, as in OPUS-MT.")
    return proto
