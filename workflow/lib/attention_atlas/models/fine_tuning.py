"""Fine-tuning by the Trainer of transformers: a model of the registry further trained on a task, written as a checkpoint."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.batches import model_inputs
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.answering import span_of_pieces
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import locate, quiet
from attention_atlas.tables import write_table

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
CHECKPOINT = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
"""Files of a checkpoint, the weights last."""


def fine_tune(
    base_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    training: Mapping[str, Any],
    threads: int,
    folder: str | Path,
    summary_out: str | Path,
) -> None:
    """Train a model and write its checkpoint, whole or not at all.

    Args:
        base_entry: registry entry of the model to start from.
        card_path: its model card.
        example_files: examples of the training corpus, made with that model's tokenizer.
        limit: records that count.
        training: task, epochs, batch, learning_rate, warmup, weight_decay, seed.
        threads: threads of the training.
        folder: of the checkpoint, files `CHECKPOINT`.
        summary_out: table to write: step, epoch, loss (mean since the row before), learning_rate.

    Raises:
        AtlasError: the model cannot be loaded, or no example can be trained on.
    """
    from transformers import AutoTokenizer, PrinterCallback, Trainer, TrainingArguments, set_seed

    torch.set_num_threads(threads)
    quiet()
    card = read_card(card_path)
    items = _items(list(read_examples(example_files, limit)))
    set_seed(training["seed"])
    model = _model(base_entry)
    steps = -(-len(items) // training["batch"])
    _log.info("%d examples, %d steps an epoch, %s epochs", len(items), steps, training["epochs"])
    with tempfile.TemporaryDirectory(dir=_made(folder)) as scratch:
        arguments = TrainingArguments(
            output_dir=scratch,
            num_train_epochs=training["epochs"],
            per_device_train_batch_size=training["batch"],
            learning_rate=training["learning_rate"],
            warmup_steps=int(training["warmup"] * training["epochs"] * steps),
            weight_decay=training["weight_decay"],
            lr_scheduler_type="linear",
            seed=training["seed"],
            train_sampling_strategy="group_by_length",
            remove_unused_columns=False,
            use_cpu=pick_device() == "cpu",
            logging_steps=max(1, int(steps * training["epochs"]) // 20),
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=False,
        )
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=items,
            data_collator=lambda batch: _collated(model, batch, card.pad or 0),
            callbacks=[_reporter()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        _write_summary(trainer.state.log_history, summary_out)
        model.save_pretrained(scratch)
        AutoTokenizer.from_pretrained(locate(base_entry), use_fast=True).save_pretrained(scratch)
        for name in CHECKPOINT:
            os.replace(Path(scratch, name), Path(folder, name))


def _made(folder: str | Path) -> Path:
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path


def _items(examples: Sequence[Example]) -> list[dict[str, Any]]:
    """What the Trainer draws from: examples with the pieces of their answers; windows without the answer are left out."""
    items = []
    for example in examples:
        span = span_of_pieces(example)
        if span is not None:
            items.append({"input_ids": list(example.input_ids), "example": example, "span": span})
    if len(items) < len(examples):
        _log.warning("%d of %d windows do not hold their answer and are left out", len(examples) - len(items), len(examples))
    if not items:
        raise AtlasError("there is nothing to train on: no example holds an answer. Check the corpus, or raise its max_tokens.")
    return items


def _collated(model: PreTrainedModel, batch: Sequence[Mapping[str, Any]], pad: int) -> dict[str, torch.Tensor]:
    inputs = model_inputs(model, [item["example"] for item in batch], pad)
    spans = torch.tensor([item["span"] for item in batch], device=inputs["input_ids"].device)
    return {**inputs, "start_positions": spans[:, 0], "end_positions": spans[:, 1]}


def _model(entry: Mapping[str, Any]) -> PreTrainedModel:
    from transformers import AutoModelForQuestionAnswering

    folder = locate(entry)
    try:
        return AutoModelForQuestionAnswering.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    except (ValueError, OSError) as error:
        raise AtlasError(
            f"{folder}: this model cannot be fine-tuned for answers ({str(error).splitlines()[0][:200]})."
        ) from error


def _reporter() -> Any:
    """A callback that writes the loss into the log of the job."""
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            if logs and "loss" in logs:
                _log.info("step %d of %d: loss %.3f", state.global_step, state.max_steps, float(logs["loss"]))

    return Reporter()


def _write_summary(history: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    import pandas as pd

    rows = [
        {key: float(entry[key]) for key in ("step", "epoch", "loss", "learning_rate")} for entry in history if "loss" in entry
    ]
    write_table(pd.DataFrame(rows, columns=["step", "epoch", "loss", "learning_rate"]).astype({"step": int}), path)
