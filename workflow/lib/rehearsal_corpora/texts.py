"""The generated text of all stand-ins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sample_corpus.edges import edge_record
from sample_corpus.generate import Document, Sentence, generate_documents
from sample_corpus.parallel import parallel_lines

from attention_atlas.corpora.edges import EdgeRecord


@dataclass(frozen=True)
class Texts:
    """Documents for training and for evaluation, and pairs of sentences in English and French.

    Attributes:
        seed: seed of all texts.
        documents: number of documents in each of the two parts.
        pairs: number of sentences with translations.
    """

    seed: int = 2019
    documents: int = 60
    pairs: int = 240

    @cached_property
    def evaluation(self) -> list[Document]:
        """Documents for evaluation."""
        return list(generate_documents(self.documents, self.seed))

    @cached_property
    def training(self) -> list[Document]:
        """Documents for training."""
        return list(generate_documents(self.documents, self.seed, start=self.documents))

    @cached_property
    def translated(self) -> list[tuple[str, str]]:
        """Sentences in English and in French."""
        rows = map(json.loads, parallel_lines(self.pairs, self.seed))
        return [(row["en"], row["fr"]) for row in rows]


def edge_records(documents: list[Document]) -> Iterator[tuple[Document, Sentence, EdgeRecord]]:
    """Every sentence of documents, with its edge-probing targets."""
    for document in documents:
        for number, sentence in enumerate(document.sentences):
            yield document, sentence, edge_record(document, number, sentence)
