"""A model's card, its folder and its shape from config.json. Imports nothing heavy, because every start runs this code."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from attention_atlas import __version__
from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import write_text
from attention_atlas.io.hub_files import MODELS, at_hand

TRAINED_HERE = "trained here"  # in the description of a language-model head, in tables: the workflow trained it
LEAST_GAIN = 0.25
"""Share of the loss of token frequencies that a language-model head must save for its losses to show what heads are used for: a
convention; BERT-base saves about four fifths (perplexity 3.99: Devlin et al. 2019, Table 6)."""


def weak_predictor(described: str) -> str:
    """Why the loss of a language-model head (`models.language_models.HeadFacts.words`) says little, if it saves less than
    `LEAST_GAIN`; else empty. Only a head that the workflow trained has the loss of token frequencies beside its own.
    """
    trained = re.match(rf"(.*{TRAINED_HERE}) on .*\(held-out loss ([\d.]+), unigram ([\d.]+) nats\)", described)
    if trained is None or (saved := 1 - float(trained[2]) / float(trained[3])) >= LEAST_GAIN:
        return ""
    return (
        f"The {trained[1]} hardly predicts words by their context: its held-out loss is {trained[2]} nats, that of "
        f"token frequencies {trained[3]}, so that it saves {100 * saved:.0f} %, less than {100 * LEAST_GAIN:.0f} %. "
        "Such a loss says little about what the model uses heads for."
    )


@dataclass(frozen=True)
class ModelCard:
    name: str
    origin: str  # origin of the weights, in words
    model_type: str  # architecture family in transformers
    layers: int  # layers, heads: shape of the (encoder) self-attention
    heads: int
    max_tokens: int  # longest input in tokens, special tokens included
    cls: str | None  # cls, sep: vocabulary entries of the tokens at the start and end of a text, None if the model has none
    sep: str | None
    pad: int | None  # id of the padding token, None if the vocabulary has none
    weights_sha256: str  # checksum of the weights file; empty for random initialisation
    init: str  # pretrained, random, or random_encoder (pre-trained word and position embeddings, random encoder)
    seed: int
    dtype: str
    mask: int | None = None  # id of the mask token, None if the vocabulary has none
    # order of the examples in training batches (random, by_length); empty for models not trained in the workflow
    batches: str = ""
    versions: str = ""  # `installed_versions` when the card was made


def installed_versions() -> str:
    """The libraries that make results, with their versions."""
    names = ("torch", "transformers")
    return ", ".join([*(f"{name} {version(name)}" for name in names), f"attention-atlas {__version__}"])


def write_card(card: ModelCard, path: str | Path) -> None:
    write_text(path, json.dumps(asdict(card), indent=2, ensure_ascii=False) + "\n")


def read_card(path: str | Path) -> ModelCard:
    try:
        return ModelCard(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DamagedFile(path, f"not a readable model card ({error})") from error


Card = Annotated[ModelCard, read_card]  # A card, as a parameter of a function that a job calls


def packaged_folder(source: Mapping[str, Any]) -> Path | None:
    """Folder of a source of kind package; None if the package is not installed. The package is not imported."""
    try:
        spec = importlib.util.find_spec(source["module"])
    except ModuleNotFoundError:  # the parent package is not installed
        spec = None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / source["folder"]


def model_folder(source: Mapping[str, Any], mirror: str | Path | None = None) -> Path | None:
    """Folder of a source of kind package, path or hub; None if its files are not on this machine."""
    if "package" in source:
        return packaged_folder(source)
    if "path" in source:
        folder = Path(source["path"])
        return folder if folder.is_dir() else None
    return at_hand(MODELS, source, mirror)


SHAPE = ("layers", "heads", "hidden_size")  # keys of a model's shape, as in the registry
_NAMES = {
    "layers": ("encoder_layers", "num_hidden_layers", "n_layers", "n_layer", "num_layers"),
    "heads": ("encoder_attention_heads", "num_attention_heads", "n_heads", "n_head", "num_heads"),
    "hidden_size": ("hidden_size", "d_model", "dim", "n_embd"),
    "longest_input": ("max_position_embeddings", "n_positions"),
}
"""Fact -> its names in architectures (`attribute_map` of their configurations in transformers), the encoder's first."""
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert")  # architectures that number positions from the padding index


def read_shape(folder: str | Path) -> dict[str, int]:
    """Layers, heads, hidden_size and longest_input (tokens) of the model in a folder, as far as its config.json has them."""
    file = Path(folder, "config.json")
    try:
        settings: Any = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(settings, dict):
            raise ValueError("not an object")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AtlasError(f"{folder}: the configuration cannot be read (config.json is not a JSON object: {error}).") from error
    # The part that reads text, if the model has several.
    settings = next((settings[part] for part in ("text_config", "encoder") if isinstance(settings.get(part), dict)), settings)
    shape = {}
    for fact, names in _NAMES.items():
        value = next((settings[name] for name in names if isinstance(settings.get(name), int)), None)
        if value is not None:
            shape[fact] = value
    if "longest_input" in shape:
        shape["longest_input"] -= unused_positions(settings.get("model_type", ""), settings.get("pad_token_id", 1))
    return shape


def unused_positions(model_type: str, padding: int | None) -> int:
    """Positions of an architecture that no token uses: those up to the padding index, if positions are counted from there."""
    return (padding or 0) + 1 if model_type in _OFFSET_POSITIONS else 0
