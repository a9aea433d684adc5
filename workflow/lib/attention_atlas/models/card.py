"""The model card: facts about a model for jobs that do not load it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from attention_atlas.errors import DamagedFile
from attention_atlas.io.files import write_text


@dataclass(frozen=True)
class ModelCard:
    """Facts about a model.

    Attributes:
        name: name in the registry.
        origin: origin of the weights, in words.
        model_type: architecture family in transformers.
        layers, heads: shape of the (encoder) self-attention.
        max_tokens: longest input in tokens, special tokens included.
        cls, sep: vocabulary entries of the tokens at the start and end of a text, None if the model has none.
        pad: id of the padding token, None if the vocabulary has none.
        weights_sha256: checksum of the weights file; empty for random initialisation.
        init: pretrained, random, or random_encoder (pre-trained word and position embeddings, random encoder).
        seed: seed of random initialisation.
        dtype: precision of the forward pass.
        mask: id of the mask token, None if the vocabulary has none.
        batches: order of the examples in training batches (random, by_length); empty for models not trained in the workflow.
    """

    name: str
    origin: str
    model_type: str
    layers: int
    heads: int
    max_tokens: int
    cls: str | None
    sep: str | None
    pad: int | None
    weights_sha256: str
    init: str
    seed: int
    dtype: str
    mask: int | None = None
    batches: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """Facts that identify this model in the description of a cache."""
        return {"name": self.name, "origin": self.origin, "weights_sha256": self.weights_sha256, "init": self.init}


def write_card(card: ModelCard, path: str | Path) -> None:
    """Write a card as JSON."""
    write_text(path, json.dumps(asdict(card), indent=2, ensure_ascii=False) + "\n")


def read_card(path: str | Path) -> ModelCard:
    """Read a card.

    Raises:
        AtlasError: the file is missing or not a model card.
    """
    try:
        return ModelCard(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DamagedFile(path, f"not a readable model card ({error})") from error
