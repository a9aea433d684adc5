"""Inputs that the benchmarks share: a model of BERT-base's shape and examples."""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from attention_atlas.corpora.examples import Example

THREADS = 2
LENGTH = 128


def bert_base(implementation: str) -> BertModel:
    """A randomly initialised model of BERT-base's shape."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model = BertModel(BertConfig(), add_pooling_layer=False).eval()
    model.set_attn_implementation(implementation)
    return model


def examples_of(lengths: list[int]) -> list[Example]:
    """Examples of random word pieces with the given lengths."""
    generator = torch.Generator().manual_seed(0)
    examples = []
    for record, n in enumerate(lengths):
        ids = tuple(torch.randint(1000, 30000, (n,), generator=generator).tolist())
        word = (-1, *range(n - 2), -1)
        examples.append(Example(record, str(record), ids, (0,) * n, ("x",) * n, word, ("x",) * (n - 2)))
    return examples


def treebank_lengths(count: int) -> list[int]:
    """Lengths, in words and special tokens, of the first sentences of the generated treebank."""
    from sample_corpus.write import write_sample

    from attention_atlas.corpora.conllu import read_conllu

    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder), documents=max(count // 8, 4), seed=0)
        return [len(tree.words) + 2 for tree in islice(read_conllu(Path(folder, "sd.conllu")), count)]
