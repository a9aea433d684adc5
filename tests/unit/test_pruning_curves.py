"""Figures 2 to 5, the comparison and the claims of Michel et al., from tables of answers made by hand."""

import inspect
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from text_boxes import words_in

from attention_atlas.io.tables import RunLabel, read_table, write_table
from attention_atlas.methods.head_measures import ALL, CLASSIFICATION, HEAD, KEYS, NONE, ONE, OTHERS, STEP, TRANSLATION
from attention_atlas.methods.importance import Derivatives
from attention_atlas.methods.masked_heads import heads_of
from attention_atlas.published.values import load_published
from attention_atlas.stats.ranks import weighted_pearson
from attention_atlas.studies.michel2019 import figures, tables
from attention_atlas.studies.michel2019.effects import (
    ABLATION,
    ACCURACY,
    BEST,
    CORRELATIONS,
    FIGURE2,
    FIGURE3,
    FIGURE4,
    FIGURE5,
    FURTHER,
    HELDOUT,
    IMPORTANCE,
    RANDOM,
    TABLE1,
    MaskedScores,
    best_of_layers,
    effects,
    extreme_heads,
    heldout_effects,
    masked_scores,
    on_two_corpora,
    training_curves,
)
from attention_atlas.studies.michel2019.tables import PUBLISHED, curve_of, in_words, mean_score, prunable

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
    speed = {IMPORTANCE: 0.3, "recomputed": 0.25, ABLATION: 0.5, HELDOUT: 0.6, RANDOM: 0.8}
    rows = [(order, ALL, draw) for order in speed for draw in range(3 if order == RANDOM else 1)]
    rows += [(IMPORTANCE, kind, 0) for kind in KINDS[experiment]] if experiment == TRANSLATION else []
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


def reread(frame, folder):
    """A table as it stands in its file."""
    write_table(frame, folder / "table.tsv")
    return read_table(folder / "table.tsv")


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """All tables of the study but Table 4, from synthetic answers."""
    folder, generator = tmp_path_factory.mktemp("curves"), np.random.default_rng(0)
    masked = {name: masked_table(name, 2) for name in SHAPES}
    second = [masked_table(name, 3, with_others=False) for name in SHAPES]
    derivatives = []
    for name, (layers, heads) in SHAPES.items():
        units = itertools.product(KINDS[name], range(1, layers + 1), range(1, heads + 1))
        heads_table = pd.DataFrame(list(units), columns=HEAD)
        values = generator.normal(size=(9, len(heads_table)))
        derivatives.append(Derivatives(heads_table, values, np.abs(values), np.full(values.shape, 5.0)))
    epochs = [
        answers(TRANSLATION, min(1.0, (percent / 100) / epoch + 0.4 / epoch), 1).assign(
            epoch=epoch, percent=percent, count=percent // 10
        )
        for epoch in (1, 4)
        for percent in (0, 20, 40, 100)
    ]
    pruned, training = [pruned_table(name) for name in SHAPES], pd.concat(epochs, ignore_index=True)
    measured = effects([*masked.values()], second, derivatives, pruned, SAME_FILES, 2, 4, 100, 0) | training_curves(
        training, 100, 0
    )
    frames = {name: reread(frame, folder) for name, frame in measured.items()}
    frames |= masked | {f"{name}_further": masked_table(name, 5) for name in SHAPES}
    for name in ("table1", "table2", "table3", "table5", "table6"):
        frames[name] = reread(shown(tables, frames)(name).frame, folder)
    copies = {"figure1": "ablation", "figure2": "correlation_heads", "figure3": "pruning_curves"}
    copies |= {"figure4": "pruning_curves_by_kind", "figure5": "training_curves"}
    return frames | {copy: frames[name] for copy, name in copies.items()}


def test_correlations_are_those_of_scipy_and_of_heads_drawn_one_by_one(frames):
    points, table = frames["figure2"], frames["correlations"]
    assert list(points.columns) == FIGURE2
    assert list(table.columns) == CORRELATIONS
    for name, head_rows in points.groupby("experiment"):
        values = table[table["experiment"] == name].set_index("statistic")["value"]
        assert values["pearson"] == pytest.approx(pearsonr(head_rows["delta"], head_rows["second_delta"]).statistic, abs=1e-4)
        assert values["spearman"] == pytest.approx(spearmanr(head_rows["delta"], head_rows["second_delta"]).statistic, abs=1e-4)
        trimmed = head_rows[head_rows["extreme"] == 0]
        assert len(trimmed) == len(head_rows) - 3, "two extremes; the second is tied with a third"
        slow = pearsonr(trimmed["delta"], trimmed["second_delta"]).statistic
        assert values["pearson_without_extremes"] == pytest.approx(slow, abs=1e-4)
    assert (table["ci_low"] <= table["value"]).all()
    assert (table["value"] <= table["ci_high"]).all()
    assert set(table["n"]) == {N}
    assert set(points["second_n"]) == {N}


def test_heads_of_tables_5_and_6_are_chosen_on_one_corpus_and_reported_on_the_other(frames):
    for name, table, role, chosen_on, reported_on in (
        (TRANSLATION, "table5", "translation", "translation", "translation_further"),
        (CLASSIFICATION, "table6", "classification_selection", "classification_further", "classification"),
    ):
        rows = frames[table]
        assert list(rows.columns) == [*FURTHER, PUBLISHED]
        selection, measured = (masked_scores(frames[key], KEYS, name).masking(OTHERS) for key in (chosen_on, reported_on))
        for row in rows.itertuples():
            in_layer = selection.keys[(selection.keys["kind"] == row.kind) & (selection.keys["layer"] == row.layer)]
            best = max(in_layer.index, key=lambda place: (selection.deltas[place], -place))
            assert row.head == selection.keys["head"][best]
            assert row.selection_delta == pytest.approx(selection.deltas[best], abs=1e-3)
            same = (measured.keys[["kind", "layer", "head"]] == (row.kind, row.layer, row.head)).all(axis=1)
            assert row.delta == pytest.approx(measured.deltas[same][0], abs=1e-3)
        assert len(rows) == len(KINDS[name]) * SHAPES[name][0]
        notes = shown(tables, frames)(table).notes
        assert any(f"the same on corpus of {role} (n = {N}), where the head is selected" in note for note in notes)


def test_tables_have_the_published_changes_in_score(frames):
    published = load_published("michel2019")
    for number, columns in ((1, TABLE1), (2, BEST), (3, BEST), (5, None), (6, None)):
        table = frames[f"table{number}"]
        if columns:
            assert list(table.columns) == [*columns, PUBLISHED]
        for row in table.itertuples():
            name = f"m19.tab{number}.L{row.layer}"
            if number == 1:
                name += f"H{row.head:02}" if row.kind == "enc_enc" else ".none"
            elif number in (2, 5):
                name += f".{row.kind}"
            else:
                name = f"m19.tab{number}.L{row.layer:02}"
            if name in published:
                assert row.published_delta == published[name].value, name
            else:
                assert np.isnan(row.published_delta), name
        assert table[PUBLISHED].notna().any()


def test_table_1_begins_with_the_significant_heads_and_its_page_is_that_of_the_paper(frames):
    table = frames["table1"]
    assert table["p"].is_monotonic_increasing
    assert len(table) == 3 * 2 * 4
    for _, tied in table.groupby("p"):
        assert tied["delta"].abs().is_monotonic_decreasing
    kinds = shown(tables, frames)("table1").page["attention"].unique()
    ours = ["encoder self-attention", "encoder-decoder attention", "decoder self-attention"]
    assert [kind for kind in kinds if kind in ours] == ours, "kinds in the order of the paper, whatever their p"


def test_section_3_3_is_compared_with_heads_selected_on_a_separate_set(frames):
    """Tables 2 and 3, whose heads are selected on the reported examples, do not change it."""
    changed = dict(frames)
    for name, share in (("table2", 1.0), ("table3", 1.0), ("table5", 0.0), ("table6", 0.5)):
        worse = np.arange(len(frames[name])) >= share * len(frames[name])
        changed[name] = frames[name].assign(p=np.where(worse, 0.001, 0.5), delta=-1.0)
    ids = ["m19.sec33.layers_ok_wmt", "m19.sec33.layers_ok_bert"]
    layers = len(frames["table6"])
    ours = compared(changed).loc[ids, "ours"].astype(float)
    assert ours.tolist() == pytest.approx([0, 100 * np.ceil(layers / 2) / layers], abs=0.1)
    without = compared({name: frame for name, frame in frames.items() if name not in ("table5", "table6")})
    assert without.loc[ids, "ours"].isna().all()
    assert "names no further corpus (translation_test)" in without.loc[ids[0], "why"]


def test_for_table_5_the_best_heads_are_enough():
    """Answers of other heads than the chosen ones are not needed on the corpus that is reported."""
    keys = pd.DataFrame([(OTHERS, "enc_enc", layer, head) for layer in (1, 2) for head in (1, 2, 3)], columns=KEYS)
    base = np.tile([3.0, 4.0], (5, 1))
    parts = np.stack([np.tile([value, 4.0], (5, 1)) for value in (1, 3, 3, 0, 1, 2)])
    selection = MaskedScores(ACCURACY, keys, base, parts)
    assert best_of_layers(selection).tolist() == [1, 5], "of equal ones the first"
    chosen = selection.only(np.array([5, 1]))
    pd.testing.assert_frame_equal(heldout_effects(selection, chosen, 50, 0), heldout_effects(selection, selection, 50, 0))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 3)), min_size=3, max_size=12))
def test_weights_are_repetitions(rows):
    first, second, weights = (np.asarray(column, dtype=float) for column in zip(*rows, strict=True))
    if weights.sum() == 0:
        return
    r = weighted_pearson(first, second, weights[None])[0]
    repeated = [np.repeat(values, weights.astype(int)) for values in (first, second)]
    if min(values.std() for values in repeated) < 1e-9:
        assert np.isnan(r)
    else:
        assert r == pytest.approx(np.corrcoef(*repeated)[0, 1], abs=1e-9)


def test_where_nothing_differs_there_is_no_correlation():
    """A model whose heads change no answer but one: without that head both sides are constant."""
    table = masked_table(CLASSIFICATION, 2, with_others=False)
    same = (table["masked"] == ONE) & ~((table["layer"] == 2) & (table["head"] == 3))
    table.loc[same, "answer"] = table.loc[same, "expected"]
    table.loc[table["masked"] == NONE, "answer"] = table.loc[table["masked"] == NONE, "expected"]
    scores = masked_scores(table, KEYS, CLASSIFICATION).masking(ONE)
    by_statistic = on_two_corpora(CLASSIFICATION, scores, scores, True, 1, 50, 0)[1].set_index("statistic")
    assert by_statistic.loc["pearson", "value"] == pytest.approx(1)
    assert np.isnan(by_statistic.loc["pearson_without_extremes", "value"])
    assert by_statistic["ci_low"].dtype == float, "an empty cell, not a word"
    assert in_words(float("nan"), 0, 0) == "undefined"
    assert in_words(0.5, 0.25, 0.75) == "0.50 (0.25 to 0.75)"


def test_heads_far_from_the_median_of_either_corpus_are_extreme():
    first, second = np.asarray([0.0, 0.1, 9.0, 0.2, 0.1]), np.asarray([0.0, 0.3, 0.1, -0.1, 5.0])
    assert extreme_heads(first, second, 2).tolist() == [False, False, True, False, True]
    assert extreme_heads(first, first * 0, 1).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("seed", range(10))
def test_tied_heads_are_extreme_together_in_any_order(seed):
    generator = np.random.default_rng(seed)
    # Multiples of 100 / 12 points, as twelve examples give them; many heads change no answer.
    first, second = generator.choice([0, 0, 0, 1, -1, 2], (2, 40)) * 100 / 12 + 1e-13 * generator.normal(size=(2, 40))
    order = generator.permutation(40)
    for count in (1, 5, 40, 60):
        extreme = extreme_heads(first, second, count)
        assert extreme[order].tolist() == extreme_heads(first[order], second[order], count).tolist()
        standard = [np.abs(values - np.median(values)) / values.std() for values in (first, second)]
        distances = np.max(standard, axis=0).round(6)
        farther = [(distances > distance).sum() for distance in distances]
        slow = [bool(distance > 0 and number < count) for distance, number in zip(distances, farther, strict=True)]
        assert extreme.tolist() == slow
    assert not extreme_heads(np.zeros(5), np.ones(5), 2).any(), "no head differs from another"


def test_without_the_extremes_no_head_may_be_left():
    """Half of the heads spoil one answer, the others correct one: all are as far from the median."""
    table = masked_table(CLASSIFICATION, 2, with_others=False)
    table["answer"] = table["expected"]
    records, odd = sorted(table["record"].unique()), table["head"] % 2 == 1
    wrong = (table["masked"] == NONE) & (table["record"] == records[0])
    wrong |= (table["masked"] == ONE) & odd & table["record"].isin(records[:2])
    table.loc[wrong, "answer"] = "another answer"
    scores = masked_scores(table, KEYS, CLASSIFICATION).masking(ONE)
    agreement = on_two_corpora(CLASSIFICATION, scores, scores, True, 1, 50, 0)[1]
    trimmed = agreement.set_index("statistic").loc["pearson_without_extremes"]
    assert trimmed["heads"] == 0
    assert np.isnan(trimmed["value"])


def test_curves_start_at_the_whole_model_and_have_the_floor_of_chance(frames):
    table = frames["figure3"]
    assert list(table.columns) == FIGURE3
    start = table[table["percent"] == 0]
    assert (start["delta"] == 0).all()
    assert (start["score"] == start["baseline"]).all()
    assert set(table.loc[table["experiment"] == CLASSIFICATION, "floor"].round(3)) == {33.333}
    curve = table[(table["experiment"] == CLASSIFICATION) & (table["order"] == IMPORTANCE)].set_index("percent")
    raw = pruned_table(CLASSIFICATION)
    raw = raw[(raw["order"] == IMPORTANCE) & (raw["percent"] == 80)]
    assert curve.loc[80, "score"] == pytest.approx(100 * (raw["answer"] == raw["expected"]).mean(), abs=1e-3)
    assert curve.loc[80, "ci_low"] <= curve.loc[80, "score"] <= curve.loc[80, "ci_high"]
    assert curve.loc[80, "delta"] == pytest.approx(curve.loc[80, "score"] - curve.loc[80, "baseline"], abs=1e-3)
    by_kind = frames["figure4"]
    assert list(by_kind.columns) == FIGURE4
    assert by_kind.groupby("kind").size().to_dict() == dict.fromkeys(KINDS[TRANSLATION], 6)
    assert set(by_kind["heads"]) == {8}


def test_the_mean_of_a_curve_is_its_area(frames):
    rows = curve_of(frames["figure3"], TRANSLATION, ABLATION)
    area = sum(20 * (a + b) / 2 for a, b in itertools.pairwise(rows["score"])) / 100
    assert mean_score(rows) == pytest.approx(area)


@pytest.mark.parametrize(
    ("deltas", "share"),
    [([0, 0.5, -0.9, -1.1, -5], 40), ([0, -2, 0, 0, 0], 0), ([0, -0.2, -0.3, -1, -1], 80), ([0, -3, -3, -3, -3], 0)],
)
def test_heads_can_go_up_to_the_first_step_that_loses_more_than_a_point(deltas, share):
    assert prunable(pd.DataFrame({"percent": [0, 20, 40, 60, 80], "delta": deltas})) == share


def compared(frames, **changed):
    """The comparison, by published value."""
    return shown(tables, frames, SETTINGS | changed)("comparison").frame.set_index("id")


def test_every_published_value_has_a_row_and_none_is_compared_with_another_model(frames):
    frame = compared(frames)
    assert list(frame.index) == list(load_published("michel2019"))
    assert not frame["comparable"].isin(["exact", "close"]).any()
    assert frame.loc["m19.tab1.L2H04", "verdict"] == "not comparable"
    assert frame.loc["m19.tab1.L6H16", "verdict"] == "not computed", "this model has no such head"
    assert frame.loc["m19.tab4.b16.speedup", "why"].startswith("times differ")
    table2 = frames["table2"].set_index(["kind", "layer"])
    assert frame.loc["m19.tab2.L1.enc_dec", "ours"] == f"{table2.loc[('enc_dec', 1), 'delta']:.4g}"
    assert frame.loc["m19.fig5.bleu_by_epoch", "why"].endswith("1 of 8 values")


def test_the_papers_own_classifier_is_compared(frames):
    frame = compared(frames, classification=RunLabel("Run", "bert", "MNLI", "bert-base-uncased-mnli", "mnli-dev"))
    assert set(frame.loc[["m19.tab3.L01", "m19.fig2b.pearson"], "comparable"]) == {"close"}
    assert frame.loc["m19.tab3.L02", "verdict"] in ("match", "covered by our interval", "differs")
    assert frame.loc["m19.tab3.L02", "comparable"] == "close"
    assert frame.loc["m19.tab6.L01", "comparable"] == "close"
    assert frame.loc["m19.tab1.L2H04", "obstacle"] == "another model and another corpus"
    assert frame.loc["m19.rerun.mnli.importance_curve", "comparable"] == "no", "other steps than the rerun's"


def test_the_papers_own_translation_model_is_compared(frames):
    model = "wmt14.en-fr.joined-dict.transformer"
    own = {role: RunLabel("Run", "fairseq", data, model, data) for role, data in (
        ("translation", "newstest2013"), ("translation_test", "newstest2014"),
    )}  # fmt: skip
    frame = compared(frames, **own)
    assert set(
        frame.loc[["m19.tab1.base_bleu", "m19.tab1.L2H04", "m19.tab2.L1.enc_enc", "m19.tab5.L1.enc_enc"], "comparable"]
    ) == {"close"}
    assert "tokenised BLEU" in frame.loc["m19.tab1.base_bleu", "why"]
    other = compared(frames, translation=own["translation"])
    assert other.loc["m19.tab5.L1.enc_enc", "comparable"] == "no", "Table 5 is of newstest2014"


def test_a_share_of_heads_printed_a_little_too_large_is_named(frames):
    table = frames["head_importance"]
    heads = table[(table["task"] == CLASSIFICATION) & (table["head"] == 1)]
    more = [heads.assign(head=head) for head in range(5, 13)]
    row = compared(frames | {"head_importance": pd.concat([table, *more])}).loc["m19.sec43.param_bert"]
    assert (row["ours"], row["verdict"]) == ("8.333", "not comparable")
    assert row["why"].endswith("One of 12 is 8.33 %, printed as 8.34")


def test_claims_follow_from_the_tables(frames):
    claims = shown(tables, frames)("claims").frame.set_index("claim")
    assert len(claims) == 26
    without = {name: frame for name, frame in frames.items() if name != "figure5"}
    assert len(shown(tables, without)("claims").frame) == 24, "a run that follows no training"

    def verdict(start):
        (matching,) = [row["verdict"] for claim, row in claims.iterrows() if claim.startswith(start)]
        return matching

    assert verdict("Encoder-decoder attention suffers") == "holds"
    assert verdict("Translation: pruning by importance beats pruning by effects") == "holds"
    assert verdict("Heads become redundant") == "holds"
    assert verdict("Encoder attention: masking a head raises") == "does not hold", "each head spoils sentences"
    assert (
        claims.loc["Classification: in most layers one head is enough: less than one percentage point is lost (Table 3)", "n"]
        == N
    )
    table1 = frames["table1"]
    lowered = int(((table1["kind"] == "enc_enc") & (table1["delta"] < 0)).sum())
    claim_row = next(row for claim, row in claims.iterrows() if claim.startswith("Encoder attention: masking a head raises"))
    assert f"falls for {lowered} and" in claim_row["ours"]
    curve = curve_of(frames["figure3"], TRANSLATION, IMPORTANCE)
    claim_row = next(row for claim, row in claims.iterrows() if claim.startswith("Translation: 20 %"))
    assert f"up to {prunable(curve)} %" in claim_row["ours"]
    claim_row = next(row for claim, row in claims.iterrows() if claim.startswith("Translation: importance orders heads"))
    assert f"importance {mean_score(curve):.1f}, 3 random orders" in claim_row["ours"]


DRAWN = {
    "figure1": "published: 96 encoder heads",
    "figure2": "without extremes",
    "figure3": "Most frequent label: 33 %",
    "figure4": "Encoder-decoder (8 heads)",
    "figure5": "epoch 4: BLEU",
}


@pytest.mark.parametrize("name", DRAWN)
def test_figures_are_drawn_and_say_what_they_show(frames, name, tmp_path):
    saved = [{kind: tmp_path / f"{number}.{kind}" for kind in ("svg", "png", "pdf", "tsv")} for number in range(2)]
    for files in saved:
        shown(figures, frames)(name).write(files, SETTINGS)
    assert all(saved[0][kind].read_bytes() == saved[1][kind].read_bytes() for kind in saved[0])
    assert DRAWN[name] in words_in(saved[0]["svg"])
    assert "generated text" in words_in(saved[0]["svg"])
    columns = {"figure2": FIGURE2, "figure3": FIGURE3, "figure4": FIGURE4, "figure5": FIGURE5}.get(name)
    assert columns is None or list(read_table(saved[0]["tsv"]).columns) == columns


def test_heads_of_a_model_come_in_the_order_of_its_masks():
    from attention_atlas.attention.plans import DECODER_CROSS, DECODER_SELF, ENCODER_SELF

    heads = heads_of({ENCODER_SELF: (2, 2), DECODER_SELF: (1, 2), DECODER_CROSS: (1, 2)})
    assert heads["kind"].tolist() == ["enc_enc"] * 4 + ["enc_dec"] * 2 + ["dec_dec"] * 2
    assert heads[["layer", "head"]].to_numpy().tolist()[:4] == [[1, 1], [1, 2], [2, 1], [2, 2]]
