"""A text of the user's: what kind it is, as an entry of the registry and as examples; and bad files."""

import pytest
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.errors import AtlasError
from tools import atlas
from tools.atlas import users_text

TREE = "# text = Dogs bark\n1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
UNPARSED = TREE.replace("\t2\tnsubj", "\t_\t_").replace("\t0\troot", "\t_\t_")
TWO_ROOTS = TREE.replace("\t2\tnsubj", "\t0\troot")


def written(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_conllu_is_known_by_its_name_and_of_long_texts_the_first_sentences_are_used(tmp_path, monkeypatch):
    monkeypatch.setattr(atlas, "MOST_SENTENCES", 2)
    # A mistake behind the sentences that are used is none, and the reader drops a tree with several roots.
    text = users_text(written(tmp_path, "trees.CoNLL", TWO_ROOTS + TREE + UNPARSED))
    assert (text.has_trees, text.sentences, text.records) == (True, 3, 2)
    assert (text.entry()["reader"], text.entry()["limit"]) == ("conllu", 2)


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
    path = written(tmp_path, "my.txt", "\ufeffThe cat.\n\n" + "the " * 30 + "\n# The = cat\n")
    text = users_text(path)
    assert (text.has_trees, text.entry()["reader"], text.entry()["source"]) == (False, "sentences", {"path": str(path)})
    save_tokenizer(tmp_path / "tokenizer.json", ["the", "cat", "#", "=", "."])
    entry = {"max_tokens": 512, "level": "tokens", "seed": 0, "skip": 0} | text.entry()
    build_shard(entry, path, tmp_path / "tokenizer.json", 24, 0, tmp_path / "e.parquet", tmp_path / "d.tsv")
    first, second = read_examples([tmp_path / "e.parquet"])
    assert (first.record, first.id, first.words, first.word) == (0, "line 1", ("The", "cat."), (-1, 0, 1, 1, -1))
    assert (second.record, second.id, second.words) == (2, "line 4", ("#", "The", "=", "cat"))
    assert "1\tline 3\ttoo long\t32 tokens, 24 allowed" in (tmp_path / "d.tsv").read_text(encoding="utf-8")
