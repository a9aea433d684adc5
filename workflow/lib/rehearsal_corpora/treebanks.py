"""Treebanks: the Wall Street Journal in the format of the Stanford converter, and a release of Universal Dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sample_corpus.generate import Document, Sentence

_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_TWO_ROOTS = (("-LRB-", "-LRB-", 0, "root"), ("End", "NN", 0, "root"), ("-RRB-", "-RRB-", 2, "punct"), (".", ".", 2, "punct"))
_CONTRACTION = (
    ("1", "They", "they", "PRON", "PRP", "4", "nsubj", "_"),
    ("2-3", "don't", "_", "_", "_", "_", "_", "_"),
    ("2", "do", "do", "AUX", "VBP", "4", "aux", "_"),
    ("3", "n't", "not", "PART", "RB", "4", "advmod", "_"),
    ("4", "like", "like", "VERB", "VBP", "0", "root", "_"),
    ("5", "tea", "tea", "NOUN", "NN", "4", "obj", "_"),
    ("6", "and", "and", "CCONJ", "CC", "7", "cc", "_"),
    ("7", "I", "I", "PRON", "PRP", "4", "conj", "_"),
    ("7.1", "like", "like", "VERB", "VBP", "_", "_", "CopyOf=4"),
    ("8", "milk", "milk", "NOUN", "NN", "7", "orphan", "SpaceAfter=No"),
    ("9", ".", ".", "PUNCT", ".", "4", "punct", "_"),
)
TWO_ROOTS_EVERY = 20
"""Distance in sentences between two trees with two roots."""


def wsj_lines(documents: Sequence[Document]) -> Iterator[str]:
    """CoNLL-X of the Stanford converter: ten columns, no comments, no lemmas, brackets as -LRB- and the like.

    Some sentences have two roots, as in the converted Penn Treebank.
    """
    sentences = [sentence for document in documents for sentence in document.sentences]
    for number, sentence in enumerate(sentences):
        if number % TWO_ROOTS_EVERY == TWO_ROOTS_EVERY // 2:
            yield _conllx(_TWO_ROOTS)
        rows = [(_BRACKETS.get(t.form, t.form), t.xpos, t.sd_head, t.sd_relation) for t in sentence.tokens]
        yield _conllx(rows)


def _conllx(rows: Sequence[tuple[str, str, int, str]]) -> str:
    lines = [f"{n}\t{form}\t_\t{tag}\t{tag}\t_\t{head}\t{rel}\t_\t_" for n, (form, tag, head, rel) in enumerate(rows, 1)]
    return "\n".join(lines) + "\n\n"


def ewt_lines(documents: Sequence[Document]) -> Iterator[str]:
    """CoNLL-U of Universal Dependencies 2.2: comments, multiword tokens, empty nodes, and enhanced dependencies."""
    for document in documents:
        for number, sentence in enumerate(document.sentences):
            yield (f"# newdoc id = {document.id}\n" if number == 0 else "") + _conllu(sentence)
        rows = [f"{i}\t{form}\t{lemma}\t{upos}\t{xpos}\t_\t{head}\t{rel}\t_\t{misc}" for i, form, lemma, upos, xpos, head, rel,
                misc in _CONTRACTION]  # fmt: skip
        yield f"# sent_id = {document.id}-last\n# text = They don't like tea and I milk.\n" + "\n".join(rows) + "\n\n"


def _conllu(sentence: Sentence) -> str:
    lines = [f"# sent_id = {sentence.id}", f"# text = {sentence.text}"]
    for n, token in enumerate(sentence.tokens, start=1):
        misc = "_" if token.space_after or n == len(sentence.tokens) else "SpaceAfter=No"
        enhanced = f"{token.ud_head}:{token.ud_relation}"
        columns = (n, token.form, token.lemma, token.upos, token.xpos, "_", token.ud_head, token.ud_relation, enhanced, misc)
        lines.append("\t".join(map(str, columns)))
    return "\n".join(lines) + "\n\n"
