"""Tables 1 and of options of Clark et al., its options, and the frames of its figures with what is drawn beside them."""

from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from clark_inputs import surface_frame

from attention_atlas.figures.marks import LEFT, RIGHT, draw_attention_lines
from attention_atlas.figures.style import plt
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.options import AS_PUBLISHED, CORRECTED, alternatives, options_of
from attention_atlas.studies.clark2019.figures import figure2
from attention_atlas.studies.clark2019.syntax import table1
from attention_atlas.studies.clark2019.tables import NOTES, options

REAL = RunLabel("Paper run", "bert", "WSJ", "bert-base-uncased", "wsj-sd-dev")


def relations_frame():
    numbers = ("accuracy", "accuracy_ci_low", "accuracy_ci_high", "heldout_accuracy", "baseline_accuracy", "heldout_baseline")
    frame = pd.DataFrame({"relation": ["dep", "det", "all", "auxpass", "null"], "n": range(100, 105), "layer": range(1, 6)})
    frame = frame.assign(**{name: 0.5 + 0.011 * k + 0.05 * frame.index for k, name in enumerate(numbers)})
    frame = frame.assign(head=2, direction=["dependent_to_head", "head_to_dependent"] * 2 + ["dependent_to_head"])
    frame = frame.assign(baseline_offset=[1, -1, 0, 2, -3], margin=0.1, margin_ci_low=0.0, margin_ci_high=0.2)
    frame = frame.assign(runner_up="9-9", runner_up_accuracy=0.4, gap_ci_low=-0.01, gap_ci_high=0.03)
    return frame.assign(
        tested_margin=0.08, smallest_p=0.01, p_value=[0.01, 0.01, 0.04, np.nan, 0.5], unit="documents", units=[37, 30, 9, 8, 7]
    )


def table_1(frame, random=None, label=REAL):
    return table1(frame, {"dependencies": label}, random)


# --- Table 1 ---------------------------------------------------------------------------------------------------------


def test_table_1_has_the_papers_rows_in_its_order_with_their_published_values():
    result = table_1(relations_frame())
    table = result.frame
    assert table["relation"].tolist() == ["all", "det", "auxpass"]
    # p is corrected over the rows of this table; auxpass is untested.
    assert table["p_holm"].tolist() == pytest.approx([0.04, 0.02, np.nan], nan_ok=True)
    assert result.page["p_holm"].tolist() == ["0.04", "≤ 0.02", ""], "no exchange was as extreme as det"
    det, auxpass = (table.set_index("relation").loc[name] for name in ("det", "auxpass"))
    assert det[["accuracy", "accuracy_ci_low", "baseline_accuracy"]].tolist() == pytest.approx([0.55, 0.561, 0.594])
    assert det[["paper_head", "paper_accuracy", "paper_baseline"]].tolist() == ["8-11", 0.943, 0.517]
    published = ["paper_accuracy", "paper_baseline", "notebook_accuracy", "notebook_baseline"]
    assert auxpass[published].tolist() == [0.825, 0.405, 0.941, 0.825]
    # All relations of the run count, those without a row as well; the row of all words does not.
    same = relations_frame().assign(layer=[1, 1, 1, 2, 1])
    result = table_1(same)
    assert result.frame["also_first_for"].tolist() == ["dep, det, null", "dep, null", ""]
    assert result.page.loc[1, ["runner_up", "runner_up_accuracy", "gap"]].tolist() == ["9-9", 40, "-1.0 to 3.0"]
    # Universal Dependencies: their further relations follow; cc is in the notebook alone.
    frame = relations_frame().replace({"relation": {"dep": "obj", "auxpass": "cc", "null": "amod"}})
    table = table_1(frame, label=replace(REAL, converted=True)).frame
    assert table["relation"].tolist() == ["all", "det", "amod", "obj", "cc"]
    assert table[published].iloc[-1].tolist() == pytest.approx([np.nan, np.nan, 0.478, 0.412], nan_ok=True)
    assert set(table["relations_are"]) == {"converted"}


def test_table_1_has_the_best_head_of_a_model_with_random_weights():
    # Another order, a relation without a row in the paper, and none for auxpass.
    random = pd.DataFrame({"relation": ["det", "dep", "all"], "layer": [6, 5, 4], "head": [3, 2, 1], "direction": "x"})
    random = random.assign(accuracy=[0.52, 0.9, 0.21], heldout_accuracy=0.4, heldout_ci_low=0, heldout_ci_high=1)
    table = table_1(relations_frame(), random).frame.set_index("relation")
    assert table.loc["det", ["random_layer", "random_head", "random_accuracy"]].tolist() == [6, 3, 0.52]
    assert pd.isna(table.loc["auxpass", "random_accuracy"])
    assert table.loc["det", ["layer", "head", "accuracy"]].tolist() == [2, 2, 0.55], "the run's model is as it was"


# --- options ---------------------------------------------------------------------------------------------------------


def test_options_are_those_of_the_code_or_corrected_and_each_is_moved_alone():
    code = ("mean", True, False, "every", (-3, -2, -1, 0, 1, 2), "clip", "two", "all", 0.0001)
    assert tuple(asdict(AS_PUBLISHED).values()) == code
    corrected = ("mean", False, False, "words", (-3, -2, -1, 0, 1, 2, 3), "none", "count", "valid", 0.0)
    assert tuple(asdict(CORRECTED).values()) == corrected
    mixed = options_of({"preset": "corrected", "poss_rule": True, "offsets": [-1, 1], "entropy_smoothing": 0})
    assert mixed == replace(CORRECTED, poss_rule=True, offsets=(-1, 1), entropy_smoothing=0)
    for name, moved in alternatives():
        assert [key for key, value in asdict(moved).items() if value != asdict(AS_PUBLISHED)[key]] == [name]
    assert {name for name, _ in alternatives()} == set(asdict(CORRECTED)) == set(NOTES)


def best(setting, accuracies, layers):
    frame = pd.DataFrame({"relation": ["all", "det", "poss"], "layer": layers, "accuracy": accuracies})
    frame = frame.assign(option="offsets", setting=setting, baseline_accuracy=[0.1, 0.2, 0.3])
    return frame.assign(head=1, direction="dependent_to_head")


def option_frames():
    """Tables of a run with variants, in which relations that tie in frequency stand in another order."""
    moved = best("-3 to 3", [0.4, 0.9, 0.7], [1, 2, 1]).iloc[::-1]
    surface = pd.DataFrame({"option": "entropy_smoothing", "setting": ["0.0001", "0.0001", "0.0", "0.0"], "measure": "entropy"})
    surface = surface.assign(layer=1, head=[1, 2, 1, 2], value=[2.0, 3.0, 1.9, 2.9])
    variant = surface_frame().assign(value=lambda f: f["value"] + 0.25)
    # By reading: gradient to [SEP] in layers 1 and 2, and to other tokens.
    readings = {
        ("predicted", "masked", "per_weight"): (0.4, 0.1, 0.4, 0.4),
        ("all", "masked", "per_weight"): (0.2, 0.01, 0.1, 0.05),
    }
    readings |= {("predicted", "unmasked", "per_weight"): (0.4, 0.02, 1, 1), ("predicted", "masked", "per_query"): (1, 1, 1, 1)}
    places = [("sep", 1), ("sep", 2), ("other", 1), ("other", 2)]
    gradients = [(*key, *place, 1, v) for key, values in readings.items() for place, v in zip(places, values, strict=True)]
    return {
        "dependency_options": pd.concat([best("-3 to 2", [0.3, 0.8, 0.6], [1, 2, 3]), moved]),
        **{"surface_options": surface, "surface": surface_frame(), "recipe": variant, "casing": variant},
        "gradients": pd.DataFrame(gradients, columns=["rows", "masking", "measure", "target", "layer", "head", "value"]),
        "dependencies": relations_frame(),
        "casing_dependencies": relations_frame().assign(accuracy=lambda f: f["accuracy"] - 0.2).iloc[::-1],
    }


def values_of(table, option, part):
    rows = table[(table["option"] == option) & table["quantity"].str.contains(part, regex=False)]
    return rows[["value_as_published", "value_alternative"]].to_numpy().tolist()


def test_the_table_of_options_is_a_difference_for_each():
    table = options(option_frames(), {}).frame
    names = ["offsets", "entropy_smoothing", "gradient_rows", "gradient_masking", "gradient_measure", "recipe", "casing"]
    assert list(dict.fromkeys(table["option"])) == names
    np.testing.assert_allclose(table["difference"], table["value_alternative"] - table["value_as_published"], atol=1e-6)
    assert values_of(table, "offsets", "Table 1, all: best head") == [[0.3, 0.4]]
    assert values_of(table, "offsets", "Table 1, poss: baseline") == [[0.3, 0.3]]
    assert values_of(table, "offsets", "mean over 2 relations: best head") == [pytest.approx([0.7, 0.8])]
    assert values_of(table, "offsets", "share of relations with the same best head") == [[1, 0.5]]
    assert values_of(table, "entropy_smoothing", "Figure 4, entropy") == [[2.5, 2.4]]
    claim = "layers 1 to 2 over the largest of all (claim: below 0.1)"
    assert [values_of(table, f"gradient_{name}", claim) for name in ("rows", "masking")] == [[[1, 1]]] * 2
    over_last = values_of(table, "gradient_rows", "over the one before")
    assert over_last == [pytest.approx(pair) for pair in ([0.25, 0.05], [1, 0.5])]
    ((ours, theirs),) = values_of(table, "recipe", "Section 3.1, next: mean over heads")
    assert theirs - ours == pytest.approx(0.25, abs=1e-5)
    of_casing = table[(table["option"] == "casing") & table["quantity"].str.startswith("Table 1")]
    assert of_casing["difference"].tolist() == pytest.approx([-0.2] * 5)


def test_options_of_coreference_and_of_the_probe_s_bias_are_differences():
    systems = pd.DataFrame({"system": ["chance", "nearest", "head_match", "rule_based", "best_head"], "n": 9, "layer": 1})
    systems = systems.assign(head=2, direction="dependent_to_head", accuracy=[0.1, 0.2, 0.3, 0.4, 0.5])
    less = systems.assign(option="word_mode", setting="mean", n=8, accuracy=systems["accuracy"] / 2, head=3)
    coreference = pd.concat([systems.assign(option="none", setting="the run's own"), less])
    rows = [("attention_words", "legacy", 0, 0.7), ("attention_words", "legacy", 1, 0.8), ("attention_words", "fixed", 0, 0.9)]
    rows += [("bias_free_attention_words", "legacy", 0, 0.65)]
    probes = pd.DataFrame(rows, columns=["probe", "root_alignment", "seed", "uas"]).assign(model="m")
    table = options(option_frames() | {"probes": probes, "coreference": coreference}, {"word_mode": "max"}).frame
    notes = table.loc[table["quantity"] == "Table 2, all: best head", "note"].item()
    assert notes.endswith("; 8 instead of 9 mentions; head 1-3 (dependent to head) instead of 1-2 (dependent to head)")
    of_systems = [[0.2, 0.1], [0.3, 0.15], [0.4, 0.2], [0.5, 0.25]]
    assert values_of(table, "coreference_word_mode", "Table 2, all") == [pytest.approx(pair) for pair in of_systems]
    assert values_of(table, "probe_bias", "ROOT legacy, seed 0") == values_of(table, "probe_bias", "") == [[0.7, 0.65]]


# --- figures ---------------------------------------------------------------------------------------------------------


def test_lines_run_from_attending_to_attended_words():
    weights = np.array([[np.nan, 0.001, 0.4], [0.9, 0.0, 0.0], [0.0, 0.0, 0.2]])
    _, axes = plt.subplots()
    draw_attention_lines(axes, ["a", "b", "c"], weights, "#0000ff", np.eye(3) > 1, "#ff0000")
    # Words stand from top (2) to bottom (0); hardly visible and missing weights have no line.
    ends = [[tuple(point) for point in line] for line in axes.collections[0].get_segments()]
    assert ends == [[(LEFT, 2), (RIGHT, 0)], [(LEFT, 1), (RIGHT, 2)], [(LEFT, 0), (RIGHT, 0)]]


def test_figure_2_has_heads_with_random_weights_if_there_are_any():
    for random, weights in ((None, {"trained"}), (surface_frame(), {"trained", "random"})):
        assert set(figure2(surface_frame(), random).frame["weights"]) == weights
