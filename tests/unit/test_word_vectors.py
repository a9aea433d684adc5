"""Word vectors: what a file holds is read, what is damaged is named, and embeddings are reduced as principal components."""

import gzip

import numpy as np
import pytest
from small_entries import written

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.word_vectors import read_vector_file, static_vectors
from attention_atlas.errors import AtlasError

WORDS = {"the", "dog", "café", "unheard"}


def test_a_file_in_the_form_of_glove(tmp_path):
    packed = written(tmp_path / "g.txt.gz", gzip.compress("the 1 2\nof 5 5\ndog 0.5 -1e-1\ncafé 3 4\n".encode()))
    vectors = read_vector_file(packed, WORDS)
    assert vectors.label == "g.txt.gz, 2 dimensions"
    assert vectors.of(["The", "dog", "nothing", "CAFÉ"]) == pytest.approx(np.array([[1, 2], [0.5, -0.1], [0, 0], [3, 4]]))
    assert list(read_vector_file(packed, None, 2).index) == ["the", "of"]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("the 1 2 3\n. . . 4 5 6\nat name@domain.com 7 8 9\ndog 1 1 1\n", WORDS, {"the": [1, 2, 3], "dog": [1, 1, 1]}),
        ("2 3\nthe 1 2 3\ndog 4 5 6\n", WORDS, {"the": [1, 2, 3], "dog": [4, 5, 6]}),
        ("the 1 2 3\n. . . 4 5 6\n", None, {"the": [1, 2, 3], ". . .": [4, 5, 6]}),
        ("the 1 2\ndog 3 4\nthe 5 6\n. dog 7 8\n", WORDS, {"the": [1, 2], "dog": [3, 4]}),
    ],
)
def test_the_last_fields_of_a_line_are_the_vector(tmp_path, text, words, expected):
    vectors = read_vector_file(written(tmp_path / "g.txt", text), words)
    assert {word: vectors.vectors[row].tolist() for word, row in vectors.index.items()} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the 1 2\ndog 3", "g.txt:2: 1 numbers instead of 2; the file is damaged"),
        ("the 1 x\nof 1 2\n", "g.txt:1: the vector of 'the' holds something that is not a number"),
        ("the 1 nan\nof 1 2\n", "g.txt:1: the vector of 'the' is not finite"),
    ],
)
def test_damaged_files_are_named(tmp_path, text, expected):
    with pytest.raises(AtlasError) as caught:
        read_vector_file(written(tmp_path / "g.txt", text), WORDS)
    assert expected in str(caught.value)


def example(words, pieces):
    ids = [0, *(i for word in pieces for i in word), 0]
    word = [-1, *(k for k, word_pieces in enumerate(pieces) for _ in word_pieces), -1]
    return Example(0, "e", tuple(ids), (0,) * len(ids), tuple(map(str, ids)), tuple(word), tuple(words))


def test_static_vectors_are_reduced_means_of_pieces():
    generator = np.random.default_rng(0)
    embeddings = generator.normal(size=(40, 12)).astype(np.float32)
    pieces = [(k, k + 1) if k % 3 else (k,) for k in range(1, 30)]
    words = [f"w{k}" for k in range(1, 30)]
    seen, unseen = example(words[:20], pieces[:20]), example(words[20:], pieces[20:])
    vectors = static_vectors(embeddings, [seen, unseen], [seen], 4, "m")
    means = np.stack([embeddings[list(word_pieces)].mean(axis=0) for word_pieces in pieces]).astype(np.float64)
    centred = means - means[:20].mean(axis=0)
    expected = centred @ np.linalg.svd(centred[:20], full_matrices=False)[2][:4].T
    reduced = vectors.of([w.upper() for w in words])
    # The sign of a component is free, its size is set for all at once.
    expected *= np.sign((reduced * expected).sum(axis=0)) * 0.4 / expected[:20].std()
    assert reduced == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert vectors.coverage([example(["w1", "other"], [(1,), (2,)])]) == 0.5
