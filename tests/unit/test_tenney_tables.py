"""Tables, figures and comparison of Tenney et al., from probes trained on made-up states."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from edge_examples import LAYERS, edge_example, telling_states
from largest_inputs import EDGES, MODEL, bars

from attention_atlas.io.tables import RunLabel
from attention_atlas.studies.tenney2019.figures import PublishedModel, figure2
from attention_atlas.studies.tenney2019.probing import Plan, probe_tables, traced_cases
from attention_atlas.studies.tenney2019.summary import centre_of_gravity, expected_layer, summary
from attention_atlas.studies.tenney2019.tables import PUBLISHED_TARGETS, comparison
from attention_atlas.studies.tenney2019.targets import (
    ANSWERS,
    CASES,
    EARLY,
    EMBEDDINGS,
    LEXICAL,
    Recipe,
    constant_answer,
    probed_cases,
    task_targets,
)

TASKS = {"pos": False, "constituents": True}
LABELS = {task: RunLabel("Small run", "tiny", f"corpus of {task}", sample=True) for task in TASKS}
STEPS = {"evaluation_interval": 10, "max_steps": 20, "equal_steps": 10, "halve_after": 2, "patience": 1}
RECIPE = Recipe(batch=8, learning_rate=0.01, mixing_rate_factor=20, **STEPS)
SEEDS, MAX_TARGETS = (1, 2), 4
TARGETS, TRAINING_TARGETS = 8 * 6, 24 * MAX_TARGETS
KEYS = ["layer0", "condition", "top", "seed"]


class Telling:
    """Hidden states that tell a label, in place of stored ones."""

    layers = LAYERS

    def __init__(self, lexical=True):
        self.lexical = lexical

    def __getitem__(self, example):
        return telling_states(example)[: None if self.lexical else -1]


def probe(task, pairs, plan, example=edge_example, recipe=RECIPE, most=None, sentences=3, lexical=True):
    """Tables of the probes of a task."""
    training, development, cases = (
        [example(record, task, pairs) for record in records] for records in (range(24), range(24, 32), range(40, 42))
    )
    targets = task_targets(task, training, development, most, min(plan.seeds))
    first = [s for s in targets.development if s.example.record < 24 + sentences]
    traced = {"development": first, "cases": probed_cases(targets, cases)} if sentences else {}
    states = dict.fromkeys(("training", "development", "cases"), Telling(lexical))
    return probe_tables(targets, states, traced, plan, recipe)


@pytest.fixture(scope="module")
def probed():
    """Kind -> task -> table, of the probes of a model and of a control model."""
    tables = {}
    for task, pairs in TASKS.items():
        whole = probe(task, pairs, Plan(SEEDS, [EMBEDDINGS, LEXICAL], True, True), most=MAX_TARGETS, sentences=8)
        random = probe(task, pairs, Plan(SEEDS, [EMBEDDINGS], False, False), most=MAX_TARGETS, sentences=0)
        whole["constant"] = constant_answer(task, [edge_example(record, task, pairs) for record in range(24, 32)], range(8))
        for kind, table in (whole | {"random_scores": random["scores"], "random_counts": random["counts"]}).items():
            tables.setdefault(kind, {})[task] = table
    return tables


def summarised(probed, model="tiny", **changed):
    settings = {"training": asdict(RECIPE), "tasks": {task: {} for task in TASKS}, "resamples": 100, "seed": 0, "sentences": 2}
    return summary(**{**probed, **settings, "model": model, **changed})


@pytest.fixture(scope="module")
def tables(probed):
    return summarised(probed)


def cases_of(*by_seed, gold=((True, False),), source="cases"):
    """Cases of targets whose labels A and B have probabilities [seed][target][top][label]."""
    targets = [{"source": source, "target": number, "gold": np.asarray(right)} for number, right in enumerate(gold)]
    arrays = [np.asarray(probabilities, np.float32).transpose(1, 0, 2) for probabilities in by_seed]
    return pd.DataFrame(traced_cases(targets, ["A", "B"], arrays, source == "cases"), columns=CASES)


def test_traced_probabilities_are_normalised_over_labels_and_averaged_over_seeds():
    table = cases_of([[[0.2, 0.2], [0.9, 0.1]]], [[[0.1, 0.3], [0.6, 0.2]]])
    by_layer = table.pivot_table(index="top", columns="label", values="probability")
    assert by_layer["A"].tolist() == pytest.approx([(0.5 + 0.25) / 2, (0.9 + 0.75) / 2])
    assert dict(zip(table["label"], table["gold"], strict=True)) == {"A": 1, "B": 0}


def test_a_target_of_the_development_set_is_traced_where_no_label_is_likely_in_all_layers():
    sure, doubtful, unlikely = [[0.9, 0.1], [0.9, 0.1]], [[0.9, 0.1], [0.4, 0.1]], [[0.4, 0.1], [0.4, 0.1]]
    probabilities, gold = [sure, doubtful, unlikely, unlikely], [(True, False), (True, False), (True, True), (False, False)]
    assert set(cases_of(probabilities, gold=gold, source="development")["target"]) == {1}, "a right and a wrong label"
    assert set(cases_of(probabilities, gold=gold)["target"]) == {0, 1}


def test_tables_follow_from_scores_and_weights(tables):
    scores, weights = tables["probe_scores"], tables["mixing_weights"]
    early = scores[(scores["condition"] == EARLY) & (scores["layer0"] == EMBEDDINGS)]
    top_weights = weights[(weights["condition"] == EARLY) & (weights["layer0"] == EMBEDDINGS) & (weights["top"] == LAYERS)]
    for task, row in tables["tasks"].set_index("task").iterrows():
        f1 = early[early["task"] == task].groupby("layer")["f1"].mean().to_numpy()
        assert (row["within_noise"], row["expected_layer"]) == (0, pytest.approx(float(expected_layer(f1))))
        assert row["expected_low"] <= row["expected_layer"] <= row["expected_high"]
        mixing = top_weights[top_weights["task"] == task].pivot(index="seed", columns="layer", values="weight").to_numpy()
        assert row["centre"] == pytest.approx(centre_of_gravity(mixing).mean())
        bars, ends = (tables[name][tables[name]["task"] == task].set_index("layer") for name in ("layers", "ends"))
        assert bars["share"].iloc[1:].tolist() == pytest.approx(np.diff(f1) / (f1.max() - f1[0]))
        assert bars["weight"].tolist() == pytest.approx(mixing.mean(axis=0))
        draws, last = tables["resamples"].query("task == @task"), ends.loc[LAYERS]
        frequencies = max(last["f1_shuffled_labels"], last["f1_constant_answer"])
        for name, control in (
            ("selectivity", last["f1_control_task"]),
            ("above_random_encoder", last["f1_random_encoder"]),
            ("above_label_frequencies", frequencies),
        ):
            assert last[name] == pytest.approx(last["f1"] - control)
            interval = [last[f"{name}_low"], last[f"{name}_high"]]
            assert np.percentile(draws[name], [2.5, 97.5]) == pytest.approx(interval)
    first = tables["ends"].query("layer == 0")
    other_input = [name for name in first if "random_encoder" in name or name == "f1_shuffled_labels"]
    assert first[other_input].isna().all(axis=None), "layer 0 of the random encoder is another input"
    options = tables["options"].set_index(["task", "layer0", "condition", "gains"])
    lexical = scores.query("task == 'pos' and layer0 == @LEXICAL and condition == @EARLY").groupby("layer")["f1"].mean()
    for gains in ("raw", "running_max"):
        slow = float(expected_layer(lexical.to_numpy(), gains == "running_max"))
        assert options.loc[("pos", LEXICAL, EARLY, gains), "expected_layer"] == pytest.approx(slow)


def test_a_gain_within_noise_has_no_expected_layer_and_no_divergence(probed):
    keys = ["layer0", "condition", "seed"]
    scores, counts = probed["scores"]["pos"], probed["counts"]["pos"]
    scores = scores[scores["condition"] == EARLY].copy()
    first = scores[scores["top"] == 0].set_index(keys)["f1"]
    scores["f1"] = first.reindex(pd.MultiIndex.from_frame(scores[keys])).to_numpy() + 1e-3 * scores["top"]
    same = counts[counts["top"] == 0].set_index([*keys, "record"])[ANSWERS]
    flat = counts[counts["condition"] == EARLY].copy()
    flat[ANSWERS] = same.reindex(pd.MultiIndex.from_frame(flat[[*keys, "record"]])).to_numpy()
    out = summarised({"scores": {"pos": scores}, "weights": {"pos": probed["weights"]["pos"]}, "counts": {"pos": flat}})
    row = out["tasks"].iloc[0]
    assert row["within_noise"] == 1
    assert row[["expected_layer", "expected_low", "k_delta"]].isna().all()


# --- comparison -------------------------------------------------------------------------------------------------------

PAPERS = RunLabel("Run", "bert", "ontonotes", model_reference="bert-base-uncased", corpus_reference="OntoNotes 5.0 dev")


@pytest.fixture
def as_many_targets(monkeypatch):
    """As if the authors' data sets had as many targets as those of these tests."""
    for task in TASKS:
        monkeypatch.setitem(PUBLISHED_TARGETS, task, (TRAINING_TARGETS, TARGETS))


def compared(tables, label, max_targets=None, **of_pos):
    """The comparison by id, of probes trained by the published recipe, but for some settings of one task."""
    labels = dict.fromkeys(TASKS, label)
    settings = {"training": asdict(Recipe()), "tasks": {"pos": of_pos, "constituents": {}}, "max_targets": max_targets}
    frames = {f"summary_{name}": tables[name] for name in ("tasks", "layers", "ends", "options", "mixing_weights")}
    return comparison(**frames, **settings, second_model={}, labels=labels).frame.set_index("id")


def test_values_of_the_papers_model_and_data_alone_are_compared(tables, as_many_targets):
    assert set(compared(tables, LABELS["pos"])["verdict"]) == {"not comparable", "not computed"}
    values = compared(tables, PAPERS)
    names = ["t19.base.pos.f1_l0", "t19.base.consts.expected_layer", "t19.iclr.base.pos.f1_lex"]
    assert set(values.loc[names, "verdict"]) <= {"match", "covered by our interval", "differs"}
    assert values.loc["t19.iclr.base.coref.f1_lex", "verdict"] == "not computed"


def test_published_numbers_of_targets_add_up_to_those_of_the_authors_table():
    assert np.sum([*PUBLISHED_TARGETS.values()], axis=0).tolist() == [5_075_904, 702_525]


def test_another_recipe_or_another_number_of_targets_is_not_compared(tables, as_many_targets, monkeypatch):
    def row(**settings):
        return compared(tables, PAPERS, **settings).loc["t19.base.pos.f1_l12"]

    assert row()["comparable"] == "close"
    assert row(equal_steps=3000)["comparable"] == "close"
    changed = row(max_targets=6, learning_rate=0.0005)
    assert (changed["comparable"], changed["why"].partition(":")[0]) == ("no", "different recipe")
    for sizes in ((9, TARGETS), (TRAINING_TARGETS, 9)):
        monkeypatch.setitem(PUBLISHED_TARGETS, "pos", sizes)
        assert row()["comparable"] == "no"


# --- figures, on tables of the largest shape --------------------------------------------------------------------------


def test_shares_have_intervals_and_are_not_drawn_for_a_gain_within_noise():
    rows = bars(MODEL)
    axes = figure2(rows[rows["task"].isin([EDGES[0], EDGES[-1]])]).figure.axes
    lines = [line.get_xydata() for line in axes[1].lines]
    ends = {float(line[0, 0]): sorted(line[:, 1]) for line in lines if len(line) == 2 and line[0, 0] == line[1, 0]}
    gains = rows[(rows["layer"] > 0) & (rows["task"] == EDGES[0])].set_index("layer")
    assert set(ends) == set(gains.index)
    for layer, interval in ends.items():
        assert interval == pytest.approx(gains.loc[layer, ["share_low", "share_high"]].tolist())
    assert axes[3].get_ylim()[1] < 2, "a share of a vanishing gain would set the axis to 98"


def test_published_layers_are_drawn_at_their_relative_depth_and_gains_from_layer_1_on():
    large, whole = PublishedModel(6), PublishedModel(24)
    pos = large.weights().query("task == 'pos'")
    assert (len(pos), pos["layer"].max()) == (25, 6)
    assert pos["value"].iloc[0] == pytest.approx(0.0475 * 25 / 7), "equal weights of both models have the same height"
    assert PublishedModel(12).weights().empty, "the paper has mixing weights of BERT-large alone"
    assert large.depth_of_gains(pd.Series([1, 3.39, 24])).tolist() == pytest.approx([1, 1 + 2.39 * 5 / 23, 6])
    assert whole.depth_of_gains(pd.Series([3.39])).tolist() == pytest.approx([3.39])
    by_task = whole.shares().groupby("task")["value"].apply(lambda values: values.cumsum().max())
    assert by_task.to_numpy() == pytest.approx(np.ones(len(EDGES))), "the gains up to the best layer are the largest gain"
