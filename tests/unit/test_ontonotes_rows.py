"""OntoNotes from its data set on the hub: the same documents and targets as from the gold files."""

from __future__ import annotations

import copy
import json

import pytest
from edge_records import read_edge_records

from attention_atlas.corpora.conll2012 import conll2012_records
from attention_atlas.corpora.edges import FORM_TASKS
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
FIRST = {
    "part_id": 0,
    "words": ["Joan", "Smith", "fed", "(", "cat", "sleeping", "."],
    "pos_tags": ["NNP", "NNP", "VBD", "-LRB-", "NN", "VBG", "."],
    # Spaces as the data set has them.
    "parse_tree": "(TOP(S(NP (NNP Joan) )(VP (NNP Smith)  (VBD fed) (NP(NP (-LRB- -LRB-)  (NN cat) )"
    "(VP (VBG sleeping) ))) (. .) ))",
    "named_entities": ["B-PERSON", "B-ORG", "I-ORG", "B-PERSON", "I-PERSON", "O", "B-DATE"],
    "srl_frames": [
        {"verb": "fed", "frames": ["B-ARG0", "O", "B-V", "B-ARG1", "I-ARG1", "I-ARG1", "O"]},
        {"verb": "sleeping", "frames": ["O", "O", "O", "B-ARG0", "I-ARG0", "B-V", "O"]},
    ],
    # In no order.
    "coref_spans": [[7, 3, 3], [0, 3, 4], [1, 6, 6], [0, 0, 0], [1, 3, 5]],
}
EMPTY = {"srl_frames": [], "coref_spans": []}
UNPARSED = {**EMPTY, "part_id": 0, "words": ["Mm"], "pos_tags": ["XX"], "parse_tree": None, "named_entities": ["O"]}
LAST = {**EMPTY, "part_id": 1, "words": ["It", "sle\u00a0pt"], "pos_tags": ["PRP", "VBD"], "named_entities": ["O", "O"]}
LAST |= {"parse_tree": "(TOP(S(NP (PRP It) )(VP (VBD sle\u00a0pt) )))", "coref_spans": [[0, 0, 0]]}
ROW = {"document_id": "nw/x/00/x_0000", "sentences": [FIRST, UNPARSED, LAST]}


def test_the_readers_take_the_same_from_both(tmp_path):
    raw, gold = tmp_path / "raw", tmp_path / "gold"
    raw.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    gold.write_text(GOLD, encoding="utf-8")
    assert list(conll2012_records(raw)) == list(conll2012_records(gold))
    of_hub, of_files = (list(read_edge_records("conll2012", FORM_TASKS["conll2012"], path)) for path in (raw, gold))
    assert of_hub == of_files
    assert {target.task for record in of_hub for target in record.targets} == set(FORM_TASKS["conll2012"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parse_tree": "(TOP (NNP Joan) )"}, "the parse of sentence 1 has 1 of 7 words"),
        ({"named_entities": ["O"]}, "part 0, sentence 1: a layer does not have one value for each of the 7 words"),
        ({"coref_spans": [[1, 5, 7]]}, "sentence 1: a mention covers words 5 to 7, but there are 7 words"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_document_and_sentence(tmp_path, change, message):
    row = copy.deepcopy(ROW)
    row["sentences"][0] |= change
    (tmp_path / "raw").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(AtlasError, match=f"document nw/x/00/x_0000.*{message}"):
        list(read_edge_records("conll2012", ["constituents"], tmp_path / "raw"))
