"""The coreference head in Figure 5: whole sentences in which it is right, renormalised, with the mentions' lines marked."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_shards import write_example_shards
from test_coreference import WORDS, example

from attention_atlas.attention.cache import read_attention
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import RunLabel
from attention_atlas.studies.clark2019.coreference import DEFAULT, DIRECTIONS, judge, picked_words, task_of
from attention_atlas.studies.clark2019.figures import figure5
from attention_atlas.studies.clark2019.maps import coreference_panels, figure5_weights


def windows(folder):
    """Attention of two windows, the windows and their maps."""
    examples = [example(k) for k in range(2)]
    shards, maps = write_example_shards(folder, [len(examples[0].tokens)] * 2, layers=2, heads=3)
    return read_attention(shards), examples, maps


def table2(direction):
    row = {"system": "best_head", "mention_type": "all", "layer": 2, "head": 1, "direction": direction, "accuracy": 0.75}
    return pd.DataFrame([row])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_stretches_hold_what_the_head_does(tmp_path, direction):
    attention, examples, maps = windows(tmp_path)
    stretches = coreference_panels(examples, attention, DEFAULT, (2, 1), direction)
    # Only both sentences together hold mentions and antecedents.
    assert {s.sentence for s in stretches} == {f"e{k}, words 1 to 13" for k in range(2)}
    for stretch in stretches:
        record = int(stretch.sentence[1])
        # What the head puts on [CLS] and [SEP] is seen.
        whole = maps[record][1, 0].astype(np.float32)
        assert stretch.weights == pytest.approx(whole / whole.sum(axis=-1, keepdims=True), rel=1e-5)
        assert stretch.words == ("[CLS]", *(f"w{k}" for k in range(13)), "[SEP]")
        task = task_of(examples[record], DEFAULT, "dependency")
        special = np.arange(15) % 14 == 0
        raw = maps[record][1:2, :1].astype(np.float32)
        right = judge(picked_words(raw, special, task), task)[:, DIRECTIONS.index(direction), 0, 0]
        assert stretch.order == ((~right).sum() - right.sum(), 13, record)
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
    shards, (maps,) = write_example_shards(tmp_path, [18], layers=2, heads=3, seed=1)
    (stretch,) = coreference_panels([longer], read_attention(shards), DEFAULT, (2, 1), direction)
    first, last = re.fullmatch(r"e0, words (\d+) to (\d+)", stretch.sentence).groups()
    start, stop = int(first) - 1, int(last)
    assert (start, stop) != (0, 16)
    rows = [0, *range(start + 1, stop + 1), 17]
    kept = maps[1, 0].astype(np.float32)[rows][:, rows]
    assert stretch.weights == pytest.approx(kept / kept.sum(axis=-1, keepdims=True), rel=1e-5)
    assert stretch.words == ("[CLS]", *(f"w{k}" for k in range(start, stop)), "[SEP]")
    lines = stretch.marked if direction == DIRECTIONS[0] else stretch.marked.T
    marked = {rows[k] - 1 for k in np.flatnonzero(lines.all(axis=1))}
    assert marked
    assert marked <= set(task_of(longer, DEFAULT, "dependency").heads.tolist())


def test_figure_5_has_a_row_for_coreference(tmp_path):
    (tmp_path / "c").mkdir()
    attention, chains, _ = windows(tmp_path / "c")
    trees = example(0)
    layers = dict(trees.layers) | {"heads": (2, 0, 4, 2, 4, 5, 2, 9, 10, 0, 10, 13, 10), "relations": ("dobj",) * 13}
    short = [type(trees)(**{**vars(trees), "record": k, "id": f"e{k}", "layers": layers, "mentions": None}) for k in range(2)]
    shards, _ = write_example_shards(tmp_path, [15, 15], layers=2, heads=3)
    relations = pd.DataFrame(
        {"relation": ["dobj"], "layer": [1], "head": [1], "direction": ["dependent_to_head"], "accuracy": [0.5]}
    )

    def drawn(heads, maps):
        of_trees = read_attention(shards), short
        return figure5_weights(*of_trees, relations, heads, {}, table2(DIRECTIONS[0]), maps, chains)

    table = drawn("auto", attention)
    coreference_rows = table[table["relation"] == "coreference"]
    assert set(coreference_rows["sentence"]) == {"e0, words 1 to 13", "e1, words 1 to 13"}
    assert coreference_rows.groupby(["example", "from_position"])["weight"].sum().to_numpy() == pytest.approx(1, abs=1e-4)
    figure5(table, {"coreference": "chains"}).write({"svg": tmp_path / "f5.svg"}, {"dependencies": RunLabel("r", "m", "c")})
    svg = (tmp_path / "f5.svg").read_text()
    assert "Head 2-1: coreference, 75.0 % right" in svg
    assert "mentions to antecedents" in svg
    named = drawn({"coreference": [1, 2]}, read_attention(tmp_path / "c"))
    assert set(named["relation"]) == {"coreference"}
    assert set(zip(named["layer"], named["head"], strict=True)) == {(1, 2)}
    assert named["accuracy"].isna().all(), "the accuracy belongs to the best head alone"
    with pytest.raises(AtlasError, match="figure5_heads: the model has no head 3-1"):
        drawn({"coreference": [3, 1]}, read_attention(tmp_path / "c"))
