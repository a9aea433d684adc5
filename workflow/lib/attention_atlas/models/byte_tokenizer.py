"""A byte tokenizer, for models without a tokenizer.

SentencePiece vocabularies with byte fallback (as in Llama models) start with <unk>, <s>, </s> and the 256 bytes, in this order.
Any text can be encoded as bytes, but this input is out of distribution: in training, bytes occur only if no other token fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_SPECIAL = ("<unk>", "<s>", "</s>")
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))


def byte_tokenizer(settings: Any) -> PreTrainedTokenizerFast:
    """A tokenizer that encodes text as <s> and the bytes of its words, with a space between words.

    Args:
        settings: the model's configuration; only vocab_size and max_position_embeddings are used.

    Raises:
        AtlasError: the vocabulary is too small to contain the bytes.
    """
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
