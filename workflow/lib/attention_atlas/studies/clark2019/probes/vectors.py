"""Word vectors of a run: those that it names, or the input embeddings of the model."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_atlas.corpora.examples import read_examples
from attention_atlas.corpora.word_vectors import read_vector_file, static_vectors, write_vectors
from attention_atlas.models.loading import load_model

_log = logging.getLogger(__name__)


def prepare_vectors(
    model_name: str,
    model_entry: Mapping[str, Any],
    training: tuple[Sequence[str | Path], int],
    evaluation: tuple[Sequence[str | Path], int],
    file: str | Path | None,
    encoding: str,
    dimensions: int,
    out: str | Path,
    facts_out: str | Path,
) -> None:
    """Write a vector for every word of both treebanks that has one.

    Args:
        model_name, model_entry: the model whose input embeddings are used without a file.
        training, evaluation: tables of examples and the limit of each treebank.
        file: vectors in GloVe format, or None.
        encoding: of that file.
        dimensions: of reduced embeddings.
        out, facts_out: files to write, see `word_vectors.write_vectors`.

    Raises:
        AtlasError: the file or the model cannot be read.
    """
    training_examples, evaluation_examples = (list(read_examples(files, limit)) for files, limit in (training, evaluation))
    if file is not None:
        words = {word.lower() for example in (*training_examples, *evaluation_examples) for word in example.words}
        vectors = read_vector_file(file, words, encoding)
    else:
        weights = load_model(model_entry).get_input_embeddings().get_parameter("weight").detach().float().numpy()
        vectors = static_vectors(weights, [*training_examples, *evaluation_examples], training_examples, dimensions, model_name)
    shares = {
        "training_coverage": vectors.coverage(training_examples),
        "evaluation_coverage": vectors.coverage(evaluation_examples),
    }
    _log.info("word vectors: %s; %.1f %% of the evaluation words have one", vectors.label, 100 * shares["evaluation_coverage"])
    write_vectors(vectors, out, facts_out, **shares)
