"""Published values beside ours: a verdict says match or differs only where model and data are the same."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.surface import MEASURES
from attention_atlas.published.compare import CLOSE, COLUMNS, EXACT, NO, QUALITATIVE, Measured, as_text, compare, verdict
from attention_atlas.published.values import Number, Published, load_published
from attention_atlas.studies.clark2019.comparison import comparison

PUBLISHED = load_published("clark2019")
SEGMENTS = RunLabel("Paper run", "bert", "Wikipedia", "bert-base-uncased", "wikipedia-segments")
TREEBANK = RunLabel("Paper run", "bert", "WSJ", "bert-base-uncased", "wsj-sd-dev")
SAMPLE = RunLabel("Sample run", "minilm", "generated sample", sample=True)
DIGITISED = {
    **{"dig_fig2_cls": "cls", "dig_fig2_sep": "sep", "dig_fig2_punct": "punct", "dig_rest_sep": "rest_sep"},
    **{"dig_sep_sep": "sep_sep", "dig_ent": "entropy", "dig_ent_cls": "entropy_cls"},
}
THRESHOLDS = {"broad_entropy": 3.8, "position": 0.5, "special": 0.6}
POSITIONS = {"prev": "previous", "next": "next", "self": "current"}


def published_tables() -> dict[str, pd.DataFrame]:
    """The tables of a run that finds exactly what was published."""
    values = {measure: np.zeros((12, 12)) for measure in MEASURES}
    for identifier, measure in DIGITISED.items():
        values[measure][:] = np.array(PUBLISHED[identifier].value)[:, None]
    for identifier, entry in PUBLISHED.items():
        if match := re.fullmatch(r"dig_(prev|next|self)_L(\d+)", identifier):
            values[POSITIONS[match[1]]][int(match[2]) - 1, 4] = entry.value
    values["row_maximum"][:] = 0.08
    rows = [
        (measure, layer + 1, head + 1, heads[layer, head])
        for measure, heads in values.items()
        for layer in range(12)
        for head in range(12)
    ]
    surface = pd.DataFrame(rows, columns=["measure", "layer", "head", "value"])
    surface = surface.assign(ci_low=surface.value - 1e-4, ci_high=surface.value + 1e-4, n=992)
    names = [m[1] for i in PUBLISHED if (m := re.fullmatch(r"nb_t1_(\w+)_acc", i))]
    best = {r: PUBLISHED[f"t1_{r}_acc" if f"t1_{r}_acc" in PUBLISHED and r != "auxpass" else f"nb_t1_{r}_acc"] for r in names}
    bases = {r: PUBLISHED[i.id.removesuffix("acc") + "baseline"] for r, i in best.items()}
    accuracy = np.array([best[r].value for r in names]) / 100
    relations = pd.DataFrame({"relation": names, "n": 500, "accuracy": accuracy})
    relations = relations.assign(accuracy_ci_low=accuracy - 1e-4, accuracy_ci_high=accuracy + 1e-4)
    relations["baseline_accuracy"] = [bases[r].value / 100 for r in names]
    counts = {i.removeprefix("nb_count_"): e.value for i, e in PUBLISHED.items() if i.startswith("nb_count_")}
    heads = pd.DataFrame(
        {"relation": [r for r in counts for _ in range(2)], "n": [n for n in counts.values() for _ in range(2)]}
    )
    summary = {"segments": 992, "mean_tokens": 128.0, "shortest": 30, "longest": 128, "uniform_entropy": 4.79}
    treebank = {"sentences": 1696, "words": 40000, "split_words": 0.08}
    return {
        "surface": surface,
        "surface_summary": pd.DataFrame({"quantity": list(summary), "value": list(summary.values())}),
        "dependencies": relations,
        "dependency_heads": heads,
        "dependency_summary": pd.DataFrame({"quantity": list(treebank), "value": list(treebank.values())}),
    }


def run(folder, tables, segments=SEGMENTS, treebank=TREEBANK, **more_settings) -> pd.DataFrame:
    for name, frame in tables.items():
        write_table(frame, folder / f"{name}.tsv")
    paths = {name: folder / f"{name}.tsv" for name in tables}
    settings = {"segments": segments, "dependencies": treebank, **more_settings}
    comparison(paths, settings, THRESHOLDS, folder / "c.tsv", folder / "c.html")
    return read_table(folder / "c.tsv").set_index("id", drop=False)


@pytest.fixture
def tables():
    return published_tables()


def test_every_published_value_has_one_row(tmp_path, tables):
    for settings in ((SEGMENTS, TREEBANK), (SAMPLE, SAMPLE)):
        frame = run(tmp_path, tables, *settings)
        assert frame.columns.tolist() == list(COLUMNS)
        assert frame["id"].tolist() == list(PUBLISHED)
        assert frame[["item", "quantity", "published", "comparable", "why", "verdict"]].notna().all(axis=None)


def test_what_the_paper_found_matches(tmp_path, tables):
    frame = run(tmp_path, tables)
    number = frame[~frame["verdict"].isin(["not computed", "not comparable", "holds"])]
    # What is published parts here: the paper's row All is not the notebook's, 992 of the 1000 segments were released, the
    # last layer's entropy from [CLS] is 3.89 in the text and 3.91 in the picture, and the replication's layers 6 to 10 do not
    # reach down to the 0.48 of layer 10 in the picture.
    assert set(number.loc[number["verdict"] != "match", "id"]) == {
        *("nb_t1_all_acc", "nb_t1_all_baseline"),
        *("txt_n_segments", "txt_cls_entropy_l12", "rep_ja_sep_share"),
    }
    assert set(number.loc[number["verdict"] != "match", "verdict"]) == {"differs"}
    claims = ["txt_prev_heads", "txt_next_heads", "txt_sep_6_10", "txt_sep_sep", "txt_75pct"]
    assert frame.loc[claims, "verdict"].tolist() == ["holds"] * 5
    assert set(number["comparable"]) == {EXACT, CLOSE}
    table1 = frame[frame["item"] == "Table 1"]
    assert len(table1) == 30
    assert set(table1["comparable"]) == {EXACT}
    assert frame.loc["t1_dobj_acc", ["ours", "n"]].tolist() == ["86.8", 500]
    assert frame.loc["t1_dobj_acc", ["ci_low", "ci_high"]].tolist() == pytest.approx([86.79, 86.81])
    assert frame.loc["dig_fig2_sep", "comparable"] == CLOSE


def test_the_slip_in_the_paper_is_compared_with_the_notebook_and_said(tmp_path, tables):
    frame = run(tmp_path, tables)
    for identifier, printed, target in (("t1_auxpass_acc", "82.5", "94.1"), ("t1_auxpass_baseline", "40.5", "82.5")):
        row = frame.loc[identifier]
        assert (row["published"], row["ours"], row["verdict"]) == (printed, target, "match")
        assert f"slip, compared with {target} of the authors' notebook" in row["why"]
    columns = ["accuracy", "accuracy_ci_low", "accuracy_ci_high"]
    tables["dependencies"].loc[tables["dependencies"]["relation"] == "auxpass", columns] = [0.825, 0.82, 0.83]
    assert run(tmp_path, tables).loc["t1_auxpass_acc", "verdict"] == "differs"
    assert frame["why"].str.contains("slip").sum() == 2


def test_other_numbers_differ(tmp_path, tables):
    tables["dependencies"]["accuracy"] += 0.01
    tables["dependencies"]["baseline_accuracy"] -= 0.01
    tables["surface"]["value"] += 0.1
    tables["surface_summary"]["value"] *= 1.1
    tables["dependency_summary"]["value"] *= 1.2
    tables["dependency_heads"]["n"] += 1
    # The intervals stay narrow, and are those of the new values.
    for name, column in (("dependencies", "accuracy"), ("surface", "value")):
        interval = ("accuracy_ci_low", "accuracy_ci_high") if name == "dependencies" else ("ci_low", "ci_high")
        for end, step in zip(interval, (-1e-4, 1e-4), strict=True):
            tables[name][end] = tables[name][column] + step
    verdicts = run(tmp_path, tables)["verdict"]
    numbers = verdicts[~verdicts.isin(["not computed", "not comparable", "holds", "does not hold"])]
    assert set(numbers) == {"differs"}
    assert len(numbers) > 100


def test_a_published_value_inside_the_interval_matches(tmp_path, tables):
    of_det = tables["dependencies"]["relation"] == "det"
    tables["dependencies"].loc[of_det, ["accuracy", "accuracy_ci_low", "accuracy_ci_high"]] = [0.95, 0.94, 0.96]
    of_prep = tables["dependencies"]["relation"] == "prep"
    tables["dependencies"].loc[of_prep, ["accuracy", "accuracy_ci_low", "accuracy_ci_high"]] = [0.68, 0.67, 0.69]
    frame = run(tmp_path, tables)
    assert frame.loc[["t1_det_acc", "t1_prep_acc"], "verdict"].tolist() == ["match", "differs"]


def test_numbers_of_the_sample_are_never_compared(tmp_path, tables):
    frame = run(tmp_path, tables, SAMPLE, SAMPLE)
    assert set(frame["verdict"]) == {"not comparable", "not computed", "holds"}
    assert set(frame.loc[frame["comparable"] == QUALITATIVE, "verdict"]) == {"holds"}
    assert (frame.loc[frame["comparable"] == NO, "verdict"].isin(["not comparable", "not computed"])).all()
    assert set(frame["comparable"]) == {QUALITATIVE, NO}
    assert frame.loc["t1_dobj_acc", "why"] == (
        "another model than bert-base-uncased (here minilm) and another corpus than wsj-sd-dev (here generated sample)"
    )


def test_baselines_and_counts_need_the_corpus_alone(tmp_path, tables):
    electra = RunLabel("r", "electra", "WSJ", "", "wsj-sd-dev")
    frame = run(tmp_path, tables, SAMPLE, electra)
    assert frame.loc[["t1_det_acc", "t1_det_baseline"], "verdict"].tolist() == ["not comparable", "match"]
    assert frame.loc["t1_det_acc", "why"] == "another model than bert-base-uncased (here electra)"
    assert frame.loc["nb_count_det", "verdict"] == "match"
    other_corpus = RunLabel("r", "bert", "EWT", "bert-base-uncased", "")
    frame = run(tmp_path, tables, SEGMENTS, other_corpus)
    assert frame.loc[["t1_det_acc", "t1_det_baseline"], "verdict"].tolist() == ["not comparable"] * 2
    assert frame.loc["t1_det_acc", "why"] == "another corpus than wsj-sd-dev (here EWT)"
    assert frame.loc["dig_ent", "verdict"] == "match"


def test_what_is_not_measured_says_why(tmp_path, tables):
    frame = run(tmp_path, tables)
    for identifier, word in (("t2_nearest_all", "coreference"), ("t3_attn", "prob"), ("txt_grad_layer", "gradient")):
        row = frame.loc[identifier]
        assert (row["verdict"], row["comparable"]) == ("not computed", NO)
        assert word in row["why"]
        assert pd.isna(row["ours"])
    replications = frame[frame["item"] == "replication"]
    assert set(replications.loc[replications["id"] != "rep_ja_sep_share", "verdict"]) == {"not computed"}


CLAIMS = ["txt_prev_heads", "txt_next_heads", "txt_sep_6_10", "txt_sep_sep", "txt_high_entropy_max", "txt_75pct"]


def with_values(tables, **values):
    for measure, value in values.items():
        tables["surface"].loc[tables["surface"]["measure"] == measure, "value"] = value


def test_claims_hold_where_they_hold(tmp_path, tables):
    with_values(tables, sep=0.51, sep_sep=0.91, entropy=3.9, row_maximum=0.1)
    tables["dependencies"]["accuracy"] = 0.76
    frame = run(tmp_path, tables, SAMPLE, SAMPLE)
    assert frame.loc[CLAIMS, "verdict"].tolist() == ["holds"] * 6
    assert set(frame.loc[CLAIMS, "comparable"]) == {QUALITATIVE}
    assert frame.loc["txt_prev_heads", "ours"] == "2; 4; 7; 8"
    assert frame.loc["txt_75pct", "ours"] == "76; 76; 76; 76"
    assert "minilm" in frame.loc["txt_75pct", "why"]


def test_claims_do_not_hold_where_they_do_not(tmp_path, tables):
    with_values(tables, sep=0.5, sep_sep=0.9, entropy=3.9, row_maximum=0.101, previous=0.5, next=0.5)
    tables["dependencies"]["accuracy"] = 0.9
    tables["dependencies"].loc[tables["dependencies"]["relation"] == "pobj", "accuracy"] = 0.75
    frame = run(tmp_path, tables, SAMPLE, SAMPLE)
    assert frame.loc[CLAIMS, "verdict"].tolist() == ["does not hold"] * 6
    assert frame.loc["txt_prev_heads", "ours"] == "none"


def test_the_sep_claim_is_about_the_same_share_of_a_shallower_model(tmp_path, tables):
    surface = tables["surface"][tables["surface"]["layer"] <= 6].copy()
    of_sep = surface["measure"] == "sep"
    surface.loc[of_sep, "value"] = surface.loc[of_sep, "layer"].map({3: 0.3, 4: 0.6, 5: 0.9}).fillna(0)
    frame = run(tmp_path, {**tables, "surface": surface}, SAMPLE, SAMPLE)
    assert frame.loc["txt_sep_6_10", ["ours", "verdict"]].tolist() == ["0.6", "holds"]
    assert "layers 3 to 5" in frame.loc["txt_sep_6_10", "why"]
    assert frame.loc["dig_prev_L7", "verdict"] == "not computed"


def test_claims_that_cannot_be_put_to_a_model_are_not_computed(tmp_path, tables):
    surface = tables["surface"]
    absent = ["cls", "sep", "rest_sep", "sep_sep", "entropy_cls"]
    tables["surface"] = surface[~surface["measure"].isin(absent)].assign(value=0.3)
    tables["dependencies"] = tables["dependencies"].query("relation in ('all', 'cop')")
    frame = run(tmp_path, tables)
    computed = ["txt_sep_6_10", "txt_sep_sep", "txt_high_entropy_max", "txt_75pct", "txt_cls_entropy_l12", "dig_fig2_cls"]
    assert frame.loc[computed, "verdict"].tolist() == ["not computed"] * 6
    assert frame.loc["dig_fig2_punct", "verdict"] == "differs"


def test_the_page_counts_the_verdicts_and_has_no_filler(tmp_path, tables):
    frame = run(tmp_path, tables, SAMPLE, SAMPLE)
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    counts = frame["verdict"].value_counts()
    assert "183 published values: " + ", ".join(f"{counts[v]} {v}" for v in sorted(counts.index)) in page
    assert page.count("Generated text: not the papers&#x27; data, numbers are not comparable.") == 1
    for filler in ("&lt;NA&gt;", ">None<", ">nan<", ">NaN<"):
        assert filler not in page


# --- one verdict at a time -------------------------------------------------------------------------------------------


def one_value(value, tolerance=None) -> Published:
    values = value if isinstance(value, list) else [value]
    texts = {name: "" for name in Published.__dataclass_fields__ if name not in ("tolerance", "same", "details", "numbers")}
    numbers = tuple(Number(number, "", None, None) for number in values)
    return Published(**texts, tolerance=tolerance, same={}, details={}, numbers=numbers)


def measured(value, comparable=EXACT, **more):
    return Measured(value, comparable, "why", **more)


@pytest.mark.parametrize(
    ("published", "ours", "expected"),
    [
        (34.5, 34.5499, "match"),
        (34.5, 34.45, "match"),
        (34.5, 34.551, "differs"),
        (40.0, 40.04, "match"),
        (40.0, 40.4, "differs"),
        (40, 40.4, "match"),
        (40, 40.6, "differs"),
        (1696, 1696, "match"),
        (1696, 1697, "differs"),
        (0.015625, 0.0156252, "match"),
        (0.015625, 0.015627, "differs"),
        (5e-05, 5.4e-05, "match"),
        (5e-05, 0.001, "differs"),
        ([34.5, 26.3], [34.52, 26.28], "match"),
        ([34.5, 26.3], [34.52, 26.4], "differs"),
        ([34.5, 26.3], [34.5], "differs"),
        ([34.5, 26.3], 34.5, "differs"),
        ("7-6", "7-6", "match"),
        ("7-6", "7-5", "differs"),
    ],
)
def test_half_a_unit_of_the_last_digit(published, ours, expected):
    assert verdict(one_value(published), measured(ours)) == expected


def test_a_stated_tolerance_counts_instead():
    entry = one_value(3.6, 0.01)
    assert [verdict(entry, measured(v)) for v in (3.605, 3.62, 3.64)] == ["match", "differs", "differs"]
    layers = one_value([3.6, 2.8], 0.1)
    assert [verdict(layers, measured(v)) for v in ([3.69, 2.71], [3.6, 2.95])] == ["match", "differs"]


def test_an_interval_that_contains_the_value_matches():
    entry = one_value(50.0)
    assert verdict(entry, measured(52.0, ci_low=50.0, ci_high=54.0)) == "match"
    assert verdict(entry, measured(52.0, ci_low=50.1, ci_high=54.0)) == "differs"
    assert verdict(entry, measured(48.0, ci_low=46.0, ci_high=49.9)) == "differs"
    assert verdict(entry, measured(52.0, ci_low=50.0)) == "differs"


def test_verdicts_that_are_no_comparison():
    entry = one_value(50.0)
    assert verdict(entry, measured(None)) == "not computed"
    assert verdict(entry, measured(None, QUALITATIVE, holds=True)) == "not computed"
    assert verdict(entry, measured(50.0, NO)) == "not comparable"
    assert verdict(entry, measured(1.0, QUALITATIVE, holds=True)) == "holds"
    assert verdict(entry, measured(50.0, QUALITATIVE, holds=False)) == "does not hold"
    assert verdict(entry, measured(0.0, CLOSE)) == "differs"
    assert verdict(entry, measured(60.0, target=60.0)) == "match"


def test_rows_keep_the_order_and_say_what_is_missing():
    texts = {"item": "T", "quantity": "q", "unit": "%"}
    entries = {name: replace(one_value(value), **texts) for name, value in (("b", 1.0), ("a", [1, 2]))}
    frame = compare(entries, {"b": measured(1.0, n=3, ci_low=0.5, ci_high=1.5), "elsewhere": measured(2)})
    assert frame["id"].tolist() == ["b", "a"]
    assert frame["verdict"].tolist() == ["match", "not computed"]
    assert frame["why"].tolist() == ["why", "nothing in this run measures it"]
    assert frame["quantity"].iloc[0] == "q [%]"
    assert frame["n"].dtype == "Int64"


def test_values_as_text():
    values = [None, 34.512345, 1696, [0.5, 12345.678], "7-6", np.float64(0.25), []]
    assert [as_text(v) for v in values] == [None, "34.51", "1696", "0.5; 1.235e+04", "7-6", "0.25", ""]
