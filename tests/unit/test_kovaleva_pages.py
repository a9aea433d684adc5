"""Tables and figures of Kovaleva et al. from made-up measures and predictions: their values, and that figures need "
"no torch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from text_boxes import words_in

from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_parquet, write_table
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.published.values import load_digitised, load_published
from attention_atlas.studies.kovaleva2019.change_tables import ChangeOutputs, change_tables
from attention_atlas.studies.kovaleva2019.comparison import comparison
from attention_atlas.studies.kovaleva2019.disabling_tables import disabling_tables
from attention_atlas.studies.kovaleva2019.features import features_page
from attention_atlas.studies.kovaleva2019.figure1 import figure1
from attention_atlas.studies.kovaleva2019.figure2 import figure2
from attention_atlas.studies.kovaleva2019.figure3 import figure3
from attention_atlas.studies.kovaleva2019.figure4 import figure4
from attention_atlas.studies.kovaleva2019.figure5 import figure5
from attention_atlas.studies.kovaleva2019.figure6 import figure6
from attention_atlas.studies.kovaleva2019.figure7 import figure7
from attention_atlas.studies.kovaleva2019.figure8 import figure8
from attention_atlas.studies.kovaleva2019.figure9 import figure9
from attention_atlas.studies.kovaleva2019.link_tables import links_page
from attention_atlas.studies.kovaleva2019.measured import MEASURED
from attention_atlas.studies.kovaleva2019.names import CLASSES, FOLDS, NETWORK, RULES, TASK_TITLES
from attention_atlas.studies.kovaleva2019.options import options_page
from attention_atlas.studies.kovaleva2019.table1 import table1

LAYERS, HEADS, EXAMPLES = 12, 12, 8
PADDED_RECORDS = [1, 4, 7]
TASKS = ("mrpc", "stsb", "sst2", "qnli")
CLAIM_TABLES = ("statistics", "gains", "links")
SEEDS = {"mrpc": (1, 2), "stsb": (1,), "sst2": (1,), "qnli": (1,)}
PICTURES = ("svg", "png", "pdf")
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


def save_measures(path, seed, tagged=True):
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
    save_file(
        {
            "records": np.arange(EXAMPLES),
            "padded_records": np.asarray(PADDED_RECORDS),
            "cosine": generator.random((EXAMPLES, LAYERS, HEADS)).astype(np.float32),
            "padded": generator.random((3, LAYERS, HEADS)).astype(np.float32),
            "columns": columns,
            "first_row": np.ascontiguousarray(columns[..., -1, :]),
            "classes": generator.integers(0, 5, (2, EXAMPLES, LAYERS, HEADS)).astype(np.int8),
            "links": links,
            "link_controls": links * 0.5,
        },
        path,
        metadata={"facts": json.dumps({"untagged": "" if tagged else "spaCy is not installed", "unlinked": ""})},
    )
    return path


def save_disabled(path, task, seed, actions):
    """Disabling head 2-3 lowers the score most; the other heads change little."""
    generator = np.random.default_rng(seed)
    labels = generator.choice(["1", "0"], 60) if task != "stsb" else np.round(generator.random(60) * 5, 1).astype(str)
    rows = []
    keys = [("none", 0, 0), *((a, layer, head) for a in actions for layer in range(1, LAYERS + 1) for head in range(HEADS + 1))]
    for action, layer, head in keys:
        if task == "stsb":
            noise = 3.0 if (layer, head) == (2, 3) else 0.5
            predictions = (labels.astype(float) + noise * generator.standard_normal(60)).round(3).astype(str)
        else:
            wrong = generator.random(60) < (0.5 if (layer, head) == (2, 3) else 0.1)
            predictions = np.where(wrong, np.where(labels == "1", "0", "1"), labels)
        facts = {"action": action, "layer": layer, "head": head}
        rows.append(pd.DataFrame({**facts, "record": range(60), "prediction": predictions, "label": labels}))
    write_parquet(pd.concat(rows, ignore_index=True), path)
    return path


def save_predictions(path, task):
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
    write_parquet(pd.concat(rows, ignore_index=True), path)
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kovaleva")
    measures = {
        task: {seed: save_measures(folder / f"m-{task}-{seed}", seed, tagged=task != "qnli") for seed in SEEDS[task]}
        for task in TASKS
    }
    names = ("figure2", "head_classes", "figure5", "figure6", "figure7", "features", "links", "options", "statistics")
    change_tables(measures, 100, 0, ChangeOutputs(*(folder / f"{name}.tsv" for name in names)))
    features_page(folder / "features.tsv", folder / "statistics.tsv", SETTINGS, folder / "features.html")
    links_page(folder / "links.tsv", SETTINGS, folder / "links.html")
    options_page(folder / "options.tsv", SETTINGS, folder / "options.html")
    kinds = {task: ["uniform", "zero"] if task == "mrpc" else ["uniform"] for task in TASKS}
    disabled = {
        task: {seed: save_disabled(folder / f"d-{task}-{seed}.parquet", task, seed, kinds[task]) for seed in SEEDS[task]}
        for task in TASKS
    }
    names = ("disabling_by_seed.tsv", "figure8.tsv", "figure9.tsv", "disabling.tsv", "disabling.html")
    disabling_tables(disabled, SETTINGS, 100, 0, *(folder / name for name in names))
    predictions = {task: save_predictions(folder / f"p-{task}.parquet", task) for task in TASKS}
    table1(predictions, SETTINGS, 300, 0, *(folder / name for name in ("table1.tsv", "gains.tsv", "table1.html")))
    values = np.random.default_rng(0).random((LAYERS, HEADS))
    margins = {
        "ci_low": 0.1,
        "ci_high": 0.2,
        "control": 0.1,
        "margin": 0.05,
        "margin_ci_low": 0.01,
        "margin_ci_high": 0.1,
        "margin_all_low": 0.005,
        "margin_all_high": 0.105,
        "n": 9,
        "n_margin": 9,
    }
    write_table(head_rows(values, "value").assign(**margins), folder / "frames.tsv")
    figure3(folder / "frames.tsv", "fe_to_target", "zip", SETTINGS["mrpc"], folder / "figure3.tsv", {})
    rows = [
        {"annotator": annotator, "folds": folds, "class": name, "n": 100 if name != "macro" else 500}
        for annotator in (NETWORK, RULES)
        for folds in FOLDS
        for name in (*CLASSES, "macro")
    ]
    scores = {"precision": 0.7, "recall": 0.8, "f1": 0.7, "ci_low": 0.6, "ci_high": 0.8}
    write_table(pd.DataFrame(rows).assign(**scores), folder / "patterns.tsv")
    return folder


def read(built, name):
    return pd.read_csv(built / f"{name}.tsv", sep="\t")


def test_class_shares_sum_to_one(built):
    table = read(built, "figure2")
    assert table.groupby(["task", "annotator"])["share"].sum().to_numpy() == pytest.approx(1, abs=1e-5)
    assert (table["ci_low"] <= table["share"] + 1e-9).all()
    assert set(table.groupby("task")["maps"].first()) == {EXAMPLES * LAYERS * HEADS, 2 * EXAMPLES * LAYERS * HEADS}


def test_means_are_over_examples_and_seeds(built):
    from attention_atlas.studies.kovaleva2019.measured import read_measures

    seed_measures = [read_measures(built / f"m-mrpc-{seed}") for seed in SEEDS["mrpc"]]
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


def test_figure7_compares_pieces_by_spelling_and_shows_those_by_word_beside_them(built, tmp_path):
    from attention_atlas.studies.kovaleva2019.measured import read_measures
    from attention_atlas.studies.kovaleva2019.word_features import MODES

    table = read(built, "figure7").query("task == 'sst2' and feature == 'pron'").groupby("mode")["value"].mean()
    values = read_measures(built / "m-sst2-1").first_row[1, :, :, MEASURED.index("pron")].mean(axis=(1, 2))
    assert table[list(MODES)].to_numpy() == pytest.approx(values, rel=1e-4)
    assert abs(values[0] - values[1]) > 1e-3
    same = {task: RunLabel("Run", "bert", task, "bert-base-uncased", f"{task}-dev") for task in TASKS}
    compared_values = compared(built, tmp_path, same)[0].set_index("id")
    assert float(compared_values.loc["k_f7_sst-2_pron", "ours"]) == pytest.approx(table["as_published"], rel=1e-3)


def test_features_without_tags_are_left_out_and_the_page_says_so(built):
    features = read(built, "features").query("task == 'qnli'").groupby("feature")["value"].count()
    assert features["noun"] == 0
    assert features["punct"] > 0
    page = (built / "features.html").read_text(encoding="utf-8")
    assert "QNLI: noun, verb, pron, subj, obj (spaCy is not installed)" in page
    absent = read(built, "features").query("task == 'qnli' and feature == 'noun'")["absent"]
    assert set(absent) == {"spaCy is not installed"}
    assert "sep_sum" in set(read(built, "figure6")["feature"])


def test_links_are_means_over_the_examples_that_have_them_and_absent_ones_have_a_reason(built):
    from attention_atlas.studies.kovaleva2019.measured import read_measures

    table = read(built, "links")
    row = table.query("task == 'stsb' and model == 'tuned' and mode == 'corrected' and link == 'verb_subj'")
    values = read_measures(built / "m-stsb-1").links[1, 1, :, 1].astype(float)
    assert set(row["n"]) == {6}
    assert row["value"].to_numpy() == pytest.approx(np.nanmean(values, axis=0).ravel(), rel=1e-4)
    assert row["value_zero"].to_numpy() == pytest.approx(np.nansum(values, axis=0).ravel() / EXAMPLES, rel=1e-4)
    assert row["margin"].to_numpy() == pytest.approx(row["control"].to_numpy(), rel=1e-4)
    assert row["margin_all_low"].isna().all(), "six examples"
    # No published code pairs nouns with pronouns: no row, and no reason.
    assert set(table.query("mode == 'as_published'")["link"]) == {"subj_verb", "verb_subj"}
    absent = table.query("task == 'qnli'")
    assert absent["absent"].tolist() == ["spaCy is not installed"], "one row, one reason"
    assert absent[["model", "mode", "link", "layer", "value", "n", "n_margin"]].isna().all(axis=None)
    assert "Without any link: QNLI (spaCy is not installed)." in (built / "links.html").read_text(encoding="utf-8")


def counted(table):
    """Units of a table, and its smallest and largest n."""
    counts = table[table["n"] > 0]
    return set(counts["n_unit" if "n_unit" in table else "unit"]), counts["n"].min(), counts["n"].max()


def test_links_of_a_run_without_tags_have_a_reason_and_no_row_of_zeros(tmp_path):
    measures = {task: {1: save_measures(tmp_path / task, 1, tagged=False)} for task in ("stsb", "qnli")}
    names = ("figure2", "head_classes", "figure5", "figure6", "figure7", "features", "links", "options", "statistics")
    change_tables(measures, 100, 0, ChangeOutputs(*(tmp_path / f"{name}.tsv" for name in names)))
    links = read(tmp_path, "links")
    assert links["task"].tolist() == ["stsb", "qnli"]
    assert links["absent"].tolist() == ["spaCy is not installed"] * 2
    assert links["n"].isna().all(), "without tags, the number of examples with a link is unknown, not 0"
    assert counted(read(tmp_path, "figure7")) == ({"examples"}, EXAMPLES // 2, EXAMPLES)
    links_page(tmp_path / "links.tsv", SETTINGS, tmp_path / "links.html")
    page = (tmp_path / "links.html").read_text(encoding="utf-8")
    assert page.count("spaCy is not installed") == 1
    assert "Without any link: STS-B, QNLI (spaCy is not installed)." in page


def test_tables_name_what_n_counts(built):
    names = ("figure2", "head_classes", "figure5", "figure6", "figure7", "features", "links", "options", "figure8", "figure9")
    for name in (*names, "table1", "gains", "disabling"):
        assert counted(read(built, name))[0] == {"examples"}, name
    assert counted(read(built, "figure3")) == ({"sentences"}, 9, 9)


def test_options_move_what_they_move(built):
    options = read(built, "options")
    sums = options[options["option"] == "Figure 6: separators"]
    assert (sums["rho"] > 0.999).all()
    assert (sums["mean_change"] > 0).all()
    zero = options[options["option"].str.contains("neg: examples without it")]
    assert (zero["mean_change"] < 0).all()
    spelling = options[options["option"] == "Figure 7, pron: tokens by spelling, or by word"].set_index("task")["mean_change"]
    by_mode = read(built, "figure7").query("task == 'stsb' and feature == 'pron'").groupby("mode")["value"].mean()
    assert spelling["stsb"] == pytest.approx(by_mode["corrected"] - by_mode["as_published"], abs=1e-4)
    assert np.isnan(spelling["qnli"]), "no tags"
    gone = options[options["n"].isna()]
    assert set(gone["task"]) == {"qnli"}
    assert set(gone["absent"]) == {"spaCy is not installed"}
    assert gone["mean_change"].isna().all()
    assert options.loc[options["n"] > 0, "absent"].isna().all()
    # Three choices for each of five features with tags, and those of two links.
    assert len(gone) == 5 * 3 + 2
    assert "spaCy is not installed" in (built / "options.html").read_text(encoding="utf-8")


def test_figure7_says_why_a_value_is_absent(built):
    table = read(built, "figure7")
    nouns = table.query("task == 'qnli' and feature == 'noun'")
    assert set(nouns["absent"]) == {"spaCy is not installed"}
    assert nouns["value"].isna().all()
    assert table.loc[table["value"].notna(), "absent"].isna().all()
    assert table.loc[table["value"].isna(), "absent"].notna().all()


def test_options_show_how_far_the_pairs_of_section_4_5_move_the_heads(built):
    from attention_atlas.studies.kovaleva2019.measured import read_measures

    links = read_measures(built / "m-stsb-1").links[1, :, :, 1].astype(float)
    rows = read(built, "options").query("task == 'stsb'").set_index("option")
    row = rows.loc["Section 4.5, verb_subj: pairs as in the code, or of linked words"]
    means = np.nanmean(links, axis=1)
    assert row["mean_change"] == pytest.approx((means[1] - means[0]).mean(), abs=1e-4)
    assert (row["option_a"], row["option_b"], row["n"]) == ("as_published", "corrected", 6)


def test_the_head_that_matters_is_found(built):
    figure8 = read(built, "figure8").query("action == 'uniform'").set_index(["task", "layer", "head"]).sort_index()
    for task in TASKS:
        task_rows = figure8.loc[task]
        assert task_rows["delta"].idxmin() == (2, 3)
        # Student's t of the two seeds of MRPC has one degree of freedom.
        assert (task_rows.loc[(2, 3), "ci_high"] < 0) == (len(SEEDS[task]) == 1)
        assert task_rows.loc[(2, 3), "p"] < 0.05
    assert figure8.loc["stsb", "p_mcnemar"].isna().all()
    assert figure8.loc["sst2", "p_mcnemar"].notna().all()
    seeds = read(built, "disabling").set_index(["task", "action", "unit"])["seed_rho"].sort_index()
    assert figure8.groupby("task")["seed_rho"].first()["mrpc"] == seeds["mrpc", "uniform", "heads"]
    assert -0.3 < seeds["mrpc", "uniform", "heads"] < 0.5
    assert seeds["stsb", "uniform"].isna().all(), "one seed"
    for task in TASKS:
        # Two heads in each of four tasks.
        assert figure8.loc[task, "pair_level"].to_numpy() == pytest.approx(1 - 0.05 / 8)
    assert {*figure8["unit"], *read(built, "figure9")["unit"]} == {"examples"}
    assert "resample examples: the corpora name no documents" in (built / "disabling.html").read_text(encoding="utf-8")
    summary = read(built, "disabling").set_index(["task", "action", "unit"])
    assert summary.loc[("mrpc", "uniform", "heads"), "worst"] == "2-3"
    assert summary.loc[("mrpc", "zero", "layers"), "seeds"] == 2
    assert (summary["heldout_delta"] <= summary["best_delta"] + 1e-9).mean() > 0.7


def test_every_model_has_its_own_rows(built):
    table = read(built, "disabling_by_seed")
    assert list(table.columns) == "task seed kind layer head metric baseline value p p_adjusted".split()
    assert len(table) == (sum(map(len, SEEDS.values())) + len(SEEDS["mrpc"])) * LAYERS * (HEADS + 1)
    assert table["head"].isna().sum() * (HEADS + 1) == len(table)
    mean = table[(table["task"] == "mrpc") & (table["kind"] == "uniform")].groupby(["layer", "head"])["value"].mean()
    figure8 = read(built, "figure8").query("task == 'mrpc' and action == 'uniform'").set_index(["layer", "head"])["score"]
    assert mean.to_numpy() == pytest.approx(figure8[mean.index].to_numpy(), abs=1e-3)


def test_table1_has_every_state_and_both_constants(built):
    table = read(built, "table1").set_index(["task", "metric", "state"])
    assert table.loc[("sst2", "accuracy", "tuned"), "value"] == 100
    assert table.loc[("stsb", "correlation", "tuned"), "value"] == pytest.approx(100)
    majority = table.loc[("sst2", "accuracy", "majority"), "value"]
    assert table.loc[("sst2", "accuracy", "constant"), "value"] == majority
    share = majority / 100
    assert table.loc[("mrpc", "f1", "constant"), "value"] == pytest.approx(100 * 2 * share / (1 + share), rel=1e-3)
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
    page = (built / "table1.html").read_text(encoding="utf-8")
    assert "87.9" in page  # the paper's F1 on MRPC
    assert "chance with chance" in page


def test_models_that_give_one_answer_are_named(built, tmp_path):
    pages = [tmp_path / "disabling.html", tmp_path / "table1.html"]
    outs = [tmp_path / str(number) for number in range(4)]

    def texts(column, value):
        for name in ("d-sst2-1", "p-sst2"):
            table = pd.read_parquet(built / f"{name}.parquet")
            if column in table:
                table.loc[table[column] == value, "prediction"] = "1"
            write_parquet(table, tmp_path / f"{name}.parquet")
        disabling_tables({"sst2": {1: tmp_path / "d-sst2-1.parquet"}}, SETTINGS, 40, 0, *outs, pages[0])
        table1({"sst2": tmp_path / "p-sst2.parquet"}, SETTINGS, 40, 0, *outs[:2], pages[1])
        return [page.read_text(encoding="utf-8") for page in pages]

    sentence = "Models that give one answer to all examples: SST-2"
    assert [sentence in text for text in texts("action", "zero")] == [False, False]
    disabled, _ = texts("action", "none")
    assert f"{sentence} (1 of 1). Changes of their scores say nothing about their heads." in disabled
    assert f"{sentence}: Pre-trained, fine-tuned (3 of 3)." in texts("state", "tuned")[1]


def compared(built, folder, settings, recipe=RECIPE):
    names = (
        "table1",
        "figure2",
        "figure5",
        "figure6",
        "figure7",
        "figure8",
        "figure9",
        "features",
        "disabling",
        "patterns",
        "figure3",
        *CLAIM_TABLES,
    )
    tables = {name: built / f"{name}.tsv" for name in names}
    frames = {"frames": settings["mrpc"]}
    kinds = ("comparison", "digitised", "claims")
    outs = [folder / f"{kind}.{end}" for kind in kinds for end in ("tsv", "html")]
    comparison(tables, settings | frames, recipe, *outs)
    return [pd.read_csv(folder / f"{kind}.tsv", sep="\t") for kind in kinds]


def test_every_published_value_has_a_row_and_none_is_taken_for_ours(built, tmp_path):
    table, heads, claims = compared(built, tmp_path, SETTINGS)
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
    assert set(heads["comparable"]) == {"no"}
    verdicts = claims.set_index("claim")["verdict"]
    # One head has an effect, and it lowers the score; the fine-tuned models are always right or (random weights) as right.
    assert verdicts[[name for name in verdicts.index if "chosen for its gain" in name]].tolist() == ["undecided"]
    assert verdicts["Fine-tuning from pre-trained weights beats random weights in every task (Table 1)"] == "undecided"
    assert (claims[["statistic", "unit", "n"]].notna().all()).all()


def test_random_weights_are_claimed_about_for_the_tasks_that_have_them(built, tmp_path):
    copied = shutil.copytree(built, tmp_path / "copy")
    gains = read(copied, "gains")
    for with_random in (list(TASKS)[:1], []):
        gains[gains["task"].isin(with_random)].to_csv(copied / "gains.tsv", sep="\t", index=False)
        claims = compared(copied, tmp_path, SETTINGS)[2].set_index("claim")["ours"]
        about = claims[claims.index.str.contains("beats random weights")]
        assert len(about) == len(with_random)
        if with_random:
            assert f"(1 of {len(TASKS)} tasks" in about.index[0]
            assert about.iloc[0].startswith(TASK_TITLES[with_random[0]])


def test_the_same_model_and_data_are_compared_and_faults_are_named(built, tmp_path):
    same = {task: RunLabel("Run", "bert", task, "bert-base-uncased", f"{task}-dev") for task in TASKS}
    table, heads, _ = compared(built, tmp_path, same)
    by_id = table.set_index("id")
    assert by_id.loc["k_f5_mrpc_L1", "verdict"] in ("match", "covered by our interval", "differs")
    assert by_id.loc["k_f5_mrpc_L1", "scope"] == "could be covered"
    assert "fine-tuned again" in by_id.loc["k_f5_mrpc_L1", "why"]
    faults = {name: value.fault for name, value in load_published("kovaleva2019").items() if value.fault}
    assert len(faults) == 6
    for name in set(faults) & set(by_id.index[by_id["verdict"] != "not computed"]):
        assert faults[name][1:] in by_id.loc[name, "why"]
    assert "cannot be of the same models" in by_id.loc["k_f8_qnli_base", "why"]
    ours = heads.set_index(["figure", "task"]).loc[("Figure 5", "MRPC")]
    run_cosine = read(built, "figure5").query("task == 'mrpc' and crop == 'padded'").set_index(["layer", "head"])["value"]
    paper_cosine = load_digitised("fig5_cosine").query("task == 'MRPC'").set_index(["layer", "head"])["cosine"]
    difference = (run_cosine - paper_cosine).abs()
    assert len(difference) == 144
    assert ours["largest_difference"] == pytest.approx(difference.max(), rel=1e-4)
    assert ours["mean_difference"] == pytest.approx(difference.mean(), rel=1e-4)


def test_a_run_without_frames_has_no_row_for_them(built, tmp_path):
    names = ("table1", "figure2", "figure5", "figure6", "figure7", "figure8", "figure9", "features", "disabling", "patterns")
    names += CLAIM_TABLES
    outs = [tmp_path / f"{kind}.{end}" for kind in ("comparison", "digitised", "claims") for end in ("tsv", "html")]
    comparison({name: built / f"{name}.tsv" for name in names}, SETTINGS, RECIPE | {"sentences": 0}, *outs)
    by_id = pd.read_csv(outs[0], sep="\t").set_index("id")
    assert by_id.loc[["k_42_a", "k_42_n"], "ours"].isna().all()
    assert set(by_id.loc[["k_42_a", "k_42_n", "k_f3_L5H2"], "verdict"]) == {"not computed"}


def drawn_patterns(path):
    n = 6
    query, key = np.indices((n, n))
    frames = []
    for place, name in enumerate(CLASSES[:4]):
        weights = np.random.default_rng(place).random((n, n))
        cells = {"query": query.ravel() + 1, "key": key.ravel() + 1, "query_token": [f"t{k}$" for k in query.ravel()]}
        facts = {"probability": 0.9, "rule_class": name, "task": "mrpc", "example": "7", "layer": 1, "head": place + 1}
        frames.append(pd.DataFrame({"class": name, **facts, **cells, "weight": weights.ravel() / n}))
    write_table(pd.concat(frames), path)


def test_figures_are_drawn_and_are_the_same_each_time(built, tmp_path):
    drawn_patterns(built / "figure1.tsv")
    words = pd.DataFrame({"word": ["He", "was", "becoming", "agitated", "."], "role": ["element", "", "", "target", ""]})
    write_table(words.assign(frame="Emotion_directed", example="3"), built / "figure4.tsv")
    one = SETTINGS["mrpc"]
    drawings = {
        "figure1": lambda files: figure1(built / "figure1.tsv", one, files),
        "figure2": lambda files: figure2(built / "figure2.tsv", built / "patterns.tsv", SETTINGS, files),
        "figure3": lambda files: figure3(built / "frames.tsv", "fe_to_target", "zip", one, tmp_path / "figure3.tsv", files),
        "figure4": lambda files: figure4(built / "figure4.tsv", one, files),
        **{
            f"figure{k}": lambda files, k=k, draw=draw: draw(built / f"figure{k}.tsv", SETTINGS, files)
            for k, draw in ((5, figure5), (6, figure6), (7, figure7), (8, figure8))
        },
        "figure9": lambda files: figure9(built / "figure9.tsv", built / "disabling_by_seed.tsv", SETTINGS, files),
    }
    for name, draw in drawings.items():
        files = {kind: tmp_path / f"{name}.{kind}" for kind in PICTURES}
        draw(files)
        assert all(path.stat().st_size > 2000 for path in files.values()), name
        assert "generated text" in words_in(files["svg"]), name
    again = {"svg": tmp_path / "again.svg"}
    figure8(built / "figure8.tsv", SETTINGS, again)
    assert again["svg"].read_bytes() == (tmp_path / "figure8.svg").read_bytes()
    assert "Published (BERT-base)" in words_in(tmp_path / "figure2.svg")


def test_a_table_without_its_columns_is_named(tmp_path):
    path = tmp_path / "figure8.tsv"
    path.write_text("task\taction\nmrpc\tuniform\n")
    with pytest.raises(AtlasError, match="the column 'layer' is missing"):
        figure8(path, SETTINGS, {"svg": tmp_path / "x.svg"})


@pytest.mark.parametrize(
    "module",
    [*(f"figure{number}" for number in range(1, 10)), "change_tables", "disabling_tables", "features", "options", "table1"],
)
def test_tables_and_figures_import_no_torch(module):
    code = (
        f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); import attention_atlas.studies.kovaleva2019.{module}; "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
