"""Tables and figures of Clark et al.: what they show, and that figures are the same byte for byte."""

import re
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from page_cells import cells, headings

from attention_atlas.figures.by_layer import RANDOM, draw_by_layer, layer_legend
from attention_atlas.figures.marks import LEFT, RIGHT, draw_attention_lines
from attention_atlas.figures.style import GREY, SEP_TO_SEP, TO_PUNCTUATION, VERMILION, Quantity, plt
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.surface import MEASURES
from attention_atlas.studies.clark2019 import figures as clark_figures
from attention_atlas.studies.clark2019.figures import figure2, figure4
from attention_atlas.studies.clark2019.maps import KINDS, weights_frame
from attention_atlas.studies.clark2019.tables import published_row, table1
from attention_atlas.studies.clark2019.tables_published import COLUMNS, options

SAMPLE = RunLabel("Run <1>", "minilm", "generated & small", sample=True)
REAL = RunLabel("Paper run", "bert", "WSJ", "bert-base-uncased", "wsj-sd-dev")
TABLE2_SYSTEMS = ("nearest", "head match", "rule based", "best head")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def surface_frame(layers=3, heads=2) -> pd.DataFrame:
    rows = [
        (measure, layer, head, round(0.05 + 0.1 * k % 0.8 + 0.03 * layer + 0.01 * head, 4))
        for k, measure in enumerate(MEASURES)
        for layer in range(1, layers + 1)
        for head in range(1, heads + 1)
    ]
    frame = pd.DataFrame(rows, columns=["measure", "layer", "head", "value"])
    return frame.assign(ci_low=frame["value"] - 0.01, ci_high=frame["value"] + 0.01, n=40, unit="documents", units=9)


def relations_frame() -> pd.DataFrame:
    relations = ["dep", "det", "all", "auxpass", "null"]
    n = len(relations)
    frame = pd.DataFrame({"relation": relations, "n": range(100, 100 + n), "layer": range(1, n + 1), "head": 2})
    frame["direction"] = ["dependent_to_head", "head_to_dependent"] * 2 + ["dependent_to_head"]
    numbers = ("accuracy", "accuracy_ci_low", "accuracy_ci_high", "heldout_accuracy", "baseline_accuracy", "heldout_baseline")
    for k, name in enumerate(numbers):
        frame[name] = [0.5 + 0.011 * k + 0.05 * i for i in range(n)]
    frame = frame.assign(baseline_offset=[1, -1, 0, 2, -3], margin=0.1, margin_ci_low=0.0, margin_ci_high=0.2)
    return frame.assign(tested_margin=0.08, p_value=0.0041, unit="documents", units=[37, 30, 9, 8, 7])


# --- pages -----------------------------------------------------------------------------------------------------------


def test_table_1_of_universal_dependencies_has_their_further_relations():
    frame = relations_frame().replace({"relation": {"dep": "obj", "auxpass": "nmod:poss", "null": "amod"}})
    table = table1(frame, {"dependencies": SAMPLE}).frame
    assert list(table["relation"]) == ["all", "det", "amod", "obj", "nmod:poss"]
    assert list(table["paper_accuracy"].isna()) == [False, False, False, True, True]


def test_table_1_has_the_papers_rows_in_its_order():
    table = table1(relations_frame(), {"dependencies": SAMPLE}).frame
    assert table["relation"].tolist() == ["all", "det", "auxpass"]
    det = table.set_index("relation").loc["det"]
    assert det[["n", "layer", "head", "baseline_offset"]].tolist() == [101, 2, 2, -1]
    assert det[["accuracy", "accuracy_ci_low", "baseline_accuracy"]].tolist() == pytest.approx([0.55, 0.561, 0.594])
    assert det[["paper_head", "paper_accuracy", "paper_baseline"]].tolist() == ["8-11", 0.943, 0.517]
    auxpass = table.set_index("relation").loc["auxpass"]
    assert auxpass[["paper_accuracy", "paper_baseline", "notebook_accuracy", "notebook_baseline"]].tolist() == [
        *(0.825, 0.405),
        *(0.941, 0.825),
    ]


def test_table_1_corrects_p_over_its_own_rows():
    frame = relations_frame().assign(p_value=[1e-9, 0.01, 0.04, np.nan, 0.5])
    for rows in (frame, frame[frame["relation"] != "dep"]):
        table = table1(rows, {"dependencies": SAMPLE}).frame.set_index("relation")
        assert table["p_holm"].tolist() == pytest.approx([0.04, 0.02, np.nan], nan_ok=True), "all, det, and auxpass untested"


def test_table_1_shows_intervals(tmp_path):
    table1(relations_frame(), {"dependencies": SAMPLE}).write_page(tmp_path / "t.html", "Table 1", [SAMPLE.line])
    det = ["det", "101", "2-2", "head → dep", "55.0", "56.1 to 57.2", "58.3", "59.4", "-1", "0.012", "8-11", "94.3", "51.7"]
    assert det in [row[: len(det)] for row in cells(read(tmp_path / "t.html"))]


def test_table_1_has_the_best_head_of_a_model_with_random_weights(tmp_path):
    # Another order, a relation without a row in the paper, and none for auxpass.
    random = pd.DataFrame({"relation": ["det", "dep", "all"], "layer": [6, 5, 4], "head": [3, 2, 1]})
    random["direction"] = ["dependent_to_head", "dependent_to_head", "head_to_dependent"]
    random = random.assign(accuracy=[0.52, 0.9, 0.21], heldout_accuracy=[0.437, 0.9, 0.187])
    random = random.assign(heldout_ci_low=[0.401, 0.9, 0.15], heldout_ci_high=[0.48, 0.9, 0.2])
    shown = table1(relations_frame(), {"dependencies": REAL}, random)
    table = shown.frame.set_index("relation")
    columns = [
        f"random_{name}" for name in ("layer", "head", "accuracy", "heldout_accuracy", "heldout_ci_low", "heldout_ci_high")
    ]
    assert table.loc["det", columns].tolist() == [6, 3, 0.52, 0.437, 0.401, 0.48]
    assert table.loc["all", columns].tolist() == [4, 1, 0.21, 0.187, 0.15, 0.2]
    assert table["random_direction"].tolist()[:2] == ["head_to_dependent", "dependent_to_head"]
    assert table.loc["auxpass", columns].isna().all()
    assert table.loc["det", ["layer", "head", "accuracy"]].tolist() == [2, 2, 0.55], "the run's model is as it was"
    shown.write_page(tmp_path / "t.html", "Table 1", [])
    page = read(tmp_path / "t.html")
    column = headings(page).index("Random weights, held-out %")
    assert [(row[0], row[column]) for row in cells(page)] == [("all", "18.7"), ("det", "43.7"), ("auxpass", "")]


def test_a_relation_that_was_not_published_has_no_published_numbers():
    assert set(published_row("nosuch").values()) == {None}
    of_cc = published_row("cc")
    assert [of_cc[f"paper_{column}"] for column in ("head", "accuracy", "baseline")] == [None] * 3
    assert [of_cc[f"notebook_{column}"] for column in ("accuracy", "baseline")] == pytest.approx([0.478, 0.412])


def test_the_table_of_options_is_a_difference_for_each():
    def best(setting, accuracies, layers):
        rows = {"relation": ["all", "det", "poss"], "layer": layers, "head": 1, "direction": "dependent_to_head"}
        frame = pd.DataFrame({"option": "offsets", "setting": setting, **rows})
        return frame.assign(accuracy=accuracies, baseline_accuracy=[0.1, 0.2, 0.3])

    # Relations that tie in frequency may stand in another order.
    moved = best("-3 to 3", [0.4, 0.9, 0.7], [1, 2, 1]).iloc[::-1]
    dependency = pd.concat([best("-3 to 2", [0.3, 0.8, 0.6], [1, 2, 3]), moved])
    surface = pd.DataFrame({"option": "entropy_smoothing", "setting": ["0.0001", "0.0001", "0.0", "0.0"], "measure": "entropy"})
    surface = surface.assign(layer=1, head=[1, 2, 1, 2], value=[2.0, 3.0, 1.9, 2.9])
    variant = surface_frame().assign(value=lambda f: f["value"] + 0.25)
    relations = relations_frame()
    frames = {"dependency_options": dependency, "surface_options": surface, "surface": surface_frame()}
    frames |= {"dependencies": relations, "recipe": variant, "casing": variant}
    frames["casing_dependencies"] = relations.assign(accuracy=relations["accuracy"] - 0.2).iloc[::-1]
    rows = [(name, layer) for name in ("predicted", "all", "reachable") for layer in (1, 2)]
    gradients = pd.DataFrame(rows, columns=["rows", "layer"]).assign(masking="masked", measure="per_weight")
    gradients = gradients.assign(sep=[0.4, 0.1, 0.2, 0.01, 0.2, 0.1], other=[0.4, 0.4, 0.1, 0.05, 0.1, 0.4])
    predicted = gradients[gradients["rows"] == "predicted"]
    readings = [{"masking": "unmasked", "sep": [0.4, 0.02]}, {"measure": "per_query"}, {"measure": "gradient_x_attention"}]
    by_target = pd.concat([gradients, *(predicted.assign(**reading) for reading in readings)])
    keys = ["masking", "rows", "measure", "layer"]
    frames["gradients"] = by_target.melt(keys, ["sep", "other"], var_name="target").assign(head=1)
    by_seed = {"root_alignment": "legacy", "model": "m"}
    probes = pd.DataFrame(
        [
            by_seed | {"probe": "attention_words", "seed": 0, "uas": 0.7},
            by_seed | {"probe": "attention_words", "seed": 1, "uas": 0.8},
            by_seed | {"probe": "attention_words", "seed": 0, "uas": 0.9, "root_alignment": "fixed"},
            by_seed | {"probe": "bias_free_attention_words", "seed": 0, "uas": 0.65},
        ]
    )
    systems = pd.DataFrame({"system": ["chance", "nearest", "head_match", "rule_based", "best_head"], "n": 9, "layer": 1})
    systems = systems.assign(head=2, direction="dependent_to_head", accuracy=[0.1, 0.2, 0.3, 0.4, 0.5])
    less = systems.assign(option="word_mode", setting="mean", n=8, accuracy=systems["accuracy"] / 2, head=3)
    coreference = pd.concat([systems.assign(option="none", setting="the run's own"), less])
    more = {"probes": probes, "coreference": coreference}
    table = options(frames | more, {"word_mode": "max"}).frame
    of_table2 = table.query("option.str.startswith('coreference')", engine="python")
    texts = of_table2[["option", "as_published", "alternative"]].drop_duplicates().to_numpy().tolist()
    unstated = " (not stated in the paper)"
    expected = [["coreference_word_mode", f"max{unstated}", "mean"]]
    assert texts == expected
    assert of_table2["quantity"].tolist() == [f"Table 2, all: {name}" for name in TABLE2_SYSTEMS]
    assert of_table2["value_as_published"].tolist() == [0.2, 0.3, 0.4, 0.5]
    assert of_table2["value_alternative"].tolist() == pytest.approx([0.1, 0.15, 0.2, 0.25])
    notes = of_table2["note"].tolist()
    assert notes[:2] == ["as in Table 1; 8 instead of 9 mentions"] * 2
    head = "head 1-3 (dependent to head) instead of 1-2 (dependent to head)"
    assert notes[3] == f"as in Table 1; 8 instead of 9 mentions; {head}"
    (row,) = table.query("option == 'probe_bias'").itertuples()
    assert row.quantity == "Table 3, attention and words, ROOT legacy, seed 0: UAS"
    assert (row.as_published, row.alternative) == ("released_code", "as_published")
    assert (row.value_as_published, row.value_alternative) == (0.7, 0.65)
    table = options(frames, {"word_mode": "max"}).frame
    assert table.columns.tolist() == COLUMNS
    names = ["offsets", "entropy_smoothing", "gradient_rows", "gradient_masking", "gradient_measure", "recipe", "casing"]
    assert list(dict.fromkeys(table["option"])) == names
    of_claim = table[table["quantity"].str.endswith("layers 1 to 2 over the largest of all (claim: below 0.1)")]
    assert of_claim["alternative"].tolist() == ["all", "reachable", "unmasked", "per_query", "gradient_x_attention"]
    of_rows = table[(table["option"] == "gradient_rows") & table["quantity"].str.contains("over the one before")]
    assert set(of_rows["as_published"]) == {"predicted (not stated in the paper)"}
    assert of_rows["alternative"].tolist() == ["all", "all", "reachable", "reachable"]
    assert of_rows["value_as_published"].tolist() == pytest.approx([0.25, 1, 0.25, 1])
    assert of_rows["value_alternative"].tolist() == pytest.approx([0.05, 0.5, 0.5, 4])
    np.testing.assert_allclose(table["difference"], table["value_alternative"] - table["value_as_published"], atol=1e-6)
    values = table.set_index(["option", "quantity"])[["value_as_published", "value_alternative"]]
    assert values.loc[("offsets", "Table 1, all: best head")].tolist() == [0.3, 0.4]
    assert values.loc[("offsets", "Table 1, poss: baseline")].tolist() == [0.3, 0.3]
    assert values.loc[("offsets", "Table 1, mean over 2 relations: best head")].tolist() == pytest.approx([0.7, 0.8])
    assert values.loc[("offsets", "Table 1, share of relations with the same best head")].tolist() == [1, 0.5]
    assert values.loc[("entropy_smoothing", "Figure 4, entropy: mean over heads")].tolist() == [2.5, 2.4]
    for measure, place in (
        ("sep", "Figure 2"),
        ("next", "Section 3.1"),
        ("row_maximum", "Section 3.3"),
        ("entropy_cls", "Figure 4"),
    ):
        ours, theirs = values.loc[("recipe", f"{place}, {measure}: mean over heads")]
        assert theirs - ours == pytest.approx(0.25, abs=1e-5)
    of_casing = table[(table["option"] == "casing") & table["quantity"].str.startswith("Table 1")]
    assert of_casing["quantity"].tolist() == [f"Table 1, {r}: best head" for r in relations["relation"]]
    assert of_casing["difference"].tolist() == pytest.approx([-0.2] * 5)
    assert not (table["option"].eq("recipe") & table["quantity"].str.startswith("Table 1")).any()
    assert table["note"].notna().all()


def test_a_setting_says_what_was_looked_at():
    assert RunLabel(**{"run": "R", "model": "m", "corpus": "c"}).line == "R: m on c."
    assert SAMPLE.line.startswith("Run <1>: minilm on generated & small. Generated text")
    assert "converted" not in SAMPLE.line
    assert "converted from Universal Dependencies" in replace(REAL, converted=True).line
    assert "a small random model stand for those named: numbers are not comparable" in replace(REAL, stand_in=True).line


@pytest.mark.parametrize(("converted", "origin"), [(True, "converted"), (False, "annotated")])
def test_table_1_says_where_its_relations_come_from(converted, origin):
    table = table1(relations_frame(), {"dependencies": replace(REAL, converted=converted)})
    assert set(table.frame["relations_are"]) == {origin}


# --- figures ---------------------------------------------------------------------------------------------------------


def arguments(name: str) -> dict:
    """Arguments of a figure, made up."""
    weights = np.random.default_rng(0).dirichlet(np.ones(5), size=5)
    if name == "figure1":
        words = ["...", "a$b$", "the", ".", "[SEP]"]
        panels = [
            weights_frame(weights, words, "token", kind=kind, layer=2, head=head, value=0.55, example="seg1")
            for head, kind in enumerate(KINDS, start=1)
        ]
        return {"figure1_weights": pd.concat(panels)}
    if name == "figure2":
        return {"surface": surface_frame()}
    if name == "figure4":
        return {
            "surface": surface_frame(),
            "surface_summary": pd.DataFrame({"quantity": ["uniform_entropy"], "value": [4.7]}),
        }
    panels = []
    for relation, direction, examples in (("det", "dependent_to_head", 2), ("pobj", "head_to_dependent", 1)):
        for example in range(1, examples + 1):
            labels = {"relation": relation, "example": example, "sentence": "s", "layer": 8, "head": 11, "direction": direction}
            accuracy = 0.943 if relation == "det" else None
            panel = weights_frame(weights, ["this", "is", "an", "old", "house"], "word", **labels, accuracy=accuracy)
            marked = panel["from_position" if direction == "dependent_to_head" else "to_position"] == 3
            panels.append(panel.assign(marked=marked.astype(int)))
    return {"figure5_weights": pd.concat(panels), "titles": {}}


def draw(folder: Path, name: str, label: RunLabel = REAL) -> dict[str, Path]:
    """Draw one figure from made-up tables; returns its files by format."""
    folder.mkdir(exist_ok=True)
    pictures = {kind: folder / f"{name}.{kind}" for kind in ("svg", "png", "pdf")}
    getattr(clark_figures, name)(**arguments(name)).write(pictures, {"role": label})
    return pictures


TEXTS = {
    "figure1": [
        *("Head 2-2: 55 % of its attention to the next token", "[SEP]", "...", ">a$b$<", "one segment (seg1)"),
        "Head 2-1: entropy 0.55 nats",
    ],
    "figure2": ["Layer", "Mean attention (share)", "To . and ,", "From [SEP] to [SEP]", "n = 40 segments, 6 heads"],
    "figure4": ["Layer", "Entropy of attention (nats)", "uniform attention (4.70 nats)", "From [CLS]", "n = 40 segments"],
    "figure5": [
        *("Head 8-11: det, 94.3 % right", "determiners to nouns", "Head 8-11: pobj", "prepositions to objects"),
        *("house", "n = 3 sentences"),
    ],
}


@pytest.mark.parametrize("name", list(TEXTS))
def test_a_figure_is_complete_and_the_same_byte_for_byte(tmp_path, name):
    pictures, redrawn = (draw(tmp_path / folder, name) for folder in ("one", "two"))
    for kind, path in pictures.items():
        assert path.read_bytes() == redrawn[kind].read_bytes(), kind
    assert pictures["pdf"].read_bytes().startswith(b"%PDF")
    svg = read(pictures["svg"])
    for text in TEXTS[name]:
        assert text in svg.replace("&gt;", ">")
    assert "Paper run: bert on WSJ;" in svg
    picture = matplotlib.image.imread(pictures["png"])
    assert picture.shape[1] > 600
    ink = (picture[..., :3].min(axis=-1) < 0.9).mean()
    assert 0.01 < ink < 0.5


def test_a_figure_of_the_sample_says_so(tmp_path):
    assert "on generated &amp; small" in read(draw(tmp_path, "figure2", SAMPLE)["svg"])
    assert "generated text" in read(draw(tmp_path, "figure2", replace(SAMPLE, corpus="small"))["svg"])


def test_the_dependents_are_bold_in_both_columns_and_directions(tmp_path):
    svg = read(draw(tmp_path, "figure5")["svg"])
    bold = re.findall(r"<text[^>]*font-weight: 700[^>]*>([^<]*)</text>", svg)
    assert bold == ["an"] * 6


def test_the_lines_of_a_relation_are_on_top_of_all_others():
    figure = clark_figures.figure5(**arguments("figure5")).figure
    for axes in [axes for axes in figure.axes if axes.collections]:
        below, above = sorted(axes.collections, key=lambda lines: lines.get_zorder())
        assert below.get_zorder() < above.get_zorder()
        assert {tuple(colour[:3]) for colour in below.get_colors()} == {to_rgb(GREY)}
        assert {tuple(colour[:3]) for colour in above.get_colors()} == {to_rgb(VERMILION)}
    plt.close(figure)


def test_the_plotted_numbers_are_given():
    surface = surface_frame()
    drawn = figure2(surface), figure4(**arguments("figure4"))
    targets, entropies = (figure.frame for figure in drawn)
    assert set(targets["target"]) == {"cls", "sep", "punct", "rest_sep", "sep_sep"}
    ours = targets.query("target == 'sep_sep' and layer == 3 and head == 1")["mean_attention"].item()
    assert ours == surface.query("measure == 'sep_sep' and layer == 3 and head == 1")["value"].item()
    assert entropies.groupby("source").size().to_dict() == {"all": 6, "cls": 6}
    theirs = surface.query("measure == 'entropy_cls'")["value"].tolist()
    assert entropies.query("source == 'cls'")["entropy"].tolist() == theirs
    for figure in drawn:
        plt.close(figure.figure)


def test_figure_2_has_bands_of_a_model_with_random_weights(tmp_path):
    random = surface_frame(layers=2, heads=3).query("measure != 'sep_sep'")
    random = random.assign(value=random["value"] / 2)
    drawn = figure2(surface_frame(), random)
    assert drawn.frame.groupby("weights").size().to_dict() == {"trained": 5 * 6, "random": 4 * 6}
    of_random = drawn.frame.query("weights == 'random' and target == 'sep' and layer == 2").sort_values("head")
    expected = random.query("measure == 'sep' and layer == 2").sort_values("head")["value"]
    assert of_random["mean_attention"].tolist() == expected.tolist()
    panels = {axes.get_title(loc="left"): axes for axes in drawn.figure.axes}
    bands = {title: [c for c in axes.collections if isinstance(c, PolyCollection)] for title, axes in panels.items()}
    assert [len(band) for band in bands.values()] == [1, 1, 1, 1, 0, 0], "the control has no [SEP] to [SEP]; then the legend"
    corners = bands["To [SEP]"][0].get_paths()[0].vertices
    assert sorted(set(corners[corners[:, 0] == 2, 1].round(4))) == pytest.approx([expected.min(), expected.max()], abs=1e-4)
    dashed = [line for line in panels["To [SEP]"].lines if line.get_linestyle() == "--"]
    assert dashed[0].get_ydata()[1] == pytest.approx(expected.mean(), abs=1e-4)
    drawn.write({"svg": tmp_path / "f2.svg"}, {"segments": REAL})
    assert RANDOM in read(tmp_path / "f2.svg")
    without = figure2(surface_frame())
    assert not [c for axes in without.figure.axes for c in axes.collections if isinstance(c, PolyCollection)]
    assert set(without.frame["weights"]) == {"trained"}
    plt.close(without.figure)


def test_published_values_stand_beside_those_of_the_run():
    figures = [figure2(surface_frame()).figure, figure4(**arguments("figure4")).figure]
    hollow = [
        {axes.get_title(loc="left"): [ln for ln in axes.lines if ln.get_markerfacecolor() == "none"] for axes in figure.axes}
        for figure in figures
    ]
    # Figure 2: mean attention to [CLS] in layers 1 and 2 of BERT-base, as read off the paper.
    to_cls = hollow[0]["To [CLS]"][0].get_xydata()
    assert len(to_cls) == 12
    assert to_cls[:2].tolist() == [[1, 0.052], [2, 0.256]]
    assert hollow[1]["From all tokens"][0].get_xydata()[0].tolist() == [1, 3.6]
    for figure in figures:
        plt.close(figure)


def test_dots_are_heads_and_lines_are_means():
    frame = pd.DataFrame(
        {
            "m": ["x"] * 5 + ["z"],
            "layer": [1, 1, 1, 2, 2, 1],
            "head": [1, 2, 3, 1, 2, 1],
            "value": [0.1, 0.3, 0.8, 0.5, 0.9, 0.0],
        }
    )
    _, axes = plt.subplots()
    draw_by_layer(axes, frame, [("x", Quantity("x", "ex", "red")), ("y", Quantity("y", "why", "blue"))], "m", "value")
    assert len(axes.lines) == len(axes.collections) == 1
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[1, 0.4], [2, 0.7]])
    dots = axes.collections[0].get_offsets()
    np.testing.assert_allclose(dots[:, 1], [0.1, 0.3, 0.8, 0.5, 0.9])
    assert dots[:, 0].round().tolist() == [1, 1, 1, 2, 2]
    assert len({tuple(dot) for dot in dots.tolist()}) == 5, "no head hides another"
    assert (np.diff(dots[:3, 0]) > 0.1).all()
    plt.close()


def test_heads_of_one_series_are_dots_and_several_series_have_a_mark_each():
    frame = pd.DataFrame({"m": ["x", "y"], "layer": 1, "head": 1, "value": [0.1, 0.2]})
    series = [("x", Quantity("x", "ex", "red", "^")), ("y", Quantity("y", "why", "blue", "s"))]
    _, (one, two) = plt.subplots(1, 2)
    draw_by_layer(one, frame, series[:1], "m", "value")
    draw_by_layer(two, frame, series, "m", "value")
    corners = [len(marks.get_paths()[0].vertices) for marks in (*one.collections, *two.collections)]
    circle = len(plt.scatter(0, 0, marker="o").get_paths()[0].vertices)
    assert corners[0] == circle
    assert circle not in corners[1:]
    drawn = [quantity for _, quantity in series]
    assert layer_legend(drawn[:1])[0].get_marker() == "o"
    assert [handle.get_marker() for handle in layer_legend(drawn)] == ["^", "s"]
    plt.close()


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
    texts = [(t.get_text(), t.get_fontweight()) for t in axes.texts]
    assert texts == [(w, "bold" if w == "b" else "normal") for w in "aabbcc"]
    plt.close()


def test_a_panel_without_any_series_says_so():
    frame = pd.DataFrame({"target": ["punct"] * 2, "layer": [1, 2], "head": [1, 1], "mean_attention": [0.1, 0.2]})
    figure, (empty, drawn) = plt.subplots(1, 2)
    draw_by_layer(empty, frame, [("sep_sep", SEP_TO_SEP)], "target", "mean_attention")
    draw_by_layer(drawn, frame, [("punct", TO_PUNCTUATION)], "target", "mean_attention")
    assert [text.get_text() for text in empty.texts] == ["the model has no such token"]
    assert not drawn.texts
    plt.close(figure)
