"""Claims of Tenney et al.: each can come out each of the three ways, and the paper's own numbers say what the paper says."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t, ttest_ind

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.claims import (
    ABSTRACT,
    SECTION,
    Results,
    claims,
    interval_of_resamples,
    interval_over_seeds,
    stopped_early,
)
from attention_atlas.studies.tenney2019.summary import centre_of_gravity, expected_layer
from attention_atlas.studies.tenney2019.targets import EARLY, EMBEDDINGS, EQUAL

PUBLISHED = load_published("tenney2019")
RESAMPLES, LAYERS = 1000, 4
IN_ORDER = {
    **{"pos": 0.4, "constituents": 0.8, "dependencies": 1.1, "entities": 1.4, "roles": 1.7, "coreference": 2.6},
    **{"protoroles": 3.2, "relations": 3.4},
}


def numbers(name):
    """Numbers of a published value, in their order."""
    return np.array([number.value for number in PUBLISHED[name].numbers])


def results(
    layers, spread=0.05, *, difference=5.0, differences_spread=0.5, weights=None, steps=(40, 50), noise=(), seeds=4, limited=()
):
    """Tables of tasks with these expected layers, whose resamples vary by `spread`; mixing weights [seed, layer] by task."""
    chance = np.random.default_rng(0)
    tasks = list(layers)
    of_task = [
        pd.DataFrame(
            {
                "task": task,
                "resample": range(RESAMPLES),
                "expected_layer": layers[task] + spread * chance.normal(size=RESAMPLES),
                **{
                    name: difference + differences_spread * chance.normal(size=RESAMPLES)
                    for name in ("gain", "selectivity", "above_label_frequencies", "above_random_encoder")
                },
            }
        )
        for task in tasks
    ]
    figure1 = pd.DataFrame(
        {
            "task": tasks,
            "f1_first": 50.0,
            "f1_last": 50.0 + difference,
            "expected_layer": [np.nan if task in noise else layers[task] for task in tasks],
            "within_noise": [int(task in noise) for task in tasks],
            "layers": LAYERS,
            "at_step_limit_first": [2 / 3 if task in limited else 1 / 3 for task in tasks],
            "sentences": [1000 + place for place in range(len(tasks))],
            "unit": ["sentences" if task == "relations" else "documents" for task in tasks],
            "units": [100 + place for place in range(len(tasks))],
        }
    )
    controls = pd.DataFrame(
        {
            "task": tasks,
            "layer": LAYERS,
            "selectivity": difference,
            "above_label_frequencies": difference,
            "above_random_encoder": difference,
            "steps": steps[0],
            "equal_steps": steps[1],
        }
    )
    if weights is None:
        weights = {task: mixing(layers[task], seeds) for task in tasks}
    rows = [
        [task, EMBEDDINGS, condition, len(of_seed) - 1, seed, layer, weight]
        for condition in (EARLY, EQUAL)
        for task, by_seed in weights.items()
        for seed, of_seed in enumerate(by_seed)
        for layer, weight in enumerate(of_seed)
    ]
    table = pd.DataFrame(rows, columns=["task", "layer0", "condition", "top", "seed", "layer", "weight"])
    return Results(figure1, controls, table, pd.concat(of_task, ignore_index=True))


def mixing(centre, seeds=4, sharpness=2.0, jitter=0.02):
    """[seed, layer] weights around a layer."""
    chance = np.random.default_rng(int(1000 * centre))
    weights = np.exp(-sharpness * np.abs(np.arange(LAYERS + 1) - centre - jitter * chance.normal(size=(seeds, 1))))
    return weights / weights.sum(axis=1, keepdims=True)


def verdicts(tables):
    """Claims by a word or two of their statements; orders without the tasks that cannot be placed as `placed` ones."""
    names = {
        "by expected layers.*section 4.1": "section",
        "by expected layers.*abstract": "abstract",
        "by centres of gravity": "centres",
        "gains from layers": "gain",
        "lower half": "lower half",
        "order tasks as": "agree",
        r"\(K\(s\)": "spread",
        "same number of steps": "equal",
        "control task": "selectivity",
        "label frequencies": "frequencies",
        "random layers": "random",
    }
    tested = {}
    for claim in claims(tables, PUBLISHED):
        (name,) = [name for words, name in names.items() if re.search(words, claim.statement)]
        tested[f"{name} placed" if ", without " in claim.statement else name] = claim
    return tested


UNIFORM = {"protoroles": mixing(2, sharpness=0.01), "relations": mixing(2, sharpness=0.02)}
SHARP = {task: mixing(layer) for task, layer in IN_ORDER.items()}


VAGUE = {task: mixing(layer, jitter=3) for task, layer in IN_ORDER.items()}
TURNED = {task: mixing(LAYERS - layer) for task, layer in IN_ORDER.items()} | {"pos": mixing(2, sharpness=0.01)}


@pytest.mark.parametrize(
    ("verdict", "tables"),
    [
        ("holds", results(IN_ORDER, weights=SHARP | UNIFORM)),
        (
            "does not hold",
            results({task: LAYERS - layer / 2 for task, layer in IN_ORDER.items()}, difference=-5.0, weights=TURNED),
        ),
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
    assert all(claim.n and claim.unit and claim.statistic for claim in tested.values())


def test_centres_that_turn_the_order_round_disagree():
    layers = {task: float(place) / 2 for place, task in enumerate(EDGE_TASKS)}
    turned = results(layers, weights={task: mixing(4 - layer) for task, layer in layers.items()})
    assert verdicts(turned)["agree"].verdict == "does not hold"
    assert verdicts(turned)["agree"].value == pytest.approx(-1)


def paper(spread):
    """Tables with the expected layers and mixing weights of BERT-large that the paper's notebooks print."""
    of_paper = {value.role: name.split(".")[2] for name, value in PUBLISHED.items() if name.startswith("t19.large.")}
    layers = {task: float(expected_layer(numbers(f"t19.large.{name}.f1_by_layer"))) for task, name in of_paper.items()}
    weights = {}
    for task, name in of_paper.items():
        published = numbers(f"t19.large.{name}.mix_weights")
        weights[task] = published + 1e-5 * np.random.default_rng(0).normal(size=(4, len(published)))
    return results(layers, spread, weights=weights), layers


def test_the_papers_numbers_have_the_order_of_section_4_1_and_not_that_of_the_abstract():
    tables, layers = paper(spread=0.05)
    tested = verdicts(tables)
    assert layers["entities"] < layers["dependencies"], "4.64 and 5.69"
    assert tested["section"].verdict == "holds"
    assert tested["abstract"].verdict == "does not hold"
    assert "Entities 4.64 before Dependencies 5.69" in tested["abstract"].ours
    assert "Entities minus Dependencies" in tested["abstract"].statistic
    assert tested["abstract"].value == pytest.approx(layers["entities"] - layers["dependencies"])
    # Dependencies are not left out of either.
    assert all("Dependencies" in tested[name].statement for name in ("section", "abstract", "centres"))
    assert tested["centres"].verdict == "does not hold", "13.75 for dependencies, 13.63 for semantic roles"
    assert "Semantic roles 13.63 before Dependencies 13.75" in tested["centres"].ours
    assert tested["spread"].verdict == "holds"


def test_the_papers_numbers_with_wide_intervals_leave_the_order_open():
    assert {verdicts(paper(spread=1.5)[0])[name].verdict for name in ("section", "abstract")} == {"undecided"}


def test_a_task_that_cannot_be_placed_leaves_the_order_untested_and_is_named():
    tested = verdicts(results(IN_ORDER, noise=("dependencies",)))["section"]
    assert tested.verdict == "not tested"
    assert tested.statistic == "order undefined: Dependencies gain within noise"
    assert "without an expected layer: Dependencies (gain within noise)" in tested.ours
    without = {task: layer for task, layer in IN_ORDER.items() if task != "constituents"}
    absent = verdicts(results(without))["section"]
    assert absent.verdict == "not tested"
    assert absent.statistic == "order undefined: Constituents not probed"
    assert (absent.n, absent.unit) == (100, "documents or sentences"), "n is never 0"
    assert "Constituents (not probed)" in absent.ours
    # What is there can still refute it.
    turned = verdicts(results(without | {"pos": 3.9}))["section"]
    assert (turned.verdict, turned.statistic) == ("does not hold", "expected layer: Dependencies minus Parts of speech")


def test_the_order_of_the_tasks_that_can_be_placed_is_a_claim_of_its_own():
    without = {task: layer for task, layer in IN_ORDER.items() if task != "constituents"}
    for name, statement in (
        ("section", "Parts of speech, Dependencies, Semantic roles, Coreference (section 4.1, without Constituents)"),
        ("abstract", "Parts of speech, Dependencies, Entities, Semantic roles, Coreference (abstract, without Constituents)"),
        ("centres", "Parts of speech, Dependencies, Semantic roles, Coreference (section 4.1, without Constituents)"),
    ):
        tested = verdicts(results(without, weights={task: SHARP[task] for task in without}))
        placed = tested[f"{name} placed"]
        assert placed.statement.endswith(f": {statement}")
        assert (placed.verdict, tested[name].verdict) == ("holds", "not tested")
        assert 0 < placed.ci_low < placed.value < placed.ci_high
        assert tested[name].statistic == "order undefined: Constituents not probed"
    turned = verdicts(results(without | {"pos": 3.9}))
    assert turned["section placed"].verdict == turned["section"].verdict == "does not hold"
    assert not [name for name in verdicts(results(IN_ORDER)) if "placed" in name], "all tasks can be placed"
    assert "section placed" not in verdicts(results({"pos": 0.4, "relations": 1.7})), "one task is no order"


def test_claims_that_rest_on_layer_0_name_tasks_whose_probes_were_at_the_step_limit():
    rest = {"section", "abstract", "gain", "lower half", "agree"}
    words = "F1 on layer 0 is that of probes at the step limit in most seeds: Parts of speech, Semantic roles"
    tested = verdicts(results(IN_ORDER, limited=("roles", "pos")))
    assert {name for name, claim in tested.items() if words in claim.ours} == rest
    assert not [name for name, claim in verdicts(results(IN_ORDER)).items() if "step limit" in claim.ours]


def test_a_correlation_stays_between_minus_1_and_1_and_names_the_tasks_without_a_layer_in_some_resamples():
    tables = results(IN_ORDER)
    unknown = tables.resamples.copy()
    unknown.loc[(unknown["task"] == "entities") & (unknown["resample"] < 100), "expected_layer"] = np.nan
    tested = verdicts(Results(tables.tasks, tables.controls, tables.weights, unknown))
    assert (tested["agree"].ci_low, tested["agree"].ci_high) == (-1.0, 1.0)
    assert tested["agree"].verdict == "undecided"
    words = "no expected layer in some resamples (no gain over layer 0): Entities (10.0%)"
    assert {name for name, claim in tested.items() if words in claim.ours} == {"section", "abstract", "lower half", "agree"}


def test_differences_are_those_of_neighbouring_stages_at_a_level_for_all_of_them():
    tables = results(IN_ORDER, spread=0.3)
    claim = verdicts(tables)["abstract"]
    draws = tables.draws("expected_layer")
    assert claim.level == pytest.approx(1 - 0.05 / 6), (
        "two parsing tasks, each with a neighbour on both sides, and two more pairs"
    )
    pairs = [("pos", "constituents"), ("pos", "dependencies"), ("constituents", "entities"), ("dependencies", "entities")]
    pairs += [("entities", "roles"), ("roles", "coreference")]
    tail = 100 * (1 - claim.level) / 2
    lows = [np.percentile(draws[b] - draws[a], tail) for a, b in pairs]
    assert claim.ci_low == pytest.approx(min(lows), abs=0.05)


def test_the_share_of_tasks_in_the_lower_half_counts_unknown_layers_against_both():
    tables = results({"pos": 1.0, "roles": 1.1, "coreference": 1.2})
    assert verdicts(tables)["lower half"].verdict == "holds"
    unknown = tables.resamples.copy()
    unknown.loc[unknown["task"].isin(["pos", "roles"]), "expected_layer"] = np.nan
    claim = verdicts(Results(tables.tasks, tables.controls, tables.weights, unknown))["lower half"]
    assert (claim.verdict, claim.ci_low, claim.ci_high) == ("undecided", pytest.approx(1 / 3), 1.0)


def test_probes_that_no_early_stopping_ended_say_nothing_about_equal_steps():
    tables = results(IN_ORDER, steps=(50, 50), weights=SHARP | UNIFORM)
    assert not stopped_early(tables.controls)
    claim = verdicts(tables)["equal"]
    assert claim.verdict == "not tested"
    assert claim.ours.startswith("no probe on all layers stopped early")
    assert (claim.n, claim.unit) == (4, "probe seeds")
    assert stopped_early(results(IN_ORDER, steps=(40, 50)).controls)


def test_one_seed_gives_no_interval_of_mixing_weights():
    tested = verdicts(results(IN_ORDER, seeds=1))
    assert {tested[name].verdict for name in ("centres", "spread", "equal")} == {"not tested"}
    assert np.isnan(interval_over_seeds(np.array([1.0]), np.array([0.0, 1.0]), 0.95)).all()
    later, earlier = np.array([2.0, 2.5, 2.2]), np.array([1.0, 1.6, 1.1])
    low, high = interval_over_seeds(later, earlier, 0.9)
    assert low < later.mean() - earlier.mean() < high
    assert ttest_ind(later - low, earlier, equal_var=False).pvalue == pytest.approx(0.1)


def test_resamples_without_a_value_widen_the_interval_to_both_sides():
    values = np.arange(100.0)
    assert interval_of_resamples(values, 0.9, 10**6) == (4, 95)
    values[:4] = np.nan
    low, high = interval_of_resamples(values, 0.9, 10**6)
    assert (low, high) == (4, 99)
    values[:6] = np.nan
    assert interval_of_resamples(values, 0.9, 10**6) == (-np.inf, np.inf)


def test_few_units_widen_the_interval_and_one_gives_none():
    values = np.random.default_rng(0).normal(size=100_000)
    by_units = {units: interval_of_resamples(values, 0.95, units) for units in (5, 20, 10**6)}
    # As wide as Student's on the variance over n - 1, for resamples whose variance is over n (here 1).
    for units, (low, high) in by_units.items():
        assert high == pytest.approx(t.ppf(0.975, units - 1) * np.sqrt(units / (units - 1)), rel=0.05)
        assert low == pytest.approx(-high, rel=0.05)
    assert np.isnan(interval_of_resamples(values, 0.95, 1)).all()


def test_claims_say_what_they_resample_and_how_many():
    tested = verdicts(results(IN_ORDER))
    assert (tested["lower half"].n, tested["lower half"].unit) == (100, "documents or sentences")
    alone = verdicts(results({"pos": 0.4, "roles": 1.7}))
    assert (alone["lower half"].n, alone["lower half"].unit) == (100, "documents")
    assert tested["centres"].unit == "probe seeds"


def test_stages_name_each_task_once():
    for stages in (SECTION, ABSTRACT):
        tasks = [task for stage in stages for task in stage]
        assert len(set(tasks)) == len(tasks)
        assert set(tasks) <= set(EDGE_TASKS)
    assert centre_of_gravity([0, 1, 0]) == 1
