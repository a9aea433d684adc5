"""What users do with a run that is built, in whole or in part: make a page of the built part, publish it."""

import re
from collections.abc import Iterable

import pandas as pd
import pyarrow.parquet as pq

from attention_atlas.io.tables import read_table
from attention_atlas.workflow.study import artifacts


def phrases(texts: Iterable[str]) -> set[tuple[str, ...]]:
    """All sequences of six words within the texts; shorter ones occur in other texts, too."""
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    return {phrase for text in words for phrase in zip(*(text[start:] for start in range(6)), strict=False)}


def test_tables_that_show_text_of_a_corpus_are_declared_to_show_it(done):
    folder = done.folder / "results/sample"
    files = [path for corpus in folder.glob("examples/*/*") for path in corpus.glob("*.parquet")]
    read = (pq.read_table(path, columns=["words"]).column("words").to_pylist() for path in files)
    of_corpora = phrases(" ".join(words) for sentences in read for words in sentences if words)
    shown = set()
    for owner, artifact in artifacts():
        for name in (name for name in artifact.files if name.endswith(".tsv")):
            frame = read_table(done.folder / owner.path(name, "sample")).select_dtypes(exclude="number").astype(str).fillna("")
            # Each column is read downwards, too, for tables with a token in each row.
            downwards = [" ".join(frame[column][frame[column] != frame[column].shift()]) for column in frame]
            if of_corpora & phrases([*pd.unique(frame.to_numpy().ravel()), *downwards]):
                shown.add(f"{owner.id}/{name}")
    declared = {f"{owner.id}/{name}" for owner, artifact in artifacts() for name in artifact.text_files}
    assert shown <= declared
    assert {"clark2019/figure1.tsv", "kovaleva2019/figure1.tsv", "guan2020/figure1.tsv", "tenney2019/figure3.tsv"} <= shown
