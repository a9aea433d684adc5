"""Hidden states of the word pieces in the targets of a task, stored on disk while the job runs.

States of all layers of a corpus take up to 135 GB at the size of BERT-large: those of one job at a time fit on a disk.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.hidden_states import store_hidden_states
from attention_atlas.models.loading import load_model
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask, probe_task
from attention_atlas.studies.tenney2019.targets import piece_spans

_log = logging.getLogger(__name__)
SCRATCH = "ATLAS_SCRATCH"
"""Environment variable: where jobs put what they need while they run; by default beside their outputs."""


@dataclass(frozen=True)
class ProbedModel:
    """The model whose states are probed: its registry entry and its card."""

    entry: Mapping[str, Any]
    card_path: str | Path


def probe_model(
    model: ProbedModel,
    task: str,
    probed: ProbedTask,
    plan: Plan,
    out: Outputs,
    folder: str | Path,
    threads: int = 1,
) -> None:
    """Store the states that the probes of a task need, train and evaluate the probes, and remove the states.

    Args:
        model: the model.
        task: name.
        probed: corpora of its probes, without states.
        plan: which probes.
        out: files to write, see `probing.Outputs`.
        folder: for the states; remains of a killed job are removed. Below the folder that `SCRATCH` names,
            such as a disk of the node, where it is set.
        threads: of the arithmetic.

    Raises:
        AtlasError: no targets, misaligned spans, states that are not finite, or a full disk.
    """
    torch.set_num_threads(threads)
    if scratch := os.environ.get(SCRATCH):
        folder = Path(scratch) / Path(folder).as_posix().replace("/", "-").strip("-")
    with stored_states(model, task, probed, Path(folder)) as with_states:
        probe_task(task, with_states, plan, out, threads)


@contextlib.contextmanager
def stored_states(model: ProbedModel, task: str, probed: ProbedTask, folder: Path) -> Iterator[ProbedTask]:
    """The task with the states of its corpora, which are removed at the end; arguments as of `probe_model`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        encoder, card = load_model(model.entry, pick_device()), read_card(model.card_path)
        states: dict[tuple[str, ...], list[Path]] = {}
        parts = [part for part in (probed.training, probed.development, probed.cases) if part]
        for number, (key, corpus) in enumerate({_key(part): part for part in parts}.items()):
            files = states.setdefault(key, [])
            for shard, path in enumerate(corpus.examples):
                examples = list(read_examples([path]))
                wanted = {example.record: pieces_of_targets(example, task) for example in examples}
                files.append(folder / f"{number}-{shard}.safetensors")
                store_hidden_states(encoder, card, examples, wanted, files[-1], corpus.limit)
        del encoder
        size = sum(path.stat().st_size for path in folder.iterdir())
        _log.info("hidden states of the targets take %.3g GB until this job ends", size / 1e9)

        def with_states(corpus: ProbedCorpus) -> ProbedCorpus:
            return replace(corpus, states=states[_key(corpus)])

        yield replace(
            probed,
            training=with_states(probed.training),
            development=with_states(probed.development),
            cases=with_states(probed.cases) if probed.cases else None,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pieces_of_targets(example: Example, task: str) -> list[int]:
    """Word pieces in the spans of an example's targets of a task, each once and in order."""
    spans = {span for target in example.edges or () if target.task == task for span in (target.span1, target.span2) if span}
    if not spans:
        return []
    of_words = piece_spans(example)
    # A span outside of the words is reported where its target is read.
    pieces = {piece for start, stop in spans for words in of_words[start:stop] for piece in range(*words)}
    return sorted(pieces)


def _key(corpus: ProbedCorpus) -> tuple[str, ...]:
    return tuple(map(str, corpus.examples))
