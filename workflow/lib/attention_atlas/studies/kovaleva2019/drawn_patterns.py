"""The maps of Figure 1: for each class, of one example, the most typical map among those that the rules give this class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import map_rows
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import load_model
from attention_atlas.studies.kovaleva2019.map_network import as_pictures, classify
from attention_atlas.studies.kovaleva2019.names import BLOCK, CLASSES
from attention_atlas.studies.kovaleva2019.patterns import read_patterns
from attention_atlas.studies.kovaleva2019.rule_labels import map_numbers, rule_labels

_LONGEST = (22, 28, 34, 40)
"""Limits on the tokens of an example: shorter ones are more readable. The first limit with enough examples is used."""
_CANDIDATES, _FEWEST = 24, 8
"""Largest number of candidates, and the smallest where there are enough examples."""
_LOCAL = 3
"""Distance in tokens up to which attention within a segment may come from a band along the diagonal."""


def draw_patterns(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    network_path: str | Path,
    thresholds_path: str | Path,
    task: str,
    out: str | Path,
) -> None:
    """Write figure1.tsv.

    Args:
        model_entry: registry entry of a fine-tuned model.
        card_path: card of the model that it was trained from.
        example_files: examples of its task.
        limit: use at most this many records.
        network_path, thresholds_path: of `train_patterns`.
        task: name of the task.
        out: class, probability, rule_class (of this map by the rules), task, example, layer, head, query, key (from 1),
            query_token, weight.

    Raises:
        AtlasError: there is no example.
    """
    card = read_card(card_path)
    examples = candidates(list(read_examples(example_files, limit)))
    maps = attention_maps(load_model(model_entry, pick_device()), examples, card.pad or 0)
    network, thresholds, size, scale = read_patterns(network_path, thresholds_path)
    probabilities_of, classes_of, typical_of = {}, {}, {}
    for example in examples:
        flat = torch.from_numpy(maps[example.record].astype(np.float32)).flatten(0, 1)
        special = torch.tensor([word == SPECIAL for word in example.word])
        probabilities_of[example.record] = classify(network, as_pictures(flat, special, size, scale))
        numbers = map_numbers(flat, special, torch.tensor(example.segment_ids))
        classes_of[example.record] = rule_labels(numbers.numpy(), thresholds)
        typical = np.array(probabilities_of[example.record], dtype=np.float64)
        typical[:, CLASSES.index(BLOCK)] = far_block(flat, special, torch.tensor(example.segment_ids)).numpy()
        typical_of[example.record] = typical
    # One example for all classes, as in the paper: that with the most classes, then the most typical maps.
    chosen_of = {record: _typical_heads(typical_of[record], classes_of[record]) for record in typical_of}
    best = max(examples, key=lambda example: _coverage(chosen_of[example.record], typical_of[example.record]))
    probabilities, classes = probabilities_of[best.record], classes_of[best.record]
    frames = []
    for place, head in chosen_of[best.record].items():
        layer, column = divmod(head, card.heads)
        cells = map_rows(best.tokens, maps[best.record][layer, column])
        frames.append(
            cells.assign(
                **{"class": CLASSES[place]},
                probability=float(probabilities[head, place]),
                rule_class=CLASSES[classes[head]],
                task=task,
                example=best.id,
                layer=layer + 1,
                head=column + 1,
            )
        )
    order = ["class", "probability", "rule_class", "task", "example", "layer", "head", "query", "key", "query_token", "weight"]
    write_table(pd.concat(frames, ignore_index=True)[order], out)


def far_block(maps: torch.Tensor, special: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
    """[map] how block-like maps are away from the diagonal: a band along it also lies within segments, but is not a block.

    Of the mass between tokens farther apart than `_LOCAL`, the share within a segment, minus that of uniform rows; weighted by
    the share of the mass between all tokens that lies at such distances.

    Args:
        maps: [map, n, n] rows sum to 1.
        special: [n] which tokens are special.
        segment: [n] segment of each token.
    """
    inner = ~special
    place = torch.arange(len(special))
    pairs = (inner[:, None] & inner[None, :]).to(maps.dtype)
    far = pairs * ((place[:, None] - place[None, :]).abs() > _LOCAL)
    same = far * (segment[:, None] == segment[None, :])
    between, mass = (maps * pairs).sum((-2, -1)).clamp(min=1e-9), (maps * far).sum((-2, -1)).clamp(min=1e-9)
    beyond = (maps * same).sum((-2, -1)) / mass - same.sum() / far.sum().clamp(min=1)
    return beyond * mass / between


def _typical_heads(typical: npt.NDArray[np.float64], classes: npt.NDArray[np.intp]) -> dict[int, int]:
    """Class of an example -> its most typical map among those that have this class by the rules.

    Args:
        typical: [map, class] how typical of a class a map is.
        classes: [map] class by the rules, its place in `CLASSES`.
    """
    maps_of = {int(place): np.flatnonzero(classes == place) for place in np.unique(classes)}
    return {place: int(of_class[typical[of_class, place].argmax()]) for place, of_class in maps_of.items()}


def _coverage(chosen: Mapping[int, int], typical: npt.NDArray[np.float64]) -> tuple[int, float]:
    """Number of classes, and the sum of how typical their maps are.

    Args:
        chosen: class -> map.
        typical: [map, class] how typical of a class a map is.
    """
    return len(chosen), float(sum(typical[head, place] for place, head in chosen.items()))


def candidates(examples: Sequence[Example]) -> list[Example]:
    """Short examples that the maps of Figure 1 are chosen from; the shortest where none is short.

    Raises:
        AtlasError: there is no example.
    """
    if not examples:
        raise AtlasError("there is no example to draw: every record was dropped (see dropped.tsv), or `limit` is too small.")
    for longest in _LONGEST:
        short = [e for e in examples if len(e.input_ids) <= longest]
        if len(short) >= _FEWEST:
            break
    short = short or sorted(examples, key=lambda e: len(e.input_ids))[:1]
    # Examples are in the seeded order of their corpus: a longer list begins with the same ones.
    return short[:_CANDIDATES]
