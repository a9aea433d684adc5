"""Null simulations: how often claims about probes come out wrongly, and whether they find what is there.

Each simulated data set goes from counts of sentences through the resamples of the tables to the claim. An answer to a target
is right by chance, by the difficulty of its sentence (shared by all probes), and by the luck of a probe's training. In another
simulation, the sentences of a document share what each layer makes of it.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from attention_atlas.studies.tenney2019.claims import Results, gains, order_by_expected_layers
from attention_atlas.studies.tenney2019.summary import expected_layer, is_noise, resampled_f1
from attention_atlas.studies.tenney2019.targets import EARLY, EMBEDDINGS, f1_of

SEEDS, SENTENCES, TARGETS, RESAMPLES = 3, 40, 9, 100
OF_DOCUMENT = 4
EARLY_TASK, LATE_TASK, EVEN_TASK = (60.0, 72, 76, 77, 78), (60.0, 62, 64, 70, 78), (60.0, 66, 71, 75, 78)
FLAT_TASK = (70.0,) * 5
ORDER = (("pos",), ("roles",))
REPETITIONS = pytest.mark.parametrize("data_sets", [150, pytest.param(2000, marks=pytest.mark.long)])


def counts(curve, generator, by_document):
    """[seed, top, sentence, 3] answers of probes whose expected F1 is a curve over layers."""
    difficulty = generator.normal(scale=5, size=SENTENCES)
    if by_document:
        difficulty = np.repeat(generator.normal(scale=16, size=(len(curve), SENTENCES // OF_DOCUMENT)), OF_DOCUMENT, axis=1)
    luck = generator.normal(scale=1.5, size=(SEEDS, len(curve)))
    share = (np.asarray(curve) + luck)[..., None] + difficulty
    right = generator.binomial(TARGETS, np.clip(share / 100, 0, 1))
    return np.stack([right, TARGETS - right, TARGETS - right], axis=-1)


def tables(curves, seed, by_document=False, unit="sentences"):
    """Tables of some tasks, from counts to resamples of some unit."""
    generator = np.random.default_rng(seed)
    rows, draws = [], []
    for place, (task, curve) in enumerate(curves.items()):
        cube = counts(curve, generator, by_document)
        keys = [name.ravel() for name in np.meshgrid(*map(np.arange, cube.shape[:3]), indexing="ij")]
        table = pd.DataFrame(dict(zip(("seed", "top", "record"), keys, strict=True)))
        table[["true", "false", "missed"]] = cube.reshape(-1, 3)
        table["unit_number"] = table["record"] // (OF_DOCUMENT if unit == "documents" else 1)
        f1 = resampled_f1(table.assign(condition=EARLY, layer0=EMBEDDINGS), RESAMPLES, 10 * seed + place)
        points = f1_of(cube.sum(axis=2)).mean(axis=0)
        numbers = {"f1_first": points[0], "f1_last": points[-1], "expected_layer": float(expected_layer(points))}
        rows.append({"task": task, **numbers, "within_noise": int(is_noise(points, f1)), "sentences": SENTENCES})
        rows[-1] |= {"unit": unit, "units": table["unit_number"].nunique(), "at_step_limit_first": 0.0}
        draws.append(pd.DataFrame({"task": task, "expected_layer": expected_layer(f1), "gain": f1[:, -1] - f1[:, 0]}))
    return Results(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame(), pd.concat(draws))


def verdicts(curves, claim, data_sets, *of_documents):
    given = [claim(tables(curves, seed, *of_documents)).verdict for seed in range(data_sets)]
    return {verdict: given.count(verdict) for verdict in ("holds", "does not hold", "undecided")}


def in_order(results):
    """The order of both tasks; it comes first, whether or not both can be placed."""
    return next(order_by_expected_layers(results, ORDER, "section", {}))


@REPETITIONS
def test_tasks_of_one_expected_layer_are_rarely_put_in_an_order(data_sets):
    given = verdicts({"pos": EVEN_TASK, "roles": EVEN_TASK}, in_order, data_sets)
    print(given)
    most = binom.ppf(0.999, data_sets, 0.025)
    assert given["holds"] <= most
    assert given["does not hold"] <= most


@REPETITIONS
def test_tasks_without_a_gain_are_rarely_said_to_have_one(data_sets):
    given = verdicts({"pos": FLAT_TASK, "roles": EVEN_TASK}, gains, data_sets)
    print(given)
    assert given["holds"] <= binom.ppf(0.999, data_sets, 0.025)
    assert given["does not hold"] <= binom.ppf(0.999, data_sets, 0.05)


@REPETITIONS
def test_documents_that_are_unlike_give_no_false_alarms_and_their_sentences_would(data_sets):
    given = verdicts({"pos": FLAT_TASK}, gains, data_sets, True, "documents")
    print(given)
    most = binom.ppf(0.999, data_sets, 0.025)
    assert given["holds"] <= most
    assert given["does not hold"] <= most
    by_sentences = verdicts({"pos": FLAT_TASK}, gains, 150, True, "sentences")
    assert by_sentences["holds"] + by_sentences["does not hold"] > binom.ppf(0.999, 150, 0.05)
    assert verdicts({"pos": (50.0, 50, 50, 50, 92)}, gains, 40, True, "documents")["holds"] > 0.8 * 40


def test_a_planted_order_and_a_planted_gain_are_found():
    for curves, verdict in (
        ({"pos": EARLY_TASK, "roles": LATE_TASK}, "holds"),
        ({"pos": LATE_TASK, "roles": EARLY_TASK}, "does not hold"),
    ):
        given = verdicts(curves, in_order, 40)
        print(given)
        assert given[verdict] > 0.8 * 40
    assert verdicts({"pos": EARLY_TASK, "roles": LATE_TASK}, gains, 40)["holds"] > 0.8 * 40
    assert verdicts({"pos": EARLY_TASK, "roles": EARLY_TASK[::-1]}, gains, 40)["does not hold"] > 0.8 * 40
