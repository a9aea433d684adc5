"""Measures of a task as stored in a file, from which tables are computed without a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from attention_atlas.errors import DamagedFile
from attention_atlas.studies.kovaleva2019.names import BASE, NETWORK, PADDED, REAL, REAL_SAME, RULES, TUNED
from attention_atlas.studies.kovaleva2019.word_features import FEATURES, MODES

Floats = npt.NDArray[np.float32]
MODELS = (BASE, TUNED)
SEP_SUM = "sep_sum"
MEASURED = (*FEATURES, SEP_SUM)
"""The largest mean attention over the tokens with a feature; for separators their sum as well."""
ANNOTATORS = (NETWORK, RULES)


@dataclass(frozen=True)
class Measures:
    """Measures of a task.

    Attributes:
        records: [example] records of the corpus.
        padded_records: [padded example] those of the padded comparison.
        cosine: [example, layer, head] cosine between the maps of the two models, padding aside.
        padded: [padded example, layer, head] the same of maps padded to one length, including the rows of padding.
        columns: [model, mode, example, feature, layer, head] largest column mean over the tokens with a feature, NaN without
            one.
        first_row: [model, mode, example, feature, head] the same of the row of the first token in the last layer.
        classes: [annotator, example, layer, head] class of each map of the fine-tuned model.
        links: [model, mode, example, link, layer, head] largest weight over the pairs of tokens of a link, NaN without one.
        link_controls: the same of other pairs at the same distances, NaN without one.
        untagged, unlinked: why there are no tags, and no heads of words; empty where they exist.
    """

    records: npt.NDArray[np.int64]
    padded_records: npt.NDArray[np.int64]
    cosine: Floats
    padded: Floats
    columns: Floats
    first_row: Floats
    classes: npt.NDArray[np.int8]
    links: Floats
    link_controls: Floats
    untagged: str
    unlinked: str

    def cosines(self) -> dict[str, Floats]:
        """The compared maps (`PADDED`, `REAL_SAME`, `REAL`) -> [example, layer, head] cosines."""
        if not len(self.padded):
            return {REAL: self.cosine}
        return {PADDED: self.padded, REAL_SAME: self.cosine[np.isin(self.records, self.padded_records)], REAL: self.cosine}

    def feature(self, model: str, mode: str, feature: str) -> Floats:
        """[example, layer, head] of one model, mode and feature."""
        return self.columns[MODELS.index(model), MODES.index(mode), :, MEASURED.index(feature)]


def read_measures(path: str | Path) -> Measures:
    """Read the file of `measures.measure`.

    Raises:
        AtlasError: the file is missing or damaged.
    """
    try:
        with safe_open(path, framework="np") as stream:
            facts = json.loads(stream.metadata()["facts"])
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            return Measures(**tensors, untagged=facts["untagged"], unlinked=facts["unlinked"])
    except (OSError, KeyError, TypeError, ValueError, SafetensorError) as error:
        raise DamagedFile(path, f"not readable measures ({error})") from error
