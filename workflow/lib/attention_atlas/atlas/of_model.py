"""Measures that need only a model's attention on parsed sentences, the same for every model that a run compares."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.corpora.examples import read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_table
from attention_atlas.methods.dependency_scoring import gather_gold, predict, score
from attention_atlas.methods.distance_features import DEFAULT, mean_features
from attention_atlas.methods.head_relations import head_relations
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.methods.head_types import types_of
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.methods.relation_tables import heads_frame, relations_frame
from attention_atlas.methods.surface import surface_frame
from attention_atlas.models.card import read_card
from attention_atlas.stats.held_out import Resampling

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outputs:
    """Files to write, in the form of the tables of the studies.

    Attributes:
        surface: like `clark2019/surface`.
        heads, dependencies: like `clark2019/dependency_heads` and `clark2019/dependencies`.
        head_relations: like `clark2019/dependency_head_relations`.
        types: like `guan2020/head_types`, without the features; no rows if the clusters of heads cannot be named.
    """

    surface: str | Path
    heads: str | Path
    dependencies: str | Path
    head_relations: str | Path
    types: str | Path


def measure_model(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    card_path: str | Path,
    limit: int,
    min_count: int,
    resampling: Resampling,
    out: Outputs,
) -> None:
    """Measure every head of a model on the sentences of a treebank, with the options as published.

    Args:
        shards, example_files: attention over word pieces and the sentences with their trees, in order.
        card_path: card of the model.
        limit: use at most this many records of the corpus.
        min_count: relations with fewer words get no best head, except those of the Table 1 of Clark et al.
        resampling: folds and halves of the held-out choices, and bootstrap: over documents, or sentences if the corpus names
            no documents.
        out: files to write.

    Raises:
        AtlasError: cache and examples do not match, the cache is over words, or there is nothing to measure.
    """
    card = read_card(card_path)
    examples = list(read_examples(example_files, limit))
    gold = gather_gold(examples)

    def cached(label: str) -> Iterator[CachedExample]:
        return progress(read_attention(shards, limit), total=len(examples), label=label)

    # Runs first, since it rejects a cache over words.
    features, _ = mean_features(cached("distances"), card.cls, card.sep, [DEFAULT])
    mean = features[0].mean(axis=0)
    surface = surface_frame(cached("surface"), card, AS_PUBLISHED, resampling.resamples, resampling.seed, items="sentences")
    write_table(surface, out.surface)
    predictions = predict(examples, cached("relations"), (AS_PUBLISHED.word_mode,), card.cls, card.sep)
    scores = score(predictions.picked[AS_PUBLISHED.word_mode], gold, AS_PUBLISHED)
    write_table(heads_frame(scores, gold, AS_PUBLISHED), out.heads)
    write_table(relations_frame(scores, gold, AS_PUBLISHED, min_count, resampling), out.dependencies)
    write_table(head_relations(scores, gold, AS_PUBLISHED, resampling), out.head_relations)
    write_table(type_rows(mean, len(features[0]), resampling.seed), out.types)


def type_rows(features: npt.NDArray[np.float64], examples: int, seed: int) -> pd.DataFrame:
    """layer, head, type of heads by their mean distance features [layer, head, 21], and the number n of examples of the mean.

    No rows if the heads have no types.
    """
    try:
        types = types_of(features.reshape(-1, features.shape[-1]), seed).names
    except AtlasError as error:
        _log.warning("no types of heads: %s", error)
        return pd.DataFrame(columns=["layer", "head", "type", "n"])
    return head_rows(np.asarray(types, dtype=object).reshape(features.shape[:2]), "type").assign(n=examples)
