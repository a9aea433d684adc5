"""Published values that follow from others: the formulas by hand, all declared ones, and slips that must be found."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_atlas.errors import AtlasError
from attention_atlas.published.derivations import FORMULAS, recompute
from attention_atlas.published.values import Number, Published, load_published

STUDIES = ("clark2019", "guan2020", "kovaleva2019", "michel2019", "tenney2019", "stefanik2021")
CONTRADICTIONS = {
    "clark2019": {"t1_all_acc", "t1_all_baseline", "t1_auxpass_acc", "t1_auxpass_baseline"},
    "guan2020": {"g_diag"},
    "kovaleva2019": {f"k_f8_{task}_base" for task in ("mrpc", "sts-b", "qqp", "rte", "qnli", "mnli")},
    "michel2019": {"m19.sec43.param_bert"},
    "tenney2019": set(),
    "stefanik2021": set(),
}


def value(identifier, *numbers, tolerance=None, **details) -> Published:
    others = {"tolerance": tolerance, "same": {}, "size": None, "details": details}
    texts = {name: "" for name in Published.__dataclass_fields__ if name not in (*others, "numbers")}
    made = [number if isinstance(number, Number) else Number(number, "", None, None) for number in numbers]
    return Published(**(texts | {"id": identifier}), **others, numbers=tuple(made))


def following(printed, formula, inputs, decimals=None) -> Published:
    return value("x", Number(printed, "", None, None, decimals, formula, inputs))


def one(entry, *sources):
    published = {source.id: source for source in (*sources, entry)}
    ((result,),) = recompute(published).values()
    return result


# --- the registry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", STUDIES)
def test_every_declared_value_follows_or_is_a_known_contradiction_with_a_note(study):
    published = load_published(study)
    results = recompute(published)
    disagreeing = {name for name, numbers in results.items() if not all(number.agrees for number in numbers)}
    assert disagreeing == CONTRADICTIONS[study]
    for name in disagreeing:
        assert published[name].note, f"{name}: a contradiction needs a note"
    for name in results:
        assert all(number.formula for number in published[name].numbers), f"{name}: all of its numbers follow, or none"


def test_the_74_values_of_tenney_that_follow_from_others_all_agree():
    results = recompute(load_published("tenney2019"))
    kinds = {}
    for name in results:
        kind = name.rsplit(".", 1)[1]
        kinds[kind] = kinds.get(kind, 0) + 1
    # Eight tasks of two models, weights of the large one alone, and the authors' rerun of two tasks.
    assert kinds == {"f1_l0": 16, "f1_l24": 8, "f1_l12": 8, "expected_layer": 18, "cog": 8, "K_s": 8, "K_delta": 8}
    assert sum(kinds.values()) == 74


@pytest.mark.parametrize("study", STUDIES)
def test_a_slip_in_any_value_that_follows_is_found(study):
    published = load_published(study)
    for name, numbers in recompute(published).items():
        for place, number in enumerate(numbers):
            if not number.agrees:
                continue
            entry = published[name]
            printed = entry.numbers[place]
            # One and a half units of the last printed digit, and all that the rounding of the inputs can explain.
            unit = 2 * entry.tolerance if entry.tolerance else 10.0 ** -(printed.decimals or 0)
            moved = replace(printed, value=printed.value + 1.6 * unit + 2 * number.bound)
            slipped = replace(entry, numbers=(*entry.numbers[:place], moved, *entry.numbers[place + 1 :]))
            assert not recompute(published | {name: slipped}, [name])[name][place].agrees, name


@pytest.mark.parametrize(
    ("changed", "by", "following"),
    [
        ("t19.base.coref.f1_by_layer", 0.5, "t19.base.coref.expected_layer"),
        ("t19.large.spr.mix_weights", 0.05, "t19.large.spr.K_s"),
        ("t19.large.pos.mix_weights", 0.02, "t19.large.pos.cog"),
    ],
)
def test_a_slip_in_an_input_is_found_as_well(changed, by, following):
    published = load_published("tenney2019")
    entry = published[changed]
    numbers = (*entry.numbers[:3], replace(entry.numbers[3], value=entry.numbers[3].value + by), *entry.numbers[4:])
    assert not recompute(published | {changed: replace(entry, numbers=numbers)})[following][0].agrees


# --- the formulas, by hand -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "inputs", "expected"),
    [
        ("same", [[3.5]], 3.5),
        ("first", [[1, 2, 3]], 1),
        ("last", [[1, 2, 3]], 3),
        ("mean", [[1, 2], [6]], 3),
        ("sum", [[1, 2], [6]], 9),
        ("max", [[1, 7], [6]], 7),
        ("min", [[1, 7], [6]], 1),
        ("ratio", [[5], [2]], 2.5),
        ("percentage", [[1], [16]], 6.25),
        ("percentage_gain", [[3], [2]], 50),
        ("rest_of_100", [[20, 30], [10]], 40),
        ("percentage_of_false", [[1, 0, 0, 0]], 75),
        ("share_above_0", [[1, 0, -2, 3]], 0.5),
        ("mean_in_percentage_points", [[0.01, 0.03]], 2),
        ("mean_difference", [[5, 7], [1, 2]], 4.5),
        ("difference_in_percentage_points", [[0.617], [0.5848]], 3.22),
        ("max_difference_in_percentage_points", [[0.5, 0.9], [0.4, 0.7]], 20),
        ("min_difference_in_percentage_points", [[0.5, 0.9], [0.4, 0.7]], 10),
        # Gains 3, 0 and 1: layer (1 * 3 + 3 * 1) / 4.
        ("expected_layer", [[50, 53, 53, 54]], 1.5),
        ("centre_of_gravity", [[0.5, 0.25, 0.25]], 0.75),
        # One half, one quarter, one quarter: 1.5 bits of at most log2(3).
        ("bits_from_uniform", [[0.5, 0.25, 0.25]], np.log2(3) - 1.5),
        ("bits_from_uniform", [[1, 0, 0, 0]], 2),
        # A loss counts as no gain: gains 1, 0, 1 of three layers.
        ("gains_bits_from_uniform", [[50, 51, 49, 50]], np.log2(3) - 1),
        ("f1_of_constant", [[50]], 200 / 3),
    ],
)
def test_formulas_by_hand(formula, inputs, expected):
    assert FORMULAS[formula]([np.array(numbers, dtype=float) for numbers in inputs]) == pytest.approx(expected)


def test_every_formula_is_tested_by_hand_and_used():
    (parameters,) = [mark.args[1] for mark in test_formulas_by_hand.pytestmark]
    assert {row[0] for row in parameters} == set(FORMULAS)
    used = {number.formula for study in STUDIES for value in load_published(study).values() for number in value.numbers}
    assert used - {""} <= set(FORMULAS)
    assert set(FORMULAS) - used == set(), "a formula that no value needs"


# --- rounding --------------------------------------------------------------------------------------------------------


def test_the_rounding_of_all_numbers_counts_and_no_more():
    sources = value("a", 10.0), value("b", 4.0)
    # 10.0 and 4.0 stand for 9.95 .. 10.05 and 3.95 .. 4.05: the difference is 5.9 .. 6.1, printed with half a unit of 0.01.
    for printed, agrees in ((6.0, True), (6.1, True), (5.9, True), (6.11, False), (5.89, False)):
        result = one(following(printed, "mean_difference", "a; b", decimals=2), *sources)
        assert (result.value, result.bound, result.agrees) == (pytest.approx(6), pytest.approx(0.1), agrees)
    assert one(following(6.14, "mean_difference", "a; b", decimals=1), *sources).agrees, "half a unit of 0.1 more"
    read_off = value("a", 10.0, tolerance=0.5), value("b", 4.0)
    assert one(following(6.5, "mean_difference", "a; b"), *read_off).bound == pytest.approx(0.55)


@given(
    st.lists(st.floats(1, 100), min_size=2, max_size=6),
    st.sampled_from(["mean", "sum", "max", "min", "first", "last", "rest_of_100"]),
)
def test_what_is_computed_before_rounding_agrees_after_it(exact, formula):
    rounded = value("a", *(Number(round(number, 2), "", None, None, 2) for number in exact))
    printed = round(FORMULAS[formula]([np.array(exact)]), 1)
    assert one(following(printed, formula, "a", decimals=1), rounded).agrees


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=25))
def test_centres_and_bits_of_rounded_weights_agree(weights):
    shares = np.array(weights) / np.sum(weights)
    rounded = value("a", *(Number(round(share, 4), "", None, None, 4) for share in shares))
    for formula in ("centre_of_gravity", "bits_from_uniform"):
        printed = round(FORMULAS[formula]([shares]), 2)
        assert one(following(printed, formula, "a", decimals=2), rounded).agrees


# --- inputs ----------------------------------------------------------------------------------------------------------


def test_patterns_and_details_are_inputs():
    sources = [value(f"t.L{k}", 1.0, significant=flag) for k, flag in enumerate(("true", "false", "true"))]
    assert one(following(2, "sum", "t.L*@significant"), *sources).agrees
    assert not one(following(3, "sum", "t.L*@significant"), *sources).agrees
    assert one(following(3, "sum", "t.*"), *sources).value == 3


def test_the_words_name_formula_and_inputs_but_not_a_hundred_of_them():
    sources = [value(name, 1.0) for name in "abcdef"]
    assert one(following(1, "same", "a"), *sources).words == "same as a: 1 ± 0.05, printed 1"
    assert one(following(5, "sum", "a; b; c; d; e"), *sources).words.startswith("sum of a; b; c; d; e: 5")
    assert one(following(6, "sum", "a; b; c; d; e; f"), *sources).words.startswith("sum of a and 5 others: 6")


def test_numbers_read_off_a_figure_are_inputs():
    layer = {"k": value("k", Number(0.97, "", None, None, 3, "mean", "fig5_cosine.cosine(task=MRPC, layer=1)"))}
    ((result,),) = recompute(layer).values()
    assert result.value == pytest.approx(0.97, abs=0.0006)
    assert result.bound == pytest.approx(0.0005), "each of the twelve heads has three decimals"


@pytest.mark.parametrize(
    ("formula", "inputs", "message"),
    [
        ("median", "a", "x: there is no formula 'median'; there are bits_from_uniform, "),
        ("same", "b", "x: there is no other value 'b' that it could follow from"),
        ("same", "x", "x: there is no other value 'x' that it could follow from"),
        ("sum", "c.*", r"x: there is no other value 'c\.\*'"),
        ("sum", "a@significant", "x: a has no detail significant that is true or false"),
        ("same", "text", "x: text is not a number"),
        ("same", "several", "x: same cannot be computed from several: it takes 1 numbers"),
        ("mean_difference", "several", "x: mean_difference cannot be computed from several: it takes pairs of numbers"),
        ("ratio", "a; 0", "x: ratio cannot be computed from a; 0"),
        ("mean", "fig0.value(task=MRPC)", "fig0.csv: there is no such table of digitised values"),
        ("mean", "fig5_cosine.sine(task=MRPC)", "fig5_cosine.csv:1: the column 'sine' is missing"),
        ("mean", "fig5_cosine.cosine(task=COLA)", "fig5_cosine.csv: no row has task COLA"),
    ],
)
def test_an_input_or_formula_that_is_not_there_is_named(formula, inputs, message):
    sources = value("a", 1.0), value("text", "7-6"), value("several", 1, 2, 3)
    with pytest.raises(AtlasError, match=message):
        one(following(1.0, formula, inputs), *sources)


def test_a_text_follows_from_no_formula():
    with pytest.raises(AtlasError, match="x: 'MRPC' is not a number that sum could give"):
        one(following("MRPC", "sum", "a"), value("a", 1.0))
