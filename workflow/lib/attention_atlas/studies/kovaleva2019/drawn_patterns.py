"""The maps that Figure 1 shows: for each class the map of one example that the network is surest of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import map_rows
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import load_model
from attention_atlas.studies.kovaleva2019.map_network import as_pictures, classify
from attention_atlas.studies.kovaleva2019.names import CLASSES
from attention_atlas.studies.kovaleva2019.patterns import read_patterns

_LONGEST = 40
"""Pieces of an example whose tokens can be read, at most, where there is such an example."""
_CANDIDATES = 24


def draw_patterns(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    network_path: str | Path,
    thresholds_path: str | Path,
    task: str,
    seed: int,
    out: str | Path,
) -> None:
    """Write figure1.tsv.

    Args:
        model_entry: registry entry of a fine-tuned model.
        card_path: card of the model that it was trained from.
        example_files: examples of its task.
        limit: use at most so many records.
        network_path, thresholds_path: of `train_patterns`.
        task: name of the task.
        seed: draws the examples.
        out: class, probability, task, example, layer, head, query, key (from 1), query_token, weight.

    Raises:
        AtlasError: there is no example.
    """
    card = read_card(card_path)
    examples = _drawn(list(read_examples(example_files, limit)), seed)
    maps = attention_maps(load_model(model_entry, pick_device()), examples, card.pad or 0)
    network, _, size, scale = read_patterns(network_path, thresholds_path)
    class_probabilities = {}
    for example in examples:
        flat = torch.from_numpy(maps[example.record].astype(np.float32)).flatten(0, 1)
        class_probabilities[example.record] = classify(network, as_pictures(flat, size, scale))
    # One example for all classes, as in the paper: that with the most classes, then the surest.
    best = max(examples, key=lambda example: _coverage(class_probabilities[example.record]))
    frames = []
    for place, name in enumerate(CLASSES):
        probabilities = class_probabilities[best.record]
        head = int(probabilities[:, place].argmax())
        if probabilities[head].argmax() != place:
            continue
        layer, column = divmod(head, card.heads)
        cells = map_rows(best.tokens, maps[best.record][layer, column])
        frames.append(
            cells.assign(
                **{"class": name},
                probability=float(probabilities[head, place]),
                task=task,
                example=best.id,
                layer=layer + 1,
                head=column + 1,
            )
        )
    order = ["class", "probability", "task", "example", "layer", "head", "query", "key", "query_token", "weight"]
    write_table(pd.concat(frames, ignore_index=True)[order], out)


def _coverage(probabilities: npt.NDArray[np.float32]) -> tuple[int, np.float32]:
    """How many classes the maps of an example have, and the sum of the highest probability of each class."""
    return len(set(probabilities.argmax(axis=1).tolist())), probabilities.max(axis=0).sum()


def _drawn(examples: Sequence[Example], seed: int) -> list[Example]:
    if not examples:
        raise AtlasError("there is no example to draw: every record was dropped, or the limit is too small.")
    short = [e for e in examples if len(e.input_ids) <= _LONGEST] or sorted(examples, key=lambda e: len(e.input_ids))[:1]
    order = np.random.default_rng(seed).permutation(len(short))[:_CANDIDATES]
    return [short[k] for k in sorted(order.tolist())]
