"""Frames: both sources, the paper's rules, and the scores of heads against loops over pairs."""

import json
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.marked_text import COLUMNS, FrameSentence, frames_records, gap_records
from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019 import changes as changes_module
from attention_atlas.studies.kovaleva2019.changes import PLACES, control_weights, frame_pairs, frames, largest_weights

ENTRIES = [
    {"sentence": "the cat sat by the cats", "target": "cats", "links": ["the cat"], "frame": "Being"},
    {"sentence": "b c d e f g h j k", "target": "f", "links": ["b"]},
]


def examples_of(tmp_path, entries):
    (tmp_path / "frames.json").write_text(json.dumps(entries))
    save_tokenizer(tmp_path / "tokenizer.json")
    entry = {"reader": "frames", "max_tokens": 20, "shard": 4, **FILE_ORDER}
    outs = (tmp_path / "examples.parquet", tmp_path / "dropped.tsv")
    build_shard(entry, tmp_path / "frames.json", tmp_path / "tokenizer.json", 20, 0, *outs)
    return list(read_examples([outs[0]]))


@pytest.fixture
def examples(tmp_path):
    return examples_of(tmp_path, ENTRIES)


def test_a_list_is_read_and_other_files_are_refused(tmp_path):
    path = tmp_path / "frames.json"
    path.write_text(json.dumps(ENTRIES))
    assert list(frames_records(path)) == [
        FrameSentence("1", "the cat sat by the cats", "cats", ("the cat",), "Being"),
        FrameSentence("2", "b c d e f g h j k", "f", ("b",)),
    ]
    for text, problem in {
        "{}": "a list of sentences with frames",
        '[{"sentence": "a", "target": "a"}]': "sentence 1: 'links' must be a list",
        '[{"sentence": "", "target": "a", "links": ["a"]}]': "sentence 1: 'sentence' is missing or empty",
        "[": "invalid JSON",
    }.items():
        path.write_text(text)
        with pytest.raises(AtlasError, match=problem):
            list(frames_records(path))


def test_a_notebook_is_read_by_what_it_printed(tmp_path):
    printed = ["the cat sat by the cats  cats ['the cat'] \n", "\n", "Ann 's dog , too . dog [\"Ann 's\", 'too'] \n"]
    cells = [{"outputs": [{"text": printed}, {"text": "a b ['c']"}]}, {"source": ["import os"], "outputs": [{"data": {}}]}, {}]
    (tmp_path / "paper.ipynb").write_text(json.dumps({"cells": cells}))
    first, second = frames_records(tmp_path / "paper.ipynb")
    assert first == FrameSentence("1", "the cat sat by the cats", "cats", ("the cat",))
    assert second == FrameSentence("2", "Ann 's dog , too .", "dog", ("Ann 's", "too"))


def test_pairs_by_every_reading(examples):
    first, second = examples
    # [CLS] the cat s a t b y the cat ##s [SEP]
    end = len(first.tokens) - 2
    # By spelling, "cat" of the target is looked for from the start; zip pairs the, cat with cat, ##s.
    assert frame_pairs(first, "zip", "fe_to_target", "first_piece") == [(1, 2), (2, end)]
    assert frame_pairs(first, "zip", "fe_to_target", "words") == [(1, end - 1), (2, end)]
    assert frame_pairs(first, "zip", "target_to_fe", "words") == [(end - 1, 1), (end, 2)]
    assert frame_pairs(first, "all", "fe_to_target", "words") == [(1, end - 1), (1, end), (2, end - 1), (2, end)]
    assert len(frame_pairs(first, "all", "both", "words")) == 8
    assert frame_pairs(second, "zip", "fe_to_target", "words") == [(1, 5)]


def test_the_control_is_every_other_pair_at_the_same_distance(examples):
    """Against a loop over all pairs of tokens, of which none links an element with the target."""
    compared = 0
    for example, *reading in product(examples, ("zip", "all"), ("fe_to_target", "both"), PLACES):
        n, pairs = len(example.tokens), frame_pairs(example, *reading)
        maps = np.random.default_rng(example.record).random((2, 3, n, n)).astype(np.float32)
        slow = [[max(float(maps[k, h, a, b]) for a, b in pairs) for h in range(3)] for k in range(2)]
        assert largest_weights(maps, pairs) == pytest.approx(np.asarray(slow))
        linked = {pair for places in PLACES for pair in frame_pairs(example, "all", "both", places)}
        inside = [k for k, word in enumerate(example.word) if word >= 0]
        others = np.zeros((1, 1, n, n), np.float32)
        for query, key in product(inside, inside):
            others[0, 0, query, key] = key - query in {b - a for a, b in pairs} and (query, key) not in linked
        drawn = [control_weights(weights, pairs, linked, example, np.random.default_rng(0)) for weights in (others, 1 - others)]
        if any(np.diagonal(others[0, 0], b - a).sum() == 0 for a, b in pairs):
            assert np.isnan(drawn).all()
        else:
            compared += 1
            assert np.ravel(drawn) == pytest.approx([1, 0])
    assert compared >= 8, "all readings of the second sentence"


def measured(monkeypatch, examples, head_of_distance=False):
    """Tables of heads: head 1 links elements with targets, head 2 targets with elements, or all tokens at the same distance."""
    cached = [(e, SimpleNamespace(maps=np.zeros((1, 2, len(e.tokens), len(e.tokens)), np.float16))) for e in examples]
    for example, shown in cached:
        for a, b in frame_pairs(example, "all", "fe_to_target", "words"):
            shown.maps[0, 0, a, b] = shown.maps[0, 1, b, a] = 1
            if head_of_distance:
                shown.maps[0, 1] = np.maximum(shown.maps[0, 1], np.eye(len(example.tokens), k=b - a))
    monkeypatch.setattr(changes_module, "with_attention", lambda read, attention: iter(cached))
    return frames(iter(()), examples, "all", "fe_to_target", 50, 0)


def test_a_head_of_fixed_distance_has_no_margin_and_one_of_links_has(tmp_path, monkeypatch):
    # Both tokens of the element are linked with the target, whichever pairs are drawn.
    examples = examples_of(tmp_path, [*ENTRIES, {"sentence": "b c d e f g h j k", "target": "h", "links": ["b c"]}])
    heads = measured(monkeypatch, examples, head_of_distance=True)["heads"].set_index("head")
    assert heads["value"].tolist() == [1, 1]
    assert heads["margin"].tolist() == pytest.approx([1, 0])
    with pytest.raises(AtlasError, match="no sentence with a frame"):
        measured(monkeypatch, [])


def test_options_change_one_choice_at_a_time(examples, monkeypatch):
    made = measured(monkeypatch, examples)
    table = made["options"].set_index(["option_a", "option_b"])
    choices = [("all", "zip"), ("fe_to_target", "target_to_fe"), ("fe_to_target", "both"), PLACES]
    assert table.index.tolist() == choices
    reversed_, both = table.loc[choices[1]], table.loc[choices[2]]
    assert reversed_["rho"] == pytest.approx(-1)
    assert (abs(reversed_["largest_change"]), reversed_["mean_change"]) == (1, 0)
    assert (both["largest_change"], both["mean_change"]) == (1, 0.5)
    assert made["sentence"]["role"].tolist() == ["element", "element", "", "", "", "target"]


TEXT = 'Ann "Café" Lee met Mr. Bo Ray-Day. She liked him.'


def row(**changes):
    cells = dict(
        zip(
            COLUMNS, ("test-1", TEXT, "She", "35", 'Ann "Café" Lee', "0", "TRUE", "Bo Ray-Day", "23", "False", "u"), strict=True
        )
    )
    return "\t".join((cells | changes).values())


def read(folder, *rows, header=COLUMNS):
    (folder / "g.tsv").write_text("\n".join(["\t".join(header), *rows]) + "\n", encoding="utf-8")
    return list(gap_records(folder / "g.tsv"))


def test_a_passage(tmp_path):
    (passage,) = read(tmp_path, row())
    assert passage.words[:5] == ("Ann", '"', "Café", '"', "Lee")
    marked = [(m.role, " ".join(passage.words[m.start : m.stop]), m.cluster, m.heads["last"]) for m in passage.mentions]
    assert marked == [
        ("pronoun", "She", "pronoun", 13),
        ("A", 'Ann " Café " Lee', "pronoun", 4),
        ("B", "Bo Ray - Day", "B", 11),
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"A-offset": "1"}, "g.tsv:2: 'Ann \"Café\" Lee' is not at character 1 of the text"),
        ({"Pronoun": "", "Pronoun-offset": "0"}, "g.tsv:2: '' is not at character 0"),
        ({"A-coref": "yes"}, "g.tsv:2: A-coref is 'yes'; it must be TRUE or FALSE"),
    ],
)
def test_faulty_rows_are_named(tmp_path, changes, expected):
    with pytest.raises(AtlasError) as caught:
        read(tmp_path, row(**changes))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(expected)
