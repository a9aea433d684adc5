"""Documents with tags, attention over them by chance, and answers of taggers, for tests of the keyphrase study."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.methods.head_measures import ANSWERS
from attention_atlas.models.card import ModelCard
from attention_atlas.studies.stefanik2021.head_measures import METHOD_TITLES
from attention_atlas.studies.stefanik2021.removal import REMOVED
from attention_atlas.studies.stefanik2021.scores import Evaluated, Scores

LAYERS, HEADS = 2, 2
CARD = ModelCard("tiny", "here", "bert", LAYERS, HEADS, 64, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")


def cached(record: int, size: int) -> CachedExample:
    """Attention over a document of `size` words."""
    chance = np.random.default_rng(record)
    maps = chance.random((LAYERS, HEADS, size + 2, size + 2)).astype(np.float16)
    word = (-1, *range(size), -1)
    return CachedExample(record, f"d{record}", "tokens", ("t",) * (size + 2), word, ("w",) * size, maps)


def tagged(record: int, size: int) -> Example:
    """The document."""
    tags = tuple("BIO"[(record + k) % 3] for k in range(size))
    word = (-1, *range(size), -1)
    phrases = (Keyphrase("w w", True), Keyphrase("x", False))
    ids = (0,) * (size + 2)
    return Example(record, f"d{record}", ids, ids, ("t",) * (size + 2), word, ("w",) * size, {"tags": tags}, keyphrases=phrases)


def answers(seed: int, lost_without_heads: int = 12) -> pd.DataFrame:
    """Answers on 4 development and 8 test documents of 12 words, of which 5 are wrong with all heads, 1 without head 1-1, 9
    without any other, and `lost_without_heads` without all.
    """
    chance = np.random.default_rng(seed)
    frames = []
    for split, records in (("development", range(4)), ("test", range(4, 12))):
        gold = {record: "B" + "".join(chance.choice(list("BIOOO"), 11)) for record in records}
        single = [((layer + 1, head + 1), 1 if layer == head == 0 else 9) for layer, head in np.ndindex(LAYERS, HEADS)]
        sets = [(("one", 0, 0, int(place > (0, 0))), place, lost) for place, lost in [((0, 0), 5), *single]]
        orders = [("worst_to_best", 0), ("importance", 0)]
        orders += [("worst_to_best_on_test", 0), ("random", 0), ("random", 1)] if split == "test" else []
        for order in orders:
            for percent, count, lost in ((0, 0, 5), (25, 1, 1), (50, 2, 4), (100, 4, lost_without_heads)):
                sets.append(((*order, percent, count), (0, 0), lost))
        for key, place, lost in sets:
            for record, tags in gold.items():
                wrong = chance.choice(12, lost, replace=False)
                answer = "".join("O" if k in wrong else tag for k, tag in enumerate(tags))
                frames.append((split, *key, *place, record, answer, tags))
    return pd.DataFrame(frames, columns=[*REMOVED, "layer", "head", *ANSWERS])


def evaluated_methods(change: Mapping[str, float] | None = None) -> dict[str, Evaluated]:
    """All methods with F1 of 8 test and 4 development documents by chance; `change` adds to a method's F1 on test documents."""
    chance = np.random.default_rng(3)
    evaluated: dict[str, Evaluated] = {}
    for method in METHOD_TITLES:
        of_splits = []
        for size in (4, 8):
            added = (change or {}).get(method, 0.0) if size == 8 else 0.0
            f1 = {metric: added + chance.uniform(20, 60, size) for metric in ("f1_at_5", "f1_at_10", "f1_at_m")}
            right = chance.integers(0, 4, (2, size))
            of_splits.append(Scores(f1, np.stack([right, right + 2, right + 1], axis=-1).astype(float)))
        evaluated[method] = (None, None, of_splits[1]) if method == "fine_tuned" else (3, *of_splits)
    return evaluated
