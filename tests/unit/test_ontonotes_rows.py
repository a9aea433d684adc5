"""OntoNotes from its data set on the hub: the same documents and targets as from the gold files."""

from __future__ import annotations

import copy
from pathlib import Path

import datasets
import pooch
import pytest
from edge_records import read_edge_records

from attention_atlas.corpora.conll2012 import conll2012_records
from attention_atlas.corpora.edges import FORM_TASKS
from attention_atlas.corpora.sources import fetch
from attention_atlas.errors import AtlasError

GOLD = """\
#begin document (nw/x/00/x_0000); part 000
nw/x/00/x_0000 0 0 Joan NNP (TOP(S(NP*) - - - - (PERSON) (ARG0*) * (0)
nw/x/00/x_0000 0 1 Smith NNP (VP* - - - - (ORG* * * -
nw/x/00/x_0000 0 2 fed VBD * - - - - *) (V*) * -
nw/x/00/x_0000 0 3 ( -LRB- (NP(NP* - - - - (PERSON* (ARG1* (ARG0* (1|(0|(7)
nw/x/00/x_0000 0 4 cat NN *) - - - - *) * *) 0)
nw/x/00/x_0000 0 5 sleeping VBG (VP*))) - - - - * *) (V*) 1)
nw/x/00/x_0000 0 6 . . *)) - - - - (DATE) * * (1)

nw/x/00/x_0000 0 0 Mm XX - - - - - * -

#end document
#begin document (nw/x/00/x_0000); part 001
nw/x/00/x_0000 1 0 It PRP (TOP(S(NP*) - - - - * (0)
nw/x/00/x_0000 1 1 sle\u00a0pt VBD (VP*))) - - - - * -

#end document
"""
POS = ["XX", "NNP", "VBD", "-LRB-", "NN", "VBG", ".", "PRP"]
ENTITIES = ["O", "B-PERSON", "I-PERSON", "B-ORG", "I-ORG", "B-DATE", "I-DATE"]
EMPTY = {"speaker": None, "srl_frames": [], "coref_spans": []}
ROW = {
    "document_id": "nw/x/00/x_0000",
    "sentences": [
        {
            **EMPTY,
            "part_id": 0,
            "words": ["Joan", "Smith", "fed", "(", "cat", "sleeping", "."],
            "pos_tags": [1, 1, 2, 3, 4, 5, 6],
            # Spaces as the data set has them.
            "parse_tree": "(TOP(S(NP (NNP Joan) )(VP (NNP Smith)  (VBD fed) (NP(NP (-LRB- -LRB-)  (NN cat) )"
            "(VP (VBG sleeping) ))) (. .) ))",
            "named_entities": [1, 3, 4, 1, 2, 0, 5],
            "srl_frames": [
                {"verb": "fed", "frames": ["B-ARG0", "O", "B-V", "B-ARG1", "I-ARG1", "I-ARG1", "O"]},
                {"verb": "sleeping", "frames": ["O", "O", "O", "B-ARG0", "I-ARG0", "B-V", "O"]},
            ],
            # In no order.
            "coref_spans": [[7, 3, 3], [0, 3, 4], [1, 6, 6], [0, 0, 0], [1, 3, 5]],
        },
        EMPTY | {"part_id": 0, "words": ["Mm"], "pos_tags": [0], "parse_tree": None, "named_entities": [0]},
        EMPTY
        | {"part_id": 1, "words": ["It", "sle\u00a0pt"], "pos_tags": [7, 2], "named_entities": [0, 0]}
        | {"parse_tree": "(TOP(S(NP (PRP It) )(VP (VBD sle\u00a0pt) )))", "coref_spans": [[0, 0, 0]]},
    ],
}
TEXT = datasets.Value("string")
FEATURES = datasets.Features(
    {
        "document_id": TEXT,
        "sentences": [
            {
                "part_id": datasets.Value("int32"),
                "words": datasets.Sequence(TEXT),
                "pos_tags": datasets.Sequence(datasets.ClassLabel(names=POS)),
                "parse_tree": TEXT,
                "speaker": TEXT,
                "named_entities": datasets.Sequence(datasets.ClassLabel(names=ENTITIES)),
                "srl_frames": [{"verb": TEXT, "frames": datasets.Sequence(TEXT)}],
                "coref_spans": datasets.Sequence(datasets.Sequence(datasets.Value("int32"), length=3)),
            }
        ],
    }
)


def written(tmp_path: Path, row: dict) -> Path:
    """The raw file that is fetched from a data set in Parquet form with a row."""
    folder = tmp_path / "data"
    folder.mkdir()
    datasets.Dataset.from_list([row], features=FEATURES).to_parquet(str(folder / "train.parquet"))
    source = {"hub": str(folder), "split": "train", "column": "text", "rows": 10}
    fetch(source, tmp_path / "raw", reader="edges", order="file")
    return tmp_path / "raw"


@pytest.fixture(autouse=True)
def caches(monkeypatch, tmp_path):
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "kept" / name)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def test_the_readers_take_the_same_from_both(tmp_path):
    raw, gold = written(tmp_path, ROW), tmp_path / "gold"
    gold.write_text(GOLD, encoding="utf-8")
    assert list(conll2012_records(raw)) == list(conll2012_records(gold))
    of_hub, of_files = (list(read_edge_records("conll2012", FORM_TASKS["conll2012"], path)) for path in (raw, gold))
    assert of_hub == of_files
    assert {target.task for record in of_hub for target in record.targets} == set(FORM_TASKS["conll2012"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parse_tree": "(TOP (NNP Joan) )"}, "the parse of sentence 1 has 1 of 7 words"),
        ({"named_entities": [0]}, "part 0, sentence 1: a layer does not have one value for each of the 7 words"),
        ({"coref_spans": [[1, 5, 7]]}, "sentence 1: a mention covers words 5 to 7, but there are 7 words"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_document_and_sentence(tmp_path, change, message):
    row = copy.deepcopy(ROW)
    row["sentences"][0] |= change
    raw = written(tmp_path, row)
    with pytest.raises(AtlasError) as caught:
        list(read_edge_records("conll2012", ["constituents"], raw))
    assert "document nw/x/00/x_0000" in str(caught.value)
    assert message in str(caught.value)
