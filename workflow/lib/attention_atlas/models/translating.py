"""Translations by encoder-decoder models: beam search under a plan, in batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

UNCOUNTED = -100
"""In the place of a piece that no loss counts."""
BATCH_TOKENS = 4096
"""Pieces of the sentences of a batch, padding included."""
_ROOM = 10
"""A translation may have twice the pieces of its sentence and so many more."""


def open_tokenizer(path: str | Path) -> Tokenizer:
    """The tokenizer of a file `tokenizer.json`.

    Raises:
        AtlasError: there is no such file, or it is none.
    """
    from tokenizers import Tokenizer

    if not Path(path).is_file():
        raise AtlasError(f"{path}: there is no tokenizer.json here.")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain exceptions
        raise AtlasError(f"{path}: not a readable tokenizer ({error}).") from error


def translation_ids(examples: Sequence[Example], tokenizer: str | Path) -> list[list[int]]:
    """Pieces of the translation of each example, the end of the sentence included.

    Raises:
        AtlasError: an example has no translation, or there is no tokenizer.
    """
    texts = [example.label for example in examples]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        raise AtlasError("there are examples without a translation: use a corpus with reader parallel.")
    return [encoding.ids for encoding in open_tokenizer(tokenizer).encode_batch(known)]


@torch.inference_mode()
def translate(
    model: PreTrainedModel,
    examples: Sequence[Example],
    pad: int,
    tokenizer: Tokenizer,
    plan: Plan | None = None,
    beams: int = 5,
    length_penalty: float = 1.0,
    batch_tokens: int = BATCH_TOKENS,
) -> list[str]:
    """The translation of each example, in their order, by beam search.

    Args:
        model: with the engine installed, in evaluation mode.
        examples: the sentences.
        pad: id of the padding token.
        tokenizer: of the model, for the text of the pieces.
        plan: interventions on its heads.
        beams, length_penalty: of the search (Michel et al. 2019: 5 and 1).
        batch_tokens: pieces of a batch of sentences, padding included.
    """
    found: dict[int, str] = {}
    for batch in batch_by_length(examples, batch_tokens):
        inputs = model_inputs(model, batch, pad)
        with watch(model, plan=plan) as session:
            session.batch(inputs["attention_mask"])
            pieces = model.generate(**inputs, **search(model, inputs["input_ids"].shape[1], beams, length_penalty))
        texts = tokenizer.decode_batch(pieces.tolist(), skip_special_tokens=True)
        found.update(zip((example.record for example in batch), texts, strict=True))
    return [found[example.record] for example in examples]


def search(model: PreTrainedModel, pieces: int, beams: int, length_penalty: float) -> dict[str, Any]:
    """Arguments of a beam search without chance for sentences of up to so many pieces."""
    longest = 2 * pieces + _ROOM
    if positions := getattr(model.config, "max_position_embeddings", None):
        longest = min(longest, positions - 1)
    # A checkpoint may remember that its training kept no cache.
    options = {"do_sample": False, "use_cache": True, "max_new_tokens": longest}
    return options | {"num_beams": beams, "length_penalty": length_penalty}
