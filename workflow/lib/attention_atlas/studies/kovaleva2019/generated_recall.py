"""Share of generated maps of each class and length that the trained classifiers recognise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from attention_atlas.studies.kovaleva2019.generated_maps import LENGTHS, Drawn, draw
from attention_atlas.studies.kovaleva2019.map_network import MapNetwork, as_pictures, classify
from attention_atlas.studies.kovaleva2019.names import CLASS_TITLES, CLASSES, GENERATED, NETWORK, RULES
from attention_atlas.studies.kovaleva2019.rule_labels import Thresholds, map_numbers, rule_labels

_MAPS = 8
"""Generated maps of each class and length."""
_KNOWN = 0.8
"""Smallest recall at which a class counts as recognised at a length, for the sentence of the page."""


def generated_recall(network: MapNetwork, thresholds: Thresholds, size: int, scale: str) -> pd.DataFrame:
    """A row for each classifier and class.

    Args:
        network, thresholds: the classifiers, trained on all labelled maps.
        size, scale: of the network's pictures.

    Returns:
        annotator, folds (`GENERATED`), class, n (maps of all lengths), recall, least (recall at the length where it is lowest),
        least_at (that length in tokens).
    """
    right = {name: np.zeros((len(CLASSES), len(LENGTHS))) for name in (NETWORK, RULES)}
    for place, kind in enumerate(CLASSES):
        for column, length in enumerate(LENGTHS):
            maps = [draw(kind, length, np.random.default_rng([length, place, number])) for number in range(_MAPS)]
            pictures = torch.cat([_picture(map_, size, scale) for map_ in maps])
            right[NETWORK][place, column] = (classify(network, pictures).argmax(axis=1) == place).mean()
            numbers = np.stack([_numbers(map_) for map_ in maps])
            right[RULES][place, column] = (rule_labels(numbers, thresholds) == place).mean()
    return pd.DataFrame(
        [
            {
                "annotator": name,
                "folds": GENERATED,
                "class": kind,
                "n": _MAPS * len(LENGTHS),
                "recall": float(shares[place].mean()),
                "least": float(shares[place].min()),
                "least_at": LENGTHS[int(shares[place].argmin())],
            }
            for name, shares in right.items()
            for place, kind in enumerate(CLASSES)
        ]
    )


def recall_note(table: pd.DataFrame) -> str:
    """The classes that each classifier does not recognise at some length, for the page."""
    parts = []
    for name in (RULES, NETWORK):
        rows = table[(table["folds"] == GENERATED) & (table["annotator"] == name)]
        missed = [
            f"{CLASS_TITLES[row['class']]} ({row['recall']:.0%} of all, {row['least']:.0%} at {row['least_at']:.0f} tokens)"
            for row in rows.to_dict("records")
            if row["least"] < _KNOWN
        ]
        parts.append(f"The {name} {'miss' if name == RULES else 'misses'} {', '.join(missed) or 'none'}.")
    return (
        f"folds = {GENERATED}: maps drawn from the definition of each class, {LENGTHS[0]} to {LENGTHS[-1]} tokens long, with "
        "the special tokens at random positions; recall, and the lowest recall at one length (least, least_at). Classes of "
        f"which a classifier recognises less than {_KNOWN:.0%} at some length: {' '.join(parts)}"
    )


def _picture(map_: Drawn, size: int, scale: str) -> torch.Tensor:
    return as_pictures(torch.from_numpy(map_.weights)[None], torch.from_numpy(map_.special), size, scale)


def _numbers(map_: Drawn) -> np.ndarray:
    return map_numbers(*(torch.from_numpy(values) for values in (map_.weights, map_.special, map_.segment))).numpy()
