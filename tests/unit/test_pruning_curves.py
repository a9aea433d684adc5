"""Figures 2 to 5, the comparison and the claims of Michel et al., from tables of answers made by hand."""

import inspect
import itertools

import numpy as np
import pandas as pd
import pytest
from sacrebleu.metrics import BLEU
from scipy.stats import pearsonr, spearmanr

from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_measures import ALL, CLASSIFICATION, HEAD, KEYS, NONE, ONE, OTHERS, STEP, TRANSLATION
from attention_atlas.methods.importance import Derivatives
from attention_atlas.studies.michel2019 import effects, tables
from attention_atlas.studies.michel2019.tables import curve_of, mean_score, prunable

SHAPES = {TRANSLATION: (2, 4), CLASSIFICATION: (3, 4)}
KINDS = {TRANSLATION: ("enc_enc", "enc_dec", "dec_dec"), CLASSIFICATION: ("enc_enc",)}
ROLES = [*(f"{name}{part}" for name in SHAPES for part in ("", "_other")), "translation_test", "classification_selection"]
SETTINGS = {role: RunLabel("Small run", "tiny", f"corpus of {role}", sample=True) for role in ROLES}
WORDS = "a cat sees the old red house near two dogs today while it rains".split()
N = 60
SAME_FILES = {TRANSLATION: False, CLASSIFICATION: True}


def answers(experiment, wrong, seed=0):
    """Expected texts or labels, and answers of which a share is wrong."""
    expected = [
        " ".join(WORDS[(k + j) % len(WORDS)] for j in range(7)) if experiment == TRANSLATION else "xyz"[k % 3] for k in range(N)
    ]
    generator = np.random.default_rng(seed)
    texts = [text if generator.random() > wrong else " ".join(reversed(text.split())) + "x" for text in expected]
    return pd.DataFrame({"record": range(N), "answer": texts, "expected": expected})


def masked_table(experiment, seed, with_others=True):
    """Head h of layer l costs the more the larger l and h."""
    layers, heads = SHAPES[experiment]
    frames = [answers(experiment, 0.1, seed).assign(**dict(zip(KEYS, (NONE, "", 0, 0), strict=True)))]
    units = itertools.product(
        (ONE, OTHERS) if with_others else (ONE,), KINDS[experiment], range(1, layers + 1), range(1, heads + 1)
    )
    for masked, kind, layer, head in units:
        wrong = 0.1 + (0.03 * layer * head if masked == ONE else 0.3 / head)
        key = dict(zip(KEYS, (masked, kind, layer, head), strict=True))
        frames.append(answers(experiment, wrong, seed).assign(**key))
    return pd.concat(frames, ignore_index=True)


def pruned_table(experiment):
    """Importance loses little, single heads more, chance most."""
    layers, heads = SHAPES[experiment]
    total = layers * heads * len(KINDS[experiment])
    speed = {effects.IMPORTANCE: 0.3, "recomputed": 0.25, effects.ABLATION: 0.5, effects.HELDOUT: 0.6, effects.RANDOM: 0.8}
    rows = [(order, ALL, draw) for order in speed for draw in range(3 if order == effects.RANDOM else 1)]
    rows += [(effects.IMPORTANCE, kind, 0) for kind in KINDS[experiment]] if experiment == TRANSLATION else []
    frames = []
    for order, scope, draw in rows:
        heads_in_scope = total if scope == ALL else total // 3
        faster = {"enc_dec": 2.0, "dec_dec": 0.8}.get(scope, 1.0)
        for percent in (0, 20, 40, 60, 80, 100):
            wrong = min(1.0, speed[order] * faster * (percent / 100) ** 2 * (1 + draw / 10))
            key = dict(zip(STEP, (order, scope, draw, percent, percent * heads_in_scope // 100), strict=True))
            frames.append(answers(experiment, wrong, 1).assign(**key))
    return pd.concat(frames, ignore_index=True)


def shown(module, frames, labels=SETTINGS, **values):
    """Function of a module of what is shown -> its result, of the tables and settings that it has as parameters."""
    values = {"resamples": 100, "seed": 0, **values}
    values |= {"importance": {"definition": "paper"}, "labels": labels, "frames": frames}

    def result(name):
        function = getattr(module, name)
        return function(**{key: ({**values, **frames})[key] for key in inspect.signature(function.function).parameters})

    return result


@pytest.fixture(scope="module")
def frames():
    """All tables of the study but Table 4, from synthetic answers."""
    generator = np.random.default_rng(0)
    masked = {name: masked_table(name, 2) for name in SHAPES}
    second = [masked_table(name, 3, with_others=False) for name in SHAPES]
    derivatives = []
    for name, (layers, heads) in SHAPES.items():
        units = itertools.product(KINDS[name], range(1, layers + 1), range(1, heads + 1))
        heads_table = pd.DataFrame(list(units), columns=HEAD)
        values = generator.normal(size=(9, len(heads_table)))
        derivatives.append(Derivatives(heads_table, values, np.abs(values), np.full(values.shape, 5.0)))
    pruned = [pruned_table(name) for name in SHAPES]
    measured = effects.effects([*masked.values()], second, derivatives, pruned, SAME_FILES, 2, 4, 100, 0)
    frames = measured | masked | {f"{name}_further": masked_table(name, 5) for name in SHAPES}
    for name in ("table1", "table2", "table3", "table5", "table6"):
        frames[name] = shown(tables, frames)(name).frame
    copies = {"figure1": "ablation", "figure2": "correlation_heads", "figure3": "pruning_curves"}
    copies["figure4"] = "pruning_curves_by_kind"
    return frames | {copy: frames[name] for copy, name in copies.items()}


def test_correlations_are_those_of_scipy(frames):
    for name, head_rows in frames["figure2"].groupby("experiment"):
        table = frames["correlations"]
        values = table[table["experiment"] == name].set_index("statistic")["value"]
        trimmed = head_rows[head_rows["extreme"] == 0]
        assert len(trimmed) == len(head_rows) - 3, "two extremes; the second is tied with a third"
        pairs = [(rows["delta"], rows["second_delta"]) for rows in (head_rows, trimmed)]
        slow = [pearsonr(*pairs[0]).statistic, spearmanr(*pairs[0]).statistic, pearsonr(*pairs[1]).statistic]
        assert values[["pearson", "spearman", "pearson_without_extremes"]].tolist() == pytest.approx(slow)
    assert table["value"].between(table["ci_low"], table["ci_high"]).all()


@pytest.mark.parametrize(
    ("name", "number", "chosen_on", "reported_on"),
    [(TRANSLATION, 5, "translation", "translation_further"), (CLASSIFICATION, 6, "classification_further", "classification")],
)
def test_heads_of_tables_5_and_6_are_chosen_on_one_corpus_alone(frames, name, number, chosen_on, reported_on):
    selection, measured = (effects.masked_scores(frames[key], KEYS, name).masking(OTHERS) for key in (chosen_on, reported_on))
    rows = frames[f"table{number}"]
    assert len(rows) == len(KINDS[name]) * SHAPES[name][0]
    for row in rows.itertuples():
        in_layer = selection.keys[(selection.keys["kind"] == row.kind) & (selection.keys["layer"] == row.layer)]
        best = max(in_layer.index, key=lambda place: (selection.deltas[place], -place))
        assert (row.head, row.selection_delta) == (selection.keys["head"][best], selection.deltas[best])
        same = (measured.keys[HEAD] == (row.kind, row.layer, row.head)).all(axis=1)
        assert row.delta == measured.deltas[same][0]


def test_section_3_3_is_compared_with_heads_selected_on_a_separate_set(frames):
    changed = dict(frames)
    for name, share in (("table2", 1.0), ("table3", 1.0), ("table5", 0.0), ("table6", 0.5)):
        worse = np.arange(len(frames[name])) >= share * len(frames[name])
        changed[name] = frames[name].assign(p=np.where(worse, 0.001, 0.5), delta=-1.0)
    ids = ["m19.sec33.layers_ok_wmt", "m19.sec33.layers_ok_bert"]
    layers = len(frames["table6"])
    ours = compared(changed).loc[ids, "ours"].astype(float)
    assert ours.tolist() == pytest.approx([0, 100 * np.ceil(layers / 2) / layers], abs=0.1)


def test_for_table_5_the_best_heads_are_enough():
    keys = pd.DataFrame([(OTHERS, "enc_enc", layer, head) for layer in (1, 2) for head in (1, 2, 3)], columns=KEYS)
    base = np.tile([3.0, 4.0], (5, 1))
    parts = np.stack([np.tile([value, 4.0], (5, 1)) for value in (1, 3, 3, 0, 1, 2)])
    selection = effects.MaskedScores(effects.ACCURACY, keys, base, parts)
    assert effects.best_of_layers(selection).tolist() == [1, 5], "of equal ones the first"
    chosen = selection.only(np.array([5, 1]))
    pd.testing.assert_frame_equal(
        effects.heldout_effects(selection, chosen, 50, 0), effects.heldout_effects(selection, selection, 50, 0)
    )


def test_tied_heads_are_extreme_together():
    generator = np.random.default_rng(0)
    # Multiples of 100 / 12 points, as twelve examples give them; many heads change no answer.
    first, second = generator.choice([0, 0, 0, 1, -1, 2], (2, 40)) * 100 / 12 + 1e-13 * generator.normal(size=(2, 40))
    for count in (1, 5, 40, 60):
        extreme = effects.extreme_heads(first, second, count)
        standard = [np.abs(values - np.median(values)) / values.std() for values in (first, second)]
        distances = np.max(standard, axis=0).round(6)
        farther = [(distances > distance).sum() for distance in distances]
        slow = [bool(distance > 0 and number < count) for distance, number in zip(distances, farther, strict=True)]
        assert extreme.tolist() == slow
    assert not effects.extreme_heads(np.zeros(5), np.ones(5), 2).any(), "no head differs from another"


def test_curves_start_at_the_whole_model_and_have_the_floor_of_chance(frames):
    table = frames["figure3"]
    assert (table.loc[table["percent"] == 0, "delta"] == 0).all()
    assert set(table.loc[table["experiment"] == CLASSIFICATION, "floor"].round(3)) == {33.333}
    row = curve_of(table, CLASSIFICATION, effects.IMPORTANCE).set_index("percent").loc[80]
    raw = pruned_table(CLASSIFICATION).query("order == @effects.IMPORTANCE and percent == 80")
    assert row["score"] == pytest.approx(100 * (raw["answer"] == raw["expected"]).mean())
    rows = curve_of(table, TRANSLATION, effects.ABLATION)
    area = sum(20 * (a + b) / 2 for a, b in itertools.pairwise(rows["score"])) / 100
    assert mean_score(rows) == pytest.approx(area)


@pytest.mark.parametrize(("deltas", "share"), [([0, 0.5, -0.9, -1.1, -5], 40), ([0, -2, 0, 0, 0], 0), ([0, 0, 0, -1, -1], 80)])
def test_heads_can_go_up_to_the_first_step_that_loses_more_than_a_point(deltas, share):
    assert prunable(pd.DataFrame({"percent": [0, 20, 40, 60, 80], "delta": deltas})) == share


def compared(frames, **changed):
    """The comparison, by published value."""
    return shown(tables, frames, SETTINGS | changed)("comparison").frame.set_index("id")


def test_only_values_of_the_papers_own_models_and_data_are_compared(frames):
    frame = compared(frames)
    assert not frame["comparable"].isin(["exact", "close"]).any()
    table2 = frames["table2"].set_index(["kind", "layer"])
    assert frame.loc["m19.tab2.L1.enc_dec", "ours"] == f"{table2.loc[('enc_dec', 1), 'delta']:.4g}"
    frame = compared(frames, classification=RunLabel("Run", "bert", "MNLI", "bert-base-uncased-mnli", "mnli-dev"))
    assert set(frame.loc[["m19.tab3.L01", "m19.fig2b.pearson"], "comparable"]) == {"close"}
    model = "wmt14.en-fr.joined-dict.transformer"
    own = {"translation": "newstest2013", "translation_test": "newstest2014"}
    own = {role: RunLabel("Run", "fairseq", data, model, data) for role, data in own.items()}
    of_test = "m19.tab5.L1.enc_enc"
    assert set(compared(frames, **own).loc[["m19.tab1.L2H04", of_test], "comparable"]) == {"close"}
    other = compared(frames, translation=own["translation"])
    assert other.loc[of_test, "comparable"] == "no", "Table 5 is of newstest2014"


REFERENCES = ["the cat sat on the mat today", "a dog barks at the big red car", "it rains", "she reads a long book at home"] * 6
FEW_MATCHES = [(["x y z w v"], ["a b c d e"]), (["a b x c d"], ["a b c d e"]), (["a"], ["a b c d e"])]


def noisy(share, generator):
    """The references with some of their words exchanged."""
    return [" ".join(w if generator.random() > share else generator.choice(WORDS) for w in text.split()) for text in REFERENCES]


def test_bleu_of_many_resamples_at_once_equals_sacrebleus():
    generator = np.random.default_rng(0)
    cases = [(noisy(share, generator), REFERENCES) for share in (0.0, 0.1, 0.3, 0.7, 1.0)]
    for texts, references in [*cases, *FEW_MATCHES, (["a b c d e f g"], ["a b c d"])]:
        counts = effects.sentence_counts(texts, references)
        weights = generator.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=3)
        slow = [
            BLEU().corpus_score(np.repeat(texts, times).tolist(), [np.repeat(references, times).tolist()]).score
            for times in weights
        ]
        assert effects.bleu(weights @ counts) == pytest.approx(slow, abs=1e-9)


def test_shares_in_training_are_of_the_epochs_whose_full_model_translates():
    generator, parts = np.random.default_rng(0), []
    for epoch, percent, share in ((1, 0, None), (1, 40, None), (2, 0, 0.2), (2, 40, 0.5), (3, 0, 0.0), (3, 40, 0.2)):
        answers = ["z"] * len(REFERENCES) if share is None else noisy(share, generator)
        step = {"epoch": epoch, "percent": percent, "count": percent, "record": range(len(answers))}
        parts.append(pd.DataFrame(step | {"answer": answers, "expected": REFERENCES}))
    tables = effects.training_curves(pd.concat(parts), 50, 0)
    curves = tables["training_curves"].set_index(["epoch", "percent"])
    second, third = (curves.loc[(epoch, 40), "score"] / curves.loc[(epoch, 0), "score"] for epoch in (2, 3))
    assert curves["share"].tolist() == pytest.approx([np.nan, np.nan, 1, second, 1, third], nan_ok=True)
    statistics = tables["training_statistics"].set_index("statistic")
    assert statistics["value"].to_dict() == pytest.approx({"share_gained": third - second, "share_left": third})
    alone = effects.training_curves(pd.concat(parts[:4]), 50, 0)["training_statistics"].set_index("statistic")["value"]
    assert alone.to_dict() == pytest.approx({"share_gained": np.nan, "share_left": second}, nan_ok=True)
