"""Tables, figures and comparison of Tenney et al., from probes trained on made-up states and from counts made by hand."""

import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from edge_examples import LAYERS, edge_example, telling_states
from PIL import Image
from shipped_runs import shipped, wildcards
from text_boxes import words_in

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import RunLabel
from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.figures import figure1, figure2, figure3, figure_a3
from attention_atlas.studies.tenney2019.probing import Plan, probe_tables
from attention_atlas.studies.tenney2019.summary import (
    FIGURE3,
    centre_of_gravity,
    expected_layer,
    is_noise,
    resampled_f1,
    summary,
)
from attention_atlas.studies.tenney2019.tables import (
    PUBLISHED_RECIPES,
    PUBLISHED_TARGETS,
    claims,
    comparison,
    controls,
    options,
    recipe_differences,
)
from attention_atlas.studies.tenney2019.targets import (
    CONTROL_TASK,
    COUNTS,
    EARLY,
    EMBEDDINGS,
    LEXICAL,
    RANDOM_ENCODER,
    Recipe,
    constant_answer,
    f1_of,
    probed_cases,
    recipe_of,
    task_targets,
)
from attention_atlas.workflow.study_inputs import StudyInputs

TASKS = {"pos": False, "constituents": True, "dependencies": True, "entities": False}
LABELS = {task: RunLabel("Small run", "tiny", f"corpus of {task}", sample=True) for task in TASKS}
RECIPE = Recipe(
    batch=8,
    learning_rate=0.003,
    mixing_rate_factor=20,
    evaluation_interval=10,
    max_steps=60,
    equal_steps=40,
    halve_after=2,
    patience=3,
)
SETTINGS = {"training": asdict(RECIPE), "tasks": {task: {} for task in TASKS}}
SEEDS = (1, 2)
MAX_TARGETS = 4
TARGETS, TRAINING_TARGETS = 8 * 6, 24 * MAX_TARGETS


class Telling:
    """Hidden states that tell a label, in place of stored ones."""

    layers = LAYERS

    def __init__(self, lexical=True):
        self.lexical = lexical

    def __getitem__(self, example):
        return telling_states(example)[: None if self.lexical else -1]


STATES = dict.fromkeys(("training", "development", "cases"), Telling())


def probe(task, pairs, plan, example=edge_example, recipe=RECIPE, most=None, sentences=3, with_cases=True):
    """Tables of the probes of a task."""
    training, development, cases = (
        [example(record, task, pairs) for record in records] for records in (range(24), range(24, 32), range(40, 42))
    )
    targets = task_targets(task, training, development, most, min(plan.seeds))
    traced = {}
    if with_cases:
        first = [s for s in targets.development if s.example.record < 24 + sentences]
        traced = {"development": first, "cases": probed_cases(targets, cases)}
    return probe_tables(targets, STATES, traced, plan, recipe)


@pytest.fixture(scope="module")
def probed():
    """Kind -> task -> table, of the probes of a model and of a control model."""
    tables = {}
    for task, pairs in TASKS.items():
        whole = probe(task, pairs, Plan(SEEDS, [EMBEDDINGS, LEXICAL], True, True), most=MAX_TARGETS, sentences=8)
        random = probe(task, pairs, Plan(SEEDS, [EMBEDDINGS], False, False), most=MAX_TARGETS, with_cases=False)
        constant = constant_answer(task, [edge_example(record, task, pairs) for record in range(24, 32)], range(8))
        whole |= {"constant": constant, "random_scores": random["scores"], "random_counts": random["counts"]}
        for kind, table in whole.items():
            tables.setdefault(kind, {})[task] = table
    return tables


def summarised(probed, model="tiny", **changed):
    return summary(**{**probed, **SETTINGS, "model": model, "resamples": 100, "seed": 0, "sentences": 2, **changed})


@pytest.fixture(scope="module")
def tables(probed):
    return summarised(probed)


@pytest.fixture(scope="module")
def second(probed):
    """Tables of a second model, of which no controls were trained: here the same probes, with nine tenths of their F1."""
    early = {
        kind: {task: table[table["condition"] == EARLY] for task, table in probed[kind].items()}
        for kind in ("scores", "weights", "counts")
    }
    early["scores"] = {task: table.assign(f1=0.9 * table["f1"]) for task, table in early["scores"].items()}
    return summarised(early, "other")


def test_a_task_writes_all_its_probes(probed):
    scores, weights, counts = (probed[kind]["constituents"] for kind in ("scores", "weights", "counts"))
    kinds = scores.groupby(["layer0", "condition"])["top"].agg(lambda tops: sorted(set(tops))).to_dict()
    assert kinds == {
        (EMBEDDINGS, EARLY): list(range(LAYERS + 1)),
        (LEXICAL, EARLY): list(range(LAYERS + 1)),
        (EMBEDDINGS, "equal_steps"): [LAYERS],
        (EMBEDDINGS, "control_task"): [0, LAYERS],
        (EMBEDDINGS, "shuffled_labels"): [LAYERS],
    }
    seeds = scores.groupby("condition")["seed"].agg(lambda values: sorted(set(values))).to_dict()
    assert seeds.pop("shuffled_labels") == [SEEDS[0]], "the first seed alone"
    assert set(map(tuple, seeds.values())) == {SEEDS}
    assert (scores["targets"] == TARGETS).all()
    assert (scores["training_targets"] == TRAINING_TARGETS).all()
    sums = weights.groupby(["layer0", "condition", "top", "seed"])["weight"].sum()
    assert np.allclose(sums, 1, atol=1e-5), "the words alone stand in the place of layer 0"
    summed = counts.groupby(["layer0", "condition", "top", "seed"])[["true", "false", "missed"]].sum()
    by_key = scores.set_index(["layer0", "condition", "top", "seed"])["f1"]
    assert np.allclose(f1_of(summed), by_key.loc[summed.index], atol=1e-3)


def test_traces_have_the_right_label_and_the_likeliest_wrong_one(probed):
    cases = probed["cases"]["pos"]
    traced = cases[cases["source"] == "cases"]
    assert set(traced["id"]) == {"e40", "e41"}
    by_target = traced.groupby(["id", "target"])
    assert (by_target.size() == 2 * (LAYERS + 1)).all()
    assert (by_target["label"].nunique() == 2).all()
    for (name, target), rows in by_target:
        gold = rows.loc[rows["gold"] == 1, "label"].iloc[0]
        assert gold == edge_example(int(name[1:]), "pos", False).edges[target].labels[0]
    assert traced["probability"].between(0, 1).all()


def document_example(record, task, pairs):
    """Three sentences per document."""
    return replace(edge_example(record, task, pairs), document=f"d{record // 3}")


def test_counts_and_scores_know_the_documents_of_the_evaluated_sentences(probed):
    out = probe("pos", False, Plan([1], [EMBEDDINGS], False, False), document_example, replace(RECIPE, max_steps=10))
    counts = out["counts"].drop_duplicates("record")
    assert dict(zip(counts["record"], counts["unit_number"], strict=True)) == {k: (k - 24) // 3 for k in range(24, 32)}
    assert set(zip(out["scores"]["unit"], out["scores"]["units"], strict=True)) == {("documents", 3)}
    # Without names of documents, sentences stand for them.
    scores, counts = probed["scores"]["pos"], probed["counts"]["pos"]
    assert set(zip(scores["unit"], scores["units"], strict=True)) == {("sentences", 8)}
    assert counts["unit_number"].nunique() == 8


def role_example(record, task, pairs):
    """Six targets of three predicates, labelled as arguments."""
    example = edge_example(record, task, pairs)
    edges = [
        replace(target, span1=(k % 3, k % 3 + 1), span2=target.span1, labels=(f"ARG{'ABC'.index(target.labels[0])}",))
        for k, target in enumerate(example.edges)
    ]
    return replace(example, edges=tuple(edges))


def test_predicates_of_a_sentence_are_counted_together_and_their_targets_numbered_through():
    out = probe("roles", True, Plan([1], [EMBEDDINGS], True, True), role_example, replace(RECIPE, max_steps=10))
    counts, cases = out["counts"], out["cases"]
    assert not counts.duplicated(["layer0", "condition", "top", "seed", "record"]).any()
    assert sorted(counts["record"].unique()) == list(range(24, 32))
    assert ((counts["true"] + counts["missed"])[counts["condition"] == EARLY] == 6).all()
    assert set(cases.loc[cases["source"] == "development", "id"]) <= {"e24", "e25", "e26"}
    traced = cases[cases["source"] == "cases"]
    assert traced.groupby("id")["target"].agg(set).to_dict() == {"e40": set(range(6)), "e41": set(range(6))}
    # Numbered through its three predicates.
    example = role_example(40, "roles", True)
    in_order = [edge for k in range(3) for edge in (example.edges[k], example.edges[k + 3])]
    for number, edge in enumerate(in_order):
        rows = traced[(traced["id"] == "e40") & (traced["target"] == number)]
        assert rows.loc[rows["gold"] == 1, "label"].unique().tolist() == list(edge.labels)
        assert rows["span2"].unique().tolist() == [example.words[edge.span2[0]]]


def test_tables_follow_from_scores_and_weights(tables):
    scores = tables["probe_scores"]
    early = scores[(scores["condition"] == EARLY) & (scores["layer0"] == EMBEDDINGS)]
    points = early.groupby(["task", "layer"])["f1"].mean()
    table = tables["tasks"].set_index("task")
    weights = tables["mixing_weights"]
    top_weights = weights[(weights["condition"] == EARLY) & (weights["layer0"] == EMBEDDINGS) & (weights["top"] == LAYERS)]
    for task, row in table.iterrows():
        f1 = points[task].to_numpy()
        assert row["f1_first"] == pytest.approx(f1[0], abs=1e-3)
        assert row["f1_last"] == pytest.approx(f1[-1], abs=1e-3)
        assert row["within_noise"] == 0, "what layer 2 tells is no noise"
        assert row["expected_layer"] == pytest.approx(float(expected_layer(f1)), abs=1e-3)
        assert row["expected_low"] <= row["expected_layer"] <= row["expected_high"]
        mixing = top_weights[top_weights["task"] == task].pivot(index="seed", columns="layer", values="weight").to_numpy()
        assert row["centre"] == pytest.approx(centre_of_gravity(mixing).mean(), abs=1e-4)
    bars = tables["layers"]
    one = bars[bars["task"] == "pos"]
    assert one["delta"].iloc[1:].sum() == pytest.approx(points["pos"].iloc[-1] - points["pos"].iloc[0], abs=1e-3)
    assert one["weight"].sum() == pytest.approx(1, abs=1e-4)
    of_ends = tables["ends"]
    assert (of_ends["selectivity"] - (of_ends["f1"] - of_ends["f1_control_task"])).abs().max() < 1e-3
    of_last = of_ends[of_ends["layer"] == LAYERS]
    assert of_last["f1_random_encoder"].notna().all()
    random_columns = [name for name in of_ends if "random_encoder" in name]
    assert of_ends.loc[of_ends["layer"] == 0, random_columns].isna().all(axis=None), "its layer 0 is another input"
    assert (of_last["above_random_encoder"] - (of_last["f1"] - of_last["f1_random_encoder"])).abs().max() < 1e-3
    best = of_last[["f1_shuffled_labels", "f1_constant_answer"]].max(axis=1)
    assert (of_last["above_label_frequencies"] - (of_last["f1"] - best)).abs().max() < 1e-3
    for name in ("selectivity", "above_random_encoder", "above_label_frequencies"):
        assert (of_last[f"{name}_low"] <= of_last[f"{name}_high"]).all()
    assert of_ends.groupby("layer")["f1_shuffled_labels"].count().to_dict() == {0: 0, LAYERS: len(TASKS)}
    assert (of_ends.loc[of_ends["layer"] == LAYERS, "above_label_frequencies_low"] > 0).all()
    resamples = tables["resamples"]
    assert (resamples.groupby("task").size() == 100).all()
    by_task = resamples.groupby("task")
    for task, row in of_ends[of_ends["layer"] == LAYERS].set_index("task").iterrows():
        draws = by_task.get_group(task)
        for name in ("selectivity", "above_label_frequencies"):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            assert np.percentile(draws[name], [2.5, 97.5]) == pytest.approx(ends, abs=1e-3)
        f1_gain = row["f1"] - of_ends.loc[(of_ends["task"] == task) & (of_ends["layer"] == 0), "f1"].iloc[0]
        assert draws["gain"].mean() == pytest.approx(f1_gain, abs=3)
    assert len(of_ends) == 2 * len(TASKS)
    assert of_ends["seeds"].tolist() == [len(SEEDS)] * len(of_ends)
    of_options = tables["options"]
    assert set(of_options["condition"]) == {EARLY, "equal_steps"}
    assert set(of_options["layer0"]) == {EMBEDDINGS, LEXICAL}
    for table in (bars, of_options):
        sizes = table[["sentences", "targets", "unit", "units", "seeds"]].drop_duplicates().to_numpy().tolist()
        assert sizes == [[8, TARGETS, "sentences", 8, len(SEEDS)]]


def test_the_page_of_controls_says_where_no_probe_stopped_early(tables):
    of_options = tables["options"]
    equal = of_options["condition"] == "equal_steps"
    early = of_options[~equal & (of_options["layer0"] == EMBEDDINGS) & (of_options["gains"] == "raw")]
    last = tables["ends"][tables["ends"]["layer"] == LAYERS]
    assert early["steps"].tolist() == last["steps"].tolist()
    assert of_options.loc[equal, "steps"].tolist() == last["equal_steps"].tolist() == [RECIPE.equal_steps] * len(TASKS)
    assert options(of_options).page["task"].iloc[0] == "Parts of speech"
    words = "all took the same number of steps in both conditions"
    for steps, said in ((30, False), (RECIPE.equal_steps, True)):
        shown = controls(tables["ends"].assign(steps=steps))
        assert (words in " ".join(shown.notes)) == said
        assert shown.page["task"].iloc[0] == "Parts of speech"


def test_probes_at_the_step_limit_are_counted(tables):
    scores = tables["probe_scores"]
    early = scores[(scores["condition"] == EARLY) & (scores["layer0"] == EMBEDDINGS)]
    limited = early["steps"] == RECIPE.max_steps
    assert 0 < limited.mean() < 1, "some probes stop early, others do not"
    figure1_rows = tables["tasks"].set_index("task")
    ends = tables["ends"].set_index(["task", "layer"])
    for task in TASKS:
        of_task = early["task"] == task
        for layer in (0, LAYERS):
            of_layer = limited[of_task & (early["layer"] == layer)].mean()
            assert ends.loc[(task, layer), "at_step_limit"] == pytest.approx(of_layer)
        assert figure1_rows.loc[task, "at_step_limit_first"] == ends.loc[(task, 0), "at_step_limit"]


def test_divergences_of_a_gain_within_noise_are_left_out(probed):
    """A probe whose layers add nothing to layer 0: its counts and scores are those of layer 0 throughout."""
    scores, counts = probed["scores"]["pos"], probed["counts"]["pos"]
    first = scores[scores["top"] == 0].set_index(["layer0", "condition", "seed"])["f1"]
    keys = pd.MultiIndex.from_frame(scores[["layer0", "condition", "seed"]])
    flat_scores = scores.assign(f1=first.reindex(keys).to_numpy() + 1e-3 * scores["top"])
    same = counts[counts["top"] == 0].set_index(["layer0", "condition", "seed", "record"])[["true", "false", "missed"]]
    keys = pd.MultiIndex.from_frame(counts[["layer0", "condition", "seed", "record"]])
    flat = counts.assign(**same.reindex(keys).fillna(0).astype(int).reset_index(drop=True))
    changed = {"scores": {"pos": flat_scores}, "counts": {"pos": flat}, "constant": {}}
    for name in ("tasks", "layers", "options"):
        table = summarised(probed | changed)[name]
        noisy = table[table["within_noise"] == 1]
        assert len(noisy)
        assert noisy["k_delta"].isna().all()
        assert noisy["k_s"].notna().all()


def test_shares_of_gains_have_the_intervals_of_their_resamples(probed, tables):
    bars = tables["layers"].query("task == 'dependencies'")
    f1 = bars["f1"].to_numpy()
    assert bars["share"].iloc[1:].to_numpy() == pytest.approx(np.diff(f1) / (f1.max() - f1[0]), abs=1e-3)
    resampled = resampled_f1(probed["counts"]["dependencies"], 100, list(TASKS).index("dependencies"))
    shares = np.diff(resampled) / (resampled.max(axis=1) - resampled[:, 0])[:, None]
    low, high = np.percentile(shares, [2.5, 97.5], axis=0)
    assert bars["share_low"].iloc[1:].to_numpy() == pytest.approx(low, abs=1e-3)
    assert bars["share_high"].iloc[1:].to_numpy() == pytest.approx(high, abs=1e-3)
    assert bars[["share", "share_low", "share_high"]].iloc[0].isna().all()


def by_hand(cube):
    """Counts [seed, top, sentence, 3] as a table."""
    rows = [
        ["pos", EMBEDDINGS, EARLY, top, seed, record, record, *map(int, cube[seed, top, record])]
        for seed in range(cube.shape[0])
        for top in range(cube.shape[1])
        for record in range(cube.shape[2])
    ]
    return pd.DataFrame(rows, columns=COUNTS).sample(frac=1, random_state=0)


def test_resamples_are_drawn_from_sentences_and_seeds():
    cube = np.random.default_rng(0).integers(0, 5, size=(3, 2, 40, 3))
    resampled = resampled_f1(by_hand(cube), 3000, 1)
    generator = np.random.default_rng(5)
    by_seed = f1_of(cube.sum(axis=2))
    slow = []
    for _ in range(3000):
        f1 = f1_of(cube[:, :, generator.integers(40, size=40)].sum(axis=2)).mean(axis=0)
        for top in range(2):
            deviations = by_seed[:, top] - by_seed[:, top].mean()
            f1[top] += np.sqrt(3 / 2) * np.mean([deviations[generator.integers(3)] for _ in range(3)])
        slow.append(f1)
    assert resampled.mean(axis=0) == pytest.approx(np.mean(slow, axis=0), abs=0.4)
    assert resampled.std(axis=0) == pytest.approx(np.std(slow, axis=0), rel=0.1)
    same = np.repeat(cube[:1], 3, axis=0)[:, :, :1]
    assert resampled_f1(by_hand(same), 5, 0) == pytest.approx(np.repeat([f1_of(same[0, :, 0])], 5, axis=0)), (
        "nothing to draw from"
    )


def test_documents_are_drawn_whole():
    cube = np.random.default_rng(0).integers(0, 5, size=(2, 2, 40, 3))
    document = np.array([*[0] * 10, *[1] * 3, *[2] * 20, *[3] * 7])
    counts = by_hand(cube).assign(unit_number=lambda rows: document[rows["record"]])
    of_documents = np.stack([cube[:, :, document == number].sum(axis=2) for number in range(4)], axis=2)
    assert resampled_f1(counts, 200, 3) == pytest.approx(resampled_f1(by_hand(of_documents), 200, 3))


def test_seeds_alone_vary_as_the_mean_of_three_does():
    # Every sentence alike: only seeds vary, and the variance of their mean is s^2 / 3.
    right = np.array([[60, 50], [70, 55], [80, 54]])
    counts = np.stack([right, 100 - right, 100 - right], axis=-1)
    resampled = resampled_f1(by_hand(np.repeat(counts[:, :, None], 30, axis=2)), 4000, 0)
    assert resampled.std(axis=0) == pytest.approx(right.std(axis=0, ddof=1) / np.sqrt(3), rel=0.05)
    assert abs(np.corrcoef(resampled.T)[0, 1]) < 0.06, "probes of two layers are trained separately"


def test_a_control_of_one_seed_varies_as_one_of_the_other_seeds():
    # Every sentence alike: only seeds vary, and a single one has the variance s^2 of those that it is compared with.
    right = np.array([[60, 50], [70, 55], [80, 54]])
    cube = np.repeat(np.stack([right, 100 - right, 100 - right], axis=-1)[:, :, None], 30, axis=2)
    single = by_hand(cube[1:2, 1:]).assign(condition="shuffled_labels", top=1)
    counts = pd.concat([by_hand(cube), single])
    resampled = resampled_f1(counts, 4000, 0, condition="shuffled_labels")
    assert resampled.shape == (4000, 1)
    assert resampled.mean() == pytest.approx(55, abs=0.2)
    assert resampled.std() == pytest.approx(right[:, 1].std(ddof=1), rel=0.05)


def test_conditions_share_sentences_and_differ_by_their_seeds():
    cube = np.random.default_rng(0).integers(0, 5, size=(1, 2, 40, 3))
    counts = pd.concat([by_hand(cube), by_hand(cube).assign(condition=CONTROL_TASK)])
    early, control = (resampled_f1(counts, 50, 3, condition=condition) for condition in (EARLY, CONTROL_TASK))
    assert (early == control).all()
    assert early.std() > 0
    assert resampled_f1(counts, 50, 3, condition=RANDOM_ENCODER).shape == (50, 0)


def test_a_gain_within_its_error_is_noise():
    generator = np.random.default_rng(0)
    for points, noise in (([50.0, 90, 92, 93], False), ([50.0, 60, 70, 93], False), ([90.0, 90.1, 90, 90.2], True)):
        assert is_noise(np.asarray(points), points + generator.normal(size=(500, 4))) == noise


def test_figures_are_drawn_and_the_same_twice(probed, tables, second, tmp_path):
    draw = {
        "figure1": lambda: figure1(tables["tasks"]),
        "figure2": lambda: figure2(tables["layers"]),
        "figure_a3": lambda: figure_a3(second["layers"], tables["layers"]),
        "figure3": lambda: figure3(tables["traces"]),
    }
    for name, drawn in draw.items():
        files = [{kind: tmp_path / f"{name}{k}.{kind}" for kind in ("svg", "png", "pdf")} for k in (0, 1)]
        for pictures in files:
            drawn().write(pictures, LABELS)
        assert all(files[0][kind].read_bytes() == files[1][kind].read_bytes() for kind in files[0])
        with Image.open(files[0]["png"]) as picture:
            assert min(picture.size) > 300, name
    bars = draw["figure_a3"]().frame
    assert bars["model"].unique().tolist() == ["other", "tiny"], "the second model stands first"
    text = (tmp_path / "figure10.svg").read_text(encoding="utf-8")
    assert "Parts of speech" in text
    assert "Expected layer" in text
    for name in ("figure2", "figure_a3"):
        words = words_in(tmp_path / f"{name}0.svg")
        assert "n: sentences evaluated; probes of 2 seeds" in words, name
        assert words.count("n = 8") == len(TASKS), name
    figure3(pd.DataFrame(columns=FIGURE3)).write({"svg": tmp_path / "none.svg"}, LABELS)
    assert "no sentence has more than one target in doubt" in (tmp_path / "none.svg").read_text(encoding="utf-8")


def publish_sizes(monkeypatch, *tasks):
    """As if the authors' data sets had as many targets as those of these tests."""
    for task in tasks:
        monkeypatch.setitem(PUBLISHED_TARGETS, task, (TRAINING_TARGETS, TARGETS))


def compared(tables, labels, second=None, second_labels=None, max_targets=None, **of_pos):
    """The comparison by id, of probes trained by the published recipe, but for some settings of one task."""
    names = ("tasks", "layers", "ends", "options", "mixing_weights")
    labels = labels | {f"second {task}": label for task, label in (second_labels or {}).items()}
    settings = {"training": asdict(Recipe()), "tasks": SETTINGS["tasks"] | {"pos": of_pos}, "max_targets": max_targets}
    frames = {f"summary_{name}": tables[name] for name in names}
    return comparison(**frames, **settings, second_model=second or {}, labels=labels).frame.set_index("id")


def test_every_published_value_is_compared_or_has_a_reason(tables):
    values = compared(tables, LABELS)
    assert list(values.index) == list(load_published("tenney2019"))
    assert values["why"].notna().all()
    assert set(values["verdict"]) == {"not comparable", "not computed"}


def test_claims_name_what_their_intervals_resample(tables):
    tested = claims(*(tables[name] for name in ("tasks", "ends", "mixing_weights", "resamples"))).frame
    assert set(tested["verdict"]) <= {"holds", "does not hold", "undecided"}
    assert len(tested) > 5
    assert tested[["statistic", "n", "unit"]].notna().all(axis=None)
    assert (tested["n"] > 0).all()
    assert set(tested["unit"]) == {"sentences", "probe seeds"}


def test_numbers_of_the_papers_model_and_data_are_compared(tables, monkeypatch):
    publish_sizes(monkeypatch, "pos", "constituents")
    papers = RunLabel("Run", "bert", "ontonotes", model_reference="bert-base-uncased", corpus_reference="OntoNotes 5.0 dev")
    values = compared(tables, LABELS | {"pos": papers, "constituents": papers})
    assert set(values.loc[["t19.base.pos.f1_l0", "t19.base.consts.expected_layer", "t19.iclr.base.pos.f1_lex"], "verdict"]) <= {
        *("match", "covered by our interval", "differs"),
    }
    assert values.loc["t19.large.pos.f1_l0", "why"] == ("model bert instead of bert-large-uncased")
    assert values.loc["t19.iclr.base.entities.f1_lex", "verdict"] == "not comparable"
    assert values.loc["t19.iclr.base.coref.f1_lex", "verdict"] == "not computed"


def test_numbers_of_the_second_model_are_compared_with_that_model(tables, second, monkeypatch):
    large = RunLabel("Run", "large", "ontonotes", model_reference="bert-large-uncased", corpus_reference="OntoNotes 5.0 dev")
    base = replace(large, model="base", model_reference="bert-base-uncased")
    labels = [LABELS | dict.fromkeys(("pos", "constituents"), label) for label in (large, base)]
    publish_sizes(monkeypatch, "pos", "constituents")
    alone = compared(tables, labels[0])
    assert alone.loc["t19.base.pos.f1_l0", "comparable"] == "no"
    values = compared(tables, labels[0], second, labels[1])
    first_f1, second_f1 = (summarised["tasks"].set_index("task").loc["pos", "f1_first"] for summarised in (tables, second))
    assert values.loc["t19.large.pos.f1_l0", "comparable"] == values.loc["t19.base.pos.f1_l0", "comparable"] == "close"
    assert float(values.loc["t19.large.pos.f1_l0", "ours"]) == pytest.approx(first_f1, abs=0.1)
    assert float(values.loc["t19.base.pos.f1_l0", "ours"]) == pytest.approx(second_f1, abs=0.1)
    assert values.loc["t19.iclr.base.pos.f1_lex", "comparable"] == "close"
    compared_ids = {name for name in values.index if values.loc[name, "comparable"] == "close" and ".base." in name}
    published = {f"t19.base.{task}.{kind}" for task in ("pos", "consts") for kind in ("f1_l0", "f1_l12", "expected_layer")}
    assert published | {"t19.iclr.base.pos.f1_lex", "t19.iclr.base.consts.f1_lex"} <= compared_ids
    assert values.loc["t19.base.entities.f1_l0", "comparable"] == "no", "this run has that task on another corpus"
    values = compared(tables, labels[0], second, labels[1], learning_rate=0.0005)
    assert values.loc["t19.base.pos.f1_l12", "why"].startswith("different recipe: learning_rate 0.0005")
    # The same values are those of the run's first model where both of its models are the paper's BERT-base.
    values = compared(tables, labels[1], second, labels[1])
    assert float(values.loc["t19.base.pos.f1_l0", "ours"]) == pytest.approx(first_f1, abs=0.1)


def test_another_recipe_or_another_number_of_targets_is_not_compared(tables, monkeypatch):
    papers = RunLabel("Run", "bert", "ontonotes", model_reference="bert-base-uncased", corpus_reference="OntoNotes 5.0 dev")
    labels, name = LABELS | {"pos": papers}, "t19.base.pos.f1_l12"
    values = compared(tables, labels)
    assert values.loc[name, "comparable"] == "no"
    sizes = "48 targets (the authors' development set has 290013); 96 training targets (the authors' training set has 2070382)"
    assert sizes in values.loc[name, "why"]
    in_paper = PUBLISHED_TARGETS["pos"]
    for sizes, missing in (((in_paper[0], TARGETS), "96 training"), ((TRAINING_TARGETS, in_paper[1]), "48")):
        with monkeypatch.context() as patch:
            patch.setitem(PUBLISHED_TARGETS, "pos", sizes)
            values = compared(tables, labels)
        assert values.loc[name, "comparable"] == "no"
        assert values.loc[name, "why"].startswith(f"{missing} targets")
    publish_sizes(monkeypatch, "pos")
    assert compared(tables, labels).loc[name, "comparable"] == "close"
    values = compared(tables, labels, max_targets=6, learning_rate=0.0005, equal_steps=3000)
    assert values.loc[name, "comparable"] == "no"
    words = "different recipe: learning_rate 0.0005 (published 0.0001), max_targets 6 (published all)"
    assert values.loc[name, "why"].startswith(words)


def recipes(run):
    """Task -> recipe of a shipped run, with the largest number of targets."""
    settings = StudyInputs(shipped(), "tenney2019").study_settings(wildcards(run))
    most = {"max_targets": settings["max_targets"]}
    return {task: asdict(recipe_of(settings["training"], entry)) | most for task, entry in settings["tasks"].items()}


def test_the_papers_run_trains_by_the_published_recipe_and_no_other_run_does():
    assert set(recipes("paper")) == set(PUBLISHED_TARGETS)
    assert set(PUBLISHED_RECIPES) == {"protoroles", "relations"}
    assert not [words for task, recipe in recipes("paper").items() for words in recipe_differences(task, recipe)]
    for run in ("sample", "laptop", "open"):
        assert all(recipe_differences(task, recipe) for task, recipe in recipes(run).items())


def test_training_in_the_papers_run_evaluates_the_first_sentences_of_the_file():
    """Of OntoNotes' 15,680 development sentences the authors take the first 5,000; their other sets have fewer."""
    config = shipped()
    tasks = config["runs"]["paper"]["tenney2019"]["tasks"]
    of_ontonotes = {tasks[task]["development"] for task in ("pos", "constituents", "entities", "roles", "coreference")}
    assert [config["corpora"][corpus]["order"] for corpus in of_ontonotes] == ["file"]
    assert recipes("paper")["pos"]["evaluation_sentences"] == 5000


def test_the_words_alone_need_a_model_that_has_them():
    targets = task_targets("pos", *([edge_example(record, "pos", False) for record in range(6)] for _ in range(2)))
    states = dict.fromkeys(("training", "development"), Telling(lexical=False))
    plan = Plan([1], [EMBEDDINGS, LEXICAL], True, True)
    with pytest.raises(AtlasError, match="layer0: lexical needs a model with embeddings like BERT's"):
        probe_tables(targets, states, {}, plan, RECIPE)


def test_what_reads_tables_needs_no_torch():
    """Summaries, tables and figures."""
    modules = ", ".join(f"attention_atlas.studies.tenney2019.{name}" for name in ("summary", "tables", "figures"))
    code = f"import sys, {modules}; assert not {{'torch', 'transformers', 'sklearn'}} & set(sys.modules)"
    library = Path(__file__).parents[2] / "workflow" / "lib"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(library), "PATH": "/usr/bin:/bin"})
