"""Fine-tuning with transformers' Trainer: train a model of the registry, or a new one, on a task and write a checkpoint.

Random batches, as used in the papers, are padded to their longest example, about twice the mean length. The gradient of a mean
loss is the sum of the gradients of parts, each weighted by its share of the targets; only the dropout masks differ.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    AutoTokenizer,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)
from transformers.trainer import TRAINER_STATE_NAME

from attention_atlas.attention.batches import model_inputs
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.corpora.records import sampled
from attention_atlas.corpora.text import parallel_records
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import sha256, whole_file, whole_files
from attention_atlas.io.tables import write_table
from attention_atlas.models import devices, marian, task_heads
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import check_loss, check_weights, class_with_head, configuration, initialised, locate
from attention_atlas.models.marian import END, PAD, UNKNOWN
from attention_atlas.models.task_heads import TAGS, UNCOUNTED, span_of_pieces, tag_numbers, translation_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
RANDOM, BY_LENGTH = "random", "by_length"  # orders of the training examples in batches; by length saves padding and time
STATE = "training_state"  # folder beside the checkpoint: Snakemake would remove an output of a failed job
SECONDS_BETWEEN = 20 * 60  # from the start or a stored state until the state at the end of an epoch is stored
CHECKPOINT = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")  # the weights last
SUMMARY = ["step", "epoch", "loss", "learning_rate"]  # loss: mean since the previous row or the last start


def fine_tune(
    base_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    training: Mapping[str, Any],
    threads: int,
    folder: str | Path,
    summary_out: str | Path,
    epochs_out: str | Path | None = None,
    code: str = "",
) -> None:
    """Train a model and write its checkpoint atomically; continue after the last epoch that a killed job of it stored.

    `training`: see the schema; `summary_out`: table `SUMMARY` to write; `epochs_out`: file for the checkpoints of epochs that
    are kept, see `loading.epoch_loaders`; `code`: digest of the code: training does not continue from a state of other code.
    """
    torch.set_num_threads(threads)
    card = read_card(card_path)
    examples = list(read_examples(example_files, limit))
    items, classes = _items(examples, training, locate(base_entry) / "tokenizer.json", card.max_tokens)
    set_seed(training["seed"])
    model = _model(base_entry, training["task"], classes, training.get("dropout"))
    if training.get("freeze_word_embeddings"):
        model.get_input_embeddings().requires_grad_(False)
    # Grouped by length, batches go from long to short: a randomly initialised translation model then learns no alignment.
    order = RANDOM if training["task"] == "translation" else str(training.get("batches", BY_LENGTH))
    # Stored in the checkpoint, from which the model card is made.
    model.config.training_batches = order
    steps = -(-len(items) // training["batch"])
    _log.info("%d examples, %d steps per epoch, %s epochs", len(items), steps, training["epochs"])

    files = [sha256(path) for path in (card_path, *example_files)]
    parts = [base_entry, files, limit, training, code, torch.__version__, transformers.__version__]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
    states = Path(folder).with_name(STATE) / key[:32]
    # The Trainer writes this file last.
    complete = [path.parent for path in states.glob(f"checkpoint-*/{TRAINER_STATE_NAME}")]
    start = max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
    if start:
        _log.info("an earlier start of this job was stopped: continuing after step %s", start.name.rpartition("-")[2])
    with whole_files(folder, CHECKPOINT) as scratch:
        arguments = TrainingArguments(
            output_dir=str(states),
            num_train_epochs=training["epochs"],
            per_device_train_batch_size=training["batch"],
            learning_rate=training["learning_rate"],
            warmup_steps=int(training["warmup"] * training["epochs"] * steps),
            weight_decay=training["weight_decay"],
            lr_scheduler_type="linear",
            seed=training["seed"],
            train_sampling_strategy={RANDOM: "random", BY_LENGTH: "group_by_length"}[order],
            remove_unused_columns=False,
            use_cpu=pick_device() == "cpu",
            # Losses that are not finite would be logged as 0; they are an error.
            logging_nan_inf_filter=False,
            logging_steps=max(1, int(steps * training["epochs"]) // 20),
            save_strategy="no",
            save_total_limit=1,
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=False,
            label_smoothing_factor=training.get("label_smoothing", 0.0),
            adam_beta2=training.get("beta2", 0.999),
            # The published optimiser clips each tensor separately.
            max_grad_norm=0.0 if training["optimiser"] == "bert_adam" else 1.0,
        )
        trainer = PartsTrainer(
            model=model,
            args=arguments,
            train_dataset=items,
            data_collator=lambda batch: _in_parts(model, batch, card.pad or 0),
            callbacks=[_Keeper(model, training.get("keep_epochs", ()), states)],
            optimizer_cls_and_kwargs=(
                (BertAdam, {"lr": training["learning_rate"]}) if training["optimiser"] == "bert_adam" else None
            ),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=str(start) if start else None)
        remedy = f"Lower learning_rate ({training['learning_rate']:g})"
        with torch.no_grad():
            # A step logs the loss before its update: that of the last weights is computed here.
            parts = _in_parts(model, items[: training["batch"]], card.pad or 0)[PARTS]
            check_loss(torch.stack([trainer.compute_loss(model.eval(), part) for part in parts]), "the end", remedy)
        if training.get("stored_dtype") == "float16":
            model.half()
        check_weights(model, "the training diverged", remedy)
        history = pd.DataFrame([row for row in trainer.state.log_history if "loss" in row], columns=SUMMARY)
        write_table(history.astype(float).astype({"step": int}), summary_out)
        if epochs_out is not None:
            kept = [(path.stem, load_file(path)) for path in states.glob("*.safetensors")]
            with whole_file(epochs_out) as part:
                save_file({f"{epoch}/{name}": values for epoch, weights in kept for name, values in weights.items()}, part)
        model.save_pretrained(scratch)
        AutoTokenizer.from_pretrained(locate(base_entry), use_fast=True, trust_remote_code=False).save_pretrained(scratch)
    shutil.rmtree(states.parent)


def _items(
    examples: Sequence[Example], training: Mapping[str, Any], tokenizer: Path, longest: int
) -> tuple[list[dict[str, Any]], tuple[str, ...] | None]:
    """Examples with a training target, for the Trainer, and the classes of the model, () for a score, None without classes.

    Windows without their answer and translations that are too long have none; of tags, only the first token of a word counts.
    """
    task = training["task"]
    classes: tuple[str, ...] | None = None
    targets: list[dict[str, Any] | None]
    if task == "translation":
        targets = [{"labels": ids} if len(ids) <= longest else None for ids in translation_ids(examples, tokenizer)]
    elif task == "tags":
        classes, targets = TAGS, [{"labels": tag_numbers(example)} for example in examples]
    elif task == "labels":
        names = sorted(set(task_heads.labels_of(examples)))
        if len(names) < 2 and not training["regression"]:
            raise AtlasError(
                f"all {len(examples)} examples have the label {names[0]!r}, so there is nothing to learn: raise `limit`, or "
                "use another corpus."
            )
        classes = () if training["regression"] else tuple(names)
        targets = [{"labels": classes.index(e.label) if classes else float(e.label)} for e in examples if e.label is not None]
    else:
        spans = map(span_of_pieces, examples)
        targets = [{"start_positions": span[0], "end_positions": span[1]} if span else None for span in spans]
    # The Trainer groups examples by number of tokens.
    pairs = [(example, target) for example, target in zip(examples, targets, strict=True) if target]
    items = [{"input_ids": list(example.input_ids), "example": example, "targets": target} for example, target in pairs]
    if len(items) < len(examples):
        _log.warning("%d of %d examples have no target for %s and are skipped", len(examples) - len(items), len(examples), task)
    if not items:
        raise AtlasError(f"there is nothing to train on: no example has a target for {task}. Check corpus and max_tokens.")
    return items, classes


def _in_parts(model: PreTrainedModel, batch: Sequence[Mapping[str, Any]], pad: int) -> dict[str, Any]:
    """A batch for a `PartsTrainer`; parts without a target are skipped, unless no part has one."""
    # Labels of the tokens of an example or of its translation; without such labels, an example is one target.
    labels = [item["targets"].get("labels") for item in batch]
    by_token = [numbers if isinstance(numbers, list) else [0] for numbers in labels]
    lengths = [max(len(item["input_ids"]), len(numbers)) for item, numbers in zip(batch, by_token, strict=True)]
    pieces_of_a_part = PIECES_ON_GPU if devices.on_gpu(next(model.parameters())) else PIECES_ON_CPU
    places = parts_of_like_length(lengths, pieces_of_a_part)
    counts = [sum(number != UNCOUNTED for place in part for number in by_token[place]) for part in places]
    if len(places) == 1 or not any(counts):
        return {PARTS: [_collated(model, batch, pad) | {SHARE: 1}]}
    parts = [([batch[place] for place in part], count) for part, count in zip(places, counts, strict=True) if count]
    return {PARTS: [_collated(model, part, pad) | {SHARE: count / sum(counts)} for part, count in parts]}


def _collated(model: PreTrainedModel, batch: Sequence[Mapping[str, Any]], pad: int) -> dict[str, torch.Tensor]:
    inputs = model_inputs(model, [item["example"] for item in batch], pad)
    targets = {name: _tensor([item["targets"][name] for item in batch]) for name in batch[0]["targets"]}
    if model.config.is_encoder_decoder:
        targets["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels=targets["labels"])
    return inputs | {name: values.to(inputs["input_ids"].device) for name, values in targets.items()}


def _tensor(targets: Sequence[Any]) -> torch.Tensor:
    """Tensor of numbers, or of lists padded with the label that the loss ignores."""
    if not isinstance(targets[0], list):
        return torch.tensor(targets)
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(numbers) for numbers in targets], True, UNCOUNTED)


def _model(
    entry: Mapping[str, Any], task: str, classes: tuple[str, ...] | None, dropout: float | None = None
) -> PreTrainedModel:
    """The model with a new head for answers, for classes, or for one score (no classes); or a translation model."""
    entry = {**entry, "dtype": "float32"}
    options: dict[str, Any] = {}
    if dropout is not None:
        settings = configuration(locate(entry)).to_dict()
        options = {name: dropout for name, value in settings.items() if "dropout" in name and isinstance(value, float | int)}
    if classes is not None:
        options["num_labels"] = len(classes) or 1  # a single output is trained with the squared error
    model, _ = initialised(class_with_head(task), entry, seeded=False, **options)
    if classes:
        model.config.id2label = dict(enumerate(classes))
        model.config.label2id = {name: number for number, name in enumerate(classes)}
    return model


class _Keeper(TrainerCallback):  # type: ignore[misc]  # mypy reads nothing of transformers
    """Logs the loss, stores the weights after some epochs, and from time to time the state of the Trainer."""

    def __init__(self, model: PreTrainedModel, epochs: Sequence[int], folder: Path) -> None:
        self.model, self.epochs, self.folder = model, epochs, folder
        self.due = time.monotonic() + SECONDS_BETWEEN

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            _log.info("step %d of %d: loss %.3f", state.global_step, state.max_steps, float(logs["loss"]))

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        epoch = round(state.epoch)
        if epoch in self.epochs:
            # Each parameter once, even if two modules share it.
            weights = {name: parameter.detach().cpu() for name, parameter in self.model.named_parameters()}
            save_file(weights, self.folder / f"{epoch}.safetensors")
        if time.monotonic() >= self.due:
            control.should_save = True
            self.due = time.monotonic() + SECONDS_BETWEEN


PARTS, SHARE = "parts", "share"  # keys of a batch: its parts, and in each its share of the targets
PIECES_ON_CPU, PIECES_ON_GPU = 64, 768
"""Padded tokens that take as long as one more part: adding its gradients; on a GPU, an estimate, also starting operations."""


def parts_of_like_length(lengths: Sequence[int], part_pieces: int) -> list[list[int]]:
    """Positions of the examples in each part, minimising the number of padded tokens plus `part_pieces` per part.

    Parts are ordered from long to short examples. If a single part is best, the batch keeps the order of its examples.
    """
    places = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    # least[n], first[n]: minimum number of tokens for the n longest examples, and the start of their last part.
    least, first = [0], [0]
    for end in range(1, len(places) + 1):
        costs = [least[start] + part_pieces + lengths[places[start]] * (end - start) for start in range(end)]
        first.append(min(range(end), key=costs.__getitem__))
        least.append(costs[first[-1]])
    parts: list[list[int]] = []
    end = len(places)
    while end:
        parts.insert(0, places[first[end] : end])
        end = first[end]
    return parts if len(parts) > 1 else [list(range(len(lengths)))]


class PartsTrainer(Trainer):  # type: ignore[misc]
    """A Trainer for batches {PARTS: [part, ...]}: each part contains model inputs and its SHARE of the batch's targets."""

    def training_step(self, model: torch.nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> torch.Tensor:
        """The loss of a batch; its gradient is added to that of the weights."""
        loss = torch.zeros((), device=self.args.device)
        for part in inputs[PARTS]:
            loss += super().training_step(model, part)
        check_loss(loss, f"step {self.state.global_step + 1}", f"Lower learning_rate ({self.args.learning_rate:g})")
        return loss

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> torch.Tensor:
        """Contribution of a part to the mean loss of its batch."""
        share = inputs[SHARE]
        loss = super().compute_loss(model, {name: values for name, values in inputs.items() if name != SHARE})
        assert isinstance(loss, torch.Tensor)
        return loss if share == 1 else loss * share


class BertAdam(torch.optim.Optimizer):
    """m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - lr (m / (sqrt(v) + eps) + decay w).

    Source: the optimiser in the code of Devlin et al. (2019), on which that of Kovaleva et al. (2019) is based. torch's AdamW
    divides m and v by 1 - b^t, which makes its first steps up to a third smaller, and leaves clipping to the caller.
    """

    def __init__(self, params: Iterable[Any], lr: float, weight_decay: float = 0.01) -> None:
        constants = {"betas": (0.9, 0.999), "eps": 1e-6, "max_norm": 1.0}
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, **constants})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # a Trainer passes no closure
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient = parameter.grad
                norm = torch.linalg.vector_norm(gradient)
                gradient = gradient * (group["max_norm"] / (norm + 1e-6)).clamp(max=1)
                state = self.state[parameter]
                if not state:
                    state["mean"], state["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
                state["mean"].lerp_(gradient, 1 - first)
                state["square"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
                update = state["mean"] / (state["square"].sqrt() + group["eps"]) + group["weight_decay"] * parameter
                parameter.sub_(update, alpha=group["lr"])


def write_untrained_model(settings: Mapping[str, Any], texts: Sequence[str | Path], folder: str | Path) -> None:
    """Write tokenizer and configuration of a new translation model; its vocabulary is learnt from the texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    read = partial(parallel_records, texts[0], settings["languages"], *texts[1:])
    first = settings["skip"]
    pairs = sampled(read, settings["order"], settings["seed"], first, first + settings["records"])
    sentences = [text for _, pair in pairs for text in (pair.source, pair.target)]
    special = [PAD, END, UNKNOWN]
    trainer = trainers.BpeTrainer(vocab_size=settings["vocabulary"], special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(sentences, trainer)
    marian.end_texts(tokenizer)
    size, pad, end = tokenizer.get_vocab_size(), *map(tokenizer.token_to_id, (PAD, END))
    _log.info("%d vocabulary entries learnt from %d texts", size, len(sentences))
    shape = {"layers": settings["layers"], "attention_heads": settings["heads"], "ffn_dim": settings["feed_forward"]}
    of_sides = {f"{side}_{name}": number for side in ("encoder", "decoder") for name, number in shape.items()}
    positions, ids = settings["positions"], {"pad_token_id": pad, "eos_token_id": end, "decoder_start_token_id": pad}
    names = {"pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
    with whole_files(folder, marian.FILES) as scratch:
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=positions, **names)
        fast.save_pretrained(scratch)
        marian.configuration(size, settings["hidden_size"], positions, **of_sides, **ids).save_pretrained(scratch)
