"""Tables and figures of Kovaleva et al. from made-up measures and predictions: their values, and that figures need no torch."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from text_boxes import words_in

from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.published.values import load_published
from attention_atlas.studies.kovaleva2019 import CLASSES, MODES, TASK_TITLES, figures
from attention_atlas.studies.kovaleva2019.changes import MEASURED, OPTIONS, Measures, change_tables, changes
from attention_atlas.studies.kovaleva2019.scores import scores
from attention_atlas.studies.kovaleva2019.tables import claims, comparison, options, table1

LAYERS, HEADS, EXAMPLES = 12, 12, 8
PADDED_RECORDS = [1, 4, 7]
TASKS = ("mrpc", "stsb", "sst2", "qnli")
SEEDS = {"mrpc": (1, 2), "stsb": (1,), "sst2": (1,), "qnli": (1,)}
LIBRARY = Path(__file__).parents[2] / "workflow" / "lib"
SETTINGS = {task: RunLabel("Test run", "tiny", f"made-up {task}", sample=True) for task in TASKS}
RECIPE = {
    "batch": 32,
    "epochs": 3,
    "learning_rate": 5e-5,
    "warmup": 0.1,
    "padded_length": 200,
    "measured_records": 1000,
    "sentences": 9,
}


def stored(frame):
    """A table as the next job reads it."""
    return pd.read_csv(io.StringIO(frame.to_csv(sep="\t", index=False, float_format="%.6g")), sep="\t")


def made_measures(seed, tagged=True):
    generator = np.random.default_rng(seed)
    shape = (2, 2, EXAMPLES, len(MEASURED), LAYERS, HEADS)
    columns = generator.random(shape).astype(np.float32) * 0.2
    columns[:, :, ::2, MEASURED.index("neg")] = np.nan
    if not tagged:
        for name in ("noun", "verb", "pron", "subj", "obj"):
            columns[:, :, :, MEASURED.index(name)] = np.nan
    links = generator.random((2, 2, EXAMPLES, 4, LAYERS, HEADS)).astype(np.float32)
    links[:, :, ::4, :2] = np.nan
    links[:, 0, :, 2:] = np.nan
    if not tagged:
        links[:] = np.nan
    columns[:, :, :, MEASURED.index("sep_sum")] = columns[:, :, :, MEASURED.index("sep")] * 1.5
    return Measures(
        records=np.arange(EXAMPLES),
        padded_records=np.asarray(PADDED_RECORDS),
        cosine=generator.random((EXAMPLES, LAYERS, HEADS)).astype(np.float32),
        padded=generator.random((3, LAYERS, HEADS)).astype(np.float32),
        columns=columns,
        first_row=columns[..., -1, :],
        classes=generator.integers(0, 5, (2, EXAMPLES, LAYERS, HEADS)).astype(np.int8),
        links=links,
        link_controls=links * 0.5,
    )


def made_disabled(task, seed):
    """Disabling head 2-3 lowers the score most; the other heads change little."""
    generator = np.random.default_rng(seed)
    labels = generator.choice(["1", "0"], 60) if task != "stsb" else np.round(generator.random(60) * 5, 1).astype(str)
    columns = {"record": range(60), "label": labels}
    for layer, head in [(0, 0), *((layer, head) for layer in range(1, LAYERS + 1) for head in range(HEADS + 1))]:
        if task == "stsb":
            noise = 3.0 if (layer, head) == (2, 3) else 0.5
            predictions = (labels.astype(float) + noise * generator.standard_normal(60)).round(3).astype(str)
        else:
            wrong = generator.random(60) < (0.5 if (layer, head) == (2, 3) else 0.1)
            predictions = np.where(wrong, np.where(labels == "1", "0", "1"), labels)
        columns[f"{layer}-{head}" if layer else "unchanged"] = predictions
    return pd.DataFrame(columns)


def made_predictions(task):
    generator = np.random.default_rng(5)
    labels = (
        generator.choice(["1", "0"], 50, p=[0.7, 0.3]) if task != "stsb" else (generator.random(50) * 5).round(2).astype(str)
    )
    rows = []
    for state, seeds in (("untrained", 4), ("random", 1), ("tuned", 3)):
        for seed in range(seeds):
            predictions = generator.permutation(labels) if state == "untrained" else labels
            rows.append(
                pd.DataFrame({"state": state, "seed": seed, "record": range(50), "prediction": predictions, "label": labels})
            )
    return pd.concat(rows, ignore_index=True)


MEASURES = {task: {seed: made_measures(seed, tagged=task != "qnli") for seed in SEEDS[task]} for task in TASKS}
DISABLED = {task: {seed: made_disabled(task, seed) for seed in SEEDS[task]} for task in TASKS}
PREDICTIONS = {task: made_predictions(task) for task in TASKS}
ARTIFACTS = {"figure2": "classes", "figure5": "cosine", "figure6": "special", "figure7": "first_row"}
ARTIFACTS |= {"figure8": "disabling_heads", "figure9": "disabling_layers"}
"""Figure -> the table that it is drawn from."""


@pytest.fixture(scope="module")
def built():
    """Name of a measured table -> the table, as it is stored."""
    made = changes(MEASURES, DISABLED, 100, 0)
    made["disabling"] = made.pop("disabling_summary")
    scored = scores(PREDICTIONS, 300, 0)
    made |= {"scores": scored["scores"], "table1_gains": scored["gains"], "table1": table1(stored(scored["scores"])).frame}
    frame_options = pd.DataFrame([dict.fromkeys(OPTIONS, 1) | {"task": "frames", "unit": "sentences"}])
    made["all_options"] = options({"options": stored(made["options"]), "frame_options": stored(frame_options)}).frame
    margins = {"ci_low": 0.1, "ci_high": 0.2, "control": 0.1, "margin": 0.05, "margin_ci_low": 0.01, "margin_ci_high": 0.1}
    margins |= {"margin_all_low": 0.005, "margin_all_high": 0.105, "n": 9, "n_margin": 9}
    made["frame_heads"] = head_rows(np.random.default_rng(0).random((LAYERS, HEADS)), "value").assign(**margins)
    rows = [
        {"annotator": annotator, "folds": folds, "class": name, "n": 100 if name != "macro" else 500}
        for annotator in ("network", "rules")
        for folds in ("text", "layer")
        for name in (*CLASSES, "macro")
    ]
    made["patterns"] = pd.DataFrame(rows).assign(f1=0.7, ci_low=0.6, ci_high=0.8)
    return {name: stored(table) for name, table in made.items()}


def read(built, name):
    return built[ARTIFACTS.get(name, name)]


def test_class_shares_sum_to_one(built):
    table = read(built, "figure2")
    assert table.groupby(["task", "annotator"])["share"].sum().to_numpy() == pytest.approx(1, abs=1e-5)
    assert (table["ci_low"] <= table["share"] + 1e-9).all()
    assert set(table.groupby("task")["maps"].first()) == {EXAMPLES * LAYERS * HEADS, 2 * EXAMPLES * LAYERS * HEADS}


def test_means_are_over_examples_and_seeds(built):
    seed_measures = list(MEASURES["mrpc"].values())
    cosine = read(built, "figure5").query("task == 'mrpc' and crop == 'real' and layer == 3 and head == 4").iloc[0]
    assert cosine["value"] == pytest.approx(np.mean([m.cosine[:, 2, 3] for m in seed_measures]), rel=1e-4)
    assert (cosine["n"], cosine["seeds"]) == (EXAMPLES, 2)
    sizes = read(built, "figure5").groupby(["task", "crop"])["n"].first()
    assert {crop: set(sizes[:, crop]) for crop in ("padded", "real_same", "real")} == {
        "padded": {3},
        "real_same": {3},
        "real": {EXAMPLES},
    }
    same = read(built, "figure5").query("task == 'mrpc' and crop == 'real_same' and layer == 3 and head == 4").iloc[0]
    assert same["value"] == pytest.approx(np.mean([m.cosine[PADDED_RECORDS, 2, 3] for m in seed_measures]), rel=1e-4)
    features = read(built, "features")
    row = features.query(
        "task == 'mrpc' and model == 'tuned' and mode == 'corrected' and feature == 'neg' and layer == 1 and head == 1"
    )
    values = np.mean([m.feature("tuned", "corrected", "neg")[:, 0, 0] for m in seed_measures], axis=0)
    assert row["n"].iloc[0] == EXAMPLES // 2
    assert row["value"].iloc[0] == pytest.approx(np.nanmean(values), rel=1e-4)
    # Published code counts examples without the feature as 0.
    assert row["value_zero"].iloc[0] == pytest.approx(np.nansum(values) / EXAMPLES, rel=1e-4)


def test_figure7_compares_pieces_by_spelling_and_shows_those_by_word_beside_them(built):
    table = read(built, "figure7").query("task == 'sst2' and feature == 'pron'").groupby("mode")["value"].mean()
    values = MEASURES["sst2"][1].first_row[1, :, :, MEASURED.index("pron")].mean(axis=(1, 2))
    assert table[list(MODES)].to_numpy() == pytest.approx(values, rel=1e-4)
    assert abs(values[0] - values[1]) > 1e-3
    same = {task: RunLabel("Run", "bert", task, "bert-base-uncased", f"{task}-dev") for task in TASKS}
    compared_values = compared(built, same).set_index("id")
    assert float(compared_values.loc["k_f7_sst-2_pron", "ours"]) == pytest.approx(table["as_published"], rel=1e-3)


def test_features_without_tags_are_left_out(built):
    for name in ("features", "figure7"):
        features = set(read(built, name).query("task == 'qnli'")["feature"])
        assert "noun" not in features
        assert "punct" in features
    assert "sep_sum" in set(read(built, "figure6")["feature"])


def test_links_are_means_over_the_examples_that_have_them(built):
    table = read(built, "links")
    row = table.query("task == 'stsb' and model == 'tuned' and mode == 'corrected' and link == 'verb_subj'")
    values = MEASURES["stsb"][1].links[1, 1, :, 1].astype(float)
    assert set(row["n"]) == {6}
    assert row["value"].to_numpy() == pytest.approx(np.nanmean(values, axis=0).ravel(), rel=1e-4)
    assert row["value_zero"].to_numpy() == pytest.approx(np.nansum(values, axis=0).ravel() / EXAMPLES, rel=1e-4)
    assert row["margin"].to_numpy() == pytest.approx(row["control"].to_numpy(), rel=1e-4)
    assert row["margin_all_low"].isna().all(), "six examples"
    # No published code pairs nouns with pronouns.
    assert set(table.query("mode == 'as_published'")["link"]) == {"subj_verb", "verb_subj"}
    assert "qnli" not in set(table["task"]), "no tags"


def counted(table):
    """Units of a table, and its smallest and largest n."""
    counts = table[table["n"] > 0]
    return set(counts["unit"]), counts["n"].min(), counts["n"].max()


def test_a_run_without_tags_has_no_row_of_links():
    made = change_tables({task: [made_measures(1, tagged=False)] for task in ("stsb", "qnli")}, 100, 0)
    assert made["links"].empty
    assert "margin" in made["links"]
    assert counted(made["first_row"]) == ({"examples"}, EXAMPLES // 2, EXAMPLES)


def test_tables_name_what_n_counts(built):
    names = ("figure2", "head_classes", "figure5", "figure6", "figure7", "features", "links", "figure8", "figure9")
    for name in (*names, "table1", "table1_gains"):
        assert counted(read(built, name))[0] == {"examples"}, name
    assert counted(built["all_options"])[0] == {"examples", "sentences"}
    assert counted(figures.figure3(built["frame_heads"], "fe_to_target", "zip").frame) == ({"sentences"}, 9, 9)


def test_options_move_what_they_move(built):
    table = built["all_options"]
    assert table["task"].iloc[-1] == "frames"
    table = table[table["task"] != "frames"]
    sums = table[table["option"] == "Figure 6: separators"]
    assert (sums["rho"] > 0.999).all()
    assert (sums["mean_change"] > 0).all()
    zero = table[table["option"].str.contains("neg: examples without it")]
    assert (zero["mean_change"] < 0).all()
    spelling = table[table["option"] == "Figure 7, pron: tokens by spelling, or by word"].set_index("task")["mean_change"]
    by_mode = read(built, "figure7").query("task == 'stsb' and feature == 'pron'").groupby("mode")["value"].mean()
    assert spelling["stsb"] == pytest.approx(by_mode["corrected"] - by_mode["as_published"], abs=1e-4)
    assert table.notna().all(axis=None)
    # Without tags: three choices for each of five features with tags, and those of two links.
    counts = table.groupby("task").size()
    assert counts["stsb"] - counts["qnli"] == 5 * 3 + 2


def test_options_show_how_far_the_pairs_of_section_4_5_move_the_heads(built):
    links = MEASURES["stsb"][1].links[1, :, :, 1].astype(float)
    rows = read(built, "options").query("task == 'stsb'").set_index("option")
    row = rows.loc["Section 4.5, verb_subj: pairs as in the code, or of linked words"]
    means = np.nanmean(links, axis=1)
    assert row["mean_change"] == pytest.approx((means[1] - means[0]).mean(), abs=1e-4)
    assert (row["option_a"], row["option_b"], row["n"]) == ("as_published", "corrected", 6)


def test_the_head_that_matters_is_found(built):
    figure8 = read(built, "figure8").set_index(["task", "layer", "head"]).sort_index()
    for task in TASKS:
        task_rows = figure8.loc[task]
        assert task_rows["delta"].idxmin() == (2, 3)
        # Student's t of the two seeds of MRPC has one degree of freedom.
        assert (task_rows.loc[(2, 3), "ci_high"] < 0) == (len(SEEDS[task]) == 1)
        assert task_rows.loc[(2, 3), "p"] < 0.05
    for task in TASKS:
        # Two heads in each of four tasks.
        assert figure8.loc[task, "pair_level"].to_numpy() == pytest.approx(1 - 0.05 / 8)
    assert {*figure8["unit"], *read(built, "figure9")["unit"]} == {"examples"}
    summary = read(built, "disabling").set_index(["task", "unit"])
    assert summary.loc[("mrpc", "layers"), "seeds"] == 2
    assert (summary["heldout_delta"] <= summary["best_delta"] + 1e-9).mean() > 0.7


def test_table1_has_every_state_and_the_majority(built):
    table = read(built, "table1").set_index(["task", "metric", "state"])
    assert table.loc[("sst2", "accuracy", "tuned"), "value"] == 100
    assert table.loc[("stsb", "correlation", "tuned"), "value"] == pytest.approx(100)
    majority = table.loc[("sst2", "accuracy", "majority"), "value"]
    share = majority / 100
    assert table.loc[("mrpc", "f1", "majority"), "value"] == pytest.approx(100 * 2 * share / (1 + share), rel=1e-3)
    assert table.loc[("qnli", "accuracy", "untrained"), "seeds"] == 4
    untrained = table.loc[("qnli", "accuracy", "untrained")]
    assert untrained["min"] <= untrained["value"] <= untrained["max"]
    # Four seeds that guess differ by more than resampled examples do.
    alone = 1.96 * np.sqrt(untrained["value"] * (100 - untrained["value"]) / 50 / 4)
    assert (untrained["ci_high"] - untrained["ci_low"]) / 2 > alone
    assert table.loc[("mrpc", "f1", "tuned"), "paper_value"] == 87.9
    assert table.loc[("stsb", "correlation", "random"), "paper_value"] == 2.9
    assert (
        table.loc[("sst2", "accuracy", "majority"), "paper_value"] != table.loc[("sst2", "accuracy", "majority"), "paper_value"]
    )
    assert table["ci_high"].max() <= 100
    shown = table1(built["scores"])
    assert shown.page["Paper: Pre-trained, fine-tuned"].tolist()[0] == "87.9"
    assert "chance with chance" in " ".join(shown.notes)


def test_models_that_give_one_answer_are_named(built):
    constant = PREDICTIONS["sst2"].copy()
    constant.loc[constant["state"] == "tuned", "prediction"] = "1"
    notes = " ".join(table1(stored(scores({"sst2": constant}, 40, 0)["scores"])).notes)
    assert "Models that give one answer to all examples: SST-2: Pre-trained, fine-tuned (3 of 3)." in notes
    assert "one answer to all" not in " ".join(table1(built["scores"]).notes)


def read_by(table, built, **more):
    """A marked table or figure of the tables that it reads; the run has a corpus of frames."""
    return table(**table.tables({name: built[name] for name in table.inputs}), **more)


def claimed(built):
    return read_by(claims, built)


def compared(built, labels, recipe=RECIPE):
    frames = {name: built[name] for name in comparison.inputs if name in built}
    return comparison(frames, recipe, labels | {"frames": labels["mrpc"]}).frame


def test_every_published_value_has_a_row_and_none_is_taken_for_ours(built):
    table, tested = compared(built, SETTINGS), claimed(built).frame
    assert table["id"].tolist() == list(load_published("kovaleva2019"))
    by_id = table.set_index("id")
    assert by_id.loc["k_setup_batch", "ours"] == by_id.loc["k_setup_batch", "published"]
    assert by_id.loc["k_setup_batch", "verdict"] == "not comparable"
    assert by_id.loc["k_t1_mrpc_f1_pretrained_init_finetuned", "verdict"] == "not comparable"
    assert by_id.loc[["k_f8_mrpc_base", "k_f8_mrpc_max"], "verdict"].tolist() == ["not comparable"] * 2
    assert by_id.loc["k_f9_sst-2_L3", "ours"] == by_id.loc["k_f9_sst-2_L3", "ours"]
    settings = table["id"].str.match(r"k_setup_(batch|epochs|lr|warmup|nb)|k_41_(classes|layers|cap)|k_42_(max|n)")
    assert (table["comparable"] == "setting").tolist() == settings.tolist()
    assert not table["comparable"].isin(["exact", "close"]).any()
    # Every figure of the run's tasks has its values.
    measured = table[table["ours"].notna()]["item"].value_counts()
    assert measured["Fig 5"] == measured["Fig 9"] - len(TASKS) == 12 * len(TASKS)
    assert measured["Fig 6"] == 24 * len(TASKS)
    assert measured["Fig 7"] == 8 * len(TASKS) - 5  # QNLI has no tags here
    # The heads of the best and the worst score are those of the paper: a smaller model has some of them.
    assert measured["Fig 8"] == 3 * len(TASKS) + by_id.loc[by_id.index.str.match("k_f8_.*_(max|min)"), "ours"].notna().sum()
    assert measured["Fig 2"] == 5 * len(TASKS)
    verdicts = tested.set_index("claim")["verdict"]
    # One head has an effect, and it lowers the score; the fine-tuned models are always right or (random weights) as right.
    assert verdicts[[name for name in verdicts.index if "chosen for its gain" in name]].tolist() == ["undecided"]
    assert verdicts["Fine-tuning from pre-trained weights beats random weights in every task (Table 1)"] == "undecided"
    assert (tested[["statistic", "unit", "n"]].notna().all()).all()


def test_random_weights_are_claimed_about_for_the_tasks_that_have_them(built):
    gains = built["table1_gains"]
    for with_random in (list(TASKS)[:1], []):
        tested = claimed(built | {"table1_gains": gains[gains["task"].isin(with_random)]}).frame.set_index("claim")["ours"]
        about = tested[tested.index.str.contains("beats random weights")]
        assert len(about) == len(with_random)
        if with_random:
            assert f"(1 of {len(TASKS)} tasks" in about.index[0]
            assert about.iloc[0].startswith(TASK_TITLES[with_random[0]])


def test_the_same_model_and_data_are_compared_and_faults_are_named(built):
    same = {task: RunLabel("Run", "bert", task, "bert-base-uncased", f"{task}-dev") for task in TASKS}
    by_id = compared(built, same).set_index("id")
    assert by_id.loc["k_f5_mrpc_L1", "verdict"] in ("match", "covered by our interval", "differs")
    assert by_id.loc["k_f5_mrpc_L1", "comparable"] == "close"
    assert "fine-tuned again" in by_id.loc["k_f5_mrpc_L1", "why"]
    faults = {name: value.fault for name, value in load_published("kovaleva2019").items() if value.fault}
    assert len(faults) == 6
    for name in set(faults) & set(by_id.index[by_id["verdict"] != "not computed"]):
        assert faults[name][1:] in by_id.loc[name, "why"]
    assert "cannot be of the same models" in by_id.loc["k_f8_qnli_base", "why"]


def test_a_run_without_frames_has_no_row_for_them(built):
    without = {name: table for name, table in built.items() if name != "frame_heads"}
    by_id = compared(without, SETTINGS, {name: value for name, value in RECIPE.items() if name != "sentences"}).set_index("id")
    assert by_id.loc[["k_42_a", "k_42_n"], "ours"].isna().all()
    assert set(by_id.loc[["k_42_a", "k_42_n", "k_f3_L5H2"], "verdict"]) == {"not computed"}


def drawn_patterns():
    n = 6
    query, key = np.indices((n, n))
    frames = []
    for place, name in enumerate(CLASSES[:4]):
        weights = np.random.default_rng(place).random((n, n))
        cells = {"query": query.ravel() + 1, "key": key.ravel() + 1, "query_token": [f"t{k}$" for k in query.ravel()]}
        facts = {"probability": 0.9, "task": "mrpc", "example": "7", "layer": 1, "head": place + 1}
        frames.append(pd.DataFrame({"class": name, **facts, **cells, "weight": weights.ravel() / n}))
    return pd.concat(frames)


def test_figures_are_drawn_and_are_the_same_each_time(built, tmp_path):
    words = pd.DataFrame({"word": ["He", "was", "becoming", "agitated", "."], "role": ["element", "", "", "target", ""]})
    sentence = words.assign(frame="Emotion_directed", example="3")
    drawings = {
        "figure1": figures.figure1(drawn_patterns()),
        "figure2": figures.figure2(built["classes"], built["patterns"]),
        "figure3": figures.figure3(built["frame_heads"], "fe_to_target", "zip"),
        "figure4": figures.figure4(sentence),
        **{f"figure{k}": read_by(getattr(figures, f"figure{k}"), built) for k in range(5, 10)},
    }
    for name, drawing in drawings.items():
        files = {kind: tmp_path / f"{name}.{kind}" for kind in ("svg", "png", "pdf")}
        drawing.write(files, SETTINGS if name[-1] not in "134" else {"mrpc": SETTINGS["mrpc"]})
        assert all(path.stat().st_size > 2000 for path in files.values()), name
        assert "generated text" in words_in(files["svg"]), name
    figures.figure8(built["disabling_heads"]).write({"svg": tmp_path / "again.svg"}, SETTINGS)
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "figure8.svg").read_bytes()
    assert "Published (BERT-base)" in words_in(tmp_path / "figure2.svg")


@pytest.mark.parametrize("module", ["figures", "tables", "changes", "scores", "words"])
def test_tables_and_figures_import_no_torch(module):
    imported = "{'torch', 'transformers'} & set(sys.modules)"
    code = f"import sys, attention_atlas.studies.kovaleva2019.{module}; sys.exit(bool({imported}))"
    assert subprocess.run([sys.executable, "-c", code], check=False, env={"PYTHONPATH": str(LIBRARY)}).returncode == 0
