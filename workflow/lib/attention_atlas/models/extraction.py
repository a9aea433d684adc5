"""Extraction: one shard of examples through a model, its attention into the cache."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attention_atlas.attention.batch_sizes import EXTRACTION_TOKENS
from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import Site, attention_shape, watch
from attention_atlas.attention.words import to_words, unit_starts
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.shards import write_shard
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_model

if TYPE_CHECKING:
    import numpy.typing as npt
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)


def extract_shard(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    examples_path: str | Path,
    corpus: str,
    level: str,
    out: str | Path,
    description_out: str | Path,
    threads: int = 1,
) -> None:
    """Write the attention maps of one shard of examples.

    Args:
        model_entry: registry entry of the model.
        card_path: its model card.
        examples_path: Parquet file of the shard's examples.
        corpus: name of the corpus, for the description.
        level: `tokens` or `words` (mean over query pieces, sum over key pieces).
        out, description_out: files to write; see `cache`.
        threads: threads of the forward pass.

    Raises:
        AtlasError: the model cannot be loaded or gives values that are not finite.
    """
    torch.set_num_threads(threads)
    card = read_card(card_path)
    examples = list(read_examples([examples_path]))
    maps: dict[int, npt.NDArray[np.float16]] = {}
    if examples:
        model = load_model(model_entry, pick_device())
        _log.info("%d examples, about %.2f GB of maps", len(examples), expected_bytes(examples, card.layers, card.heads) / 1e9)
        maps = attention_maps(model, examples, card.pad or 0, level)
    facts = {
        "model": card.identity,
        "corpus": corpus,
        "level": level,
        "layers": card.layers,
        "heads": card.heads,
        "examples": [{"record": e.record, "id": e.id, "tokens": e.tokens, "word": e.word, "words": e.words} for e in examples],
    }
    write_shard(out, description_out, maps, facts)


def attention_maps(
    model: PreTrainedModel,
    examples: Sequence[Example],
    pad: int,
    level: str = "tokens",
    batch_tokens: int = EXTRACTION_TOKENS,
) -> dict[int, npt.NDArray[np.float16]]:
    """Attention of every example: record -> [layer, head, n, n] float16 without padding, in the order of `examples`.

    Examples of like length share a batch of at most `batch_tokens` padded pieces. Beyond the result, no more than the maps of
    one layer of one batch are in memory.

    Raises:
        AtlasError: the model gives values that are not finite.
    """
    kind, (layers, heads) = next(iter(attention_shape(model).items()))
    maps: dict[int, npt.NDArray[np.float16]] = {e.record: np.empty(0, np.float16) for e in examples}
    batches = list(batch_by_length(examples, batch_tokens))
    for batch in progress(batches, label="forward passes"):
        sizes = [len(e.input_ids) if level == "tokens" else len(unit_starts(e.word)) for e in batch]
        maps.update(zip((e.record for e in batch), _empty_maps(layers, heads, sizes), strict=True))

        def keep(site: Site, probabilities: torch.Tensor, batch: Sequence[Example] = batch) -> None:
            if site.site_kind == kind:
                _store(probabilities, batch, [maps[e.record][site.layer] for e in batch], level)

        inputs = model_inputs(model, batch, pad)
        mask = inputs["attention_mask"]
        with torch.inference_mode(), watch(model, observers=[keep]) as session:
            session.batch(mask)
            hidden = model(**inputs)[0]
        if not torch.isfinite(hidden[mask.bool()]).all():
            raise AtlasError(
                f"the model gives values that are not finite for a batch with example {batch[0].id}. "
                "Check the weights, or set dtype: float32 for this model."
            )
    return maps


def expected_bytes(examples: Sequence[Example], layers: int, heads: int) -> int:
    """Size of the token-level maps of `examples` in bytes."""
    return sum(2 * layers * heads * len(e.input_ids) ** 2 for e in examples)


def _empty_maps(layers: int, heads: int, sizes: Sequence[int]) -> list[npt.NDArray[np.float16]]:
    """Uninitialised maps [layer, head, n, n] in one block of memory.

    One large block comes in huge pages; blocks of a few megabytes come in small ones, whose first touch takes a multiple of the
    time of filling them.
    """
    boundaries = np.cumsum([layers * heads * size * size for size in sizes])
    block = np.empty(int(boundaries[-1]), np.float16)
    parts = np.split(block, boundaries[:-1])
    return [part.reshape(layers, heads, size, size) for part, size in zip(parts, sizes, strict=True)]


def _store(
    probabilities: torch.Tensor, batch: Sequence[Example], places: Sequence[npt.NDArray[np.float16]], level: str
) -> None:
    """Copy one layer's maps [batch, head, N, N] to each example's place [head, n, n], rounding to float16 on the way."""
    here = probabilities
    if here.device.type != "cpu":
        # Half as much to bring here; sums over the pieces of words are taken before rounding.
        here = (here.half() if level == "tokens" else here).cpu()
    for row, (example, place) in enumerate(zip(batch, places, strict=True)):
        n = len(example.input_ids)
        cropped = here[row, :, :n, :n]
        if level == "tokens":
            torch.from_numpy(place).copy_(cropped)
        else:
            place[:] = to_words(cropped.float().numpy(), example.word)
