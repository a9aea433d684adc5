"""Hidden states of all layers in float16, and a file of those that a job needs.

Layer 0 is the input of the first layer (words, positions and segments). If a model has embeddings like BERT's, a last row
contains the normalised word embeddings alone, which published code used as layer 0 (`lexical`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from attention_atlas.attention.batches import EXTRACTION_TOKENS
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import whole_file
from attention_atlas.io.messages import progress

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from attention_atlas.corpora.examples import Corpus, Example

Half = npt.NDArray[np.float16]


def hidden_states(
    model: PreTrainedModel, examples: Sequence[Example], pad: int, batch_tokens: int = EXTRACTION_TOKENS
) -> Iterator[tuple[Example, Half]]:
    """Yield each example, longest first, with its states [layers + 1 (+ 1 for words alone), n, width] in float16."""
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
    """Hidden states of some word pieces of a corpus, in a file from which they are read one example at a time.

    All examples of a shard go through the model, so that batches, and therefore rounding, do not depend on the selected ones.

    `pieces_of`: positions of the word pieces whose states are stored, in order; an example without any is not stored.
    """

    def __init__(
        self, model: PreTrainedModel, corpus: Corpus, pieces_of: Callable[[Example], Sequence[int]], pad: int, path: str | Path
    ) -> None:
        self.layers, self.lexical = int(model.config.num_hidden_layers), _word_embeddings(model) is not None
        self._shape = self.layers + 1 + self.lexical, int(model.config.hidden_size)
        self._stored: dict[int, tuple[Sequence[str], Sequence[int], int]] = {}
        end = 0
        with whole_file(path) as part, part.open("wb") as stream:
            for examples in corpus.shards:
                pieces = {e.record: pieces_of(e) for e in examples if e.record < corpus.limit}
                for example, states in hidden_states(model, examples, pad) if any(pieces.values()) else ():
                    if selected := pieces.get(example.record):
                        self._stored[example.record] = example.tokens, selected, end
                        stream.write(np.ascontiguousarray(states[:, list(selected)]).data)
                        end += len(selected)
        row, width = self._shape
        self._states = np.memmap(path, np.float16, "r", shape=(end, row * width)) if end else np.empty((0, row * width))

    def __len__(self) -> int:
        return len(self._stored)

    def __getitem__(self, example: Example) -> Half:
        """[layers + 1 (+ 1 for words alone), n, width] of an example; 0 for word pieces whose states are not stored."""
        tokens, pieces, start = self._stored.get(example.record, ((), (), 0))
        if tokens != example.tokens:
            raise AtlasError(f"example {example.id}: it has no hidden states; delete the examples of this run and start again.")
        rows, width = self._shape
        states = np.zeros((rows, len(tokens), width), np.float16)
        states[:, list(pieces)] = self._states[start : start + len(pieces)].reshape(rows, len(pieces), width)
        return states
