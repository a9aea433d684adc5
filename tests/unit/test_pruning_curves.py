"""Figures 2 to 5, the comparison and the claims of Michel et al., from tables of answers made by hand."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from text_boxes import words_in

from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_parquet
from attention_atlas.methods.importance import Derivatives
from attention_atlas.methods.masking import heads_of
from attention_atlas.methods.names import ALL, CLASSIFICATION, HEAD, KEYS, NONE, ONE, OTHERS, STEP, TRANSLATION
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019.ablation_tables import BEST, PUBLISHED_DELTA, TABLE1, ablation_tables
from attention_atlas.studies.michel2019.best_heads import table2, table3
from attention_atlas.studies.michel2019.comparison import comparison
from attention_atlas.studies.michel2019.correlations import (
    CORRELATIONS,
    FIGURE2,
    correlations,
    extreme_heads,
    in_words,
    weighted_pearson,
)
from attention_atlas.studies.michel2019.curves import (
    FIGURE3,
    FIGURE4,
    FIGURE5,
    dynamics_table,
    mean_curves,
    prunable,
    pruning_curves,
)
from attention_atlas.studies.michel2019.effects import ACCURACY, MaskedScores, best_heads, one_head_left
from attention_atlas.studies.michel2019.figure1 import figure1
from attention_atlas.studies.michel2019.figure2 import figure2
from attention_atlas.studies.michel2019.figure3 import figure3
from attention_atlas.studies.michel2019.figure4 import figure4
from attention_atlas.studies.michel2019.figure5 import figure5
from attention_atlas.studies.michel2019.head_importance import importance_table
from attention_atlas.studies.michel2019.heldout_heads import COLUMNS as HELDOUT_COLUMNS
from attention_atlas.studies.michel2019.heldout_heads import TABLE5, baseline_warning, heldout_rows, table5, table6
from attention_atlas.studies.michel2019.names import (
    ABLATION,
    ANOTHER_CORPUS,
    HELDOUT,
    IMPORTANCE,
    ORDER_TITLES,
    RANDOM,
    SAME_FILE,
)
from attention_atlas.studies.michel2019.pruned_answers import _gradient_rows
from attention_atlas.studies.michel2019.table1 import table1

SHAPES = {TRANSLATION: (2, 4), CLASSIFICATION: (3, 4)}
KINDS = {TRANSLATION: ("enc_enc", "enc_dec", "dec_dec"), CLASSIFICATION: ("enc_enc",)}
ROLES = [f"{name}{part}" for name in SHAPES for part in ("", "_other", "_importance")]
SETTINGS = {role: RunLabel("Small run", "tiny", f"corpus of {role}", sample=True) for role in ROLES}
WORDS = "a cat sees the old red house near two dogs today while it rains".split()
N = 60
OTHERS_OF = {TRANSLATION: ANOTHER_CORPUS, CLASSIFICATION: SAME_FILE}
ABLATION_FILES = ("figure1.tsv", "best2.tsv", "best3.tsv", "ablation_statistics.tsv")
TRANSLATOR = "tiny-translator, 2 encoder and 2 decoder layers of 4 heads"


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All tables of the study but Table 4, from synthetic answers."""
    folder = tmp_path_factory.mktemp("curves")
    generator = np.random.default_rng(0)
    masked, second, pruned, gradients = {}, {}, {}, {}
    for name, (layers, heads) in SHAPES.items():
        masked[name], second[name] = folder / f"masked_{name}.parquet", folder / f"second_{name}.parquet"
        pruned[name], gradients[name] = folder / f"pruned_{name}.parquet", folder / f"gradients_{name}.parquet"
        write_parquet(masked_table(name, 2), masked[name])
        write_parquet(masked_table(name, 3, with_others=False), second[name])
        write_parquet(pruned_table(name), pruned[name])
        units = itertools.product(KINDS[name], range(1, layers + 1), range(1, heads + 1))
        heads_table = pd.DataFrame(list(units), columns=HEAD)
        values = generator.normal(size=(9, len(heads_table)))
        derivatives = Derivatives(heads_table, values, np.abs(values), np.full(values.shape, 5.0))
        write_parquet(_gradient_rows(derivatives, [type("E", (), {"record": k})() for k in range(9)]), gradients[name])
    both_settings = {name: SETTINGS[name] for name in SHAPES}
    ablation_tables(masked, 100, 0, *(folder / name for name in ABLATION_FILES))
    table1(folder / "figure1.tsv", SETTINGS[TRANSLATION], TRANSLATOR, folder / "table1.tsv", folder / "table1.html")
    table2(folder / "best2.tsv", SETTINGS[TRANSLATION], TRANSLATOR, folder / "table2.tsv", folder / "table2.html")
    table3(folder / "best3.tsv", SETTINGS[CLASSIFICATION], folder / "table3.tsv", folder / "table3.html")
    outs = [folder / name for name in ("figure2.tsv", "correlations.tsv", "correlations.html")]
    of_figure2 = {role: SETTINGS[role] for role in ROLES if "importance" not in role}
    correlations(masked, second, of_figure2, TRANSLATOR, 2, OTHERS_OF, 200, 0, *outs)
    scored = {f"{name}_importance": SETTINGS[f"{name}_importance"] for name in SHAPES}
    models = dict.fromkeys(SHAPES, "tiny")
    outs = [folder / name for name in ("head_importance.tsv", "head_importance.html", "importance_statistics.tsv")]
    importance_table(gradients, models, scored, 4, 100, 0, *outs)
    outs = [folder / f for f in ("figure3.tsv", "figure4.tsv", "pruning.tsv", "pruning.html", "pruning_statistics.tsv")]
    pruning_curves(pruned, both_settings, TRANSLATOR, 100, 0, *outs)
    for name, table, role in ((TRANSLATION, table5, "translation_test"), (CLASSIFICATION, table6, "classification_selection")):
        write_parquet(masked_table(name, 5), folder / f"heldout_{name}.parquet")
        labels = SETTINGS[name], RunLabel("Small run", "tiny", f"corpus of {role}", sample=True)
        outs = [folder / f"{table.__name__}.{ending}" for ending in ("tsv", "html")]
        model = [TRANSLATOR] if name == TRANSLATION else []
        table(masked[name], folder / f"heldout_{name}.parquet", *labels, *model, 100, 0, *outs)
    epochs = [
        answers(TRANSLATION, min(1.0, (percent / 100) / epoch + 0.4 / epoch), 1).assign(
            epoch=epoch, percent=percent, count=percent // 10
        )
        for epoch in (1, 4)
        for percent in (0, 20, 40, 100)
    ]
    write_parquet(pd.concat(epochs, ignore_index=True), folder / "dynamics.parquet")
    dynamics_table(folder / "dynamics.parquet", 100, 0, folder / "figure5.tsv", folder / "figure5_statistics.tsv")
    return folder


def test_correlations_are_those_of_scipy_and_of_heads_drawn_one_by_one(folder):
    points, table = (pd.read_csv(folder / f"{name}.tsv", sep="\t") for name in ("figure2", "correlations"))
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
    assert (points["ci_low"] <= points["delta"]).mean() > 0.95, "a percentile interval may miss a head"
    assert set(points["second_n"]) == {N}
    page = (folder / "correlations.html").read_text(encoding="utf-8")
    assert "Classification: the second data are another part of the same file" in page
    assert "Translation: the second data" not in page


def test_heads_of_tables_5_and_6_are_chosen_on_one_corpus_and_reported_on_the_other(folder):
    for name, table, chosen_on, reported_on in (
        (TRANSLATION, "table5", "masked", "heldout"),
        (CLASSIFICATION, "table6", "heldout", "masked"),
    ):
        rows = pd.read_csv(folder / f"{table}.tsv", sep="\t")
        assert list(rows.columns) == (TABLE5 if table == "table5" else HELDOUT_COLUMNS)
        selection, measured = (one_head_left(folder / f"{part}_{name}.parquet", name) for part in (chosen_on, reported_on))
        for row in rows.itertuples():
            in_layer = selection.keys[(selection.keys["kind"] == row.kind) & (selection.keys["layer"] == row.layer)]
            best = max(in_layer.index, key=lambda place: (selection.deltas[place], -place))
            assert row.head == selection.keys["head"][best]
            assert row.selection_delta == pytest.approx(selection.deltas[best], abs=1e-3)
            same = (measured.keys[["kind", "layer", "head"]] == (row.kind, row.layer, row.head)).all(axis=1)
            assert row.delta == pytest.approx(measured.deltas[same][0], abs=1e-3)
        assert len(rows) == len(KINDS[name]) * SHAPES[name][0]
        assert "selected on corpus of" in (folder / f"{table}.html").read_text(encoding="utf-8")


def test_tables_have_the_published_changes_in_score(folder):
    published = load_published("michel2019")
    for number, columns in ((1, TABLE1), (2, BEST), (3, BEST), (5, None), (6, None)):
        table = pd.read_csv(folder / f"table{number}.tsv", sep="\t")
        if columns:
            assert list(table.columns) == [*columns, PUBLISHED_DELTA]
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
        assert table[PUBLISHED_DELTA].notna().any()


def test_table_1_begins_with_the_significant_heads_and_its_page_is_that_of_the_paper(folder):
    table = pd.read_csv(folder / "table1.tsv", sep="\t")
    assert table["p"].is_monotonic_increasing
    assert len(table) == 3 * 2 * 4
    for _, tied in table.groupby("p"):
        assert tied["delta"].abs().is_monotonic_decreasing
    page = (folder / "table1.html").read_text(encoding="utf-8")
    kinds = ("encoder self-attention", "encoder-decoder attention", "decoder self-attention")
    places = [page.index(f"<td>{kind}</td>") for kind in kinds]
    assert places == sorted(places), "kinds in the order of the paper, whatever their p"


def test_section_3_3_is_compared_with_heads_selected_on_a_separate_set(folder, tmp_path):
    """Tables 2 and 3, whose heads are selected on the reported examples, do not change it."""
    changed = tmp_path / "changed"
    changed.mkdir()
    for path in folder.glob("*.tsv"):
        (changed / path.name).write_bytes(path.read_bytes())
    for name, share in (("table2", 1.0), ("table3", 1.0), ("table5", 0.0), ("table6", 0.5)):
        table = pd.read_csv(changed / f"{name}.tsv", sep="\t")
        worse = np.arange(len(table)) >= share * len(table)
        table.assign(p=np.where(worse, 0.001, 0.5), delta=-1.0).to_csv(changed / f"{name}.tsv", sep="\t", index=False)
    frame, _ = compare(changed, tmp_path)
    ids = ["m19.sec33.layers_ok_wmt", "m19.sec33.layers_ok_bert"]
    layers = len(pd.read_csv(folder / "table6.tsv", sep="\t"))
    assert frame.loc[ids, "ours"].astype(float).tolist() == pytest.approx([0, 100 * np.ceil(layers / 2) / layers], abs=0.1)
    without, _ = compare(folder, tmp_path, left_out=("table5", "table6"))
    assert without.loc[ids, "ours"].isna().all()
    assert "names no further corpus (translation_test)" in without.loc[ids[0], "why"]


def test_a_table_whose_heads_do_better_on_new_data_warns_of_the_full_model(folder):
    """Selection favours a head on the data that selected it: where most lose less elsewhere, the baseline is low there."""
    rows = pd.DataFrame({"delta": [2.0, 3.0, -1.0], "selection_delta": [0.5, 0.7, -0.5], "baseline": 45.04})
    (warning,) = baseline_warning(rows)
    assert warning.startswith("Warning: 2 of 3 layers lose less")
    assert "2 score above the full model" in warning
    assert "45.04" in warning
    assert baseline_warning(rows.assign(delta=[0.4, 3.0, -1.0])) == []
    assert baseline_warning(rows.assign(delta=rows["selection_delta"])) == [], "equal changes favour nothing"
    # As on the page of a table.
    table = pd.read_csv(folder / "table5.tsv", sep="\t")
    page = (folder / "table5.html").read_text(encoding="utf-8")
    assert ("Warning: " in page) == bool(baseline_warning(table))


def test_overlong_translations_are_counted_on_both_corpora(tmp_path):
    """Of the full model and under each mask; a translation of 1.5 times the words of its reference is not overlong."""
    table = masked_table(TRANSLATION, 2, with_others=False)
    table["answer"] = table["expected"]
    long = " ".join(WORDS) + " " + " ".join(WORDS[:1])
    unmasked = table["masked"] == NONE
    first_head = (table["kind"] == "enc_enc") & (table["layer"] == 1) & (table["head"] == 1)
    second = table.copy()
    table.loc[first_head & (table["record"] < 3), "answer"] = long
    second.loc[unmasked & (second["record"] < 5), "answer"] = long
    second.loc[unmasked & (second["record"] == 9), "answer"] = " ".join(WORDS[:10])
    for part, name in ((table, "m"), (second, "s")):
        write_parquet(part, tmp_path / f"{name}.parquet")
    outs = [tmp_path / name for name in ("figure2.tsv", "correlations.tsv", "correlations.html")]
    both = {role: SETTINGS[role] for role in (TRANSLATION, f"{TRANSLATION}_other")}
    paths = ({TRANSLATION: tmp_path / "m.parquet"}, {TRANSLATION: tmp_path / "s.parquet"})
    correlations(*paths, both, TRANSLATOR, 1, OTHERS_OF, 50, 0, *outs)
    heads = read_table(outs[0])
    assert set(heads["overlong_unmasked"]) == {0}
    assert set(heads["second_overlong_unmasked"]) == {5}
    assert heads.set_index(["kind", "layer", "head"])["overlong"].to_dict() == {
        key: 3 if key == ("enc_enc", 1, 1) else 0 for key in zip(heads["kind"], heads["layer"], heads["head"], strict=True)
    }
    assert set(heads["second_overlong"]) == {0}
    assert heads["second_baseline"].iloc[0] < heads["baseline"].iloc[0] == pytest.approx(100)
    page = outs[2].read_text(encoding="utf-8")
    assert f"second corpus: {len(heads)} of {len(heads)} heads score above the full model" in page
    assert f"Of {N} translations of the full model 5 are overlong" in page


def test_for_table_5_the_best_heads_are_enough():
    """Answers of other heads than the chosen ones are not needed on the corpus that is reported."""
    keys = pd.DataFrame([(OTHERS, "enc_enc", layer, head) for layer in (1, 2) for head in (1, 2, 3)], columns=KEYS)
    base = np.tile([3.0, 4.0], (5, 1))
    parts = np.stack([np.tile([value, 4.0], (5, 1)) for value in (1, 3, 3, 0, 1, 2)])
    selection = MaskedScores(ACCURACY, keys, base, parts)
    assert best_heads(selection) == [("enc_enc", 1, 2), ("enc_enc", 2, 3)], "of equal ones the first"
    chosen = selection.only(np.array([5, 1]))
    pd.testing.assert_frame_equal(heldout_rows(selection, chosen, 50, 0), heldout_rows(selection, selection, 50, 0))


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


def test_where_nothing_differs_there_is_no_correlation(tmp_path):
    """A model whose heads change no answer but one: without that head both sides are constant."""
    table = masked_table(CLASSIFICATION, 2, with_others=False)
    same = (table["masked"] == ONE) & ~((table["layer"] == 2) & (table["head"] == 3))
    table.loc[same, "answer"] = table.loc[same, "expected"]
    table.loc[table["masked"] == NONE, "answer"] = table.loc[table["masked"] == NONE, "expected"]
    write_parquet(table, tmp_path / "m.parquet")
    outs = [tmp_path / name for name in ("figure2.tsv", "correlations.tsv", "correlations.html")]
    paths = {CLASSIFICATION: tmp_path / "m.parquet"}
    correlations(paths, paths, {CLASSIFICATION: SETTINGS[CLASSIFICATION]}, TRANSLATOR, 1, OTHERS_OF, 50, 0, *outs)
    by_statistic = read_table(outs[1]).set_index("statistic")
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


def test_without_the_extremes_no_head_may_be_left(tmp_path):
    """Half of the heads spoil one answer, the others correct one: all are as far from the median."""
    table = masked_table(CLASSIFICATION, 2, with_others=False)
    table["answer"] = table["expected"]
    records, odd = sorted(table["record"].unique()), table["head"] % 2 == 1
    wrong = (table["masked"] == NONE) & (table["record"] == records[0])
    wrong |= (table["masked"] == ONE) & odd & table["record"].isin(records[:2])
    table.loc[wrong, "answer"] = "another answer"
    write_parquet(table, tmp_path / "m.parquet")
    outs = [tmp_path / name for name in ("figure2.tsv", "correlations.tsv", "correlations.html")]
    paths = {CLASSIFICATION: tmp_path / "m.parquet"}
    correlations(paths, paths, {CLASSIFICATION: SETTINGS[CLASSIFICATION]}, TRANSLATOR, 1, OTHERS_OF, 50, 0, *outs)
    trimmed = read_table(outs[1]).set_index("statistic").loc["pearson_without_extremes"]
    assert trimmed["heads"] == 0
    assert np.isnan(trimmed["value"])
    assert "all that are tied" in outs[2].read_text(encoding="utf-8")


def test_curves_start_at_the_whole_model_and_have_the_floor_of_chance(folder):
    table = pd.read_csv(folder / "figure3.tsv", sep="\t")
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
    by_kind = pd.read_csv(folder / "figure4.tsv", sep="\t")
    assert list(by_kind.columns) == FIGURE4
    assert by_kind.groupby("kind").size().to_dict() == dict.fromkeys(KINDS[TRANSLATION], 6)
    assert set(by_kind["heads"]) == {8}


def test_the_random_band_is_mean_least_and_most_of_the_orders(folder):
    table = pd.read_csv(folder / "figure3.tsv", sep="\t")
    mean = mean_curves(table)
    draws = table[(table["experiment"] == TRANSLATION) & (table["order"] == RANDOM) & (table["percent"] == 60)]
    random_mean = mean[(mean["experiment"] == TRANSLATION) & (mean["order"] == RANDOM) & (mean["percent"] == 60)].iloc[0]
    assert len(draws) == 3
    assert random_mean["score"] == pytest.approx(draws["score"].mean())
    assert (random_mean["ci_low"], random_mean["ci_high"]) == pytest.approx((draws["score"].min(), draws["score"].max()))
    summary = pd.read_csv(folder / "pruning.tsv", sep="\t").set_index(["experiment", "order"])
    assert set(summary.loc[TRANSLATION].index) == set(ORDER_TITLES)
    rows = table[(table["experiment"] == TRANSLATION) & (table["order"] == ABLATION)]
    area = sum(20 * (a + b) / 2 for a, b in itertools.pairwise(rows["score"])) / 100
    assert summary.loc[(TRANSLATION, ABLATION), "mean"] == pytest.approx(area, rel=1e-4)


@pytest.mark.parametrize(
    ("deltas", "share"),
    [([0, 0.5, -0.9, -1.1, -5], 40), ([0, -2, 0, 0, 0], 0), ([0, -0.2, -0.3, -1, -1], 80), ([0, -3, -3, -3, -3], 0)],
)
def test_heads_can_go_up_to_the_first_step_that_loses_more_than_a_point(deltas, share):
    assert prunable(pd.DataFrame({"percent": [0, 20, 40, 60, 80], "delta": deltas})) == share


def compare(folder, tmp_path, left_out=(), **changed):
    names = ("table1", "table2", "table3", "correlations", "pruning", "figure3", "figure4", "figure5", "head_importance")
    names += ("table5", "table6")
    names += tuple(f"{part}_statistics" for part in ("ablation", "pruning", "importance", "figure5"))
    tables = {name: [] if name in left_out else folder / f"{name}.tsv" for name in names}
    outs = [tmp_path / name for name in ("comparison.tsv", "comparison.html", "claims.tsv", "claims.html")]
    comparison(tables, SETTINGS | changed, "paper", TRANSLATOR, *outs)
    frame, claims = (pd.read_csv(tmp_path / f"{name}.tsv", sep="\t") for name in ("comparison", "claims"))
    return frame.set_index("id"), claims.set_index("claim")


def test_every_published_value_has_a_row_and_none_is_compared_with_another_model(folder, tmp_path):
    frame, _ = compare(folder, tmp_path)
    assert list(frame.index) == list(load_published("michel2019"))
    assert not frame["comparable"].isin(["exact", "close"]).any()
    assert frame.loc["m19.tab1.L2H04", "verdict"] == "not comparable"
    assert frame.loc["m19.tab1.L6H16", "verdict"] == "not computed", "this model has no such head"
    assert frame.loc["m19.tab4.b16.speedup", "why"].startswith("times differ")
    table2 = pd.read_csv(folder / "table2.tsv", sep="\t").set_index(["kind", "layer"])
    assert frame.loc["m19.tab2.L1.enc_dec", "ours"] == f"{table2.loc[('enc_dec', 1), 'delta']:.4g}"
    assert "Spearman" in frame.loc["m19.fig2a.pearson", "why"]
    assert frame.loc["m19.fig5.bleu_by_epoch", "why"].endswith("1 of 8 values")


def test_the_papers_own_classifier_is_compared(folder, tmp_path):
    papers_setting = RunLabel("Run", "bert", "MNLI", "bert-base-uncased-mnli", "mnli-dev")
    frame, _ = compare(folder, tmp_path, classification=papers_setting)
    assert set(frame.loc[["m19.tab3.L01", "m19.fig2b.pearson"], "comparable"]) == {"close"}
    assert frame.loc["m19.tab3.L02", "verdict"] in ("match", "covered by our interval", "differs")
    assert frame.loc["m19.tab3.L02", "scope"] == "could be covered"
    assert frame.loc["m19.tab6.L01", "comparable"] == "close"
    assert frame.loc["m19.tab1.L2H04", "scope"] == "not in this run"
    assert frame.loc["m19.rerun.mnli.importance_curve", "comparable"] == "no", "other steps than the rerun's"


def test_the_papers_own_translation_model_is_compared(folder, tmp_path):
    model = "wmt14.en-fr.joined-dict.transformer"
    own = {role: RunLabel("Run", "fairseq", data, model, data) for role, data in (
        ("translation", "newstest2013"), ("translation_test", "newstest2014"),
    )}  # fmt: skip
    frame, _ = compare(folder, tmp_path, **own)
    assert set(
        frame.loc[["m19.tab1.base_bleu", "m19.tab1.L2H04", "m19.tab2.L1.enc_enc", "m19.tab5.L1.enc_enc"], "comparable"]
    ) == {"close"}
    assert "tokenised BLEU" in frame.loc["m19.tab1.base_bleu", "why"]
    other, _ = compare(folder, tmp_path, translation=own["translation"])
    assert other.loc["m19.tab5.L1.enc_enc", "comparable"] == "no", "Table 5 is of newstest2014"


def test_a_share_of_heads_printed_a_little_too_large_is_named(folder, tmp_path):
    table = pd.read_csv(folder / "head_importance.tsv", sep="\t")
    heads = table[(table["task"] == CLASSIFICATION) & (table["head"] == 1)]
    more = [heads.assign(head=head) for head in range(5, 13)]
    (tmp_path / "wide").mkdir()
    for path in folder.glob("*.tsv"):
        (tmp_path / "wide" / path.name).write_bytes(path.read_bytes())
    pd.concat([table, *more]).to_csv(tmp_path / "wide/head_importance.tsv", sep="\t", index=False)
    frame, _ = compare(tmp_path / "wide", tmp_path)
    row = frame.loc["m19.sec43.param_bert"]
    assert (row["ours"], row["verdict"]) == ("8.333", "not comparable")
    assert row["why"].endswith("One of 12 is 8.33 %, printed as 8.34")


def test_claims_follow_from_the_tables(folder, tmp_path):
    _, claims = compare(folder, tmp_path)

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
    table1 = pd.read_csv(folder / "table1.tsv", sep="\t")
    lowered = int(((table1["kind"] == "enc_enc") & (table1["delta"] < 0)).sum())
    claim_row = next(row for claim, row in claims.iterrows() if claim.startswith("Encoder attention: masking a head raises"))
    assert f"falls for {lowered} and" in claim_row["ours"]
    summary = pd.read_csv(folder / "pruning.tsv", sep="\t").set_index(["experiment", "order"])
    claim_row = next(row for claim, row in claims.iterrows() if claim.startswith("Translation: 20 %"))
    assert f"up to {summary.loc[(TRANSLATION, IMPORTANCE), 'prunable']} %" in claim_row["ours"]
    means = summary.loc[TRANSLATION]
    assert ((means["mean_low"] <= means["mean"]) & (means["mean"] <= means["mean_high"])).all()
    assert set(means["n"]) == {N}


def test_figures_are_drawn_and_say_what_they_show(folder, tmp_path):
    tables = {name: folder / f"{name}.tsv" for name in ("figure1", "figure2", "figure3", "figure4", "correlations")}
    epochs = {"path": folder / "dynamics.parquet", "resamples": 100, "seed": 0, "out": tmp_path / "figure5.tsv"}
    epochs |= {"statistics_out": tmp_path / "figure5_statistics.tsv"}
    drawn = {
        "published: 96 encoder heads": partial(figure1, tables["figure1"], SETTINGS, TRANSLATOR),
        "without extremes": partial(figure2, tables["figure2"], tables["correlations"], SETTINGS, TRANSLATOR),
        "Most frequent label: 33 %": partial(figure3, tables["figure3"], SETTINGS, TRANSLATOR),
        "Encoder-decoder (8 heads)": partial(figure4, tables["figure4"], SETTINGS[TRANSLATION], TRANSLATOR),
        "epoch 4: BLEU": partial(figure5, **epochs, label=SETTINGS[TRANSLATION], translator=TRANSLATOR),
    }
    pictures = {kind: tmp_path / f"figure.{kind}" for kind in ("svg", "png", "pdf")}
    for words, draw in drawn.items():
        draw(pictures=pictures)
        first = {kind: path.read_bytes() for kind, path in pictures.items()}
        assert words in words_in(pictures["svg"])
        assert "generated text" in words_in(pictures["svg"])
        assert "tiny-translator, 2 encoder and 2 decoder layers" in words_in(pictures["svg"]), "the model that translates"
        draw(pictures=pictures)
        assert {kind: path.read_bytes() for kind, path in pictures.items()} == first
    assert (tmp_path / "figure5.tsv").read_bytes() == (folder / "figure5.tsv").read_bytes()
    assert list(pd.read_csv(tmp_path / "figure5.tsv", sep="\t").columns) == FIGURE5


def test_heads_of_a_model_come_in_the_order_of_its_masks():
    from attention_atlas.attention.plans import DECODER_CROSS, DECODER_SELF, ENCODER_SELF

    heads = heads_of({ENCODER_SELF: (2, 2), DECODER_SELF: (1, 2), DECODER_CROSS: (1, 2)})
    assert heads["kind"].tolist() == ["enc_enc"] * 4 + ["enc_dec"] * 2 + ["dec_dec"] * 2
    assert heads[["layer", "head"]].to_numpy().tolist()[:4] == [[1, 1], [1, 2], [2, 1], [2, 2]]
