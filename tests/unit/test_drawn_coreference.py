"""The coreference head in Figure 5: whole sentences in which it is right, renormalised, with the mentions' lines marked."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_shards import write_example_shards
from test_coreference import WORDS, example

from attention_atlas.corpora.examples import write_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.studies.clark2019.antecedents import DEFAULT, task_of
from attention_atlas.studies.clark2019.coreference import COLUMNS, DIRECTIONS, judge, picked_words
from attention_atlas.studies.clark2019.drawn_coreference import coreference_frames, drawn_stretches
from attention_atlas.studies.clark2019.drawn_heads import figure5_weights
from attention_atlas.studies.clark2019.figure5 import figure5


def files(folder, direction, documents=3):
    examples = [example(k) for k in range(documents)]
    n = len(examples[0].tokens)
    shards, maps = write_example_shards(folder, [n] * 2, layers=2, heads=3)
    examples = examples[:2]
    write_examples(folder / "0.parquet", examples)
    row = dict.fromkeys(COLUMNS, 1) | {
        "system": "best_head",
        "mention_type": "all",
        "layer": 2,
        "head": 1,
        "direction": direction,
        "accuracy": 0.75,
    }
    write_table(pd.DataFrame([row]), folder / "table2.tsv")
    return (shards[0], folder / "0.parquet", folder / "table2.tsv"), examples, maps


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_stretches_hold_what_the_head_does(tmp_path, direction):
    inputs, examples, maps = files(tmp_path, direction)
    stretches, drawn, found_direction, accuracy = drawn_stretches(*inputs, {}, None)
    assert (drawn, found_direction, accuracy) == ((2, 1), direction, 0.75)
    assert {s.example.id for s in stretches} == {"e0", "e1"}
    for stretch in stretches:
        # Only both sentences together hold mentions and antecedents.
        assert (stretch.start, stretch.stop) == (0, 13)
        # What the head puts on [CLS] and [SEP] is seen.
        whole = maps[stretch.example.record][1, 0].astype(np.float32)
        assert stretch.weights == pytest.approx(whole / whole.sum(axis=-1, keepdims=True), rel=1e-5)
        assert stretch.words == ("[CLS]", *(f"w{k}" for k in range(13)), "[SEP]")
        task = task_of(examples[stretch.example.record], DEFAULT, "dependency")
        special = np.arange(15) % 14 == 0
        raw = maps[stretch.example.record][1:2, :1].astype(np.float32)
        right = judge(picked_words(raw, special, task), task)[:, DIRECTIONS.index(direction), 0, 0]
        assert (stretch.right, stretch.wrong) == (right.sum(), (~right).sum())
        lines = stretch.marked if direction == DIRECTIONS[0] else stretch.marked.T
        assert np.flatnonzero(lines.all(axis=1)).tolist() == [9, 11, 13]
        assert lines.sum() == 3 * 15


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_stretch_of_some_sentences_has_the_special_tokens_of_the_window(tmp_path, direction):
    longer = replace(
        example(0),
        input_ids=(0,) * 18,
        segment_ids=(0,) * 18,
        tokens=("[CLS]", *WORDS, "Long", "after", ".", "[SEP]"),
        word=(-1, *range(16), -1),
        words=(*WORDS, "Long", "after", "."),
        layers={"xpos": ("NN",) * 16, "sentence": (2,) * 3 + (0,) * 4 + (1,) * 6 + (3,) * 3},
    )
    (_, _, table2), _, _ = files(tmp_path, direction)
    shards, (maps,) = write_example_shards(tmp_path, [18], layers=2, heads=3, seed=1)
    write_examples(tmp_path / "0.parquet", [longer])
    stretches, *_ = drawn_stretches(shards[0], tmp_path / "0.parquet", table2, {}, None)
    ((start, stop),) = {(s.start, s.stop) for s in stretches}
    assert (start, stop) != (0, 16)
    (stretch,) = stretches
    rows = [0, *range(start + 1, stop + 1), 17]
    kept = maps[1, 0].astype(np.float32)[rows][:, rows]
    assert stretch.weights == pytest.approx(kept / kept.sum(axis=-1, keepdims=True), rel=1e-5)
    assert stretch.words == ("[CLS]", *(f"w{k}" for k in range(start, stop)), "[SEP]")
    lines = stretch.marked if direction == DIRECTIONS[0] else stretch.marked.T
    marked = {rows[k] - 1 for k in np.flatnonzero(lines.all(axis=1))}
    assert marked
    assert marked <= set(task_of(longer, DEFAULT, "dependency").heads.tolist())
    frame = coreference_frames(stretches, (2, 1), direction, 0.5)[0]
    assert frame["from_word"].tolist()[:: len(rows)] == list(stretch.words)


def test_a_head_can_be_named_and_must_exist(tmp_path):
    inputs, _, _ = files(tmp_path, DIRECTIONS[0])
    _, drawn, _, accuracy = drawn_stretches(*inputs, {}, [1, 3])
    assert drawn == (1, 3)
    assert np.isnan(accuracy)
    with pytest.raises(AtlasError, match="figure5_heads: the model has no head 3-1"):
        drawn_stretches(*inputs, {}, [3, 1])


def test_figure_5_has_a_row_for_coreference(tmp_path):
    (tmp_path / "c").mkdir()
    inputs, _, _ = files(tmp_path / "c", DIRECTIONS[0])
    trees = example(0)
    layers = dict(trees.layers) | {"heads": (2, 0, 4, 2, 4, 5, 2, 9, 10, 0, 10, 13, 10), "relations": ("dobj",) * 13}
    short = [type(trees)(**{**vars(trees), "record": k, "id": f"e{k}", "layers": layers, "mentions": None}) for k in range(2)]
    shards, _ = write_example_shards(tmp_path, [15, 15], layers=2, heads=3)
    write_examples(tmp_path / "0.parquet", short)
    relations = pd.DataFrame(
        {"relation": ["dobj"], "layer": [1], "head": [1], "direction": ["dependent_to_head"], "accuracy": [0.5]}
    )
    write_table(relations, tmp_path / "relations.tsv")
    paths = (shards[:1], [tmp_path / "0.parquet"], tmp_path / "relations.tsv")
    figure5_weights(*paths, "auto", "auto", tmp_path / "f5.tsv", inputs, {})
    table = read_table(tmp_path / "f5.tsv")
    assert "coreference" in set(table["relation"])
    coreference_rows = table[table["relation"] == "coreference"]
    assert set(coreference_rows["sentence"]) == {"e0, words 1 to 13", "e1, words 1 to 13"}
    assert coreference_rows.groupby(["example", "from_position"])["weight"].sum().to_numpy() == pytest.approx(1, abs=1e-4)
    figure5(tmp_path / "f5.tsv", RunLabel("r", "m", "c"), "chains", {"svg": tmp_path / "f5.svg"})
    svg = (tmp_path / "f5.svg").read_text()
    assert "Head 2-1: coreference, 75.0 % right" in svg
    assert "mentions to antecedents" in svg
    figure5_weights(*paths, {"coreference": [1, 2]}, "auto", tmp_path / "named.tsv", inputs, {})
    assert set(read_table(tmp_path / "named.tsv")["relation"]) == {"coreference"}
