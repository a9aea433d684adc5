"""Translations by encoder-decoder models: beam search under a plan, in batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import watch
from attention_atlas.attention.plans import Plan
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.corpora.alignment import open_tokenizer
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.progress import progress

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

UNCOUNTED = -100
"""In the place of a piece that no loss counts."""
BATCH_TOKENS = 1024
"""Pieces of the sentences of a batch, padding included. The longest translation of a batch, which under a mask may repeat
itself to the end, keeps all others waiting: many small batches."""
_ROOM = 10
"""A translation may have twice the pieces of its sentence and so many more."""


def references_of(examples: Sequence[Example]) -> list[str]:
    """The translation of each example.

    Raises:
        AtlasError: an example has none.
    """
    known = [example.label for example in examples if example.label is not None]
    if len(known) < len(examples):
        raise AtlasError("there are examples without a translation: use a corpus with reader parallel.")
    return known


def translation_ids(examples: Sequence[Example], tokenizer: str | Path) -> list[list[int]]:
    """Pieces of the translation of each example, the end of the sentence included.

    Raises:
        AtlasError: an example has no translation, or there is no tokenizer.
    """
    return [encoding.ids for encoding in open_tokenizer(tokenizer).encode_batch(references_of(examples))]


def translate_under(
    model: PreTrainedModel,
    examples: Sequence[Example],
    pad: int,
    tokenizer: Tokenizer,
    encoder_plans: Sequence[Plan],
    decoder_plans: Sequence[Plan],
    beams: int = 5,
    length_penalty: float = 1.0,
    batch_tokens: int = BATCH_TOKENS,
) -> list[list[str]]:
    """Translations of all examples by beam search: unchanged, under each plan for the encoder, under each for the decoder.

    What the encoder gives is computed once for all plans of the decoder, and from the first changed layer on for its own.

    Args:
        model: with the engine installed, in evaluation mode.
        examples: the sentences.
        pad: id of the padding token.
        tokenizer: of the model, for the text of the pieces.
        encoder_plans, decoder_plans: interventions on the heads of the encoder; on those of the decoder and between the two.
        beams, length_penalty: of the search (Michel et al. 2019: 5 and 1).
        batch_tokens: pieces of a batch of sentences, padding included.

    Returns:
        For each of them, the unchanged model first, the translations in the order of the examples.
    """
    count = 1 + len(encoder_plans) + len(decoder_plans)
    found: list[dict[int, str]] = [{} for _ in range(count)]
    for batch in progress(list(batch_by_length(examples, batch_tokens)), label="batches of sentences"):
        inputs = model_inputs(model, batch, pad)
        options = search(model, inputs["input_ids"].shape[1], beams, length_penalty)
        encoded = list(outputs_under(model.get_encoder(), inputs, ((plan, None) for plan in encoder_plans)))
        passes = [(output, None) for output in encoded] + [(encoded[0], plan) for plan in decoder_plans]
        for number, (output, plan) in enumerate(passes):
            with torch.inference_mode(), watch(model, plan=plan) as session:
                session.batch(inputs["attention_mask"])
                # The search writes into the output that it is given: each gets its own.
                own = type(output)(last_hidden_state=output.last_hidden_state)
                pieces = model.generate(encoder_outputs=own, attention_mask=inputs["attention_mask"], **options)
            texts = tokenizer.decode_batch(pieces.tolist(), skip_special_tokens=True)
            found[number].update(zip((example.record for example in batch), texts, strict=True))
    return [[own[example.record] for example in examples] for own in found]


def search(model: PreTrainedModel, pieces: int, beams: int, length_penalty: float) -> dict[str, Any]:
    """Arguments of a beam search without chance for sentences of up to so many pieces."""
    longest = 2 * pieces + _ROOM
    if positions := getattr(model.config, "max_position_embeddings", None):
        longest = min(longest, positions - 1)
    # A checkpoint may remember that its training kept no cache.
    options = {"do_sample": False, "use_cache": True, "max_new_tokens": longest}
    return options | {"num_beams": beams, "length_penalty": length_penalty}
