"""Translation models of Marian's architecture, and those that transformers cannot open as they are published.

Models on the hub have a SentencePiece vocabulary for each language and joint ids in `vocab.json`; subwords without an id are
unknown tokens. The tokenizers made here equal transformers' MarianTokenizer without its optional Moses step, except for runs of
several characters that the SentencePiece model lacks: they are looked up one by one, not as a whole.

fairseq's transformer (post-norm, sinusoids, one dictionary and one embedding for both languages, as in
`wmt14.en-fr.joined-dict.transformer` of Michel et al. 2019) has the architecture of Marian. They differ in the sinusoids, which
are stored as weights here, and in the first token of a translation, which is the end-of-sentence token. The tokenizer expects
text tokenised like the model's training text (Moses), and splits it into the subwords of subword-nmt.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io.files import read_lines, whole_files

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

_log = logging.getLogger(__name__)
SOURCE, TARGET = "source.spm", "target.spm"
_VOCABULARY = "vocab.json"
_UNIGRAM, _NORMAL, _USER = 1, 1, 4  # constants of SentencePiece's format: the kind of model, and kinds of subwords
PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
_UNLIKELY = -1e4  # log-probability of a subword of the other language: far below any segmentation without it
FILES = ("tokenizer.json", "tokenizer_config.json", "config.json")


def is_marian(folder: Path) -> bool:
    """Whether a model's folder has these files, and no tokenizer of the tokenizers library."""
    present = all((folder / name).is_file() for name in (SOURCE, TARGET, _VOCABULARY))
    return present and not (folder / "tokenizer.json").is_file()


def marian_tokenizer(folder: Path, pieces: str = SOURCE) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary = _vocabulary(folder / _VOCABULARY)
    proto = _sentencepiece(folder / pieces)
    scores = {piece.piece: piece.score for piece in proto.pieces if piece.type in (_NORMAL, _USER)}
    if lost := sum(piece not in vocabulary for piece in scores):
        _log.warning("%s: %d subwords have no entry in %s and become unknown tokens", folder / pieces, lost, _VOCABULARY)
    # Subwords of the other language keep their ids; a text gets one only for characters that this language lacks.
    entries = [(piece, scores.get(piece, _UNLIKELY)) for piece in vocabulary]
    tokenizer = Tokenizer(models.Unigram(entries, unk_id=vocabulary[UNKNOWN], byte_fallback=False))
    steps: list[Any] = [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    if proto.normalizer_spec.precompiled_charsmap:
        steps.insert(0, normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([PAD, END, UNKNOWN])
    end_texts(tokenizer)
    return tokenizer


def end_texts(tokenizer: Tokenizer) -> None:
    """Let a tokenizer add the end-of-sentence token to every text."""
    from tokenizers import processors

    texts = {"single": f"$A {END}", "pair": f"$A {END} $B {END}"}
    end = (END, tokenizer.token_to_id(END))
    tokenizer.post_processor = processors.TemplateProcessing(**texts, special_tokens=[end])


def _vocabulary(path: Path) -> dict[str, int]:
    """Subword -> id, in the order of the ids."""
    try:
        id_of_piece = json.loads(path.read_text(encoding="utf-8"))
        ids = sorted(id_of_piece.values())
        if ids != list(range(len(ids))) or not {PAD, END, UNKNOWN} <= set(id_of_piece):
            raise ValueError(f"it must have ids from 0 on, and {PAD}, {END} and {UNKNOWN}")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise AtlasError(f"{path}: this is not the vocabulary of a Marian model ({error}). Fetch the model again.") from error
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


def configuration(size: int, width: int, positions: int, **more: Any) -> Any:
    """The configuration of a model by the size of its vocabulary, the width of its states, and its number of positions."""
    from transformers import MarianConfig

    shape: dict[str, Any] = {"vocab_size": size, "d_model": width, "max_position_embeddings": positions}
    return MarianConfig(**shape, activation_function="relu", scale_embedding=True, forced_eos_token_id=None, **more)


SPECIAL = ("<s>", PAD, END, UNKNOWN)  # first entries of every dictionary, which its file does not list
_PAD, _END, _UNKNOWN = 1, 2, 3  # ids of the last three
_CONTINUED = "@@"  # end of a subword inside a word, in fairseq's dictionary
_WORD_END = "</w>"  # end of a subword at the end of a word, in the list of merges
_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
"""Names of the norms that releases before 2019 number (`layer_norms.0`)."""
_UNUSED = re.compile(r"(encoder|decoder)\.(version|embed_positions\._float_tensor|layers\.\d+\.version)$")
_NEVER = -1e9  # logit of an entry that the model cannot translate to


def convert_fairseq(checkpoint: str | Path, dictionary: str | Path, merges: str | Path, folder: str | Path) -> None:
    """Write configuration, weights and tokenizer of a translation model."""
    from safetensors.torch import save_file

    settings, state = read_checkpoint(checkpoint)
    entries = _dictionary(dictionary, state["encoder.embed_tokens.weight"].shape[0])
    tokenizer, size = _tokenizer(entries, _merges(merges))
    weights = marian_weights(state, settings, size)
    names = {"layers": "layers", "attention_heads": "attention_heads", "ffn_dim": "ffn_embed_dim"}
    of_sides = {
        f"{side}_{name}": getattr(settings, f"{side}_{theirs}")
        for side in ("encoder", "decoder")
        for name, theirs in names.items()
    }
    # fairseq starts a translation with the end-of-sentence token.
    ids = {"pad_token_id": _PAD, "eos_token_id": _END, "bos_token_id": 0, "decoder_start_token_id": _END}
    config = configuration(size, settings.encoder_embed_dim, _positions(settings), **of_sides, **ids)
    config.architectures = ["MarianMTModel"]
    with whole_files(folder, ("model.safetensors", *FILES)) as scratch:
        tokenizer.save_pretrained(scratch)
        save_file(weights, scratch / "model.safetensors", metadata={"format": "pt"})
        config.save_pretrained(scratch)


def read_checkpoint(path: str | Path) -> tuple[argparse.Namespace, dict[str, torch.Tensor]]:
    """Settings and weights of a checkpoint, read without running code that it may contain."""
    import torch

    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = torch.load(path, map_location="cpu", weights_only=True)
        settings, state = content["args"], dict(content["model"])
    except Exception as error:  # of pickle, zipfile or torch
        raise AtlasError(
            f"{path}: not a checkpoint of fairseq with settings and weights ({first_line(error, 120)})."
        ) from error
    other = ("encoder_normalize_before", "decoder_normalize_before", "encoder_learned_pos", "decoder_learned_pos")
    wanted = dict.fromkeys(other, False) | {"share_all_embeddings": True}
    for name, value in wanted.items():
        if bool(getattr(settings, name, False)) != value:
            raise AtlasError(
                f"{path}: {name} is {not value}: only post-norm models with sinusoidal positions and shared embeddings are "
                "supported."
            )
    return settings, state


def marian_weights(state: Mapping[str, torch.Tensor], settings: argparse.Namespace, size: int) -> dict[str, torch.Tensor]:
    """Weights by their names in Marian; of `size` entries those after fairseq's have the embedding of the unknown token, and
    are never produced.
    """
    import torch

    weights: dict[str, torch.Tensor] = {}
    for name, value in state.items():
        if _UNUSED.match(name) or name.endswith("embed_tokens.weight") or name == "decoder.embed_out":
            continue
        for marian_name, part in _parts(name, value.float()):
            weights[f"model.{marian_name}"] = part.contiguous()
    embedding = state["encoder.embed_tokens.weight"].float()
    added = size - len(embedding)
    weights["model.shared.weight"] = torch.cat([embedding, embedding[_UNKNOWN].expand(added, -1)])
    weights["final_logits_bias"] = torch.cat([torch.zeros(1, len(embedding)), torch.full((1, added), _NEVER)], dim=1)
    for side in ("encoder", "decoder"):
        weights[f"model.{side}.embed_positions.weight"] = sinusoids(_positions(settings), embedding.shape[1])
    return weights


def _parts(name: str, value: torch.Tensor) -> list[tuple[str, torch.Tensor]]:
    """A weight under its name in Marian; a joint projection is split into those of queries, keys and values."""
    match = re.fullmatch(r"((encoder|decoder)\.layers\.\d+)\.(.+)\.(weight|bias|in_proj_weight|in_proj_bias)", name)
    if match is None:
        raise AtlasError(f"the weight {name} of this checkpoint has no counterpart in Marian: use a Transformer of fairseq.")
    place, side, inner, kind = match.groups()
    if kind.startswith("in_proj_"):
        parts = zip(("q_proj", "k_proj", "v_proj"), value.chunk(3), strict=True)
        return [(f"{place}.{inner}.{projection}.{kind.removeprefix('in_proj_')}", part) for projection, part in parts]
    if numbered := re.fullmatch(r"layer_norms\.(\d)", inner):
        inner = _NORMS[side][int(numbered[1])]
    return [(f"{place}.{inner}.{kind}", value)]


def sinusoids(positions: int, size: int) -> torch.Tensor:
    """[position, size] fairseq's sinusoids: wavelengths from 2 pi to 20,000 pi, starting after the position of padding."""
    import torch

    half = size // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float32) * -(math.log(10000) / (half - 1)))
    angles = (torch.arange(positions, dtype=torch.float32) + _PAD + 1)[:, None] * rates[None]
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def _positions(settings: argparse.Namespace) -> int:
    return min(int(getattr(settings, "max_source_positions", 1024)), int(getattr(settings, "max_target_positions", 1024)))


def _dictionary(path: str | Path, size: int) -> list[str]:
    """Entries in the order of their ids."""
    entries = list(SPECIAL)
    for number, line in read_lines(path):
        entry, _, count = line.rstrip("\n").rpartition(" ")
        if not entry or not count.isdigit():
            raise AtlasError(f"{path}:{number}: expected an entry and its count.")
        entries.append(entry)
    if len(entries) > size:
        raise AtlasError(f"{path}: {len(entries)} entries, but the model has {size}: use the dictionary of the same archive.")
    # The dictionary was padded to a multiple of eight.
    return [*entries, *(f"madeupword{k:04d}" for k in range(size - len(entries)))]


def _merges(path: str | Path) -> list[tuple[str, str]]:
    """Pairs of subwords in the order in which they are merged."""
    pairs = []
    for number, line in read_lines(path):
        if line.startswith("#version") or not line.strip():
            continue
        parts = line.split()
        if len(parts) not in (2, 3):
            raise AtlasError(f"{path}:{number}: expected two word pieces.")
        pairs.append((parts[0], parts[1]))
    return pairs


def _tokenizer(entries: list[str], merges: list[tuple[str, str]]) -> tuple[Any, int]:
    """The tokenizer and its vocabulary size: subwords that occur only as intermediate merges follow those of the dictionary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    ids: dict[str, int] = {}
    for number, entry in enumerate(entries):
        if entry in SPECIAL or number < len(SPECIAL):
            spelled = entry
        elif entry.endswith(_CONTINUED) and entry != _CONTINUED:
            spelled = entry.removesuffix(_CONTINUED)
        else:
            spelled = entry + _WORD_END
        ids.setdefault(spelled, number)
    size = len(entries)
    for first, second in merges:
        for piece in (first, second, first + second):
            if piece not in ids:
                ids[piece] = size
                size += 1
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges, unk_token=UNKNOWN, end_of_word_suffix=_WORD_END))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.BPEDecoder(suffix=_WORD_END)
    tokenizer.add_special_tokens(list(SPECIAL))
    end_texts(tokenizer)
    names = {"bos_token": "<s>", "pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names), size
