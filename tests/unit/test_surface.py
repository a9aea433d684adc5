"""Surface patterns of Clark et al. (sections 3.1 to 3.3) against loops over tokens, and heads grouped by maps (section 6)."""

import math
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from small_shards import write_example_shards, write_shard

from attention_atlas.attention.cache import read_attention
from attention_atlas.attention.divergence import head_divergence
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import DOCUMENTS
from attention_atlas.methods.options import AS_PUBLISHED, CORRECTED
from attention_atlas.methods.surface import GROUPS, MEASURES, token_classes
from attention_atlas.models.card import ModelCard
from attention_atlas.studies.clark2019.claims import layer_claims
from attention_atlas.studies.clark2019.surface import (
    behaviours,
    clusters,
    displacement,
    layer_means,
    permutation_p,
    plane,
    summed_divergences,
    surface,
)

PAIR = ["[CLS]", "a", ",", "b", "[SEP]", "c", ".", "[SEP]"]
SINGLE = ["[CLS]", "a", "b", "##.", "[SEP]"]
SHORT = ["[CLS]", ".", "[SEP]"]


def random_maps(tokens, seed):
    logits = 2 * np.random.default_rng(seed).standard_normal((2, 3, tokens, tokens))
    return (np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)).astype(np.float32)


def slow(row_of, tokens, measure, options):
    """One measure of one head of one segment, from the definitions; `row_of[i][j]` is attention from i to j."""
    n = len(tokens)
    everyone = range(n)
    seps, rest = ([i for i in everyone if (tokens[i] == "[SEP]") == is_sep] for is_sep in (True, False))
    by_target = {"cls": ["[CLS]"], "sep": ["[SEP]"], "punct": [".", ","]}
    if measure in by_target:
        return sum(row_of[i][j] for i in everyone for j in everyone if tokens[j] in by_target[measure]) / n
    if measure == "rest_sep":
        return sum(row_of[i][j] for i in rest for j in seps) / len(rest)
    if measure == "sep_sep":
        by = 2 if options.sep_sep_denominator == "two" else len(seps)
        return sum(row_of[i][j] for i in seps for j in seps) / by
    steps = {"next": 1, "previous": -1, "current": 0}
    if measure in steps:
        having = [i for i in everyone if 0 <= i + steps[measure] < n]
        by = n if options.position_denominator == "all" else len(having)
        return sum(row_of[i][i + steps[measure]] for i in having) / by
    if measure == "row_maximum":
        return sum(max(row_of[i]) for i in everyone) / n
    share = options.entropy_smoothing
    smooth = [[(1 - share) * w + share / n for w in row] for row in row_of]
    entropies = [-sum(w * math.log(w) for w in row if w > 0) for row in smooth]
    return entropies[0] if measure == "entropy_cls" else sum(entropies) / n


@pytest.mark.parametrize("options", [AS_PUBLISHED, CORRECTED, replace(AS_PUBLISHED, entropy_smoothing=0.05)])
@pytest.mark.parametrize("tokens", [PAIR, SINGLE, SHORT])
def test_every_measure_is_that_of_the_loops(tokens, options):
    maps, classes = random_maps(len(tokens), seed=len(tokens)), token_classes(tokens, "[CLS]", "[SEP]")
    measures = {name: values for group, *_ in GROUPS for name, values in group(maps, classes, options).items()}
    assert set(measures) == set(MEASURES)
    for name, values in measures.items():
        for layer, head in np.ndindex(2, 3):
            expected = slow(maps[layer, head].astype(float).tolist(), tokens, name, options)
            assert values[layer, head] == pytest.approx(expected, abs=1e-5), name


def test_punctuation_is_exactly_a_full_stop_or_comma():
    tokens = ["<s>", ".", ",", "Ġ,", "Ġ.", "▁,", "##.", "...", ";", "a.", "..", "Ġ", "", "</s>", "</s>"]
    classes = token_classes(tokens, "<s>", "</s>")
    assert [t for t, hit in zip(tokens, classes.punct, strict=True) if hit] == [".", ",", "Ġ,", "Ġ.", "▁,"]
    assert np.flatnonzero(classes.cls).tolist() == [0]
    assert np.flatnonzero(classes.sep).tolist() == [13, 14]


# --- from a cache to the tables --------------------------------------------------------------------------------------


def measured(folder, texts, maps, options=AS_PUBLISHED, level="tokens", records=None, limit=100, special=("[CLS]", "[SEP]")):
    """Tables of segments whose maps are in a cache; records: their numbers in the corpus."""
    facts = [
        {"record": r, "id": f"s{r}", "tokens": t, "word": [-1 if x[0] == "[" else i for i, x in enumerate(t)], "words": t}
        for r, t in zip(records or range(len(texts)), texts, strict=True)
    ]
    arrays = {fact["record"]: array.astype(np.float16) for fact, array in zip(facts, maps, strict=True)}
    write_shard(folder / "0.safetensors", folder / "0.json", arrays, {"level": level, "examples": facts})
    card = ModelCard("m", "here", "bert", 2, 3, 128, *special, 0, "", "random", 0, "float32")
    attention = read_attention([folder / "0.safetensors"], limit)
    return surface(attention, card, asdict(options) | {"preset": "as_published"}, "auto", 100, 0)


def maps_of(texts):
    """Random maps, as a cache gives them back."""
    return [random_maps(len(t), seed=i).astype(np.float16).astype(np.float32) for i, t in enumerate(texts)]


def mean_of_loops(texts, maps, row, options):
    heads = [m[row.layer - 1, row.head - 1].astype(float).tolist() for m in maps]
    return np.array([slow(head, tokens, row.measure, options) for head, tokens in zip(heads, texts, strict=True)])


def test_segments_of_different_lengths_count_alike(tmp_path):
    # Record 1 was dropped, and the last lies beyond the limit, which counts records of the corpus.
    texts = [PAIR, SINGLE, SHORT]
    maps = maps_of([*texts, PAIR])
    tables = measured(tmp_path, [*texts, PAIR], maps, records=[0, 2, 3, 5], limit=5)
    assert len(tables["surface"]) == len(MEASURES) * 6
    for row in tables["surface"].itertuples():
        values = mean_of_loops(texts, maps[:3], row, AS_PUBLISHED)
        assert row.value == pytest.approx(values.mean(), abs=1e-5), row.measure
        assert min(values) - 1e-5 <= row.ci_low <= row.value <= row.ci_high <= max(values) + 1e-5
        assert row.n == 3
    expected = {"segments": 3, "mean_tokens": 16 / 3, "shortest": 3, "longest": 8}
    expected |= {"uniform_entropy": (math.log(8) + math.log(5) + math.log(3)) / 3}
    assert dict(tables["summary"].to_numpy()) == pytest.approx(expected)
    for changes, message in (
        ({"records": [4, 5, 6], "limit": 4}, "no segment to measure"),
        ({"level": "words"}, r"example s0: .* level words, .* set level: tokens"),
    ):
        with pytest.raises(AtlasError, match=message):
            measured(tmp_path, texts, maps[:3], **changes)


def test_options_are_moved_one_at_a_time_from_the_published_setting(tmp_path):
    texts = [PAIR, SINGLE]
    maps = maps_of(texts)
    # The options of the run must not leak into this table.
    moved = measured(tmp_path, texts, maps, replace(CORRECTED, entropy_smoothing=0.03))["options"]
    assert moved.groupby(["option", "measure"])["setting"].unique().map(list).to_dict() == {
        ("sep_sep_denominator", "sep_sep"): ["two", "count"],
        **{("position_denominator", measure): ["all", "valid"] for measure in ("next", "previous")},
        **{("entropy_smoothing", measure): ["0.0001", "0.0"] for measure in ("entropy", "entropy_cls")},
    }
    for row in moved.itertuples():
        value = float(row.setting) if row.option == "entropy_smoothing" else row.setting
        expected = mean_of_loops(texts, maps, row, replace(AS_PUBLISHED, **{row.option: value})).mean()
        assert row.value == pytest.approx(expected, abs=1e-5)


@pytest.mark.filterwarnings("error")
def test_measures_that_a_model_or_a_segment_cannot_have_are_left_out(tmp_path):
    texts = [["Ġa", ".", "Ġc"]] * 2
    tables = measured(tmp_path, texts, maps_of(texts), special=(None, None))
    assert set(tables["surface"]["measure"]) == set(MEASURES) - {"cls", "sep", "rest_sep", "sep_sep", "entropy_cls"}
    assert set(tables["options"]["measure"]) == {"next", "previous", "entropy"}
    texts = [PAIR, ["[CLS]", "a", "b"]]
    maps = maps_of(texts)
    table = measured(tmp_path, texts, maps)["surface"]
    n = table.groupby("measure")["n"].first()
    assert n[["sep_sep", "rest_sep", "cls", "next", "entropy"]].tolist() == [1, 1, 2, 2, 2]
    row = next(table.query("measure == 'sep_sep'").itertuples())
    assert row.value == pytest.approx(mean_of_loops(texts[:1], maps[:1], row, AS_PUBLISHED)[0], abs=1e-5)


# --- Figure 6 --------------------------------------------------------------------------------------------------------

OPTIONS = {"smoothing": 0.001, "blocks": 4, "broad_entropy": 3.8, "position": 0.5, "special": 0.6, "permutations": 199}
SMALL = np.array([[0, 1, 5, 6], [1, 0, 7, 8], [5, 7, 0, 3], [6, 8, 3, 0]], dtype=float)


def symmetric(generator, size):
    half = np.triu(generator.random((size, size)), 1)
    return half + half.T


def test_points_of_the_plane_are_found_again():
    points = np.random.default_rng(2).normal(size=(15, 2))
    layout = plane(cdist(points, points), seed=0)
    assert procrustes(points, layout)[2] < 1e-6
    # Turned so that x is the widest direction, and the same each time.
    assert layout[:, 0].std() >= layout[:, 1].std()
    assert np.abs(layout.mean(axis=0)).max() < 1e-9
    assert plane(cdist(points, points), seed=0) == pytest.approx(layout, abs=0)


def test_permutation_finds_planted_layers_and_counts_by_enumeration():
    labels = np.repeat([1, 2, 3], 4)
    planted = symmetric(np.random.default_rng(5), 12) + 2 * (labels[:, None] != labels[None, :])
    np.fill_diagonal(planted, 0)
    assert permutation_p(planted, labels, 999, seed=0) == pytest.approx(2 / 1000)
    assert permutation_p(-planted, labels, 999, seed=0) == pytest.approx(2 / 1000)
    assert layer_means(SMALL, np.array([1, 1, 2, 2])) == (2, 6.5)
    # Of the three ways to pair four heads one is the observed one: a third of all permutations is as extreme, on one side.
    assert permutation_p(SMALL, np.array([1, 1, 2, 2]), 3000, seed=1) == pytest.approx(2 / 3, abs=0.06)


def test_p_is_uniform_without_structure():
    labels = np.repeat([1, 2, 3, 4], 4)
    values = [permutation_p(symmetric(np.random.default_rng(k), 16), labels, 99, seed=k) for k in range(120)]
    assert 0.4 < np.mean(values) < 0.6
    assert np.mean(np.array(values) <= 0.1) < 0.2


@pytest.mark.parametrize(("effect", "false", "least"), [(0.0, ["holds", "does not hold"], 0), (0.4, ["does not hold"], 95)])
def test_layers_without_an_effect_are_undecided_although_documents_decide_which_pairs_are_closer(effect, false, least):
    labels, verdicts = np.repeat([1, 2, 3, 4, 5, 6], 4), []
    for seed in range(100):
        heads = np.random.default_rng(seed).normal(size=(len(labels), 5))
        distances = cdist(heads, heads, "cityblock") / 5 + effect * (labels[:, None] != labels)
        np.fill_diagonal(distances, 0)
        within, between = layer_means(distances.copy(), labels)
        values = {"within_layer": within, "between_layers": between, "difference": between - within}
        values |= {"permutation_p": permutation_p(distances, labels, 199, seed), "smallest_p": 2 / 200}
        table = pd.DataFrame(values.items(), columns=["quantity", "value"]).assign(unit="documents", units=40)
        table = table.assign(ci_low=table["value"] - 1e-3, ci_high=table["value"] + 1e-3)
        verdicts += [claim.verdict for claim in layer_claims(table)]
    assert sum(verdict in false for verdict in verdicts) <= 10
    assert verdicts.count("holds") >= least


def surface_of(layer=1, **values):
    rows = [(measure, layer, head, value) for measure, heads in values.items() for head, value in enumerate(heads, start=1)]
    return pd.DataFrame(rows, columns=["measure", "layer", "head", "value"])


def test_later_behaviours_override_earlier_ones():
    values = {
        "next": [0.6, 0.1, 0.1, 0.5, 0.6, 0.0, 0.6],
        "previous": [0.1, 0.6, 0.1, 0.1, 0.6, 0.0, 0.1],
        "entropy": [1.0, 1.0, 3.9, 1.0, 3.8, 1.0, 3.9],
        "cls": [0.0, 0.0, 0.0, 0.0, 0.0, 0.7, 0.0],
        "sep": [0.0, 0.0, 0.0, 0.0, 0.0, 0.7, 0.0],
        "punct": [0.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.61],
    }
    named = behaviours(surface_of(**values), OPTIONS)["behaviour"].tolist()
    assert named == ["next", "previous", "broad", "none", "previous", "sep", "punctuation"]


def test_clusters_from_shards(tmp_path):
    shards, maps = write_example_shards(tmp_path, sizes=[6, 8, 7, 9, 5], layers=3, heads=3)
    cached = list(read_attention(shards))
    # A model without special tokens.
    low = dict.fromkeys(("previous", "entropy", "punct"), [0.1] * 3)
    of_heads = pd.concat([surface_of(layer, next=[0.7] * 3, **low) for layer in (1, 2, 3)])
    relations = pd.DataFrame({"relation": ["det", "prep", "dobj"], "layer": [2, 1, 2], "head": 3})
    systems = {"system": ["nearest", "best_head", "best_head"], "mention_type": ["all", "pronoun", "all"]}
    table2 = pd.DataFrame({**systems, "layer": [None, 3, 1], "head": [None, 3, 1]})
    tables = clusters(iter(cached), cached, of_heads, OPTIONS, 1, 100, 0, relations, table2)
    row = tables["distances"].query("layer_a == 1 and head_a == 3 and layer_b == 2 and head_b == 1").iloc[0]
    divergences = sum(head_divergence(m.reshape(9, *m.shape[2:]), 0.001) for m in maps) / 35
    assert (len(tables["distances"]), row["js"]) == (36, pytest.approx(divergences[2, 3], rel=1e-5))
    heads = tables["heads"]
    assert heads["behaviour"].tolist() == ["next"] * 9
    named = heads[heads["relation"] != ""]
    assert named[["layer", "head", "relation"]].to_numpy().tolist() == [[1, 1, "coreference"], [2, 3, "det, dobj"]]
    test = tables["test"].set_index("quantity")
    within, between = layer_means(divergences, np.repeat([1, 2, 3], 3))
    difference = test.loc["difference"]
    assert difference["value"] == pytest.approx(between - within, rel=1e-4)
    assert difference[["n", "unit", "units"]].tolist() == [9, "groups of segments", 4]
    assert difference["ci_low"] <= difference["value"] <= difference["ci_high"]
    plain = cdist(heads[["x", "y"]], heads[["x", "y"]])
    stress = ((divergences - plain) ** 2).sum() / (divergences**2).sum()
    assert test.loc["stress", "value"] == pytest.approx(stress**0.5, rel=1e-4)
    assert test.loc["radius", "value"] == pytest.approx(math.hypot(heads["x"].std(ddof=0), heads["y"].std(ddof=0)), rel=1e-4)
    assert test.loc["displacement", "value"] > 0.01, "nine heads are not in a plane"


def test_a_layout_that_its_distances_determine_does_not_move():
    layout = np.array([[3.0, 1.0], [-1.0, 2.0], [-4.0, -2.0], [2.0, -1.0]])
    assert displacement(cdist(layout, layout), layout @ [[0, 1], [1, 0]]) < 0.01


def test_no_document_is_in_two_groups_of_segments(tmp_path):
    sizes = [3, 4, 5, 6, 7, 8]
    shards, _ = write_example_shards(tmp_path, sizes, 2, 2, documents=["a", "a", "b", "b", "c", "c"])
    for blocks, tokens, unit in ((5, [7, 11, 15], DOCUMENTS), (2, [22, 11], "groups of documents")):
        _, summed, name = summed_divergences(read_attention(shards), list(read_attention(shards)), 0.001, blocks, 1)
        assert (summed.tolist(), name) == (tokens, unit)
