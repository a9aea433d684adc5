"""Tables and figures of Guan et al. from made-up features: what they say, and that a figure needs no torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from safetensors.numpy import save_file
from small_shards import write_example_shards

from attention_atlas.corpora.examples import write_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.methods.distance_features import FEATURES, alternatives
from attention_atlas.methods.head_type_names import DENSE, DENSE_VERTICAL, DIAGONAL, TYPES, UNNAMED, VERTICAL
from attention_atlas.models.card import ModelCard, write_card
from attention_atlas.published.values import load_published
from attention_atlas.studies.guan2020.ablation_rows import ROWS, SENTENCEX, TYPE, sentences_of
from attention_atlas.studies.guan2020.ablations import COLUMNS as ANSWER_COLUMNS
from attention_atlas.studies.guan2020.agreement import agreement_page
from attention_atlas.studies.guan2020.clustering import ClusterOptions, ClusterOutputs, by_layer, cluster_heads
from attention_atlas.studies.guan2020.comparison import comparison
from attention_atlas.studies.guan2020.drawn_maps import draw_maps, shrunk, typical_heads
from attention_atlas.studies.guan2020.figure1 import figure1
from attention_atlas.studies.guan2020.figure2 import figure2
from attention_atlas.studies.guan2020.figure3 import figure3
from attention_atlas.studies.guan2020.figure4 import figure4, same_type
from attention_atlas.studies.guan2020.figure5 import figure5
from attention_atlas.studies.guan2020.head_features import measure_features, read_features
from attention_atlas.studies.guan2020.models_compared import compare_models
from attention_atlas.studies.guan2020.table1 import table1
from attention_atlas.studies.guan2020.type_names import type_names
from attention_atlas.studies.guan2020.type_styles import COLOURS

LAYERS, HEADS, EXAMPLES = 4, 4, 6
OPTIONS = {"binning": "floor", "diagonal": "special"}
SETTING = RunLabel("Test run", "tiny", "made up", sample=True)
PICTURES = ("svg", "png", "pdf")
LIBRARY = Path(__file__).parents[2] / "workflow" / "lib"
# Layer k has heads of type k alone.
OF_LAYER = (DENSE, DENSE_VERTICAL, VERTICAL, DIAGONAL)


def made_up(seed=0):
    """[example, layer, head, 21] features whose types are plain."""
    generator = np.random.default_rng(seed)
    centre = np.full((4, 21), 0.002)
    centre[0, 6:] = 1
    centre[1, :4], centre[1, 4:6], centre[1, 6:] = 1, 0.8, 0.4
    centre[2, :4] = 1
    centre[3, 4:6] = 1
    values = np.repeat(centre[None, :, None], EXAMPLES, axis=0).repeat(HEADS, axis=2)
    values = values * (1 + 0.05 * generator.random(values.shape))
    return values / values.sum(axis=-1, keepdims=True)


def save_features(path, values):
    stacked = np.stack([values] * len(alternatives())).astype(np.float32)
    save_file({"values": stacked, "records": np.arange(len(values))}, path)
    return path


@pytest.fixture(scope="module")
def clustered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clustered")
    save_features(folder / "features", made_up())
    outs = [folder / name for name in ("types", "plane", "layers", "summary", "agreement")]
    options = ClusterOptions(OPTIONS, "kmeans", fits=4, perplexity=30, seed=0)
    cluster_heads(folder / "features", options, SETTING, ClusterOutputs(*outs))
    return folder


def test_the_page_of_agreement_says_over_how_many_examples_and_fits(clustered, tmp_path):
    agreement_page(clustered / "agreement", clustered / "summary", 4, SETTING, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"mean features over {EXAMPLES} questions" in page
    assert "all pairs of 4 fits" in page
    assert "Stability, halved heads" in page


def test_types_are_found_and_named(clustered):
    types = pd.read_csv(clustered / "types", sep="\t")
    assert list(types.columns) == ["model", "layer", "head", "type", "cluster", "n", *FEATURES]
    assert types["cluster"].tolist() == types["type"].tolist()
    assert len(types) == LAYERS * HEADS
    assert types.groupby("layer")["type"].unique().map(list).to_dict() == {k + 1: [name] for k, name in enumerate(OF_LAYER)}
    assert types[list(FEATURES)].sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-5)
    layers = pd.read_csv(clustered / "layers", sep="\t")
    assert layers.groupby("layer")["share"].sum().tolist() == pytest.approx([1] * LAYERS)
    assert layers["heads"].sum() == LAYERS * HEADS
    agreement = pd.read_csv(clustered / "agreement", sep="\t").set_index("aspect")
    assert agreement.loc["as chosen", "ari"] == 1
    assert (agreement.loc["seed", "ari"] == 1).all()
    clusters = agreement.loc["clusters"].set_index("clusters")
    assert clusters.loc[4, ["stability_heads", "stability_inputs"]].tolist() == pytest.approx([1, 1], abs=0.35)


def test_a_type_that_no_head_has_counts_zero():
    counted = by_layer(pd.DataFrame({"layer": [1, 1, 2], "head": [1, 2, 1], "type": [DENSE, DENSE, DIAGONAL]}))
    assert counted.set_index(["layer", "type"])["heads"].to_dict() == {
        (layer, name): {(1, DENSE): 2, (2, DIAGONAL): 1}.get((layer, name), 0) for layer in (1, 2) for name in TYPES
    }


def test_table1_has_both_readings(clustered, tmp_path):
    table1(
        {"pretrain": clustered / "features", "squad": clustered / "features"},
        {"pretrain": SETTING, "squad": SETTING},
        OPTIONS,
        4,
        0,
        tmp_path / "table1.tsv",
        tmp_path / "table1.html",
    )
    table = pd.read_csv(tmp_path / "table1.tsv", sep="\t")
    assert table["model"].tolist() == ["pretrain"] * 2 + ["squad"] * 2
    assert table["halved"].tolist() == ["heads", "inputs"] * 2
    assert table[table["halved"] == "inputs"]["pairwise"].tolist() == [1, 1]
    assert ((table["pairwise_min"] <= table["pairwise"]) & (table["pairwise"] <= table["pairwise_max"])).all()
    page = (tmp_path / "table1.html").read_text()
    assert "96.26" in page
    assert "95.98" in page
    assert table["paper_stability"].tolist() == pytest.approx([0.9598] * 2 + [0.9626] * 2)


def test_models_are_compared_by_the_same_types_and_by_their_own(clustered, tmp_path):
    moved = made_up(1)
    moved[:, 0, 0] = moved[:, 3, 0]  # a dense head becomes diagonal
    pretrained = save_features(tmp_path / "other", moved)
    out = tmp_path / "figure4.tsv"
    compare_models(clustered / "types", {"pretrain": pretrained, "squad": clustered / "features"}, OPTIONS, "kmeans", 0, out)
    table = pd.read_csv(out, sep="\t")
    assert len(table) == 2 * 2 * LAYERS * HEADS
    keyed = table.set_index(["model", "fit", "layer", "head"])["type"]
    for fit in ("reused", "refitted"):
        assert keyed["pretrain", fit, 1, 1] == DIAGONAL
        assert keyed["squad", fit, 1, 1] == DENSE
        assert same_type(table, "pretrain", fit) == (15 / 16, 16)
    # Heads of a cluster that fits no type are no evidence that two models agree.
    unnamed = table.assign(type=table["type"].replace(VERTICAL, UNNAMED))
    assert same_type(unnamed, "pretrain", "reused") == (11 / 12, 12)
    share, number = same_type(table.assign(type=UNNAMED), "pretrain", "reused")
    assert np.isnan(share)
    assert number == 0
    small = save_features(tmp_path / "small", made_up()[:, :2])
    with pytest.raises(AtlasError, match="models of one shape"):
        compare_models(clustered / "types", {"pretrain": small}, OPTIONS, "kmeans", 0, out)


def test_features_are_measured_once_for_all_options(tmp_path):
    shards, all_maps = write_example_shards(tmp_path, [9, 6, 12], LAYERS, HEADS)
    write_examples(tmp_path / "0.parquet", [])
    card = ModelCard("m", "x", "bert", LAYERS, HEADS, 64, "[CLS]", "[SEP]", 0, "", "pretrained", 0, "float32")
    write_card(card, tmp_path / "card.json")
    measure_features(shards, [tmp_path / "0.parquet"], tmp_path / "card.json", 2, tmp_path / "features")
    features = read_features(tmp_path / "features")
    assert features.values.shape == (4, 2, LAYERS, HEADS, 21)
    assert features.shape == (LAYERS, HEADS)
    assert features.values.sum(axis=-1) == pytest.approx(1, abs=2e-3)
    by_example = features.by_example(alternatives()[0])
    maps = all_maps[0].astype(float)
    assert by_example[0, 5, 0] == pytest.approx(maps[1, 1, :, 0].mean(), abs=1e-6)  # [CLS], layer 2, head 2


def test_drawn_maps_and_blocks(clustered, tmp_path):
    shards, all_maps = write_example_shards(tmp_path, [9, 30, 31], LAYERS, HEADS)
    draw_maps(shards, clustered / "types", 3, tmp_path / "maps", tmp_path / "grid")
    maps = pd.read_csv(tmp_path / "maps", sep="\t", keep_default_na=False)
    assert set(maps["example"]) == {"e1"}, "the first that is long and short enough"
    assert maps.groupby(["type", "rank"]).ngroups == 8
    cell = maps[(maps["query"] == 3) & (maps["key"] == 1)].iloc[0]
    expected = all_maps[1][cell["layer"] - 1, cell["head"] - 1, 2, 0]
    assert cell["weight"] == pytest.approx(float(expected), abs=1e-6)
    assert (cell["query_token"], cell["key_token"]) == ("w1", "[CLS]")
    grid = pd.read_csv(tmp_path / "grid", sep="\t")
    assert len(grid) == LAYERS * HEADS * 24 * 24
    array = np.arange(25.0).reshape(5, 5).astype(np.float32)
    assert shrunk(array, 2)[1, 1] == pytest.approx(array[2:, 2:].mean())
    assert shrunk(array, 9) == pytest.approx(array)
    typical = typical_heads(pd.read_csv(clustered / "types", sep="\t"))
    assert typical["type"].tolist() == [name for name in TYPES for _ in range(2)]


def scores(number, sentences, level):
    row = {"row": number, "action": None, "types": None, "sentences": sentences or None, "heads": 4, "n": 50, "passages": 20}
    for name in ("em", "f1"):
        row |= {name: level, f"{name}_ci_low": level - 1, f"{name}_ci_high": level + 1, f"{name}_drop": 90 - level}
        row |= {
            f"{name}_{k}": 1.0
            for k in ("drop_ci_low", "drop_ci_high", "random_drop", "random_min", "random_max", "random_share_below")
        }
    return row


@pytest.fixture(scope="module")
def tables(clustered, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    features = {"pretrain": clustered / "features", "squad": clustered / "features"}
    table1(features, {"squad": SETTING}, OPTIONS, 4, 0, folder / "table1", folder / "page.html")
    # The order of the paper: Diagonal matters most, Vertical least, 1/L more than 0.
    level = {2: 79, 3: 5, 4: 73, 5: 81, 6: 75, 7: 57, 8: 75, 9: 1, 10: 9, 11: 53, 12: 17, 13: 82, 14: 80, 15: 78}
    rows = [scores(1, "", 90)]
    rows += [scores(r.number, s, level.get(r.number, 50)) for r in ROWS for s in sentences_of(r, SENTENCEX)]
    for name, wanted in (("table2", range(1, 12)), ("table3", (1, *range(12, 20)))):
        write_table(pd.DataFrame([row for row in rows if row["row"] in wanted]), folder / name)
    row = {"windows": "all", "references": "all", "n": 50, "em": 86.9, "em_ci_low": 86, "em_ci_high": 88}
    write_table(pd.DataFrame([row | {"f1": 93.1, "f1_ci_low": 92.0, "f1_ci_high": 94.0}]), folder / "baselines")
    # Every question has the drops that the tables have.
    answers = [(r["row"], r["sentences"] or "", TYPE, 0, f"q{k}", k, "x", r["em"], r["f1"]) for r in rows for k in range(20)]
    pd.DataFrame(answers, columns=ANSWER_COLUMNS).to_parquet(folder / "answers", index=False)
    names = ("table1", "table2", "table3", "baselines", "answers")
    of_clusters = {"head_type_summary": "summary", "head_types": "types"}
    return {name: clustered / file for name, file in of_clusters.items()} | {name: folder / name for name in names}


def compared(tables, folder, setting):
    outs = [folder / name for name in ("comparison.tsv", "comparison.html", "claims.tsv", "claims.html")]
    read = {name: path for name, path in tables.items() if name != "answers"}
    comparison(read, tables["answers"], setting, 10, 200, 0, *outs)
    frame = pd.read_csv(outs[0], sep="\t").set_index("id")
    return frame, pd.read_csv(outs[2], sep="\t").set_index("claim")["verdict"], outs[1].read_text()


def test_every_published_value_has_a_row_and_faults_are_named(tables, tmp_path):
    frame, _, page = compared(tables, tmp_path, SETTING)
    assert list(frame.index) == list(load_published("guan2020"))
    faults = {name: value.fault for name, value in load_published("guan2020").items() if value.fault}
    assert len(faults) == 6
    for name, fault in faults.items():
        assert fault.lower() in frame.loc[name, "why"].lower()
    assert "26.56" in page
    assert set(frame.loc[["g_dim", "g_k", "g_diag", "g_t2_3_em"], "verdict"]) == {"not comparable"}
    assert frame.loc["g_t1_mrpc", "verdict"] == "not computed"


def test_numbers_are_compared_with_the_papers_own_model_and_questions(tables, tmp_path):
    paper_setting = RunLabel(
        "Paper run", "bert", "SQuAD", "bert-large-uncased-whole-word-masking-finetuned-squad", "squad-v1.1-dev"
    )
    frame, _, _ = compared(tables, tmp_path, paper_setting)
    assert frame.loc["g_t2_5_em", "verdict"] == "covered by our interval"  # 81.42 within 80 .. 82
    assert frame.loc["g_t2_2_f1", "verdict"] == "differs"
    assert "paper 2.1" in frame.loc["g_t2_2_f1", "why"], "drops stand beside each other"
    assert frame.loc["g_ref_hf_em", "verdict"] == "covered by our interval"
    assert frame.loc["g_t2_5_em", "why"].startswith(
        "same model bert-large-uncased-whole-word-masking-finetuned-squad and data squad-v1.1-dev; different recipe: which"
    )
    assert frame.loc["g_t2_1_em", ["verdict", "scope"]].tolist() == ["not comparable", "never"], "the printed number is lost"
    # The printed 25.56 % is a slip: the repaired value is what counts.
    assert frame.loc["g_diag", "published"] == 25.56
    assert float(frame.loc["g_diag", "ours"]) == 25
    assert frame.loc["g_diag", "verdict"] == frame.loc["g_diag_repaired", "verdict"] == "differs"


def test_claims_follow_from_the_order_of_the_numbers(tables, tmp_path):
    _, claims, _ = compared(tables, tmp_path, SETTING)
    verdicts = {claim.split(" (")[0]: verdict for claim, verdict in claims.items()}
    assert verdicts["Pruning Diagonal heads costs the most of the four types"] == "holds"
    assert verdicts["Pruning Vertical heads costs the least"] == "holds"
    assert verdicts["Substitution by 1/L costs more than pruning, for every type"] == "holds"
    for claim in ("Dense heads are mainly in the lower half", "Vertical heads are mainly in the upper half"):
        assert verdicts[f"{claim} of the layers"] == "undecided", f"{LAYERS} layers decide nothing"


def test_the_names_of_clusters_are_shown_with_their_fit(clustered, tmp_path):
    types = pd.read_csv(clustered / "types", sep="\t")
    types.loc[types["cluster"] == DENSE_VERTICAL, "type"] = UNNAMED
    write_table(types, tmp_path / "types")
    type_names(tmp_path / "types", clustered / "summary", SETTING, tmp_path / "names.tsv", tmp_path / "names.html")
    table = pd.read_csv(tmp_path / "names.tsv", sep="\t")
    assert table["cluster"].tolist() == list(TYPES)
    assert table["type"].tolist() == [DENSE, UNNAMED, VERTICAL, DIAGONAL]
    assert table["heads"].tolist() == [4] * 4
    assert table[["special", "near", "far"]].sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-4)
    row = table.set_index("cluster").loc[VERTICAL]
    assert row["fit_vertical"] == pytest.approx(row["special"] - max(row["near"], row["far"]), abs=1e-5)
    page = (tmp_path / "names.html").read_text(encoding="utf-8")
    assert f"n = {EXAMPLES} questions" in page
    assert "<td>Unnamed</td>" in page


def test_an_unnamed_cluster_is_drawn_and_counted_as_such(clustered, tmp_path):
    types = pd.read_csv(clustered / "types", sep="\t")
    types.loc[types["cluster"] == DENSE_VERTICAL, "type"] = UNNAMED
    write_table(types, tmp_path / "types")
    write_table(by_layer(types), tmp_path / "layers")
    write_quantities({"examples": 6, "heads": 16}, tmp_path / "summary")
    plane = pd.read_csv(clustered / "plane", sep="\t").assign(type=types["type"])
    write_table(plane, tmp_path / "plane")
    shards, _ = write_example_shards(tmp_path, [30], LAYERS, HEADS)
    draw_maps(shards, tmp_path / "types", 3, tmp_path / "maps", tmp_path / "grid")
    compare_models(tmp_path / "types", {"pretrain": clustered / "features"}, OPTIONS, "kmeans", 0, tmp_path / "compared")
    compared_types = pd.read_csv(tmp_path / "compared", sep="\t").groupby("fit")["type"].value_counts()
    assert compared_types["reused", UNNAMED] == HEADS
    assert compared_types["refitted"].to_dict() == dict.fromkeys(TYPES, HEADS)
    pictures = {number: {"svg": tmp_path / f"figure{number}.svg"} for number in range(1, 6)}
    figure1(tmp_path / "maps", tmp_path / "types", tmp_path / "summary", SETTING, pictures[1])
    figure2(tmp_path / "plane", clustered / "agreement", tmp_path / "summary", SETTING, pictures[2])
    figure3(tmp_path / "layers", tmp_path / "summary", SETTING, pictures[3])
    figure4(tmp_path / "compared", {"squad": SETTING}, pictures[4])
    figure5(tmp_path / "grid", SETTING, pictures[5])
    for number in pictures:
        assert "Unnamed" in (tmp_path / f"figure{number}.svg").read_text(encoding="utf-8"), number
    counts = pd.read_csv(tmp_path / "layers", sep="\t")
    assert counts.groupby("type")["heads"].sum().to_dict() == {
        DENSE: 4, DENSE_VERTICAL: 0, VERTICAL: 4, DIAGONAL: 4, UNNAMED: 4
    }  # fmt: skip


def test_frames_leave_the_first_column_of_a_map_visible(tmp_path):
    """A map whose attention is on its first token alone: a column as wide as the others is black in the picture."""
    cells = 24
    places = [(row, column) for row in range(1, cells + 1) for column in range(1, cells + 1)]
    grid = pd.DataFrame(places, columns=["row", "column"]).assign(layer=1, head=1, type=VERTICAL, example="e", pieces=cells)
    write_table(grid.assign(weight=(grid["column"] == 1).astype(float)), tmp_path / "grid")
    figure5(tmp_path / "grid", SETTING, {"png": tmp_path / "figure5.png"})
    picture = imread(tmp_path / "figure5.png")[..., :3]
    framed = np.abs(picture - np.array(to_rgb(COLOURS[VERTICAL]))).max(axis=-1) < 0.01
    # The legend has the colour as well, above the map.
    rows = np.flatnonzero(framed.any(axis=1))
    row = (rows[-1] + rows[rows > rows[-1] - framed.shape[0] // 4][0]) // 2
    frame = np.flatnonzero(framed[row])
    inside = picture[row, frame[0] : frame[-1] + 1]
    black, white = (inside < 0.2).all(axis=-1).sum(), (inside > 0.95).all(axis=-1).sum()
    assert black >= 0.9 * (black + white) / cells
    assert white > 20 * black


def test_figures_are_drawn(clustered, tmp_path):
    shards, _ = write_example_shards(tmp_path, [30], LAYERS, HEADS)
    draw_maps(shards, clustered / "types", 3, tmp_path / "maps", tmp_path / "grid")
    compare_models(clustered / "types", {"squad": clustered / "features"}, OPTIONS, "kmeans", 0, tmp_path / "compared")
    write_quantities({"examples": 6, "heads": 16}, tmp_path / "summary")

    def pictures(name):
        return {kind: tmp_path / f"{name}.{kind}" for kind in PICTURES}

    figure1(tmp_path / "maps", clustered / "types", tmp_path / "summary", SETTING, pictures("figure1"))
    figure2(clustered / "plane", clustered / "agreement", tmp_path / "summary", SETTING, pictures("figure2"))
    figure3(clustered / "layers", tmp_path / "summary", SETTING, pictures("figure3"))
    figure4(tmp_path / "compared", {"squad": SETTING}, pictures("figure4"))
    figure5(tmp_path / "grid", SETTING, pictures("figure5"))
    assert "n = 16 heads of each model" in (tmp_path / "figure4.svg").read_text(encoding="utf-8")
    for number in range(1, 6):
        drawn = (tmp_path / f"figure{number}.svg").read_text()
        assert "Test run: " in drawn, number
        assert "Vertical" in drawn


@pytest.mark.parametrize("number", range(1, 6))
def test_a_figure_needs_neither_torch_nor_sklearn(number):
    code = (
        f"import sys; import attention_atlas.studies.guan2020.figure{number}; "
        "assert not {'torch', 'transformers', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(LIBRARY), "PATH": "/usr/bin:/bin"})
