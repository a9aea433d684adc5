"""Tables of Kovaleva et al. from made-up measures and predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from atlas_tables import as_read

from attention_atlas.figures.style import plt
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.published.values import load_published
from attention_atlas.studies.kovaleva2019 import ANNOTATORS, CLASSES, TAGGED
from attention_atlas.studies.kovaleva2019.changes import MEASURED, Measures, changes
from attention_atlas.studies.kovaleva2019.figures import figure9
from attention_atlas.studies.kovaleva2019.scores import scores
from attention_atlas.studies.kovaleva2019.tables import comparison, table1

LAYERS, HEADS, EXAMPLES = 12, 12, 8
PADDED_RECORDS = [1, 4, 7]
SEEDS = {"mrpc": (1, 2), "stsb": (1,), "sst2": (1,), "qnli": (1,)}
TASKS = tuple(SEEDS)
LABELS = {task: RunLabel("Test run", "tiny", f"made-up {task}", sample=True) for task in TASKS}
RECIPE = {"batch": 32, "epochs": 3, "learning_rate": 5e-5, "warmup": 0.1, "padded_length": 200, "measured_records": 1000}
RECIPE["sentences"] = 9


def made_measures(seed, tagged=True, sentences=0):
    """Half of the examples have a negation, three quarters a verb with a subject; sentences: tagged ones of another corpus."""
    generator = np.random.default_rng(seed)
    columns = generator.random((2, 2, EXAMPLES + sentences, len(MEASURED), LAYERS, HEADS)).astype(np.float32) * 0.2
    columns[:, :, ::2, MEASURED.index("neg")] = np.nan
    columns[:, :, :, MEASURED.index("sep_sum")] = columns[:, :, :, MEASURED.index("sep")] * 1.5
    links = generator.random((2, 2, EXAMPLES, 4, LAYERS, HEADS)).astype(np.float32)
    links[:, :, ::4, :2] = np.nan
    links[:, 0, :, 2:] = np.nan
    if not tagged:
        columns[:, :, :, [MEASURED.index(name) for name in TAGGED]] = np.nan
        links[:] = np.nan
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
    """Fine-tuned models are always right, models without fine-tuning guess."""
    generator = np.random.default_rng(5)
    grades = (generator.random(50) * 5).round(2).astype(str)
    labels = grades if task == "stsb" else generator.choice(["1", "0"], 50, p=[0.7, 0.3])
    models = [(state, seed) for state, seeds in (("untrained", 4), ("random", 1), ("tuned", 3)) for seed in range(seeds)]
    rows = [
        pd.DataFrame({"state": state, "seed": seed, "record": range(50), "label": labels}).assign(
            prediction=generator.permutation(labels) if state == "untrained" else labels
        )
        for state, seed in models
    ]
    return pd.concat(rows, ignore_index=True)


MEASURES = {task: {seed: made_measures(seed, tagged=task != "qnli") for seed in SEEDS[task]} for task in TASKS}
MEASURES["sst2"] = {1: made_measures(1, sentences=EXAMPLES)}
PREDICTIONS = {task: made_predictions(task) for task in TASKS}


@pytest.fixture(scope="module")
def built():
    """Name of a measured table -> the table, as it is stored."""
    disabled = {task: {seed: made_disabled(task, seed) for seed in SEEDS[task]} for task in TASKS}
    held_out = pd.DataFrame({"layer": 1, "head": range(5)} | dict.fromkeys(("label", *ANNOTATORS), CLASSES))
    made = changes(MEASURES, disabled, held_out, 100, 0)
    made["disabling"] = made.pop("disabling_summary")
    scored = scores(PREDICTIONS, 300, 0)
    made |= {"scores": scored["scores"], "table1_gains": scored["gains"], "table1": table1(as_read(scored["scores"])).frame}
    margins = {"control": 0.1, "margin": 0.05, "margin_all_low": 0.005, "margin_all_high": 0.105, "n": 9, "n_margin": 9}
    made["frame_heads"] = head_rows(np.random.default_rng(0).random((LAYERS, HEADS)), "value").assign(**margins)
    labelled = pd.DataFrame({"class": [*CLASSES, "macro"], "n": [100] * 5 + [500]})
    made["patterns"] = labelled.assign(annotator="network", folds="text", f1=0.7)
    return {name: as_read(table) for name, table in made.items()}


def head(table, layer=3, number=4, **equal):
    """The row of a head with these values."""
    for name, value in (equal | {"layer": layer, "head": number}).items():
        table = table[table[name] == value]
    (row,) = table.to_dict("records")
    return row


def test_means_are_over_examples_and_seeds(built):
    mrpc = MEASURES["mrpc"].values()
    row = built["classes"].query("task == 'mrpc' and annotator == 'rules' and `class` == 'vertical'").iloc[0]
    assert row["share"] == pytest.approx(np.mean([(m.classes[1] == 0).mean() for m in mrpc]), rel=1e-4)
    maps = sum((m.classes[1, :, 2, 3] == 0).sum() for m in mrpc)
    assert head(built["head_classes"], task="mrpc", annotator="rules", **{"class": "vertical"})["maps"] == maps
    cosines = {
        "real": [m.cosine[:, 2, 3] for m in mrpc],
        "real_same": [m.cosine[PADDED_RECORDS, 2, 3] for m in mrpc],
        "padded": [m.padded[:, 2, 3] for m in mrpc],
    }
    for crop, values in cosines.items():
        row = head(built["cosine"], task="mrpc", crop=crop)
        assert (row["value"], row["n"]) == (pytest.approx(np.mean(values), rel=1e-4), len(values[0]))
    row = head(built["features"], task="mrpc", model="tuned", mode="corrected", feature="neg")
    values = np.mean([m.feature("tuned", "corrected", "neg")[:, 2, 3] for m in mrpc], axis=0)
    assert (row["n"], row["value"]) == (EXAMPLES // 2, pytest.approx(np.nanmean(values), rel=1e-4))
    # Published code counts examples without the feature as 0.
    assert row["value_zero"] == pytest.approx(np.nansum(values) / EXAMPLES, rel=1e-4)
    assert {*built["features"].query("task == 'sst2' and unit == 'tagged sentences'")["feature"]} == {*TAGGED}
    assert set(built["links"].query("task == 'sst2'")["unit"]) == {"tagged sentences"}
    assert set(built["features"].query("task == 'qnli'")["feature"]) == {*MEASURED} - {*TAGGED}, "no tags"


def test_options_move_what_they_move(built):
    table = built["options"]
    sums = table[table["option"] == "Figure 6: separators"]
    assert (sums["rho"] > 0.999).all()
    assert (sums["mean_change"] > 0).all()
    assert (table[table["option"].str.contains("neg: examples without it")]["mean_change"] < 0).all()
    row = table.set_index(["task", "option"]).loc[("stsb", "Section 4.5, verb_subj: pairs as in the code, or of linked words")]
    by_mode = np.nanmean(MEASURES["stsb"][1].links[1, :, :, 1].astype(float), axis=1)
    assert row["mean_change"] == pytest.approx((by_mode[1] - by_mode[0]).mean(), abs=1e-4)
    assert (row["option_a"], row["option_b"], row["n"]) == ("as_published", "corrected", 6)
    links = built["links"].query("task == 'stsb' and model == 'tuned' and mode == 'corrected' and link == 'verb_subj'")
    assert links["value"].to_numpy() == pytest.approx(by_mode[1].ravel(), rel=1e-4)
    # Controls are half of the weights.
    assert links["margin"].to_numpy() == pytest.approx(by_mode[1].ravel() / 2, rel=1e-4)
    assert links["margin_all_low"].isna().all(), "six examples"


def test_the_head_that_matters_is_found(built):
    for task, heads in built["disabling_heads"].groupby("task"):
        rows = heads.set_index(["layer", "head"])
        assert (len(rows), rows["delta"].idxmin()) == (LAYERS * HEADS, (2, 3))
        assert rows.loc[(2, 3), "p"] < 0.05
        # Student's t of the two seeds of MRPC has one degree of freedom.
        assert (rows.loc[(2, 3), "ci_high"] < 0) == (len(SEEDS[task]) == 1)
        # Two heads in each of four tasks.
        assert rows["pair_level"].to_numpy() == pytest.approx(1 - 0.05 / 8)


def test_figure_9_draws_the_intervals(built):
    rows = built["disabling_layers"].query("task == 'mrpc'")
    bars = figure9(built["disabling_layers"]).figure.axes[0].containers[0]
    ends = [segment[:, 1] for segment in bars.lines[2][0].get_segments()]
    assert np.asarray(ends) == pytest.approx(rows[["ci_low", "ci_high"]].to_numpy())
    plt.close("all")


def test_table1_has_every_state_and_the_majority(built):
    table = built["table1"].set_index(["task", "metric", "state"])
    assert table.loc[("sst2", "accuracy", "tuned"), "value"] == 100
    assert table.loc[("stsb", "correlation", "tuned"), "value"] == pytest.approx(100)
    share = table.loc[("sst2", "accuracy", "majority"), "value"] / 100
    assert table.loc[("mrpc", "f1", "majority"), "value"] == pytest.approx(100 * 2 * share / (1 + share), rel=1e-3)
    untrained = table.loc[("qnli", "accuracy", "untrained")]
    # Four seeds that guess differ by more than resampled examples do.
    alone = 1.96 * np.sqrt(untrained["value"] * (100 - untrained["value"]) / 50 / 4)
    assert (untrained["ci_high"] - untrained["ci_low"]) / 2 > alone
    assert table["ci_high"].max() <= 100
    low, high = table.loc[("mrpc", "f1", "untrained"), ["ci_low", "ci_high"]]
    assert table1(built["scores"]).page["Pre-trained, no fine-tuning"][0].endswith(f"4 seeds) [{low:.1f}, {high:.1f}]")


def test_published_values_are_compared_with_the_same_model_and_data_only(built):
    frames = {name: built[name] for name in comparison.inputs if name in built}
    table = comparison(frames, RECIPE, LABELS | {"frames": LABELS["mrpc"]}).frame.set_index("id")
    assert table.index.tolist() == list(load_published("kovaleva2019"))
    assert not table["comparable"].isin(["exact", "close"]).any()
    scored = built["table1"].query("metric != 'f1'").pivot(index="task", columns="state", values="value")
    assert float(table.loc["k_t1_mean_gain", "ours"]) == pytest.approx((scored["tuned"] - scored["untrained"]).mean(), abs=0.06)
    # Every figure of the run's tasks has its values.
    measured = table[table["ours"].notna()]["item"].value_counts()
    assert measured["Fig 5"] == measured["Fig 9"] - len(TASKS) == 12 * len(TASKS)
    assert measured["Fig 6"] == 24 * len(TASKS)
    assert measured["Fig 7"] == 8 * len(TASKS) - 10  # QNLI has no tags here, SST-2 those of other sentences
    assert measured["Fig 2"] == 5 * len(TASKS)
    same = {task: RunLabel("Run", "bert", task, "bert-base-uncased", f"{task}-dev") for task in TASKS}
    table = comparison(frames, RECIPE, same | {"frames": same["mrpc"]}).frame.set_index("id")
    assert table.loc["k_f5_mrpc_L1", "verdict"] in ("match", "covered by our interval", "differs")
    published = built["first_row"].query("task == 'mrpc' and feature == 'pron' and mode == 'as_published'")["value"].mean()
    assert float(table.loc["k_f7_mrpc_pron", "ours"]) == pytest.approx(published, rel=1e-3)
