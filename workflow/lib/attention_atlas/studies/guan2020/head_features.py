"""Distance features of every head of a model on a corpus: measurement in one pass over the cache, writing and reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import read_examples
from attention_atlas.errors import DamagedFile
from attention_atlas.io.files import whole_file
from attention_atlas.io.progress import progress
from attention_atlas.methods.distance_features import FeatureOptions, alternatives, mean_features
from attention_atlas.models.card import read_card


@dataclass(frozen=True)
class Features:
    """Features of heads.

    Attributes:
        values: [option, example, layer, head, 21], options as in `alternatives`.
        records: [example] the examples' records.
    """

    values: npt.NDArray[np.float32]
    records: npt.NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and heads."""
        return self.values.shape[2], self.values.shape[3]

    def by_example(self, options: FeatureOptions) -> npt.NDArray[np.float64]:
        """[example, head, 21] under some options, heads in the order of layers."""
        values = self.values[alternatives().index(options)]
        return values.reshape(len(values), -1, values.shape[-1]).astype(np.float64)

    def means(self, options: FeatureOptions) -> npt.NDArray[np.float64]:
        """[head, 21] means over the examples, with equal weight."""
        return self.by_example(options).mean(axis=0)


def measure_features(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    card_path: str | Path,
    samples: int,
    out: str | Path,
) -> None:
    """Measure the features of all heads on the first `samples` records, under all options.

    Only the first window of each passage is used.

    Args:
        shards: attention, over word pieces.
        example_files: the examples of the same records.
        card_path: the model's card.
        samples: number of records.
        out: safetensors file to write.

    Raises:
        AtlasError: the cache is over words, damaged, or empty.
    """
    card = read_card(card_path)
    later_windows = {
        e.record for e in read_examples(example_files, samples) if e.question is not None and e.id != e.question.question
    }
    cached = (example for example in read_attention(shards, samples) if example.record not in later_windows)
    values, records = mean_features(progress(cached, label="examples"), card.cls, card.sep, alternatives())
    with whole_file(out) as part:
        save_file({"values": values.astype(np.float32), "records": records.astype(np.int64)}, part)


def read_features(path: str | Path) -> Features:
    """Read what `measure_features` wrote.

    Raises:
        AtlasError: the file is missing or damaged.
    """
    try:
        tensors = load_file(path)
        return Features(tensors["values"], tensors["records"])
    except (OSError, KeyError, SafetensorError) as error:
        raise DamagedFile(path, f"not readable distance features ({error})") from error
