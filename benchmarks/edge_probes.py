"""Training edge probes: all layers at once from cached states, against one probe at a time with the encoder in the loop."""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertModel

from attention_atlas.attention.batches import model_inputs
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.models.extraction import hidden_states
from attention_atlas.studies.tenney2019.probes import ProbeKey, train_probes
from attention_atlas.studies.tenney2019.targets import Recipe, task_targets
from benchmarks.shapes import THREADS, treebank_lengths
from benchmarks.timing import report, side_by_side

LAYERS, WIDTH, SENTENCES, STEPS, BATCH, ROUNDS = 6, 384, 128, 4, 32, 3
LABELS = tuple(f"L{k}" for k in range(40))


def run() -> None:
    """Print the ratios; both ways take the same steps with the same batches, targets and recipe."""
    generator = np.random.default_rng(0)
    torch.set_num_threads(THREADS)
    shape = {"num_hidden_layers": LAYERS, "hidden_size": WIDTH, "intermediate_size": 4 * WIDTH}
    model = BertModel(BertConfig(**shape), add_pooling_layer=False).eval()
    examples = [_example(record, max(n, 6), generator) for record, n in enumerate(treebank_lengths(SENTENCES))]
    targets = task_targets("dependencies", examples, examples[:BATCH])
    cache = {example.record: states for example, states in hidden_states(model, examples, 0)}
    recipe = Recipe(batch=BATCH, evaluation_interval=STEPS, max_steps=STEPS, equal_steps=STEPS, evaluation_sentences=1)
    keys = [ProbeKey(top, 1) for top in range(LAYERS + 1)]

    def together() -> None:
        train_probes(targets, lambda example: cache[example.record], keys, recipe)

    def one_at_a_time() -> None:
        for key in keys:
            # The encoder runs on every batch that the probe is trained on; its states are then those of the cache.
            for start in range(0, STEPS * BATCH, BATCH):
                inputs = model_inputs(model, examples[start : start + BATCH], 0)
                with torch.inference_mode():
                    model(**inputs, output_hidden_states=True)
            train_probes(targets, lambda example: cache[example.record], [key], recipe)

    words = np.mean([len(example.words) for example in examples])
    print(f"{LAYERS + 1} probes on {LAYERS} layers of {WIDTH}, {STEPS} steps of {BATCH} sentences of {words:.0f} words")
    first = "all layers at once, from the cache"
    report(side_by_side({first: together, "one probe at a time, the encoder in the loop": one_at_a_time}, ROUNDS), first)


def _example(record: int, pieces: int, generator: np.random.Generator) -> Example:
    """A sentence of words of one piece, each with a dependency."""
    words = pieces - 2
    targets = tuple(
        EdgeTarget((k, k + 1), (int(head), int(head) + 1), (LABELS[int(label)],), "dependencies")
        for k, (head, label) in enumerate(generator.integers((words, len(LABELS)), size=(words, 2)))
    )
    ids = tuple(generator.integers(5, 1000, size=pieces).tolist())
    marks = (-1, *range(words), -1)
    names = tuple(f"w{k}" for k in range(words))
    return Example(record, f"e{record}", ids, (0,) * pieces, tuple(map(str, ids)), marks, names, edges=targets)
