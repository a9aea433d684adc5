"""The documents of the study: numbers of keyphrases, present in the text and absent from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.corpora.examples import read_examples
from attention_atlas.corpora.keyphrases import OUTSIDE, spans_of
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import write_table

DOCUMENTS = [
    "corpus", "documents", "words", "key_words", "share", "phrases", "present", "absent", "places", "documents_without_present",
    "phrases_per_document",
]  # fmt: skip


def write_documents(corpora: Mapping[str, Sequence[Any]], line: str, out: str | Path, html_out: str | Path) -> None:
    """Write one row for each corpus, columns `DOCUMENTS`.

    Args:
        corpora: name -> files of examples, those of dropped records, and the largest number of records to use.
        line: title of the run.
        out, html_out: files to write.

    Raises:
        AtlasError: a file cannot be used, or a corpus has no keyphrases.
    """
    rows = []
    for name, (files, _, limit) in corpora.items():
        examples = list(read_examples(files, limit))
        if any(example.keyphrases is None for example in examples):
            raise AtlasError(f"{name}: these examples have no keyphrases: use a corpus with reader keyphrases.")
        tags = [example.layers["tags"] for example in examples]
        words, key = sum(map(len, tags)), sum(tag != OUTSIDE for document in tags for tag in document)
        phrases = [phrase for example in examples for phrase in example.keyphrases or ()]
        present = sum(phrase.present for phrase in phrases)
        places = sum(len(spans_of(document)) for document in tags)
        without = sum(not any(phrase.present for phrase in example.keyphrases or ()) for example in examples)
        counts = (len(examples), words, key, key / words if words else 0.0, len(phrases), present, len(phrases) - present)
        rows.append([name, *counts, places, without, len(phrases) / len(examples) if examples else np.nan])
    table = pd.DataFrame(rows, columns=DOCUMENTS)
    write_table(table, out)
    notes = [
        f"{line}. key words: words that belong to keyphrases; share: of all words; places: occurrences of phrases in the "
        "text (of overlapping ones the longest); absent: gold phrases that are not in the text; without present: documents "
        "that contain none of their phrases; phrases per document: mean."
    ]
    formats = dict.fromkeys(set(DOCUMENTS) - {"corpus", "share"}, "d") | {"share": ".1%", "phrases_per_document": ".1f"}
    write_html_table(table, html_out, "Štefánik: documents and keyphrases", notes, formats=formats)
