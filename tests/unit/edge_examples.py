"""Examples with targets, and hidden states from which a layer tells the label: small, and made from a seed."""

from typing import Any

import numpy as np

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.studies.tenney2019.targets import TaskTargets, task_targets

LAYERS, WIDTH, TELLING = 3, 12, 2
LABELS = ("A", "B", "C")


def edge_example(record: int, task: str, pairs: bool, seed: int = 0) -> Example:
    """Six words, of which the odd ones have two pieces, between special tokens; one target per word, labelled by its letter."""
    chance = np.random.default_rng([seed, record])
    letters = chance.integers(len(LABELS), size=6)
    words = tuple(f"w{LABELS[k]}{int(chance.integers(4))}" for k in letters)
    word = [-1]
    for k in range(6):
        word += [k] * (1 + k % 2)
    word.append(-1)
    targets = tuple(
        EdgeTarget((k, k + 1), ((k + 1) % 6, (k + 1) % 6 + 1) if pairs else None, (LABELS[letter],), task)
        for k, letter in enumerate(letters)
    )
    ids = tuple(range(len(word)))
    tokens = tuple(f"t{record}-{k}" for k in ids)
    return Example(record, f"e{record}", ids, (0,) * len(ids), tokens, tuple(word), words, edges=targets)


def telling_states(example: Example, seed: int = 0) -> np.ndarray:
    """[layers + 2, n, width]: noise, but the layers from `TELLING` on hold the label of each word."""
    chance = np.random.default_rng([seed, example.record, 1])
    states = chance.normal(size=(LAYERS + 2, len(example.word), WIDTH))
    for piece, word in enumerate(example.word):
        if word >= 0:
            states[TELLING : LAYERS + 1, piece, LABELS.index(example.words[word][1])] += 4
    return states.astype(np.float16)


def word_task(
    task: str = "pos", pairs: bool = False, training: int = 40, development: int = 12, **settings: Any
) -> TaskTargets:
    examples = [edge_example(record, task, pairs) for record in range(training + development)]
    return task_targets(task, examples[:training], examples[training:], **settings)
