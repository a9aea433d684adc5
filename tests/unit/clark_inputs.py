"""Inputs of the tests of Clark et al. (2019): sentences with trees, gold, scores of heads, tables of measures."""

import numpy as np
import pandas as pd

from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example
from attention_atlas.methods.dependency_scoring import Gold, Scores
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.methods.surface import MEASURES
from attention_atlas.stats.held_out import Resampling

RESAMPLING = Resampling(folds=5, resamples=200, seed=3)
SHAPE = (2, 3, 4)  # directions, layers, heads


def sentence(words, heads, relations, record=0):
    """A sentence with its tree, between [CLS] and [SEP]."""
    n = len(words)
    layers = {"heads": tuple(heads), "relations": tuple(relations)}
    tokens, places = ("[CLS]", *words, "[SEP]"), (-1, *range(n), -1)
    return Example(record, f"s{record}", (0,) * (n + 2), (0,) * (n + 2), tokens, places, tuple(words), layers)


def cached(example, maps):
    """Its attention, over word pieces."""
    maps = maps.astype(np.float16)
    return CachedExample(example.record, example.id, "tokens", example.tokens, example.word, example.words, maps)


def make_gold(sentences, length, labels, seed=0):
    """Sentences of one length whose words carry labels drawn from `labels`; the first word is the root, heads are random."""
    generator = np.random.default_rng(seed)
    tokens = sentences * length
    position = np.tile(np.arange(1, length + 1), sentences)
    head = np.where(position == 1, 0, generator.integers(1, position.clip(2)))
    relation = np.where(position == 1, "root", generator.choice(labels, tokens))
    return Gold(
        sentence=np.repeat(np.arange(sentences), length),
        position=position.astype(np.int16),
        length=np.full(tokens, length, dtype=np.int16),
        head=head.astype(np.int16),
        relation=relation.astype(str),
        before_possessive=np.zeros(tokens, dtype=bool),
        ids=tuple(f"s{i}" for i in range(sentences)),
    )


def random_scores(gold, seed=0, share=0.3):
    generator = np.random.default_rng(seed)
    heads = generator.random((len(gold), *SHAPE)) < share
    offsets = generator.random((len(gold), len(AS_PUBLISHED.offsets))) < share
    return Scores(heads, offsets, heads, offsets)


def row_of(frame, relation):
    return frame.set_index("relation").loc[relation]


def surface_frame(layers=3, heads=2):
    """A value of each measure for every head."""
    names = ["measure", "layer", "head"]
    frame = pd.MultiIndex.from_product([MEASURES, range(1, layers + 1), range(1, heads + 1)], names=names).to_frame(index=False)
    frame["value"] = 0.05 + 0.1 * frame["measure"].map(MEASURES.index) % 0.8 + 0.03 * frame["layer"] + 0.01 * frame["head"]
    return frame.assign(ci_low=frame["value"] - 0.01, ci_high=frame["value"] + 0.01, n=40, unit="documents", units=9)
