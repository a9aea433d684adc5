"""The CoNLL-U reader: what it reads, what it passes over, and the line that each complaint names."""

import numpy as np
import pytest
from small_entries import written

from attention_atlas.corpora.conllu import Tree, find_cycle, read_conllu
from attention_atlas.errors import AtlasError


def row(index, form, head, relation, misc="_"):
    return f"{index}\t{form}\t{str(form).lower()}\tX\tXX\tNumber=Sing\t{head}\t{relation}\t_\t{misc}\n"


GOOD = (
    "# sent_id = first\n# text = We don't go.\n"
    + row(1, "We", 4, "nsubj")
    + "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + row(2, "do", 4, "aux")
    + row(3, "n't", 4, "advmod")
    + row(4, "go", 0, "root", "SpaceAfter=No")
    + "4.1\tgo\tgo\tX\tXX\t_\t_\t_\t4:conj\t_\n"
    + row(5, ".", 4, "punct")
    + "\n"
)
SHORT = row(1, "My", 2, "nmod:poss") + row(2, "dog", 0, "root") + "\n"


def test_reads_words_and_leaves_out_ranges_and_empty_nodes(tmp_path):
    (tree,) = read_conllu(written(tmp_path / "trees.conllu", GOOD))
    assert tree == Tree(
        id="first",
        words=("We", "do", "n't", "go", "."),
        heads=(4, 4, 4, 0, 4),
        relations=("nsubj", "aux", "advmod", "root", "punct"),
        lemmas=("we", "do", "n't", "go", "."),
        upos=("X",) * 5,
        xpos=("XX",) * 5,
        feats=("Number=Sing",) * 5,
        spaces=(False, True, False, True, False),
    )


def test_line_ends_mark_and_missing_last_blank_line_do_not_matter(tmp_path):
    plain = list(read_conllu(written(tmp_path / "trees.conllu", GOOD + SHORT)))
    assert [(tree.id, tree.relations[0]) for tree in plain] == [("first", "nsubj"), ("s2", "nmod:poss")]
    windows = (GOOD + SHORT.rstrip("\n")).replace("\n", "\r\n").encode()
    assert list(read_conllu(written(tmp_path / "trees.conllu", b"\xef\xbb\xbf" + windows))) == plain


def test_files_with_byte_order_marks_can_be_joined_and_words_have_any_white_space(tmp_path):
    words = ("10\u00a0000", "\u3000", "a\u2028b", "c\x85", "10 000")
    rows = "".join(row(k, word, k - 1, "root" if k == 1 else "dep") for k, word in enumerate(words, start=1))
    trees = list(
        read_conllu(written(tmp_path / "trees.conllu", f"\ufeff# newdoc id = a\n{rows}\n\ufeff# newdoc id = b\n{rows}"))
    )
    assert [(tree.document, tree.words) for tree in trees] == [("a", words), ("b", words)]


WORD = "1\tgo\tgo\tX\t_\t_\t0\troot\t_\t_\n\n"


def test_sentences_belong_to_the_last_document_that_was_opened(tmp_path):
    # The second comment stands before a block without words, the third has no id.
    text = f"{WORD}# newdoc id = a b \n# sent_id = x\n{WORD}{WORD}# newdoc id = c\n\n# newdocument = no\n{WORD}# newdoc\n{WORD}"
    trees = read_conllu(written(tmp_path / "trees.conllu", text))
    assert [tree.document for tree in trees] == [None, "a b", "a b", "c", "document 3"]


BAD = [
    (GOOD + SHORT[:-30], ":12: expected 10 columns separated by tabs, found 3; the file seems"),
    (SHORT + row(1, "x", "_", "_"), r":4: the head (column 7) is '_'"),
    (row(1, "x", 0, "root") + row(3, "y", 1, "dep"), ":2: the word id is '3' where 2 was expected"),
    ("2-1\tx" + "\t_" * 8 + "\n" + SHORT, ":1: the id '2-1' is not a range of words"),
    (SHORT + row(1, "x\0", 0, "root"), ":4: NUL bytes; the file is damaged or in UTF-16"),
    ("\n" + row(1, "x", 0, "root") + row(2, "y", 9, "dep"), ":3: word 2 'y' has head 9"),
    (
        "# c\n" + row(1, "x", 0, "root") + row(2, "y", 3, "dep") + row(3, "z", 2, "dep"),
        ":3: the heads run in a circle: 2 'y' -> 3 'z' -> 2 'y'",
    ),
    (row(1, "x", 0, "root") + row(2, "y", 0, "root"), ":2: several words have head 0"),
    (GOOD.encode() + b"# text = caf\xe9\n" + SHORT.encode(), ":11: byte 13 (0xe9) is not UTF-8"),
]


@pytest.mark.parametrize(
    ("token", "words", "misc", "spaces"),
    [
        ("don't", ("do", "n't"), "SpaceAfter=No", (False, True, False, False)),
        ("don't", ("do", "n't"), "_", (False, True, False, True)),
        ("zum", ("zu", "dem"), "_", (False, True, True, True)),
    ],
)
def test_words_of_a_multiword_token_are_joined_if_they_make_it_up(tmp_path, token, words, misc, spaces):
    inside = (row(k, word, 1, "dep", "SpaceAfter=No") for k, word in enumerate(words, start=2))
    token_line = row("2-3", token, "_", "_", misc)
    lines = row(1, "x", 0, "root") + token_line + "".join(inside) + row(4, ".", 1, "punct")
    (tree,) = read_conllu(written(tmp_path / "trees.conllu", lines))
    assert tree.spaces == spaces


def test_spaces_are_unknown_if_no_sentence_of_the_file_says_where_there_is_none(tmp_path):
    assert [tree.spaces for tree in read_conllu(written(tmp_path / "trees.conllu", SHORT + SHORT))] == [(), ()]
    assert next(read_conllu(written(tmp_path / "trees.conllu", SHORT + GOOD))).spaces == (False, True)


@pytest.mark.parametrize(("content", "message"), BAD)
def test_faults_name_the_line(tmp_path, content, message):
    with pytest.raises(AtlasError) as caught:
        list(read_conllu(written(tmp_path / "trees.conllu", content)))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


def test_find_cycle_agrees_with_walking_up_from_every_word():
    random = np.random.default_rng(7)
    cyclic = 0
    for _ in range(500):
        size = int(random.integers(1, 8))
        heads = random.integers(0, size + 1, size).tolist()
        words = list(range(1, size + 1))
        for _ in range(size):
            words = [heads[word - 1] if word else 0 for word in words]
        cycle = find_cycle(heads)
        assert bool(cycle) == any(words)
        assert [heads[word - 1] for word in cycle] == cycle[1:] + cycle[:1]
        cyclic += any(words)
    assert 50 < cyclic < 450
