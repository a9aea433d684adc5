"""Hidden states of all layers, stored as float16 shards with random access while a job needs them.

    {shard}.safetensors    states [layer, token, width] of the selected word pieces, by record
    {shard}.json           description, the selected word pieces, and the checksum

Layer 0 is the input of the first layer (words, positions and segments). If a model has embeddings like BERT's, a last row
contains the normalised word embeddings alone, which published code used as layer 0 (`lexical`).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from attention_atlas.attention.batch_sizes import EXTRACTION_TOKENS
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.shards import check_shard, damaged, new_shard, read_description, tensor_name

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from attention_atlas.corpora.examples import Example
    from attention_atlas.models.card import ModelCard

_log = logging.getLogger(__name__)
Half = npt.NDArray[np.float16]


def store_hidden_states(
    model: PreTrainedModel,
    card: ModelCard,
    examples: Sequence[Example],
    wanted: Mapping[int, Sequence[int]],
    out: str | Path,
    limit: int | None = None,
) -> None:
    """Write the hidden states of a shard of examples, and a description beside them.

    All examples go through the model, so that batches, and therefore rounding, do not depend on the selected examples.

    Args:
        model: an encoder in evaluation mode.
        card: its card.
        examples: examples of the shard.
        wanted: record -> positions of the word pieces whose states are stored, in order; other examples are not stored.
        out: safetensors file to write.
        limit: store only records before this one.

    Raises:
        AtlasError: values are not finite or too large for float16, or the disk is full.
    """
    lexical = _word_embeddings(model) is not None
    rows, width = model.config.num_hidden_layers + 1 + lexical, model.config.hidden_size
    stored = [e for e in examples if wanted.get(e.record) and (limit is None or e.record < limit)]
    facts = {
        "model": card.identity,
        "layers": card.layers,
        "lexical": lexical,
        "examples": [{"record": e.record, "id": e.id, "tokens": e.tokens, "pieces": list(wanted[e.record])} for e in stored],
    }
    shapes = {e.record: (rows, len(wanted[e.record]), width) for e in stored}
    with new_shard(out, Path(out).with_suffix(".json"), shapes, facts) as shard:
        for example, states in hidden_states(model, examples, card.pad or 0) if stored else ():
            if example.record in shapes:
                shard.write(example.record, np.ascontiguousarray(states[:, list(wanted[example.record])]))


def hidden_states(
    model: PreTrainedModel, examples: Sequence[Example], pad: int, batch_tokens: int = EXTRACTION_TOKENS
) -> Iterator[tuple[Example, Half]]:
    """Yield each example, longest first, with its states [layers + 1 (+ 1 for words alone), n, width] in float16.

    They are a view of the batch's states, without padding; only one batch is in memory.

    Raises:
        AtlasError: values are not finite or too large for float16.
    """
    import torch

    from attention_atlas.attention.batches import batch_by_length, model_inputs

    words = _word_embeddings(model)
    for batch in progress(list(batch_by_length(examples, batch_tokens)), label="forward passes"):
        inputs = model_inputs(model, batch, pad)
        with torch.inference_mode():
            layers = list(model(**inputs, output_hidden_states=True).hidden_states)
            if words is not None:
                layers.append(words(inputs["input_ids"]))
            # On the model's device, to halve the transfer.
            stacked = torch.stack(layers, dim=1).half().cpu().numpy()
        for row, example in enumerate(batch):
            example_states = stacked[row, :, : len(example.input_ids)]
            if not np.isfinite(example_states).all():
                raise AtlasError(
                    f"the hidden states of example {example.id} are not finite, or too large for float16. Check the "
                    "weights, or set dtype: float32 for this model."
                )
            yield example, example_states


def _word_embeddings(model: PreTrainedModel) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """Function from tokens to normalised embeddings without positions, for models with embeddings like BERT's; else None."""
    embeddings: Any = getattr(model, "embeddings", None)
    if not all(hasattr(embeddings, name) for name in ("word_embeddings", "LayerNorm")):
        return None
    if embeddings.word_embeddings.embedding_dim != embeddings.LayerNorm.normalized_shape[-1]:
        return None

    def embed(pieces: torch.Tensor) -> torch.Tensor:
        return embeddings.LayerNorm(embeddings.word_embeddings(pieces))

    return embed


class HiddenStates:
    """Stored hidden states, read one record at a time from memory-mapped files.

    Args:
        paths: shards of one model and corpus.
        limit: only records before this one.

    Raises:
        AtlasError: there is no shard, a shard is damaged or incomplete, or models differ; names the file.
    """

    def __init__(self, paths: Iterable[str | Path], limit: int | None = None) -> None:
        self._open = contextlib.ExitStack()
        self._shards: dict[int, tuple[Any, str | Path]] = {}
        self._tokens: dict[int, tuple[str, ...]] = {}
        self._pieces: dict[int, list[int]] = {}
        self.layers, self.lexical = 0, False
        models = set()
        for path in paths:
            facts = read_description(path)
            check_shard(path, facts)
            if not facts["examples"]:
                continue
            try:
                shard = self._open.enter_context(safe_open(path, framework="np"))
            except (SafetensorError, OSError) as error:
                raise damaged(path, str(error)) from error
            models.add(facts["model"]["name"])
            self.layers, self.lexical = facts["layers"], facts["lexical"]
            for example in facts["examples"]:
                if limit is None or example["record"] < limit:
                    self._shards[example["record"]] = shard, path
                    self._tokens[example["record"]] = tuple(example["tokens"])
                    if "pieces" in example:
                        self._pieces[example["record"]] = example["pieces"]
        if len(models) != 1:
            raise AtlasError(f"hidden states of one model are required, not of {len(models)}: {', '.join(sorted(models))}.")

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, example: Example) -> Half:
        """[layers + 1 (+ 1 for words alone), n, width] of an example; 0 for word pieces whose states are not stored.

        Raises:
            AtlasError: states are missing or belong to other tokens.
        """
        stored = self.stored(example)
        if example.record not in self._pieces:
            return stored
        states = np.zeros((stored.shape[0], len(example.tokens), stored.shape[2]), np.float16)
        states[:, self._pieces[example.record]] = stored
        return states

    def pieces(self, example: Example) -> Sequence[int]:
        """Positions of the word pieces of an example whose states are stored, in order; errors as for its states."""
        if self._tokens.get(example.record) != example.tokens:
            raise AtlasError(f"example {example.id}: it has no hidden states; delete the examples of this run and start again.")
        return self._pieces.get(example.record, range(len(example.tokens)))

    def stored(self, example: Example) -> Half:
        """[layers + 1 (+ 1 for words alone), stored word piece, width] of an example; errors as for its states."""
        self.pieces(example)
        shard, path = self._shards[example.record]
        try:
            stored: Half = shard.get_tensor(tensor_name(example.record))
        except (SafetensorError, OSError) as error:
            raise damaged(path, str(error)) from error
        return stored

    def close(self) -> None:
        """Close the files."""
        self._open.close()
