"""A text of the user's: what kind it is, as an entry of the registry and as examples; and bad files."""

import pandas as pd
import pytest
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.errors import AtlasError
from tools import atlas
from tools.atlas import users_text

TREE = "# text = Dogs bark\n1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
UNPARSED = TREE.replace("\t2\tnsubj", "\t_\t_").replace("\t0\troot", "\t_\t_")


def written(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_a_sentence_a_line_is_plain_text(tmp_path):
    text = users_text(written(tmp_path, "my.txt", "\ufeffDogs bark.\n\n  # 1 = a heading?\nThe cat sees = it\n"))
    assert (text.has_trees, text.sentences) == (False, 3)
    entry = text.entry()
    assert entry["reader"] == "sentences"
    assert entry["source"] == {"path": str(tmp_path / "my.txt")}
    assert (entry["limit"], entry["shard"], entry["order"]) == (3, 3, "file")


@pytest.mark.parametrize("name", ["my.conllu", "trees.CoNLL"])
def test_conllu_is_known_by_its_name(tmp_path, name):
    text = users_text(written(tmp_path, name, TREE * 2))
    assert (text.has_trees, text.sentences) == (True, 2)
    assert text.entry()["reader"] == "conllu"


def test_of_long_texts_the_first_sentences_are_used(tmp_path, monkeypatch):
    monkeypatch.setattr(atlas, "MOST_SENTENCES", 2)
    # A mistake behind the sentences that are used is none.
    text = users_text(written(tmp_path, "my.conllu", TREE * 2 + UNPARSED))
    assert (text.sentences, text.records, text.entry()["limit"]) == (3, 2, 2)


TWO_ROOTS = TREE.replace("\t2\tnsubj", "\t0\troot")


def test_a_tree_with_several_roots_is_left_to_the_reader_which_drops_it(tmp_path):
    assert users_text(written(tmp_path, "my.conllu", TWO_ROOTS + TREE)).records == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("my.txt", "", "the file has no text; write one sentence on each line"),
        ("my.conllu", "# text = nothing\n\n", "there is no sentence in this file"),
        ("my.conllu", UNPARSED, r"my\.conllu:2: the head \(column 7\) is '_'.*use a treebank with dependency trees"),
        ("my.txt", UNPARSED, r"my\.txt:2: a tab or NUL byte: this is not plain text"),
    ],
)
def test_bad_files_are_a_sentence(tmp_path, name, content, message):
    with pytest.raises(AtlasError, match=message):
        users_text(written(tmp_path, name, content))


def test_lines_become_examples_and_long_ones_are_dropped_with_their_line(tmp_path):
    save_tokenizer(tmp_path / "tokenizer.json", ["the", "cat", "sees", "."])
    path = written(tmp_path, "my.txt", "The cat.\n\n" + "the " * 30 + "\nThe cat sees the cat.\n")
    out, dropped = tmp_path / "e.parquet", tmp_path / "d.tsv"
    entry = {"max_tokens": 512, "level": "tokens", "seed": 0, "skip": 0} | users_text(path).entry()
    build_shard(entry, path, tmp_path / "tokenizer.json", 24, 0, out, dropped)
    examples = list(read_examples([out]))
    assert [(example.record, example.id, example.words) for example in examples] == [
        (0, "line 1", ("The", "cat.")),
        (2, "line 4", ("The", "cat", "sees", "the", "cat.")),
    ]
    assert examples[0].word == (-1, 0, 1, 1, -1)
    row = pd.read_csv(dropped, sep="\t").iloc[0]
    assert (row["record"], row["id"], row["reason"], row["detail"]) == (1, "line 3", "too long", "32 tokens, 24 allowed")
