"""The layers of generated documents are well formed and agree with one another."""

import re

import pytest
from sample_corpus.generate import generate_documents
from sample_corpus.structure import SD_RELATIONS, UD_RELATIONS


@pytest.fixture(scope="module")
def documents():
    return list(generate_documents(200, 17))


def words_of(brackets):
    """Parse Penn brackets slowly: the words, after checking that the brackets balance into one tree."""
    depth, words = 0, []
    for token in re.findall(r"\(|\)|[^\s()]+", brackets):
        depth += {"(": 1, ")": -1}.get(token, 0)
        words.append(token)
    assert depth == 0
    forms = [b for a, b, c in zip(words, words[1:], words[2:], strict=False) if a not in "()" and b not in "()" and c == ")"]
    return [{"-LRB-": "(", "-RRB-": ")"}.get(form, form) for form in forms]


def path_to_root(heads, position):
    """Positions from a token up to ROOT; fails on a cycle."""
    seen = []
    while position:
        assert position not in seen, "cycle"
        seen.append(position)
        position = heads[position - 1]
    return seen


@pytest.mark.parametrize(("scheme", "labels"), [("sd", SD_RELATIONS), ("ud", UD_RELATIONS)])
def test_trees_have_one_root_no_cycle_and_known_labels(documents, scheme, labels):
    for document in documents:
        for sentence in document.sentences:
            heads = [getattr(token, f"{scheme}_head") for token in sentence.tokens]
            relations = [getattr(token, f"{scheme}_relation") for token in sentence.tokens]
            assert heads.count(0) == 1, sentence.text
            assert [r for h, r in zip(heads, relations, strict=True) if h == 0] == ["root"], sentence.text
            assert set(relations) <= labels
            for position in range(1, len(heads) + 1):
                path_to_root(heads, position)


def test_sd_prepositions_have_objects_and_ud_case_marks_do_not(documents):
    for document in documents:
        for sentence in document.sentences:
            for position, token in enumerate(sentence.tokens, start=1):
                below = [t.sd_relation for t in sentence.tokens if t.sd_head == position]
                if token.sd_relation == "prep":
                    assert {"pobj", "pcomp"} & set(below), sentence.text
                if token.sd_relation == "pobj":
                    assert sentence.tokens[token.sd_head - 1].sd_relation in ("prep", "root"), sentence.text
                if token.ud_relation in ("case", "det", "aux", "cc", "punct"):
                    assert position not in [t.ud_head for t in sentence.tokens], sentence.text


def test_brackets_yield_the_tokens(documents):
    for document in documents[:60]:
        for sentence in document.sentences:
            assert words_of(sentence.brackets) == [token.form for token in sentence.tokens]


def test_tokens_join_to_the_text_of_the_paragraph(documents):
    for document in documents:
        for paragraph, line in zip(document.paragraphs, document.text.split("\n"), strict=True):
            text = ""
            for sentence in paragraph:
                for token in sentence.tokens:
                    text += token.form + " " * token.space_after
            assert text.strip() == line
            assert not re.search(r" [,.;?!)]|\( |  |,,|,\.", line), line


def test_mentions_lie_inside_sentences_and_contain_their_head(documents):
    for document in documents:
        sentences = document.sentences
        for mention in document.mentions:
            assert 0 <= mention.start <= mention.head < mention.stop <= len(sentences[mention.sentence].tokens)
            assert mention.type in ("pronoun", "proper", "nominal"), mention
        spans = [(m.sentence, m.start, m.stop, m.entity) for m in document.mentions]
        assert len(spans) == len(set(spans))
