"""Tables 1 and of options of Clark et al., its options, and the frames of its figures with what is drawn beside them."""

from dataclasses import asdict, fields, replace

import numpy as np
import pandas as pd
import pytest
from clark_inputs import surface_frame
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb

from attention_atlas.figures.by_layer import draw_by_layer, layer_legend
from attention_atlas.figures.marks import LEFT, RIGHT, draw_attention_lines
from attention_atlas.figures.style import GREY, SEP_TO_SEP, TO_PUNCTUATION, VERMILION, Quantity, plt
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.options import AS_PUBLISHED, CORRECTED, Options, alternatives, options_of
from attention_atlas.studies.clark2019.figures import figure2, figure3, figure4, figure5, figure6
from attention_atlas.studies.clark2019.maps import weights_frame
from attention_atlas.studies.clark2019.syntax import published_row, table1
from attention_atlas.studies.clark2019.tables import NOTES, options
from attention_atlas.workflow.config import read_schema

REAL = RunLabel("Paper run", "bert", "WSJ", "bert-base-uncased", "wsj-sd-dev")
NAMES = [f.name for f in fields(Options)]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def relations_frame():
    numbers = ("accuracy", "accuracy_ci_low", "accuracy_ci_high", "heldout_accuracy", "baseline_accuracy", "heldout_baseline")
    frame = pd.DataFrame({"relation": ["dep", "det", "all", "auxpass", "null"], "n": range(100, 105), "layer": range(1, 6)})
    frame = frame.assign(**{name: 0.5 + 0.011 * k + 0.05 * frame.index for k, name in enumerate(numbers)})
    frame = frame.assign(head=2, direction=["dependent_to_head", "head_to_dependent"] * 2 + ["dependent_to_head"])
    frame = frame.assign(baseline_offset=[1, -1, 0, 2, -3], margin=0.1, margin_ci_low=0.0, margin_ci_high=0.2)
    return frame.assign(tested_margin=0.08, p_value=[1e-9, 0.01, 0.04, np.nan, 0.5], unit="documents", units=[37, 30, 9, 8, 7])


def table_1(frame, random=None, label=REAL):
    return table1(frame, {"dependencies": label}, random)


# --- Table 1 ---------------------------------------------------------------------------------------------------------


def test_table_1_has_the_papers_rows_in_its_order_with_their_published_values():
    table = table_1(relations_frame()).frame
    assert table["relation"].tolist() == ["all", "det", "auxpass"]
    det, auxpass = (table.set_index("relation").loc[name] for name in ("det", "auxpass"))
    assert det[["accuracy", "accuracy_ci_low", "baseline_accuracy"]].tolist() == pytest.approx([0.55, 0.561, 0.594])
    assert det[["paper_head", "paper_accuracy", "paper_baseline"]].tolist() == ["8-11", 0.943, 0.517]
    published = ["paper_accuracy", "paper_baseline", "notebook_accuracy", "notebook_baseline"]
    assert auxpass[published].tolist() == [0.825, 0.405, 0.941, 0.825]
    of_cc = published_row("cc")
    assert [of_cc[f"paper_{column}"] for column in ("head", "accuracy", "baseline")] == [None] * 3
    assert [of_cc[f"notebook_{column}"] for column in ("accuracy", "baseline")] == pytest.approx([0.478, 0.412])
    # Universal Dependencies: their further relations follow.
    frame = relations_frame().replace({"relation": {"dep": "obj", "auxpass": "nmod:poss", "null": "amod"}})
    assert table_1(frame).frame["relation"].tolist() == ["all", "det", "amod", "obj", "nmod:poss"]
    for converted, origin in ((True, "converted"), (False, "annotated")):
        assert set(table_1(frame, label=replace(REAL, converted=converted)).frame["relations_are"]) == {origin}


def test_table_1_corrects_p_over_its_own_rows():
    for rows in (relations_frame(), relations_frame().query("relation != 'dep'")):
        p = table_1(rows).frame["p_holm"].tolist()
        assert p == pytest.approx([0.04, 0.02, np.nan], nan_ok=True), "all, det, and auxpass untested"


def test_table_1_has_the_best_head_of_a_model_with_random_weights():
    # Another order, a relation without a row in the paper, and none for auxpass.
    random = pd.DataFrame({"relation": ["det", "dep", "all"], "layer": [6, 5, 4], "head": [3, 2, 1], "direction": "x"})
    random = random.assign(accuracy=[0.52, 0.9, 0.21], heldout_accuracy=[0.437, 0.9, 0.187])
    random = random.assign(heldout_ci_low=[0.401, 0.9, 0.15], heldout_ci_high=[0.48, 0.9, 0.2])
    shown = table_1(relations_frame(), random)
    table = shown.frame.set_index("relation")
    columns = [f"random_{name}" for name in random if name not in ("relation", "direction")]
    assert table.loc["det", columns].tolist() == [6, 3, 0.52, 0.437, 0.401, 0.48]
    assert table.loc["all", columns].tolist() == [4, 1, 0.21, 0.187, 0.15, 0.2]
    assert table.loc["auxpass", columns].isna().all()
    assert table.loc["det", ["layer", "head", "accuracy"]].tolist() == [2, 2, 0.55], "the run's model is as it was"
    page = shown.page.set_index("relation")
    assert page["random_heldout_accuracy"].tolist() == pytest.approx([18.7, 43.7, np.nan], nan_ok=True)
    assert page.loc["det", ["best", "direction", "interval"]].tolist() == ["2-2", "head → dep", "56.1 to 57.2"]


# --- options ---------------------------------------------------------------------------------------------------------


def test_options_are_those_of_the_code_or_corrected_and_each_is_moved_alone():
    code = ("mean", True, False, "every", (-3, -2, -1, 0, 1, 2), "clip", "two", "all", 0.0001)
    assert tuple(asdict(AS_PUBLISHED).values()) == code
    corrected = ("mean", False, False, "words", (-3, -2, -1, 0, 1, 2, 3), "none", "count", "valid", 0.0)
    assert tuple(asdict(CORRECTED).values()) == corrected
    mixed = options_of({"preset": "corrected", "poss_rule": True, "offsets": [-1, 1], "entropy_smoothing": 0})
    assert mixed == replace(CORRECTED, poss_rule=True, offsets=(-1, 1), entropy_smoothing=0)
    for name, moved in alternatives():
        assert [n for n in NAMES if getattr(moved, n) != getattr(AS_PUBLISHED, n)] == [name]
    assert {name for name, _ in alternatives()} == set(NAMES) == set(NOTES)
    # A default of the schema would override the preset without being asked.
    schema = read_schema()["$defs"]["clark2019"]["properties"]["options"]["properties"]
    assert [name for name, entry in schema.items() if "default" in entry] == ["preset"]
    assert set(schema) == {"preset", *NAMES}


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
    rows = [(name, layer) for name in ("predicted", "all", "reachable") for layer in (1, 2)]
    gradients = pd.DataFrame(rows, columns=["rows", "layer"]).assign(masking="masked", measure="per_weight")
    gradients = gradients.assign(sep=[0.4, 0.1, 0.2, 0.01, 0.2, 0.1], other=[0.4, 0.4, 0.1, 0.05, 0.1, 0.4])
    readings = [{"masking": "unmasked", "sep": [0.4, 0.02]}, {"measure": "per_query"}, {"measure": "gradient_x_attention"}]
    by_target = pd.concat([gradients, *(gradients[gradients["rows"] == "predicted"].assign(**r) for r in readings)])
    by_target = by_target.melt(["masking", "rows", "measure", "layer"], ["sep", "other"], var_name="target").assign(head=1)
    return {
        "dependency_options": pd.concat([best("-3 to 2", [0.3, 0.8, 0.6], [1, 2, 3]), moved]),
        **{"surface_options": surface, "surface": surface_frame(), "recipe": variant, "casing": variant},
        "gradients": by_target,
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
    assert values_of(table, "gradient_rows", claim) == [[1, 1], [1, 1]]
    assert values_of(table, "gradient_masking", claim) == [[1, 1]]
    over_last = values_of(table, "gradient_rows", "over the one before")
    assert over_last == [pytest.approx(pair) for pair in ([0.25, 0.05], [1, 0.5], [0.25, 0.5], [1, 4])]
    for measure in ("Figure 2, sep", "Section 3.1, next", "Section 3.3, row_maximum", "Figure 4, entropy_cls"):
        ((ours, theirs),) = values_of(table, "recipe", f"{measure}: mean over heads")
        assert theirs - ours == pytest.approx(0.25, abs=1e-5)
    of_casing = table[(table["option"] == "casing") & table["quantity"].str.startswith("Table 1")]
    assert of_casing["difference"].tolist() == pytest.approx([-0.2] * 5)


def test_options_of_coreference_and_of_the_probe_s_bias_are_differences():
    systems = pd.DataFrame({"system": ["chance", "nearest", "head_match", "rule_based", "best_head"], "n": 9, "layer": 1})
    systems = systems.assign(head=2, direction="dependent_to_head", accuracy=[0.1, 0.2, 0.3, 0.4, 0.5])
    less = systems.assign(option="word_mode", setting="mean", n=8, accuracy=systems["accuracy"] / 2, head=3)
    coreference = pd.concat([systems.assign(option="none", setting="the run's own"), less])
    columns = ["probe", "seed", "uas", "root_alignment"]
    rows = [(0, 0.7, "legacy"), (1, 0.8, "legacy"), (0, 0.9, "fixed")]
    probes = [("attention_words", *row) for row in rows] + [("bias_free_attention_words", 0, 0.65, "legacy")]
    further = {"probes": pd.DataFrame(probes, columns=columns).assign(model="m"), "coreference": coreference}
    table = options(option_frames() | further, {"word_mode": "max"}).frame
    of_systems = [[0.2, 0.1], [0.3, 0.15], [0.4, 0.2], [0.5, 0.25]]
    assert values_of(table, "coreference_word_mode", "Table 2, all") == [pytest.approx(pair) for pair in of_systems]
    notes = table.loc[table["option"] == "coreference_word_mode", "note"].tolist()
    assert notes[0].endswith("; 8 instead of 9 mentions")
    assert "head 1-3 (dependent to head) instead of 1-2 (dependent to head)" in notes[3]
    assert values_of(table, "probe_bias", "ROOT legacy, seed 0") == values_of(table, "probe_bias", "") == [[0.7, 0.65]]


# --- figures ---------------------------------------------------------------------------------------------------------

UNIFORM = pd.DataFrame({"quantity": ["uniform_entropy", "segments"], "value": [4.7, 40]})


def panels(figure):
    return {axes.get_title(loc="left"): axes for axes in figure.axes}


def test_figures_2_and_4_plot_the_measures_beside_published_values():
    surface = surface_frame()
    targets, entropies = figure2(surface), figure4(surface, UNIFORM)
    assert set(targets.frame["target"]) == {"cls", "sep", "punct", "rest_sep", "sep_sep"}
    value = surface.query("measure == 'sep_sep' and layer == 3 and head == 1")["value"].item()
    assert targets.frame.query("target == 'sep_sep' and layer == 3 and head == 1")["mean_attention"].item() == value
    of_cls = entropies.frame.query("source == 'cls'")["entropy"].tolist()
    assert of_cls == surface.query("measure == 'entropy_cls'")["value"].tolist()
    hollow = [
        [line for line in panels(drawn.figure)[title].lines if line.get_markerfacecolor() == "none"]
        for drawn, title in ((targets, "To [CLS]"), (entropies, "From all tokens"))
    ]
    # Read off the paper's figures, for BERT-base.
    assert hollow[0][0].get_xydata()[:2].tolist() == [[1, 0.052], [2, 0.256]]
    assert hollow[1][0].get_xydata()[0].tolist() == [1, 3.6]


def test_figure_2_has_bands_of_a_model_with_random_weights():
    random = surface_frame(layers=2, heads=3).query("measure != 'sep_sep'")
    random = random.assign(value=random["value"] / 2)
    drawn = figure2(surface_frame(), random)
    assert drawn.frame.groupby("weights").size().to_dict() == {"trained": 5 * 6, "random": 4 * 6}
    expected = random.query("measure == 'sep' and layer == 2")["value"]
    bands = {t: [c for c in axes.collections if isinstance(c, PolyCollection)] for t, axes in panels(drawn.figure).items()}
    assert [len(band) for band in bands.values()] == [1, 1, 1, 1, 0, 0], "the control has no [SEP] to [SEP]; then the legend"
    corners = bands["To [SEP]"][0].get_paths()[0].vertices
    assert sorted(set(corners[corners[:, 0] == 2, 1].round(4))) == pytest.approx([expected.min(), expected.max()], abs=1e-4)
    dashed = [line for line in panels(drawn.figure)["To [SEP]"].lines if line.get_linestyle() == "--"]
    assert dashed[0].get_ydata()[1] == pytest.approx(expected.mean(), abs=1e-4)


def test_figure_3_plots_four_readings_over_predicted_rows():
    keys = [("masked", "per_weight"), ("unmasked", "per_weight"), ("masked", "per_query"), ("masked", "gradient_x_attention")]
    rows = [
        (masking, measure, rows, target, layer, 1, 0.1 * layer + k)
        for k, (masking, measure) in enumerate(keys)
        for rows in ("predicted", "all")
        for target in ("sep", "other")
        for layer in (1, 2)
    ]
    columns = ["masking", "measure", "rows", "target", "layer", "head", "value"]
    drawn = figure3(pd.DataFrame(rows, columns=columns).assign(n=5))
    for k, axes in enumerate(drawn.figure.axes):
        assert [line.get_ydata().tolist() for line in axes.lines] == [[0.1 + k, 0.2 + k]] * 2


def test_lines_of_a_relation_in_figure_5_are_on_top_of_all_others():
    weights = np.random.default_rng(0).dirichlet(np.ones(5), size=5)
    labels = {"relation": "det", "example": 1, "layer": 8, "head": 11, "direction": "head_to_dependent", "accuracy": 0.943}
    panel = weights_frame(weights, ["this", "is", "an", "old", "house"], "word", **labels)
    (axes,) = figure5(panel.assign(marked=(panel["to_position"] == 3).astype(int)), {}).figure.axes
    below, above = sorted(axes.collections, key=lambda lines: lines.get_zorder())
    assert {tuple(colour[:3]) for colour in below.get_colors()} == {to_rgb(GREY)}
    assert {tuple(colour[:3]) for colour in above.get_colors()} == {to_rgb(VERMILION)}
    # The dependents are bold in both columns.
    assert [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"] == ["an"] * 2


def test_figure_6_circles_the_heads_of_relations():
    heads = pd.DataFrame({"layer": [1, 1, 2], "head": [1, 2, 1], "x": [0.0, 1.0, 2.0], "y": [1.0, 0.0, 2.0]})
    heads = heads.assign(behaviour=["next", "none", "sep"], relation=[None, "det", None])
    by_behaviour = figure6(heads, UNIFORM).figure.axes[0]
    circled = [marks for marks in by_behaviour.collections if len(marks.get_facecolors()) == 0]
    assert [marks.get_offsets().tolist() for marks in circled] == [[[1.0, 0.0]]]


def test_dots_are_heads_and_lines_are_means():
    values = [0.1, 0.3, 0.8, 0.5, 0.9, 0.0]
    frame = pd.DataFrame({"m": ["x"] * 5 + ["z"], "layer": [1, 1, 1, 2, 2, 1], "head": [1, 2, 3, 1, 2, 1], "value": values})
    _, (axes, two) = plt.subplots(1, 2)
    series = [("x", Quantity("x", "ex", "red", "^")), ("y", Quantity("y", "why", "blue", "s"))]
    draw_by_layer(axes, frame, series[:1], "m", "value")
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[1, 0.4], [2, 0.7]])
    dots = axes.collections[0].get_offsets()
    np.testing.assert_allclose(dots[:, 1], values[:5])
    assert dots[:, 0].round().tolist() == [1, 1, 1, 2, 2]
    assert len({tuple(dot) for dot in dots.tolist()}) == 5, "no head hides another"
    # Several series have a mark each.
    draw_by_layer(two, frame.assign(m=["x", "y"] * 3), series, "m", "value")
    circle = len(plt.scatter(0, 0, marker="o").get_paths()[0].vertices)
    corners = [len(marks.get_paths()[0].vertices) for marks in (*axes.collections, *two.collections)]
    assert [count == circle for count in corners[:3]] == [True, False, False]
    assert [handle.get_marker() for handle in layer_legend([quantity for _, quantity in series])] == ["^", "s"]


def test_lines_run_from_attending_to_attended_words_as_dark_as_their_weights():
    weights = np.array([[np.nan, 0.001, 0.4], [0.9, 0.0, 0.0], [0.0, 0.0, 0.2]])
    marked = np.zeros((3, 3), dtype=bool)
    marked[1, 0] = True
    _, axes = plt.subplots()
    draw_attention_lines(axes, ["a", "b", "c"], weights, "#0000ff", marked, "#ff0000", [1])
    others, lines_of_relation = axes.collections
    # Words stand from top (2) to bottom (0); hardly visible and missing weights have no line.
    ends = [[[tuple(point) for point in line] for line in lines.get_segments()] for lines in (others, lines_of_relation)]
    assert ends == [[[(LEFT, 2), (RIGHT, 0)], [(LEFT, 0), (RIGHT, 0)]], [[(LEFT, 1), (RIGHT, 2)]]]
    np.testing.assert_allclose(others.get_colors(), [[0, 0, 1, 0.4], [0, 0, 1, 0.2]])
    np.testing.assert_allclose(lines_of_relation.get_colors(), [[1, 0, 0, 0.9]])


def test_a_panel_without_any_series_says_so():
    frame = pd.DataFrame({"target": ["punct"] * 2, "layer": [1, 2], "head": [1, 1], "mean_attention": [0.1, 0.2]})
    _, (empty, drawn) = plt.subplots(1, 2)
    draw_by_layer(empty, frame, [("sep_sep", SEP_TO_SEP)], "target", "mean_attention")
    draw_by_layer(drawn, frame, [("punct", TO_PUNCTUATION)], "target", "mean_attention")
    assert [len(axes.texts) for axes in (empty, drawn)] == [1, 0]
