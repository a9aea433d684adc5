"""Stand-ins of the papers' corpora: the readers take them as they take the distributions, and drop what those hold beside."""

from __future__ import annotations

import pytest
from edge_records import read_edge_records
from rehearsal_corpora.abstracts import PARTS
from rehearsal_corpora.glue_files import pairs_of
from rehearsal_corpora.texts import Texts
from rehearsal_corpora.write import (
    LICENSED,
    TRAIN_ROWS,
    write_corpora,
)
from rules_text import ROOT

from attention_atlas.corpora.conll2012 import conll2012_records
from attention_atlas.corpora.edges import FORM_TASKS
from attention_atlas.corpora.glue import Labelled, glue_records
from attention_atlas.corpora.keyphrases import keyphrases_records
from attention_atlas.corpora.records import Dropped
from attention_atlas.workflow.config import read_configuration, resolve
from tools.rehearse import configuration

TEXTS = Texts(seed=7, documents=34, pairs=150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All distributions; the models, which take seconds, aside."""
    folder = tmp_path_factory.mktemp("stand-ins")
    write_corpora(folder, TEXTS)
    return folder


def test_a_corpus_of_the_registry_has_its_stand_in_where_its_entry_says(folder):
    config = resolve(configuration({}))
    named = {path for entry in config["corpora"].values() if (path := entry["source"].get("path"))}
    # Text for models that are not those of the run, and a corpus of the run `open`.
    elsewhere = {path for path in named if path.startswith(("licensed/moses", "licensed/litbank"))}
    packaged = {path for path in named if not path.startswith(LICENSED)}
    assert {path for path in named if not (folder / path).exists()} == elsewhere | packaged
    assert (folder / "wikimedia/wikipedia/20231101.en").is_dir()


@pytest.mark.parametrize(
    ("task", "file", "reasons"),
    [
        ("stsb", "mirror/glue/STS-B/train.tsv", []),
        ("sst2", "licensed/glue/SST-2/train.tsv", ["no label"]),
        ("qqp", "licensed/glue/QQP/train.tsv", ["incomplete row", "incomplete row", "empty text"]),
        ("mnli", "licensed/glue/MNLI/train.tsv", []),
    ],
)
def test_rows_of_glue_that_are_no_examples_are_counted_by_reason(folder, task, file, reasons):
    expected = pairs_of(task, TEXTS.training, TEXTS.seed, TRAIN_ROWS)
    rows = list(glue_records(folder / file, task))
    good = [row for row in rows if isinstance(row, Labelled)]
    assert [row.reason for row in rows if isinstance(row, Dropped)] == reasons
    assert len(good) == len(expected) - len(set(reasons))
    assert {row.texts[-1].strip() for row in good} <= {
        texts[-1].replace(" ", "\u2028", k) for texts, _ in expected for k in (0, 1)
    }


def test_documents_are_read(folder):
    place = folder / LICENSED / "conll-2012/development"
    documents = list(conll2012_records(place))
    assert len(documents) == len(list((place / "data/english").rglob("*gold_conll")))
    records = list(
        read_edge_records("conll2012", FORM_TASKS["conll2012"], folder / LICENSED / "conll-formatted-ontonotes-5.0/development")
    )
    assert {target.task for record in records for target in record.targets} == set(FORM_TASKS["conll2012"])
    assert {record.targets for record in records if record.words == ("uh", "huh")} == {()}, "a sentence without a parse"
    config = read_configuration(ROOT)
    for part, corpus in zip(PARTS, ("training", "development", "test"), strict=True):
        names = config["corpora"][f"inspec-{corpus}"]["document_names"]
        assert len(list(keyphrases_records(folder / LICENSED / "Hulth2003.tar.gz", True, names))) == len(PARTS[part])
