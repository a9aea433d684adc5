"""Which heads and examples Figures 1 and 5 draw, and the weights of their lines."""

import numpy as np
import pandas as pd
import pytest
from small_shards import write_shard

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.studies.clark2019.figures import figure1
from attention_atlas.studies.clark2019.maps import WINDOW, display_token, figure1_weights, figure5_weights


def random_maps(n: int, seed: int) -> np.ndarray:
    raw = np.random.default_rng(seed).random((2, 2, n, n)) ** 3
    return (raw / raw.sum(axis=-1, keepdims=True)).astype(np.float16)


def write_cache(folder, examples, maps):
    facts = [{"record": e.record, "id": e.id, "tokens": e.tokens, "word": e.word, "words": e.words} for e in examples]
    arrays = {e.record: m.astype(np.float16) for e, m in zip(examples, maps, strict=True)}
    write_shard(folder / "0.safetensors", folder / "0.json", arrays, {"level": "tokens", "examples": facts})


# --- Figure 1 --------------------------------------------------------------------------------------------------------


def segment(record, n):
    tokens = ("[CLS]", *(f"t{i}" for i in range(n - 3)), "##x", "[SEP]")
    word = (-1, *range(n - 3), n - 4, -1)
    return Example(record, f"seg{record}", (0,) * n, (0,) * n, tokens, word, tuple(f"t{i}" for i in range(n - 3)), {})


def surface_table(**strongest):
    """Measures that are highest in the head given for each; all others are low."""
    rows = []
    for measure in ("entropy", "next", "sep", "punct", "cls"):
        for layer in (1, 2):
            for head in (1, 2):
                best = strongest.get(measure) == (layer, head)
                rows.append((measure, layer, head, 0.9 if best else 0.1 * layer + 0.01 * head))
    return pd.DataFrame(rows, columns=["measure", "layer", "head", "value"])


STRONGEST = surface_table(entropy=(1, 1), next=(1, 2), sep=(2, 1), punct=(2, 2))


def drawn_segment(folder, heads="auto", surface=None, lengths=(14, 17, 20), maps=None):
    examples = [segment(i, n) for i, n in enumerate(lengths)]
    maps = maps or [random_maps(n, seed=i) for i, n in enumerate(lengths)]
    write_cache(folder, examples, maps)
    surface = STRONGEST if surface is None else surface
    drawn = next(e for e in read_attention([folder / "0.safetensors"]) if len(e.tokens) >= WINDOW)
    return figure1_weights(drawn, surface, heads), maps


def test_the_last_tokens_of_the_first_long_segment_are_drawn(tmp_path):
    table, maps = drawn_segment(tmp_path)
    assert set(table["example"]) == {"seg1"}
    assert len(table) == 4 * 15 * 15
    assert table["kind"].unique().tolist() == ["broad", "next token", "[SEP]", "punctuation"]
    for kind, (layer, head) in zip(table["kind"].unique(), [(0, 0), (0, 1), (1, 0), (1, 1)], strict=True):
        panel = table[table["kind"] == kind]
        assert set(zip(panel["layer"], panel["head"], strict=True)) == {(layer + 1, head + 1)}
        assert set(panel["value"]) == {0.9}
        whole = maps[1][layer, head].astype(float)
        for row in panel.itertuples():
            i, j = row.from_position + 1, row.to_position + 1  # 17 tokens: the window begins at the third
            if row.from_position == 1 or row.to_position == 1:
                assert np.isnan(row.weight)
            else:
                assert row.weight == pytest.approx(whole[i, j] / sum(whole[i, 2:]), abs=1e-4)


def test_tokens_of_the_window(tmp_path):
    table, _ = drawn_segment(tmp_path)
    panel = table[table["kind"] == "broad"]
    names = panel["to_token"].tolist()[:15]
    assert names == ["...", *(f"t{i}" for i in range(2, 14)), "x", "[SEP]"]
    assert panel["from_token"].tolist() == [name for name in names for _ in range(15)]
    assert panel["from_position"].tolist()[::15] == list(range(1, 16))


def test_heads_that_are_named_are_drawn_with_their_own_values(tmp_path):
    table, maps = drawn_segment(tmp_path, heads=[[2, 2], [1, 1], [1, 1], [2, 1]])
    first_rows = table.groupby("kind", sort=False)[["layer", "head", "value"]].first()
    np.testing.assert_allclose(first_rows, [[2, 2, 0.22], [1, 1, 0.11], [1, 1, 0.11], [2, 1, 0.21]])
    first = table[(table["kind"] == "broad") & (table["from_position"] == 5) & (table["to_position"] == 6)]["weight"].item()
    whole = maps[1][1, 1].astype(float)
    assert first == pytest.approx(whole[6, 7] / whole[6, 2:].sum(), abs=1e-4)


def test_a_kind_of_head_that_the_model_cannot_have_is_left_out(tmp_path):
    surface = surface_table().query("measure != 'sep'")
    table, _ = drawn_segment(tmp_path, surface=surface)
    assert table["kind"].unique().tolist() == ["broad", "next token", "punctuation"]


def test_a_row_that_looks_out_of_the_window_has_no_weight(tmp_path):
    maps = random_maps(17, seed=0)
    maps[..., 6, :] = 0
    maps[..., 6, 0] = 1
    table, _ = drawn_segment(tmp_path, lengths=(17,), maps=[maps])
    row = table[(table["from_position"] == 5) & (table["to_position"] > 1)]
    assert set(row["weight"]) == {0}


def test_segments_too_short_or_heads_too_many_are_errors(tmp_path):
    with pytest.raises(AtlasError, match="no segment has 15 tokens"):
        figure1(pd.DataFrame(columns=["kind"]))
    for wrong in ([3, 1], [1, 3], [0, 1]):
        with pytest.raises(AtlasError, match=f"figure1_heads: the model has no head {wrong[0]}-{wrong[1]}"):
            drawn_segment(tmp_path, heads=[wrong, [1, 1], [1, 1], [1, 1]])


# --- Figure 5 --------------------------------------------------------------------------------------------------------

WORDS = ("the", "old", "dog", "saw", "a", "cat")
HEADS = (3, 3, 4, 0, 6, 4)
LABELS = ("det", "amod", "nsubj", "root", "det", "dobj")


def sentence(record, words=WORDS, heads=HEADS, labels=LABELS):
    n = len(words)
    tokens = ("[CLS]", *words, "[SEP]")
    layers = {"heads": heads, "relations": labels}
    return Example(record, f"s{record}", (0,) * (n + 2), (0,) * (n + 2), tokens, (-1, *range(n), -1), words, layers)


def looking(example, right, forward=True, strength=0.6):
    """Maps in which head 2-1 links the dependents numbered in `right` to their heads, and looks at [SEP] otherwise."""
    n = len(example.words)
    maps = np.zeros((2, 2, n + 2, n + 2))
    maps[:, :, :, n + 1] = 1 - strength
    for dependent in range(1, n + 1):
        for key in range(1, n + 1):
            weight = strength if key == (dependent - 2) % n + 1 else 0.01  # by default the word before
            maps[..., dependent, key] = weight
    for dependent in right:
        head = example.layers["heads"][dependent - 1]
        row, column = (dependent, head) if forward else (head, dependent)
        maps[1, 0, row, 1 : n + 1] = 0.01
        maps[1, 0, row, column] = strength
    return maps


def relations_table(**best):
    rows = [(relation, layer, head, direction, 0.75) for relation, (layer, head, direction) in best.items()]
    columns = ["relation", "layer", "head", "direction", "accuracy"]
    return pd.DataFrame(rows, columns=columns)


def drawn_sentences(folder, examples, maps, heads="auto", **best):
    write_cache(folder, examples, maps)
    best = best or {"det": (2, 1, "dependent_to_head")}
    return figure5_weights(read_attention([folder / "0.safetensors"]), examples, relations_table(**best), heads, {})


def test_sentences_where_the_head_works_best_are_drawn(tmp_path):
    examples = [sentence(i) for i in range(4)]
    maps = [
        looking(examples[0], right=[1]),
        looking(examples[1], right=[1, 5], strength=0.5),
        looking(examples[2], right=[]),
        looking(examples[3], right=[1, 5], strength=0.7),
    ]
    table = drawn_sentences(tmp_path, examples, maps)
    drawn = table.groupby("example")["sentence"].first()
    assert drawn.to_dict() == {1: "s3", 2: "s1"}
    assert set(table["accuracy"]) == {0.75}
    first = table[table["example"] == 1]
    # What the head puts on [SEP] is seen.
    np.testing.assert_allclose(first["weight"], maps[3][1, 0].ravel(), atol=1e-3)
    assert first["from_word"].tolist()[::8] == ["[CLS]", *WORDS, "[SEP]"]
    assert first["to_word"].tolist()[:8] == ["[CLS]", *WORDS, "[SEP]"]


def test_special_tokens_are_left_out_for_objects_of_prepositions(tmp_path):
    labels = tuple("pobj" if label == "det" else label for label in LABELS)
    example = sentence(0, labels=labels)
    maps = looking(example, right=[1, 5])
    table = drawn_sentences(tmp_path, [example], [maps], pobj=(2, 1, "dependent_to_head"))
    inner = maps[1, 0, 1:-1, 1:-1]
    np.testing.assert_allclose(table["weight"], (inner / inner.sum(axis=1, keepdims=True)).ravel(), atol=1e-3)
    assert table["from_word"].tolist()[::6] == list(WORDS)


def test_lines_of_the_relation_are_marked_in_both_directions(tmp_path):
    for direction, forward in (("dependent_to_head", True), ("head_to_dependent", False)):
        maps = [looking(sentence(0), right=[1, 5], forward=forward)]
        table = drawn_sentences(tmp_path, [sentence(0)], maps, det=(2, 1, direction))
        assert set(table["direction"]) == {direction}
        marked = table["marked"].to_numpy().reshape(8, 8)
        expected = np.zeros((8, 8), dtype=int)
        expected[[1, 5]] = 1
        np.testing.assert_array_equal(marked, expected if forward else expected.T)


def test_a_transposed_head_is_ranked_by_what_attends_to_the_dependent(tmp_path):
    # In the second sentence the determiners attend to their nouns, which is the other direction.
    maps = [looking(sentence(0), right=[1, 5], forward=False), looking(sentence(1), right=[1, 5], forward=True)]
    table = drawn_sentences(tmp_path, [sentence(0), sentence(1)], maps, det=(2, 1, "head_to_dependent"))
    assert table.groupby("example")["sentence"].first().tolist() == ["s0", "s1"]
    table = drawn_sentences(tmp_path, [sentence(0), sentence(1)], maps, det=(2, 1, "dependent_to_head"))
    assert table.groupby("example")["sentence"].first().tolist() == ["s1", "s0"]


def test_sentences_too_short_too_long_or_of_long_words_are_not_drawn(tmp_path):
    words = ("incomprehensible", *WORDS[1:])
    long = ("the",) * 8 + WORDS[1:]
    examples = [
        sentence(0, WORDS[:5], (3, 3, 4, 0, 4), LABELS[:5]),
        sentence(1, words),
        sentence(2, long, (0, *range(1, 13)), ("root", *["det"] * 12)),
        sentence(3),
    ]
    maps = [looking(e, right=[i + 1 for i, label in enumerate(e.layers["relations"]) if label == "det"]) for e in examples]
    table = drawn_sentences(tmp_path, examples, maps)
    assert set(table["sentence"]) == {"s3"}
    with pytest.raises(AtlasError, match="no sentence of 6 to 12 words has a relation"):
        drawn_sentences(tmp_path, examples[:3], maps[:3])


def test_heads_that_are_named_are_drawn(tmp_path):
    maps = [looking(sentence(0), right=[1, 5])]
    heads = {"det": [1, 2], "amod": [2, 1]}
    table = drawn_sentences(tmp_path, [sentence(0)], maps, heads=heads, det=(2, 1, "head_to_dependent"))
    assert table.groupby("relation", sort=False)[["layer", "head"]].first().to_numpy().tolist() == [[1, 2], [2, 1]]
    # The accuracy belongs to the best head alone; its direction is kept for the relation.
    assert table["accuracy"].isna().all()
    assert table.groupby("relation")["direction"].first().to_dict() == {
        "det": "head_to_dependent",
        "amod": "dependent_to_head",
    }
    same = drawn_sentences(tmp_path, [sentence(0)], maps, heads={"det": [2, 1]}, det=(2, 1, "dependent_to_head"))
    assert set(same["accuracy"]) == {0.75}
    for wrong in ([3, 1], [2, 0]):
        with pytest.raises(AtlasError, match=f"figure5_heads: the model has no head {wrong[0]}-{wrong[1]}"):
            drawn_sentences(tmp_path, [sentence(0)], maps, heads={"det": wrong})


def test_word_pieces_are_drawn_as_words(tmp_path):
    whole = sentence(0)
    pieces = Example(
        *(0, "s0", (0,) * 9, (0,) * 9),
        ("[CLS]", "the", "old", "do", "##g", "saw", "a", "cat", "[SEP]"),
        (-1, 0, 1, 2, 2, 3, 4, 5, -1),
        WORDS,
        whole.layers,
    )
    maps = np.zeros((2, 2, 9, 9))
    maps[..., 8] = 0.5
    maps[..., 1, 3] = maps[..., 1, 4] = 0.2
    maps[..., 1, 2] = 0.1
    maps[..., 3, 5] = 0.2
    maps[..., 4, 1] = 0.4
    table = drawn_sentences(tmp_path, [pieces], [maps])
    weights = table["weight"].to_numpy().reshape(8, 8)
    np.testing.assert_allclose(weights[1], [0, 0, 0.1, 0.4, 0, 0, 0, 0.5], atol=1e-3)
    np.testing.assert_allclose(weights[3], [0, 0.2, 0, 0, 0.1, 0, 0, 0.5], atol=1e-3)


@pytest.mark.parametrize(
    ("token", "shown"),
    [("##ing", "ing"), ("Ġthe", "the"), ("▁the", "the"), ("[SEP]", "[SEP]"), ("Ġ", "Ġ"), ("##", "##"), ("a", "a")],
)
def test_tokens_are_drawn_without_the_marks_of_pieces(token, shown):
    assert display_token(token) == shown
