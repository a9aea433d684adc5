"""The corpus as a whole: deterministic files, range of words and constructions, no shortcut for a probe."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sample_corpus.generate import generate_documents
from sample_corpus.write import write_sample

_LIBRARY = Path(__file__).resolve().parents[2] / "workflow" / "lib"
_FILES = ("documents.txt", "sentences.txt", "ud.conllu", "sd.conllu", "documents.jsonl")


@pytest.fixture(scope="module")
def documents():
    return list(generate_documents(200, 5))


@pytest.fixture(scope="module")
def tokens(documents):
    return [token for document in documents for sentence in document.sentences for token in sentence.tokens]


def test_two_processes_write_the_same_bytes(tmp_path):
    digests = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        code = f"from sample_corpus.write import write_sample; write_sample({str(folder)!r}, 12, 7)"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(_LIBRARY)}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        digests.append([hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in _FILES])
    assert digests[0] == digests[1]


def test_a_document_depends_on_seed_and_number_only():
    many = list(generate_documents(8, 3))
    assert next(iter(generate_documents(1, 3, start=5))) == many[5]
    assert next(iter(generate_documents(1, 4, start=5))).text != many[5].text


def test_written_files_hold_the_same_sentences(tmp_path):
    write_sample(tmp_path, 6, 11)
    documents = list(generate_documents(6, 11))
    texts = [sentence.text for document in documents for sentence in document.sentences]
    assert [line for line in (tmp_path / "sentences.txt").read_text().split("\n") if line] == texts
    assert (tmp_path / "sentences.txt").read_text().endswith("\n\n")
    assert (tmp_path / "documents.txt").read_text() == "\n\n".join(d.text for d in documents) + "\n"
    for scheme in ("ud", "sd"):
        blocks = (tmp_path / f"{scheme}.conllu").read_text().strip().split("\n\n")
        assert [next(x[9:] for x in b.split("\n") if x.startswith("# text = ")) for b in blocks] == texts
        assert sum(b.startswith("# newdoc id = ") for b in blocks) == 6
        rows = [line.split("\t") for line in blocks[0].split("\n") if not line.startswith("#")]
        first = documents[0].sentences[0].tokens
        assert [(r[1], int(r[6]), r[7]) for r in rows] == [
            (t.form, getattr(t, f"{scheme}_head"), getattr(t, f"{scheme}_relation")) for t in first
        ]
        assert all(len(row) == 10 for row in rows)
    lines = [json.loads(line) for line in (tmp_path / "documents.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == [d.text for d in documents]
    assert len(lines[0]["mentions"]) == len(documents[0].mentions)


def test_hardly_any_sentence_comes_twice(documents):
    counts = Counter(sentence.text for document in documents for sentence in document.sentences)
    assert max(counts.values()) <= 0.01 * sum(counts.values())
    repeated = sum(count - 1 for count in counts.values())
    assert repeated <= 0.01 * sum(counts.values())


def test_the_word_alone_does_not_give_the_relation(tokens):
    by_form = {}
    for token in tokens:
        by_form.setdefault(token.form.lower(), Counter())[token.sd_relation] += 1
    majority = sum(counts.most_common(1)[0][1] for counts in by_form.values())
    assert majority / len(tokens) < 0.9
    for form in ("that", "to", "'s"):
        assert len(by_form[form]) >= 2, form


@pytest.mark.parametrize("relation", ["nsubj", "dobj", "pobj", "amod", "det", "aux", "advmod", "ccomp", "nn", "poss"])
def test_no_fixed_offset_gives_the_head(documents, relation):
    offsets = Counter(
        token.sd_head - position
        for document in documents
        for sentence in document.sentences
        for position, token in enumerate(sentence.tokens, start=1)
        if token.sd_relation == relation
    )
    assert offsets.most_common(1)[0][1] / sum(offsets.values()) < 0.95
    assert len(offsets) >= 2
