"""Labelled maps: texts and labels that come with the workflow, and the attention maps of a model on these texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.building import from_labelled
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.glue import Labelled
from attention_atlas.errors import AtlasError
from attention_atlas.io.data_files import RESOURCES
from attention_atlas.io.files import read_lines
from attention_atlas.io.tables import read_table
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import load_model
from attention_atlas.studies.kovaleva2019.names import CLASSES

FOLDER = RESOURCES / "kovaleva2019"
TEXTS, LABELS = "annotated_texts.jsonl", "annotated_maps.csv"


@dataclass(frozen=True)
class LabelledMap:
    """A map with its label.

    Attributes:
        text: id of the text.
        layer, head: from 1.
        label: its place in `CLASSES`.
        annotator: who labelled it.
    """

    text: str
    layer: int
    head: int
    label: int
    annotator: str


@dataclass(frozen=True)
class Annotated:
    """Labelled maps with their examples, and all maps of the same texts.

    Attributes:
        examples, maps, labelled: map by map the example, the weights [n, n] in float32, and the label by the annotator with
            the most labels.
        whole: text -> its example and all maps of the model, [layer, head, n, n].
    """

    examples: Sequence[Example]
    maps: Sequence[torch.Tensor]
    labelled: Sequence[LabelledMap]
    whole: Mapping[str, tuple[Example, npt.NDArray[np.float16]]]

    @property
    def labels(self) -> npt.NDArray[np.intp]:
        return np.asarray([map_.label for map_ in self.labelled], dtype=np.intp)

    @property
    def texts(self) -> npt.NDArray[Any]:
        """[map] the text that each map belongs to."""
        return np.asarray([map_.text for map_ in self.labelled])


def read_labels(path: str | Path = FOLDER / LABELS) -> list[LabelledMap]:
    """Labels as the labelling page writes them: text, layer, head, label, annotator, separated by commas.

    Raises:
        AtlasError: a missing column, an unknown class, or a map that is labelled twice by one annotator; with the line.
    """
    labelled_maps: list[LabelledMap] = []
    seen = set()
    for number, row in enumerate(read_table(path, ["text", "layer", "head", "label", "annotator"], ",").itertuples(), start=2):
        if row.label not in CLASSES:
            raise AtlasError(f"{path}:{number}: there is no class {row.label!r}; the classes are {', '.join(CLASSES)}.")
        map_ = LabelledMap(str(row.text), int(row.layer), int(row.head), CLASSES.index(row.label), str(row.annotator))
        key = (map_.text, map_.layer, map_.head, map_.annotator)
        if key in seen:
            raise AtlasError(f"{path}:{number}: map {map_.layer}-{map_.head} of text {map_.text} is labelled twice.")
        seen.add(key)
        labelled_maps.append(map_)
    return labelled_maps


def by_annotator(labelled_maps: Sequence[LabelledMap]) -> list[list[LabelledMap]]:
    """The labels of each annotator, starting with the one with the most labels; the classifiers learn from these."""
    annotators = Counter(map_.annotator for map_ in labelled_maps)
    return [[map_ for map_ in labelled_maps if map_.annotator == name] for name, _ in annotators.most_common()]


def annotated_maps(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer: str | Path,
    texts: str | Path = FOLDER / TEXTS,
    labels: str | Path = FOLDER / LABELS,
) -> Annotated:
    """The labelled maps, computed by a model.

    Args:
        model_entry: registry entry of the model whose maps were labelled.
        card_path: its card.
        tokenizer: its tokenizer.json.
        texts, labels: files in the format of those that come with the workflow.

    Raises:
        AtlasError: a file cannot be read, or a label names an unknown text, layer or head.
    """
    card, pieces = read_card(card_path), WordPieces(tokenizer)
    examples: dict[str, Example] = {}
    for number, (line, text) in enumerate(read_lines(texts)):
        try:
            entry = json.loads(text)
            item = Labelled(entry["id"], tuple(entry["texts"]), "")
        except (ValueError, KeyError, TypeError) as error:
            raise AtlasError(f"{texts}:{line}: expected an object with id and texts ({error}).") from error
        example = from_labelled(item, number, pieces, card.max_tokens, "drop")
        if not isinstance(example, Example):
            raise AtlasError(f"{texts}:{line}: this text cannot be labelled: {example.reason}, {example.detail}.")
        examples[example.id] = example
    labelled = by_annotator(read_labels(labels))[0]
    for map_ in labelled:
        if map_.text not in examples or not (1 <= map_.layer <= card.layers and 1 <= map_.head <= card.heads):
            raise AtlasError(
                f"{labels}: there is no map {map_.layer}-{map_.head} of text {map_.text} in {card.name} "
                f"({card.layers} layers of {card.heads} heads): label maps of this model, or set patterns.model."
            )
    maps = attention_maps(load_model(model_entry, pick_device()), list(examples.values()), card.pad or 0)
    labelled_weights = [maps[examples[map_.text].record][map_.layer - 1, map_.head - 1] for map_ in labelled]
    return Annotated(
        [examples[map_.text] for map_ in labelled],
        [torch.from_numpy(weights.astype(np.float32)) for weights in labelled_weights],
        labelled,
        {name: (example, maps[example.record]) for name, example in examples.items()},
    )
