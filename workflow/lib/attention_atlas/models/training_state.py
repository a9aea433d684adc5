"""State of long training, stored beside its outputs: after a restart, a killed job continues from it.

The Trainer writes weights, optimiser, schedule, random generators and its log. This module adds what the Trainer omits and what
is needed for the same weights as without interruption: the random generator at the start of the epoch, which determines the
order of the examples, the losses since the last row of the log, and the weights of earlier epochs.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_json, sha256, write_text

if TYPE_CHECKING:
    from transformers import Trainer

_log = logging.getLogger(__name__)
FOLDER = "training_state"
"""Folder beside a checkpoint; not an output of a rule, since Snakemake removes the outputs of a failed job."""
SECONDS_BETWEEN = 20 * 60
"""Seconds from the start of training to its first state, and between states."""
_LISTING, _PROGRESS, _WEIGHTS = "files.json", "progress.safetensors", "weights/"


class TrainingState:
    """The states of one training: folders `checkpoint-{step}`, of which only the latest complete one is kept.

    Args:
        folder: folder for the states.
        key: returns the digest of settings, code and inputs; called only if a state is read or written.
    """

    def __init__(self, folder: Path, key: Callable[[], str]):
        self._folder = folder
        self._key = key

    def latest(self) -> Path | None:
        """The state to continue from; a damaged state, or one of a different training, is removed and logged."""
        states = sorted(
            self._folder.glob("checkpoint-[0-9]*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True
        )
        for number, state in enumerate(states):
            reason = self._unusable(state)
            if reason is None:
                for older in states[number + 1 :]:
                    shutil.rmtree(older)
                _log.info("an earlier start of this job was stopped: continuing after step %s", state.name.rpartition("-")[2])
                return state
            _log.warning("%s: this training state is discarded: %s", state, reason)
            shutil.rmtree(state)
        return None

    def take(self, written: Path) -> None:
        """Move a folder written by the Trainer here, atomically, and remove earlier states."""
        files = sorted(path for path in written.iterdir() if path.is_file())
        for path in files:
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())
        listing = {"key": self._key(), "files": {path.name: sha256(path) for path in files}}
        write_text(written / _LISTING, json.dumps(listing, indent=2) + "\n")
        self._folder.mkdir(parents=True, exist_ok=True)
        before = list(self._folder.glob("checkpoint-[0-9]*"))
        os.replace(written, self._folder / written.name)
        for state in before:
            shutil.rmtree(state)

    def remove(self) -> None:
        """Remove all states, at the end of training."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _unusable(self, state: Path) -> str | None:
        """Why training cannot continue from a state; None if it can."""
        try:
            listing = read_json(state / _LISTING)
            files, key = dict(listing["files"]), listing["key"]
            damaged = [name for name, digest in files.items() if sha256(state / name) != digest]
        except (AtlasError, OSError, KeyError, TypeError, ValueError) as error:
            return f"it cannot be read ({error})"
        if damaged:
            return f"{', '.join(damaged)} is damaged"
        return None if key == self._key() else "settings, code or inputs have changed since"


def keep_state(
    trainer: Trainer, states: TrainingState, start: Path | None, epoch_weights: MutableMapping[str, torch.Tensor]
) -> None:
    """Make a Trainer write its state every `SECONDS_BETWEEN`, and continue exactly from one.

    Args:
        trainer: the Trainer; `save_strategy` is "no".
        states: the stored states.
        start: the state that `train` resumes from, None at the first start.
        epoch_weights: weights after earlier epochs, filled by the training.
    """
    from safetensors.torch import load_file, save_file
    from transformers import TrainerCallback

    class Keeper(TrainerCallback):
        def __init__(self) -> None:
            self.due = time.monotonic() + SECONDS_BETWEEN
            self.start = start
            self.epoch_start = torch.random.get_rng_state()

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.start:
                progress = load_file(self.start / _PROGRESS)
                self.epoch_start = progress.pop("epoch_start")
                trainer._tr_loss = progress.pop("loss").to(trainer._tr_loss.device)
                trainer._globalstep_last_logged = int(progress.pop("last_logged"))
                epoch_weights.update({name.removeprefix(_WEIGHTS): values for name, values in progress.items()})

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.start:
                torch.random.set_rng_state(self.epoch_start)
                self.start = None
            else:
                self.epoch_start = torch.random.get_rng_state()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            # Not at the end of an epoch: the generator's state at the start of the next epoch is not yet known.
            if time.monotonic() >= self.due and state.epoch != int(state.epoch):
                control.should_save = True

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            written = Path(args.output_dir, f"checkpoint-{state.global_step}")
            progress = {
                "epoch_start": self.epoch_start,
                "loss": trainer._tr_loss.detach().cpu(),
                "last_logged": torch.tensor(trainer._globalstep_last_logged),
            }
            save_file(progress | {f"{_WEIGHTS}{name}": values for name, values in epoch_weights.items()}, written / _PROGRESS)
            states.take(written)
            _log.info("step %d: training state stored", state.global_step)
            self.due = time.monotonic() + SECONDS_BETWEEN

    trainer.add_callback(Keeper())
