"""A page for labelling maps by eye: one map at a time, keys 1 to 5, and a file of labels at the end. It needs no network."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.examples import Example
from attention_atlas.io.files import write_text
from attention_atlas.studies.kovaleva2019.names import CLASS_TITLES, CLASSES

_TEMPLATE = Path(__file__).with_name("labelling_page.html")


MapToLabel = tuple[str, int, int, npt.NDArray[np.floating], Example, int | None]
"""Text, layer and head (from 1), map [n, n], the example, and the place in `CLASSES` of the label that the map has."""


def write_labelling_page(unlabelled: Sequence[MapToLabel], labelled: Sequence[MapToLabel], path: str | Path) -> None:
    """Write the page.

    Args:
        unlabelled: maps without a label, which are shown first.
        labelled: maps with a label, which the page shows to a second annotator to compute Cohen's kappa.
        path: HTML file.
    """
    classes: list[dict[str, Any]] = [{"name": name, "title": CLASS_TITLES[name]} for name in CLASSES]
    data = json.dumps({"classes": classes, "maps": _entries(unlabelled), "labelled": _entries(labelled)}).replace("</", "<\\/")
    write_text(path, _TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/", data))


def _entries(maps: Sequence[MapToLabel]) -> list[dict[str, Any]]:
    entries = []
    for text, layer, head, weights, example, label in maps:
        shades = np.round(255 * np.sqrt(np.asarray(weights, np.float64).clip(0, 1))).astype(np.uint8)
        entries.append(
            {
                "text": text,
                "layer": layer,
                "head": head,
                "size": len(shades),
                "special": [k for k, word in enumerate(example.word) if word < 0],
                "shades": base64.b64encode(shades.tobytes()).decode("ascii"),
                "label": None if label is None else CLASSES[label],
            }
        )
    return entries
