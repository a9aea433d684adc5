"""Surface patterns (sections 3.1 to 3.3 of Clark et al.), against loops over every pair of tokens."""

import math
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_shards import write_shard

from attention_atlas.attention.cache import read_attention
from attention_atlas.errors import AtlasError
from attention_atlas.methods.options import AS_PUBLISHED, CORRECTED
from attention_atlas.methods.surface import (
    MEASURES,
    TokenClasses,
    entropy_measures,
    maximum_measures,
    position_measures,
    target_measures,
    token_classes,
)
from attention_atlas.models.card import ModelCard
from attention_atlas.studies.clark2019.surface import surface as measured

PAIR = ["[CLS]", "a", ",", "b", "[SEP]", "c", ".", "[SEP]"]
SINGLE = ["[CLS]", "a", "b", "##.", "[SEP]"]


def random_maps(tokens: int, seed: int, shape: tuple[int, int] = (2, 3)) -> np.ndarray:
    logits = 2 * np.random.default_rng(seed).standard_normal((*shape, tokens, tokens))
    return (np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)).astype(np.float32)


def classes_of(tokens: list[str]) -> TokenClasses:
    return TokenClasses(
        np.array([t == "[CLS]" for t in tokens]),
        np.array([t == "[SEP]" for t in tokens]),
        np.array([t in ".," for t in tokens]),
    )


def slow(row_of, tokens, measure, options):
    """One measure of one head of one segment, from the definitions; `row_of[i][j]` is attention from i to j."""
    n = len(tokens)
    everyone = range(n)
    seps = [i for i in everyone if tokens[i] == "[SEP]"]
    rest = [i for i in everyone if tokens[i] != "[SEP]"]
    targets = {"cls": "[CLS]", "sep": "[SEP]"}
    if measure in targets:
        return sum(row_of[i][j] for i in everyone for j in everyone if tokens[j] == targets[measure]) / n
    if measure == "punct":
        return sum(row_of[i][j] for i in everyone for j in everyone if tokens[j] in (".", ",")) / n
    if measure == "rest_sep":
        return sum(row_of[i][j] for i in rest for j in seps) / len(rest)
    if measure == "sep_sep":
        by = 2 if options.sep_sep_denominator == "two" else len(seps)
        return sum(row_of[i][j] for i in seps for j in seps) / by
    if measure in ("next", "previous"):
        step = 1 if measure == "next" else -1
        having = [i for i in everyone if 0 <= i + step < n]
        by = n if options.position_denominator == "all" else len(having)
        return sum(row_of[i][i + step] for i in having) / by
    if measure == "current":
        return sum(row_of[i][i] for i in everyone) / n
    if measure == "row_maximum":
        return sum(max(row_of[i]) for i in everyone) / n
    share = options.entropy_smoothing
    smooth = [[(1 - share) * w + share / n for w in row] for row in row_of]
    entropies = [-sum(w * math.log(w) for w in row if w > 0) for row in smooth]
    return entropies[0] if measure == "entropy_cls" else sum(entropies) / n


def all_measures(maps, classes, options):
    groups = (target_measures, position_measures, entropy_measures, maximum_measures)
    return {name: values for group in groups for name, values in group(maps, classes, options).items()}


@pytest.mark.parametrize("options", [AS_PUBLISHED, CORRECTED, replace(AS_PUBLISHED, entropy_smoothing=0.05)])
@pytest.mark.parametrize("tokens", [PAIR, SINGLE, ["[CLS]", ".", "[SEP]"]])
def test_every_measure_is_that_of_the_loops(tokens, options):
    maps = random_maps(len(tokens), seed=len(tokens))
    measures = all_measures(maps, classes_of(tokens), options)
    assert set(measures) == set(MEASURES)
    for name, values in measures.items():
        for layer in range(2):
            for head in range(3):
                expected = slow(maps[layer, head].astype(float).tolist(), tokens, name, options)
                assert values[layer, head] == pytest.approx(expected, abs=1e-5), name


def test_the_two_denominators_part_where_they_should():
    one_sep, maps = classes_of(SINGLE), random_maps(5, seed=0)
    two, count = (target_measures(maps, one_sep, o)["sep_sep"] for o in (AS_PUBLISHED, CORRECTED))
    np.testing.assert_allclose(count, 2 * two)
    every, valid = (position_measures(maps, one_sep, o) for o in (AS_PUBLISHED, CORRECTED))
    np.testing.assert_allclose(valid["next"], every["next"] * 5 / 4)
    np.testing.assert_allclose(valid["previous"], every["previous"] * 5 / 4)
    np.testing.assert_array_equal(valid["current"], every["current"])


def test_direction_of_next_and_previous():
    # Every token looks at the one after it, the last at itself.
    maps = np.eye(4, k=1, dtype=np.float32)[None, None]
    maps[..., 3, 3] = 1
    none = TokenClasses(*[np.zeros(4, dtype=bool)] * 3)
    measures = position_measures(maps, none, AS_PUBLISHED)
    assert {name: float(value[0, 0]) for name, value in measures.items()} == {"next": 0.75, "previous": 0, "current": 0.25}
    assert float(position_measures(maps, none, CORRECTED)["next"][0, 0]) == 1


@settings(max_examples=15, deadline=None)
@given(n=st.integers(2, 128), smoothing=st.sampled_from([0.0, 1e-4, 0.1]))
def test_uniform_heads_have_entropy_ln_n(n, smoothing):
    uniform = np.full((1, 1, n, n), 1 / n, dtype=np.float32)
    classes = TokenClasses(np.arange(n) == 0, np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))
    measures = entropy_measures(uniform, classes, replace(AS_PUBLISHED, entropy_smoothing=smoothing))
    np.testing.assert_allclose(measures["entropy"], math.log(n), rtol=1e-5)
    np.testing.assert_allclose(measures["entropy_cls"], math.log(n), rtol=1e-5)


def test_heads_that_look_at_one_token_have_no_entropy_but_for_smoothing():
    one_hot = np.eye(6, dtype=np.float32)[None, None, [3, 3, 0, 1, 5, 5]]
    classes = classes_of(["[CLS]", *"abcd", "[SEP]"])
    assert float(entropy_measures(one_hot, classes, CORRECTED)["entropy"][0, 0]) == 0
    smoothed = float(entropy_measures(one_hot, classes, AS_PUBLISHED)["entropy"][0, 0])
    small, large = 1e-4 / 6, 1 - 1e-4 + 1e-4 / 6
    assert smoothed == pytest.approx(-5 * small * math.log(small) - large * math.log(large), rel=1e-3)


def test_punctuation_is_exactly_a_full_stop_or_comma():
    tokens = ["<s>", ".", ",", "Ġ,", "Ġ.", "▁,", "##.", "...", ";", "a.", "..", "Ġ", "", "</s>", "</s>"]
    classes = token_classes(tokens, "<s>", "</s>")
    assert [t for t, hit in zip(tokens, classes.punct, strict=True) if hit] == [".", ",", "Ġ,", "Ġ.", "▁,"]
    assert np.flatnonzero(classes.cls).tolist() == [0]
    assert np.flatnonzero(classes.sep).tolist() == [13, 14]


def test_a_model_without_special_tokens_has_no_attention_to_them():
    tokens = ["Ġa", "Ġb", "Ġ."]
    classes = token_classes(tokens, None, None)
    assert not classes.cls.any()
    assert not classes.sep.any()
    measures = all_measures(random_maps(3, seed=1), classes, AS_PUBLISHED)
    assert {name for name, values in measures.items() if np.isnan(values).all()} == {
        *("cls", "sep", "rest_sep", "sep_sep", "entropy_cls")
    }
    assert not any(np.isnan(measures[name]).any() for name in ("punct", "next", "entropy", "row_maximum"))


# --- from a cache to the tables --------------------------------------------------------------------------------------


def write_cache(folder, texts, maps, level="tokens", records=None):
    facts = [
        {"record": r, "id": f"s{r}", "tokens": t, "word": [-1 if x[0] == "[" else i for i, x in enumerate(t)], "words": t}
        for r, t in zip(records or range(len(texts)), texts, strict=True)
    ]
    arrays = {fact["record"]: array.astype(np.float16) for fact, array in zip(facts, maps, strict=True)}
    write_shard(folder / "0.safetensors", folder / "0.json", arrays, {"level": level, "examples": facts})
    return [folder / "0.safetensors"]


def measure(shards, limit=100, options=AS_PUBLISHED, cls="[CLS]", sep="[SEP]"):
    card = ModelCard("m", "here", "bert", 2, 3, 128, cls, sep, 0, "", "random", 0, "float32")
    tables = measured(read_attention(shards, limit), card, asdict(options) | {"preset": "as_published"}, "auto", 100, 0)
    return [tables[name] for name in ("surface", "options", "summary")]


def half(maps):
    """Maps as a cache gives them back."""
    return maps.astype(np.float16).astype(np.float32)


@pytest.mark.parametrize("options", [AS_PUBLISHED, CORRECTED])
def test_segments_of_different_lengths_count_alike(tmp_path, options):
    texts = [PAIR, SINGLE, ["[CLS]", ".", "[SEP]"]]
    maps = [random_maps(len(t), seed=i) for i, t in enumerate(texts)]
    surface, _, summary = measure(write_cache(tmp_path, texts, maps), options=options)
    assert surface.columns.tolist() == ["measure", "layer", "head", "value", "ci_low", "ci_high", "n", "unit", "units"]
    assert len(surface) == len(MEASURES) * 6
    for row in surface.itertuples():
        heads = [half(m)[row.layer - 1, row.head - 1].astype(float).tolist() for m in maps]
        values = [slow(head, tokens, row.measure, options) for head, tokens in zip(heads, texts, strict=True)]
        assert row.value == pytest.approx(sum(values) / 3, abs=1e-5), row.measure
        assert min(values) - 1e-5 <= row.ci_low <= row.value <= row.ci_high <= max(values) + 1e-5
        assert row.n == 3
    assert (surface["ci_low"] < surface["ci_high"]).mean() > 0.9
    assert dict(summary.to_numpy()) == {
        "segments": 3,
        "mean_tokens": pytest.approx(16 / 3, abs=1e-4),
        "shortest": 3,
        "longest": 8,
        "uniform_entropy": pytest.approx((math.log(8) + math.log(5) + math.log(3)) / 3, abs=1e-5),
    }


def test_options_are_moved_one_at_a_time_from_the_published_setting(tmp_path):
    texts = [PAIR, SINGLE]
    maps = [random_maps(len(t), seed=i) for i, t in enumerate(texts)]
    # The options of the run must not leak into this table.
    _, moved, _ = measure(write_cache(tmp_path, texts, maps), options=replace(CORRECTED, entropy_smoothing=0.03))
    settings_of = {
        "sep_sep_denominator": (("two", "count"), ("sep_sep",)),
        "position_denominator": (("all", "valid"), ("next", "previous")),
        "entropy_smoothing": (("0.0001", "0.0"), ("entropy", "entropy_cls")),
    }
    combinations = set(moved[["option", "setting", "measure"]].itertuples(index=False, name=None))
    assert combinations == {(o, s, m) for o, (values, measures) in settings_of.items() for s in values for m in measures}
    assert len(moved) == len(combinations) * 6
    for row in moved.itertuples():
        value = float(row.setting) if row.option == "entropy_smoothing" else row.setting
        options = replace(AS_PUBLISHED, **{row.option: value})
        heads = [half(m)[row.layer - 1, row.head - 1].astype(float).tolist() for m in maps]
        expected = sum(slow(head, tokens, row.measure, options) for head, tokens in zip(heads, texts, strict=True)) / 2
        assert row.value == pytest.approx(expected, abs=1e-5)


def test_limit_counts_records_of_the_corpus_not_segments(tmp_path):
    # Record 1 was dropped: of records 0, 2, 3 two lie before the limit.
    texts = [SINGLE, PAIR, PAIR]
    maps = [random_maps(len(t), seed=i) for i, t in enumerate(texts)]
    shards = write_cache(tmp_path, texts, maps, records=[0, 2, 3])
    surface, _, summary = measure(shards, limit=3)
    assert summary.set_index("quantity")["value"]["segments"] == 2
    assert set(surface["n"]) == {2}
    value = surface.query("measure == 'current' and layer == 2 and head == 3")["value"].item()
    expected = [slow(half(m)[1, 2].tolist(), t, "current", AS_PUBLISHED) for m, t in zip(maps[:2], texts[:2], strict=True)]
    assert value == pytest.approx(sum(expected) / 2, abs=1e-5)


def test_nothing_to_measure_is_an_error(tmp_path):
    shards = write_cache(tmp_path, [SINGLE], [random_maps(5, seed=0)], records=[4])
    with pytest.raises(AtlasError, match="no segment to measure"):
        measure(shards, limit=4)


def test_a_cache_of_words_is_an_error(tmp_path):
    shards = write_cache(tmp_path, [SINGLE], [random_maps(5, seed=0)], level="words")
    with pytest.raises(AtlasError, match=r"example s0: .* level words, .* set level: tokens"):
        measure(shards)


def test_measures_that_a_model_cannot_have_are_left_out(tmp_path):
    shards = write_cache(tmp_path, [["Ġa", ".", "Ġc"]] * 2, [random_maps(3, seed=i) for i in range(2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        surface, moved, _ = measure(shards, cls=None, sep=None)
    assert set(surface["measure"]) == set(MEASURES) - {"cls", "sep", "rest_sep", "sep_sep", "entropy_cls"}
    assert set(moved["measure"]) == {"next", "previous", "entropy"}


def test_a_segment_without_sep_is_left_out_of_its_measures_alone(tmp_path):
    texts = [PAIR, ["[CLS]", "a", "b"]]
    maps = [random_maps(len(t), seed=i) for i, t in enumerate(texts)]
    surface, moved, _ = measure(write_cache(tmp_path, texts, maps))
    n = surface.groupby("measure")["n"].first()
    assert {name: n[name] for name in ("sep_sep", "rest_sep", "cls", "next", "entropy")} == {
        **{"sep_sep": 1, "rest_sep": 1},
        **{"cls": 2, "next": 2, "entropy": 2},
    }
    expected = target_measures(half(maps[0]), classes_of(PAIR), AS_PUBLISHED)["sep_sep"][0, 0]
    assert surface.query("measure == 'sep_sep'")["value"].iloc[0] == pytest.approx(expected, abs=1e-5)
    assert moved.query("measure == 'sep_sep' and setting == 'two'")["value"].iloc[0] == pytest.approx(expected, abs=1e-5)
