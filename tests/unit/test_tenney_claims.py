"""Claims of Tenney et al.: each can come out each of the three ways; rarely wrongly where nothing is planted."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, t, ttest_ind

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.summary import centre_of_gravity, expected_layer, is_noise, resampled_f1
from attention_atlas.studies.tenney2019.tables import (
    Results,
    all_claims,
    every_task,
    interval_of_resamples,
    order_by_expected_layers,
)
from attention_atlas.studies.tenney2019.targets import EARLY, EMBEDDINGS, EQUAL, f1_of

PUBLISHED = load_published("tenney2019")
RESAMPLES, LAYERS = 1000, 4
IN_ORDER = {
    **{"pos": 0.4, "constituents": 0.8, "dependencies": 1.1, "entities": 1.4, "roles": 1.7, "coreference": 2.6},
    **{"protoroles": 3.2, "relations": 3.4},
}
WITHOUT_ONE = {task: layer for task, layer in IN_ORDER.items() if task != "constituents"}
DIFFERENCES = ("selectivity", "above_label_frequencies", "above_random_encoder")


def mixing(centre, seeds=4, sharpness=2.0, jitter=0.02):
    """[seed, layer] weights around a layer."""
    chance = np.random.default_rng(int(1000 * centre))
    weights = np.exp(-sharpness * np.abs(np.arange(LAYERS + 1) - centre - jitter * chance.normal(size=(seeds, 1))))
    return weights / weights.sum(axis=1, keepdims=True)


def results(layers, spread=0.05, *, difference=5.0, weights=None, steps=(40, 50), noise=(), rising=(), seeds=4):
    """Tables of tasks with these expected layers, whose resamples vary by `spread`; mixing weights [seed, layer] by task."""
    chance, tasks = np.random.default_rng(0), list(layers)
    resamples = []
    for task in tasks:
        of_task = {"expected_layer": layers[task] + spread * chance.normal(size=RESAMPLES)}
        of_task |= {name: difference + 0.5 * chance.normal(size=RESAMPLES) for name in ("gain", *DIFFERENCES)}
        resamples.append(pd.DataFrame({"task": task, "resample": range(RESAMPLES), **of_task}))
    figure1 = pd.DataFrame({"task": tasks, "f1_first": 50.0, "f1_last": 50.0 + difference, "layers": LAYERS})
    figure1["expected_layer"] = [np.nan if task in noise else layers[task] for task in tasks]
    figure1["within_noise"] = figure1["expected_layer"].isna().astype(int)
    figure1["at_step_limit"] = [0.6 if task in rising else 0.4 for task in tasks]
    figure1["unit"] = ["sentences" if task == "relations" else "documents" for task in tasks]
    figure1["units"] = np.arange(100, 100 + len(tasks))
    controls = pd.DataFrame({"task": tasks, "layer": LAYERS, **dict.fromkeys(DIFFERENCES, difference)})
    controls = pd.concat([controls.assign(layer=0, selectivity=-99.0), controls]).assign(steps=steps[0], equal_steps=steps[1])
    rows = [
        [task, EMBEDDINGS, condition, len(of_seed) - 1, seed, layer, weight]
        for condition in (EARLY, EQUAL)
        for task, by_seed in (weights or {task: mixing(layers[task], seeds) for task in tasks}).items()
        for seed, of_seed in enumerate(by_seed)
        for layer, weight in enumerate(of_seed)
    ]
    table = pd.DataFrame(rows, columns=["task", "layer0", "condition", "top", "seed", "layer", "weight"])
    return Results(figure1, controls, table, pd.concat(resamples, ignore_index=True))


def verdicts(tables):
    """Claims by a word or two of their statements; orders without the tasks that cannot be placed as `placed` ones."""
    names = {
        **{"by expected layers.*section 4.1": "section", "by expected layers.*abstract": "abstract"},
        **{"by centres of gravity": "centres", "gains from layers": "gain", "lower half": "lower half"},
        **{"order tasks as": "agree", r"\(K\(s\)": "spread", "same number of steps": "equal"},
        **{"control task": "selectivity", "label frequencies": "frequencies", "random layers": "random"},
    }
    tested = {}
    for claim in all_claims(tables):
        (name,) = [name for words, name in names.items() if re.search(words, claim.statement)]
        tested[f"{name} placed" if ", without " in claim.statement else name] = claim
    return tested


SHARP = {task: mixing(layer) for task, layer in IN_ORDER.items()}
UNIFORM = SHARP | {"protoroles": mixing(2, sharpness=0.01), "relations": mixing(2, sharpness=0.02)}
VAGUE = {task: mixing(layer, jitter=3) for task, layer in IN_ORDER.items()}
TURNED = {task: mixing(LAYERS - layer) for task, layer in IN_ORDER.items()} | {"pos": mixing(2, sharpness=0.01)}
LATE = {task: LAYERS - layer / 2 for task, layer in IN_ORDER.items()}


@pytest.mark.parametrize(
    ("verdict", "tables"),
    [
        ("holds", results(IN_ORDER, weights=UNIFORM)),
        ("does not hold", results(LATE, difference=-5.0, weights=TURNED)),
        ("undecided", results(IN_ORDER, spread=3.0, difference=0.5, weights=VAGUE)),
    ],
    ids=["holds", "does not hold", "undecided"],
)
def test_every_claim_can_come_out_each_way(verdict, tables):
    tested = verdicts(tables)
    if verdict == "does not hold":
        # Both statistics are turned round together there, so that they agree.
        assert tested.pop("agree").verdict == "holds"
    assert {name: claim.verdict for name, claim in tested.items()} == dict.fromkeys(tested, verdict)
    assert len(tested) >= 10


def test_statistics_that_disagree_and_probes_that_no_early_stopping_ended():
    layers = {task: float(place) / 2 for place, task in enumerate(EDGE_TASKS)}
    turned = verdicts(results(layers, weights={task: mixing(4 - layer) for task, layer in layers.items()}))
    assert (turned["agree"].verdict, turned["agree"].value) == ("does not hold", pytest.approx(-1))
    assert turned["lower half"].value == np.mean([layer < LAYERS / 2 for layer in layers.values()])
    assert verdicts(results(IN_ORDER, steps=(50, 50), weights=UNIFORM))["equal"].verdict == "not tested"


def paper(spread):
    """Tables with the expected layers and mixing weights of BERT-large that the paper's notebooks print, and these layers."""
    of_paper = {value.role: name.split(".")[2] for name, value in PUBLISHED.items() if name.startswith("t19.large.")}
    layers, weights = {}, {}
    for task, name in of_paper.items():
        layers[task] = float(expected_layer(PUBLISHED[f"t19.large.{name}.f1_by_layer"].value))
        published = np.array(PUBLISHED[f"t19.large.{name}.mix_weights"].value)
        weights[task] = published + 1e-5 * np.random.default_rng(0).normal(size=(4, len(published)))
    return results(layers, spread, weights=weights), layers


def test_the_papers_numbers_have_the_order_of_section_4_1_and_not_that_of_the_abstract():
    tables, layers = paper(spread=0.05)
    tested = verdicts(tables)
    assert tested["section"].verdict == tested["spread"].verdict == "holds"
    assert tested["abstract"].verdict == "does not hold", "entities at 4.64, dependencies at 5.69"
    assert tested["abstract"].value == pytest.approx(layers["entities"] - layers["dependencies"])
    assert tested["centres"].verdict == "does not hold", "13.75 for dependencies, 13.63 for semantic roles"
    assert {verdicts(paper(spread=1.5)[0])[name].verdict for name in ("section", "abstract")} == {"undecided"}


def test_a_task_that_cannot_be_placed_leaves_the_order_untested_and_that_of_the_others_is_a_claim():
    assert verdicts(results(IN_ORDER, noise=("dependencies",)))["section"].verdict == "not tested"
    tested = verdicts(results(WITHOUT_ONE, weights={task: SHARP[task] for task in WITHOUT_ONE}))
    for name in ("section", "abstract", "centres"):
        assert (tested[name].verdict, tested[f"{name} placed"].verdict) == ("not tested", "holds")
    # What is there can still refute it.
    turned = verdicts(results(WITHOUT_ONE | {"pos": 3.9}))
    assert turned["section placed"].verdict == turned["section"].verdict == "does not hold"


def test_claims_about_layers_of_a_task_whose_f1_still_rises_are_not_tested():
    tested = verdicts(results(IN_ORDER, weights=UNIFORM, rising=("dependencies",)))
    untested = {name for name, claim in tested.items() if claim.verdict == "not tested"}
    assert untested == {"section", "abstract", "centres", "gain", "spread", "selectivity", "random"}
    assert all("F1 still rising at the step limit" in tested[name].statistic for name in untested)
    assert {tested[f"{name} placed"].verdict for name in ("section", "abstract", "centres")} == {"holds"}
    decided = {name for name, claim in verdicts(results(IN_ORDER, rising=IN_ORDER)).items() if claim.verdict != "not tested"}
    assert decided == {"frequencies", "equal"}, "the constant answer needs no training; equal steps are a condition"


def test_resamples_without_an_expected_layer_count_against_both_verdicts():
    tables = results(IN_ORDER)
    unknown = (tables.resamples["task"] == "entities") & (tables.resamples["resample"] < 100)
    tables = replace(tables, resamples=tables.resamples.assign(expected_layer=tables.resamples["expected_layer"].mask(unknown)))
    agree = verdicts(tables)["agree"]
    assert (agree.ci_low, agree.ci_high, agree.verdict) == (-1.0, 1.0, "undecided")


def test_differences_are_those_of_neighbouring_stages_at_a_level_for_all_of_them():
    tables = results(IN_ORDER, spread=0.3)
    claim, draws = verdicts(tables)["abstract"], tables.draws("expected_layer")
    pairs = [("pos", "constituents"), ("pos", "dependencies"), ("constituents", "entities"), ("dependencies", "entities")]
    pairs += [("entities", "roles"), ("roles", "coreference")]
    assert claim.level == pytest.approx(1 - 0.05 / len(pairs))
    lows = [np.percentile(draws[later] - draws[earlier], 50 * (1 - claim.level)) for earlier, later in pairs]
    assert claim.ci_low == pytest.approx(min(lows), abs=0.05)


def test_intervals_over_seeds_are_those_of_welch_and_one_seed_gives_none():
    assert {verdicts(results(IN_ORDER, seeds=1))[name].verdict for name in ("centres", "spread", "equal")} == {"not tested"}
    tables = results({"pos": 0.4, "constituents": 0.8})
    claim, centres = verdicts(tables)["centres placed"], tables.by_seed(centre_of_gravity)
    assert claim.ci_low < claim.value < claim.ci_high
    shifted = centres["constituents"] - claim.ci_low
    assert ttest_ind(shifted, centres["pos"], equal_var=False).pvalue == pytest.approx(0.05)


def test_intervals_of_resamples_are_wider_without_some_values_and_for_few_units():
    values = np.arange(100.0)
    assert interval_of_resamples(values, 0.9, 10**6) == (4, 95)
    values[:4] = np.nan
    assert interval_of_resamples(values, 0.9, 10**6) == (4, 99)
    values[:6] = np.nan
    assert interval_of_resamples(values, 0.9, 10**6) == (-np.inf, np.inf)
    normal = np.random.default_rng(0).normal(size=100_000)
    for units in (5, 20, 10**6):
        # As wide as Student's on the variance over n - 1, for resamples whose variance is over n (here 1).
        half = t.ppf(0.975, units - 1) * np.sqrt(units / (units - 1))
        assert interval_of_resamples(normal, 0.95, units) == pytest.approx((-half, half), rel=0.05)
    assert np.isnan(interval_of_resamples(normal, 0.95, 1)).all()


# --- simulations: an answer is right by chance, by the difficulty of its sentence, and by the luck of a probe's training ---

SEEDS, SENTENCES, TARGETS, OF_DOCUMENT = 3, 40, 9, 4
EARLY_TASK, LATE_TASK, EVEN_TASK = (60.0, 72, 76, 77, 78), (60.0, 62, 64, 70, 78), (60.0, 66, 71, 75, 78)
FLAT_TASK = (70.0,) * 5
REPETITIONS = pytest.mark.parametrize("data_sets", [60, pytest.param(2000, marks=pytest.mark.long)])


def counts(curve, generator, by_document):
    """[seed, top, sentence, 3] answers of probes whose expected F1 is a curve over layers; documents may share difficulty."""
    difficulty = generator.normal(scale=5, size=SENTENCES)
    if by_document:
        difficulty = np.repeat(generator.normal(scale=16, size=(len(curve), SENTENCES // OF_DOCUMENT)), OF_DOCUMENT, axis=1)
    luck = generator.normal(scale=1.5, size=(SEEDS, len(curve)))
    right = generator.binomial(TARGETS, np.clip(((np.asarray(curve) + luck)[..., None] + difficulty) / 100, 0, 1))
    return np.stack([right, TARGETS - right, TARGETS - right], axis=-1)


def simulated(curves, seed, by_document=False, unit="sentences", rising=()):
    """Tables of some tasks, from counts to resamples of some unit."""
    generator = np.random.default_rng(seed)
    rows, draws = [], []
    for place, (task, curve) in enumerate(curves.items()):
        cube = counts(curve, generator, by_document)
        table = pd.DataFrame(list(np.ndindex(cube.shape[:3])), columns=["seed", "top", "record"])
        table[["true", "false", "missed"]] = cube.reshape(-1, 3)
        table["unit_number"] = table["record"] // (OF_DOCUMENT if unit == "documents" else 1)
        f1 = resampled_f1(table.assign(condition=EARLY, layer0=EMBEDDINGS), 100, 10 * seed + place)
        points = f1_of(cube.sum(axis=2)).mean(axis=0)
        row = {"task": task, "f1_first": points[0], "f1_last": points[-1], "expected_layer": float(expected_layer(points))}
        row |= {"within_noise": int(is_noise(points, f1)), "unit": unit, "units": table["unit_number"].nunique()}
        rows.append(row | {"layers": len(curve) - 1, "at_step_limit": float(task in rising)})
        draws.append(pd.DataFrame({"task": task, "expected_layer": expected_layer(f1), "gain": f1[:, -1] - f1[:, 0]}))
    return Results(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame(), pd.concat(draws))


def given(curves, claim, data_sets, *of_documents):
    found = [claim(simulated(curves, seed, *of_documents)).verdict for seed in range(data_sets)]
    return {verdict: found.count(verdict) for verdict in ("holds", "does not hold", "undecided")}


def in_order(tables):
    """The order of both tasks; it comes first, whether or not both can be placed."""
    return next(order_by_expected_layers(tables, (("pos",), ("roles",)), "section"))


def gains(tables):
    values = dict(zip(tables.tasks["task"], tables.tasks["f1_last"] - tables.tasks["f1_first"], strict=True))
    return every_task(tables, "gain", "", "", values)


@REPETITIONS
@pytest.mark.parametrize(
    ("curves", "claim", "of_documents", "refuted"),
    [
        ({"pos": EVEN_TASK, "roles": EVEN_TASK}, in_order, (), 0.025),
        ({"pos": FLAT_TASK, "roles": EVEN_TASK}, gains, (), 0.05),
        ({"pos": FLAT_TASK}, gains, (True, "documents"), 0.025),
    ],
    ids=["one expected layer", "no gain", "no gain in documents that are unlike"],
)
def test_claims_are_rarely_decided_where_nothing_is_planted(curves, claim, of_documents, refuted, data_sets):
    found = given(curves, claim, data_sets, *of_documents)
    assert found["holds"] <= binom.ppf(0.999, data_sets, 0.025), found
    assert found["does not hold"] <= binom.ppf(0.999, data_sets, refuted), found


@pytest.mark.parametrize(
    ("curves", "claim", "verdict"),
    [
        ({"pos": EARLY_TASK, "roles": LATE_TASK}, in_order, "holds"),
        ({"pos": LATE_TASK, "roles": EARLY_TASK}, in_order, "does not hold"),
        ({"pos": EARLY_TASK, "roles": LATE_TASK}, gains, "holds"),
        ({"pos": EARLY_TASK, "roles": EARLY_TASK[::-1]}, gains, "does not hold"),
    ],
)
def test_a_planted_order_and_a_planted_gain_are_found(curves, claim, verdict):
    assert given(curves, claim, 20)[verdict] > 0.8 * 20


def test_tasks_of_the_same_layers_that_are_learnt_at_another_speed_are_in_no_order_before_they_converge():
    # Probes with fewer layers learn more slowly: where training ends too soon, their F1 is further from its plateau.
    plateau, lags = np.array([40.0, 52, 62, 70, 76]), (30, 8, 0, 0, 0)
    curves = {"pos": plateau - lags, "roles": plateau}
    verdict_counts = given(curves, in_order, 20)
    assert verdict_counts["holds"] > 0.5 * 20, "speed looks like an order of layers"
    assert given(curves, in_order, 20, False, "sentences", ("pos",)) == dict.fromkeys(verdict_counts, 0)
