"""Published values beside ours: a verdict says match or differs only where model and data are the same."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from attention_atlas.io.tables import RunLabel, joint_lines, read_table, write_table
from attention_atlas.methods.surface import MEASURES
from attention_atlas.published.compare import (
    CLAIM_COLUMNS,
    CLOSE,
    COLUMNS,
    EXACT,
    NO,
    QUALITATIVE,
    SETTING,
    VERDICTS,
    Measured,
    as_text,
    compare,
    obstacle,
    verdict,
)
from attention_atlas.published.values import Number, Published, load_published
from attention_atlas.studies.clark2019.tables import claims, comparison

PUBLISHED = load_published("clark2019")
SEGMENTS = RunLabel("Paper run", "bert", "Wikipedia", "bert-base-uncased", "wikipedia-segments")
TREEBANK = RunLabel("Paper run", "bert", "WSJ", "bert-base-uncased", "wsj-sd-dev")
SAMPLE = RunLabel("Sample run", "minilm", "generated sample", sample=True)
DIGITISED = {
    **{"dig_fig2_cls": "cls", "dig_fig2_sep": "sep", "dig_fig2_punct": "punct", "dig_rest_sep": "rest_sep"},
    **{"dig_sep_sep": "sep_sep", "dig_ent": "entropy", "dig_ent_cls": "entropy_cls"},
}
THRESHOLDS = {"broad_entropy": 3.8, "position": 0.5, "special": 0.6}
NAMED = {
    value.numbers[0].cell.where["relation"]: {
        **{name: int(value.numbers[0].cell.where[name]) for name in ("layer", "head")},
        "direction": value.numbers[0].cell.where["direction"],
    }
    for value in PUBLISHED.values()
    if value.numbers[0].cell and value.numbers[0].cell.artefact == "dependency_heads" and "head" in value.numbers[0].cell.where
}
POSITIONS = {"prev": "previous", "next": "next", "self": "current"}


SURFACE_CLAIMS = {
    **{"previous": 0.6, "next": 0.7, "middle_sep": 0.54, "sep_sep": 0.93},
    "broad_median": 0.07,
}


def surface_claims(width=0.02, **values) -> pd.DataFrame:
    """Statistics of the claims, with intervals of a half-width."""
    rows = [(name, "3-2", value) for name, value in (SURFACE_CLAIMS | values).items() if value is not None]
    frame = pd.DataFrame(rows, columns=["claim", "place", "value"])
    return frame.assign(ci_low=frame["value"] - width, ci_high=frame["value"] + width, n=992, unit="documents", units=40)


def relation_claims(width=0.02, **values) -> pd.DataFrame:
    """Held-out accuracies of four relations and of all words, with intervals of a half-width."""
    accuracies = {"dobj": 0.86, "det": 0.94, "pobj": 0.78, "poss": 0.8, "all": 0.35} | values
    frame = pd.DataFrame(accuracies.items(), columns=["relation", "value"]).dropna()
    frame = frame.assign(place="8-10", ci_low=frame["value"] - width, ci_high=frame["value"] + width, level=0.9875, n=900)
    return frame.assign(unit="documents", units=35)


def noop(**values) -> pd.DataFrame:
    """Attention to [SEP] from words to which a relation does not apply, with intervals of half-width 0.02."""
    shares = {"dobj": 0.7, "det": 0.6} | values
    frame = pd.DataFrame(shares.items(), columns=["relation", "value"]).assign(level=0.975, applying=0.1)
    return frame.assign(ci_low=frame["value"] - 0.02, ci_high=frame["value"] + 0.02, n=900, unit="documents", units=35)


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
    relations = relations.assign(tested_margin=relations["accuracy"] - relations["baseline_accuracy"], unit="documents")
    relations["p_holm"] = np.where(relations["tested_margin"] > 0.05, 0.001, 1.0)
    counts = {i.removeprefix("nb_count_"): e.value for i, e in PUBLISHED.items() if i.startswith("nb_count_")}
    places = {r: (*NAMED[r].values(), accuracy[k], counts.get(r) or int(best[r].size or 500)) for k, r in enumerate(names)}
    places |= {r: (1, 1, "dependent_to_head", 0.1, n) for r, n in counts.items() if r not in places}
    rows = [(r, *place) for r, place in places.items()]
    # Another head of the same relation, so that a number is found by its head alone.
    rows += [(r, layer, 12 if head != 12 else 1, *rest) for r, layer, head, *rest in rows]
    heads = pd.DataFrame(rows, columns=["relation", "layer", "head", "direction", "accuracy", "n"])
    heads.loc[len(heads) // 2 :, "accuracy"] = 0.05
    relations = relations.merge(heads.iloc[: len(heads) // 2].drop(columns=["accuracy", "n"]), on="relation")
    summary = {"segments": 992, "mean_tokens": 128.0, "shortest": 30, "longest": 128, "uniform_entropy": 4.79}
    treebank = {"sentences": 1696, "words": 40000, "split_words": 0.08}
    return {
        "surface_claims": surface_claims(),
        "dependency_claims": relation_claims(),
        "dependency_noop": noop(),
        "surface": surface,
        "surface_summary": pd.DataFrame({"quantity": list(summary), "value": list(summary.values())}),
        "dependencies": relations,
        "dependency_heads": heads,
        "dependency_summary": pd.DataFrame({"quantity": list(treebank), "value": list(treebank.values())}),
    }


def run(folder, tables, segments=SEGMENTS, treebank=TREEBANK, **more_settings) -> pd.DataFrame:
    for name, frame in tables.items():
        write_table(frame, folder / f"{name}.tsv")
    frames = {name: read_table(folder / f"{name}.tsv") for name in tables}
    labels = {"segments": segments, "dependencies": treebank, **more_settings}
    for name, table in {"c": comparison(frames, THRESHOLDS, labels), "claims": claims(frames, labels)}.items():
        write_table(table.frame, folder / f"{name}.tsv")
        table.write_page(folder / f"{name}.html", name, joint_lines(labels.values()))
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
    number = frame[frame["verdict"].isin(["match", "covered by our interval", "differs"])]
    # What is published parts here: the paper's row All is not the notebook's, the last layer's entropy from [CLS] is 3.89 in
    # the text and 3.91 in the picture, and the replication's layers 6 to 10 do not reach down to the 0.48 of layer 10 in the
    # picture.
    assert set(number.loc[number["verdict"] != "match", "id"]) == {
        *("nb_t1_all_acc", "nb_t1_all_baseline"),
        *("txt_cls_entropy_l12", "rep_ja_sep_share"),
    }
    assert set(number.loc[number["verdict"] != "match", "verdict"]) == {"differs"}
    claims = ["txt_prev_heads", "txt_next_heads", "txt_sep_6_10", "txt_sep_sep", "txt_75pct"]
    assert frame.loc[claims, "verdict"].tolist() == ["holds"] * 5
    assert set(number["comparable"]) == {EXACT, CLOSE}
    table1 = frame[frame["item"] == "Table 1"]
    assert len(table1) == 30
    assert set(table1.loc[~table1["id"].str.contains("baseline"), "comparable"]) == {EXACT}
    assert frame.loc["t1_dobj_acc", ["ours", "n"]].tolist() == ["86.8", 1591]
    assert frame.loc["t1_dobj_acc", "why"] == (
        "same model bert-base-uncased and data wsj-sd-dev; same recipe; same size (1591). "
        "Best head here: 8-10 dependent to head 86.8 %"
    )
    assert frame.loc["t1_dobj_acc", ["ci_low", "ci_high"]].tolist() == pytest.approx([86.79, 86.81])
    assert frame.loc["dig_fig2_sep", "comparable"] == CLOSE


def test_the_slip_in_the_paper_is_compared_with_the_notebook_and_said(tmp_path, tables):
    frame = run(tmp_path, tables)
    for identifier, printed, target in (("t1_auxpass_acc", "82.5", "94.1"), ("t1_auxpass_baseline", "40.5", "82.5")):
        row = frame.loc[identifier]
        assert (row["published"], row["ours"], row["verdict"]) == (printed, target, "match")
        assert f"slip, compared with {target} of the authors' notebook" in row["why"]
    set_accuracy(tables, "auxpass", 0.825, 0.82, 0.83)
    assert run(tmp_path, tables).loc["t1_auxpass_acc", "verdict"] == "differs"
    assert frame["why"].str.contains("slip").sum() == 2


def set_accuracy(tables, relation, accuracy, low, high):
    """Of the named head of a relation, which is its best."""
    columns = ["accuracy", "accuracy_ci_low", "accuracy_ci_high"]
    tables["dependencies"].loc[tables["dependencies"]["relation"] == relation, columns] = [accuracy, low, high]
    heads = tables["dependency_heads"]
    best = (heads["relation"] == relation) & (heads["head"] == NAMED[relation]["head"])
    heads.loc[best, "accuracy"] = accuracy


def test_a_number_is_compared_with_that_of_the_head_that_the_paper_names(tmp_path, tables):
    heads = tables["dependency_heads"]
    named = (heads["relation"] == "prep") & (heads["head"] == 4)
    # Our best head of prep is another one, and as good as the paper's 7-4.
    heads.loc[named, "accuracy"] = 0.5
    tables["dependencies"].loc[tables["dependencies"]["relation"] == "prep", "head"] = 12
    row = run(tmp_path, tables).loc["t1_prep_acc"]
    assert (row["ours"], row["verdict"]) == ("50", "differs")
    assert "Best head here: 7-12 dependent to head 66.7 %" in row["why"]
    assert pd.isna(row["ci_low"]), "intervals are measured for best heads alone"
    tables["dependency_heads"] = heads[~named]
    assert run(tmp_path, tables).loc["t1_prep_acc", "verdict"] == "not computed"


def test_other_numbers_differ(tmp_path, tables):
    tables["dependencies"]["accuracy"] += 0.01
    tables["dependency_heads"]["accuracy"] += 0.01
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
    numbers = verdicts[verdicts.isin(["match", "covered by our interval", "differs"])]
    assert set(numbers) == {"differs"}
    assert len(numbers) > 100


def test_an_interval_that_covers_the_published_value_is_no_match(tmp_path, tables):
    set_accuracy(tables, "det", 0.95, 0.94, 0.96)
    set_accuracy(tables, "prep", 0.68, 0.67, 0.69)
    set_accuracy(tables, "pobj", 0.7634, 0.75, 0.78)
    frame = run(tmp_path, tables)
    assert frame.loc[["t1_det_acc", "t1_prep_acc", "t1_pobj_acc"], "verdict"].tolist() == [
        *("covered by our interval", "differs", "match"),
    ]


def test_numbers_of_the_sample_are_never_compared(tmp_path, tables):
    frame = run(tmp_path, tables, SAMPLE, SAMPLE)
    others = ["not comparable", "not computed"]
    assert set(frame["verdict"]) == {*others, "holds"}
    assert set(frame.loc[frame["comparable"] == QUALITATIVE, "verdict"]) == {"holds"}
    assert set(frame.loc[frame["comparable"] == SETTING, "verdict"]) == {"not comparable"}
    assert frame.loc[frame["comparable"] == NO, "verdict"].isin(others).all()
    assert set(frame["comparable"]) == {QUALITATIVE, SETTING, NO}
    assert frame.loc["t1_dobj_acc", "why"].startswith(
        "model minilm instead of bert-base-uncased and corpus generated sample instead of wsj-sd-dev. Best"
    )
    assert frame.loc[["t1_dobj_acc", "t1_det_baseline", "t3_structural"], "obstacle"].tolist() == [
        *("another model and another corpus", "another corpus", "another system, not rebuilt"),
    ]


def test_baselines_and_counts_need_the_corpus_alone(tmp_path, tables):
    electra = RunLabel("r", "electra", "WSJ", "", "wsj-sd-dev")
    frame = run(tmp_path, tables, SAMPLE, electra)
    assert frame.loc[["nb_t1_det_acc", "nb_t1_det_baseline"], "verdict"].tolist() == ["not comparable", "match"]
    assert frame.loc["t1_det_acc", "why"].startswith("model electra instead of bert-base-uncased. Best head here")
    assert frame.loc["nb_count_det", "verdict"] == "match"
    other_corpus = RunLabel("r", "bert", "EWT", "bert-base-uncased", "")
    frame = run(tmp_path, tables, SEGMENTS, other_corpus)
    assert frame.loc[["nb_t1_det_acc", "nb_t1_det_baseline"], "verdict"].tolist() == ["not comparable"] * 2
    assert frame.loc["nb_t1_det_acc", "why"].startswith("corpus EWT instead of wsj-sd-dev. Best head here")
    assert frame.loc["dig_ent", "verdict"] == "match"


def test_what_is_not_measured_says_why(tmp_path, tables):
    frame = run(tmp_path, tables)
    for identifier, word in (("t2_nearest_pronoun", "coreference"), ("t3_attn", "prob"), ("txt_grad_layer", "gradient")):
        row = frame.loc[identifier]
        assert (row["verdict"], row["comparable"]) == ("not computed", NO)
        assert word in row["why"]
        assert pd.isna(row["ours"])
    replications = frame[frame["item"] == "replication"]
    assert set(replications.loc[replications["id"] != "rep_ja_sep_share", "verdict"]) == {"not computed"}


CLAIMS = ["txt_prev_heads", "txt_next_heads", "txt_sep_6_10", "txt_sep_sep", "txt_high_entropy_max", "txt_75pct"]


@pytest.mark.parametrize(
    ("width", "moved", "expected"),
    [
        (0.02, {}, "holds"),
        (0.5, {}, "undecided"),
        (0.02, {"previous": 0.4, "next": 0.1, "middle_sep": 0.02, "sep_sep": 0.8, "broad_median": 0.2}, "does not hold"),
    ],
)
def test_claims_come_out_each_way(tmp_path, tables, width, moved, expected):
    tables["surface_claims"] = surface_claims(width, **moved)
    tables["dependency_claims"] = relation_claims(width, **({"pobj": 0.6, "all": 0.6} if moved else {}))
    frame = run(tmp_path, tables, SAMPLE, SAMPLE).loc[CLAIMS]
    assert frame["verdict"].tolist() == [expected] * 6
    assert set(frame["comparable"]) == {QUALITATIVE}
    table = read_table(tmp_path / "claims.tsv", [*CLAIM_COLUMNS]).assign(place=lambda t: t["claim"].str.partition(":")[0])
    tested = table[table["claim"] != table["claim"].where(table["claim"].str.contains("fixed offset"))]
    tested = tested[~tested["claim"].str.contains("does not apply")]
    assert tested["verdict"].tolist() == [expected] * (len(CLAIMS) + 1)
    assert tested["place"].tolist() == ["Section 1", *["Section 3.1"] * 2, *["Section 3.2"] * 2, "Section 3.3", "Section 4.2"]
    assert table.loc[1, "claim"] == "Section 3.1: some heads put over half of their attention on the previous token"
    values = dict(zip(["txt_75pct", *CLAIMS[:-1]], tested["value"], strict=False))
    same_unit = [name for name in CLAIMS if name not in ("txt_prev_heads", "txt_next_heads")]
    assert frame.loc[same_unit, "ours"].astype(float).tolist() == pytest.approx([values[name] for name in same_unit])
    assert set(frame.loc[same_unit, "n"]) == {40, 35}
    row = frame.loc["txt_sep_6_10"]
    value = moved.get("middle_sep", 0.54)
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([value - width, value + width])
    assert (tmp_path / "claims.html").is_file()


def test_layers_are_shown_beside_published_layers_and_the_share_that_is_tested_in_the_reason(tmp_path, tables):
    frame = run(tmp_path, tables, SAMPLE, SAMPLE)
    # The strongest heads of the paper's notebook: the one of layer 2 has 0.49 on the next token.
    assert frame.loc[["txt_prev_heads", "txt_next_heads"], "ours"].tolist() == ["2; 4; 7; 8", "1; 3; 6"]
    row = frame.loc["txt_prev_heads"]
    assert row[["ci_low", "ci_high", "n"]].isna().all(), "of another unit than the layers"
    assert row["why"] == (
        "claim, tested on minilm on generated sample: some heads put over half of their attention on the previous token. "
        "Strongest head, chosen on the other half of the documents (on all of them: 3-2). Statistic: mean attention of the "
        "strongest head, 0.6 (0.58 to 0.62: 95 % interval over 40 documents); must lie above 0.5. The verdict is on this "
        "statistic; the layers themselves are not tested"
    )
    weak = tables["surface"]["measure"] == "previous"
    tables["surface"].loc[weak, "value"] = 0.4
    assert run(tmp_path, tables).loc["txt_prev_heads", ["ours", "verdict"]].tolist() == ["no layer", "holds"]


def test_broad_heads_are_judged_by_their_median(tmp_path, tables):
    row = run(tmp_path, tables).loc["txt_high_entropy_max"]
    assert row[["ours", "verdict"]].tolist() == ["0.07", "holds"]
    assert "Broad heads, chosen on the other half of the documents (on all of them: 3-2)" in row["why"]


def claim_rows(folder):
    return read_table(folder / "claims.tsv").assign(claim=lambda t: t["claim"].str.partition(": ")[2]).set_index("claim")


@pytest.mark.parametrize(
    ("signs", "p", "verdict", "interval"),
    [
        ([1, 1, 1, 1], [0.01, 0.01, 0.01, 0.2], "holds", [0.75, 1.0]),
        ([1, 1, 1, -1], [0.01, 0.01, 0.2, 0.2], "undecided", [0.5, 1.0]),
        ([1, 1, 1, -1], [0.01, 0.01, 0.2, 0.01], "undecided", [0.5, 0.75]),
        ([-1, -1, -1, 1], [0.01, 0.01, 0.01, 0.01], "does not hold", [0.25, 0.25]),
    ],
)
def test_most_relations_have_a_better_head(tmp_path, tables, signs, p, verdict, interval):
    rows = tables["dependencies"].query("relation != 'all'").iloc[:4]
    rows = rows.assign(tested_margin=0.1 * np.array(signs), p_holm=p)
    # The row All is no relation, and one without a test counts nowhere.
    untested = rows.iloc[:1].assign(relation="cop", tested_margin=np.nan, p_holm=np.nan)
    tables["dependencies"] = pd.concat([tables["dependencies"].query("relation == 'all'"), rows, untested])
    run(tmp_path, tables)
    row = claim_rows(tmp_path).loc["in most relations the best head beats the best fixed offset"]
    assert row["verdict"] == verdict
    assert row[["ci_low", "ci_high"]].tolist() == interval
    assert row["value"] == np.mean(np.array(signs) > 0)
    assert row[["n", "unit"]].tolist() == [4, "relations"]


def test_no_head_does_well_overall_below_half(tmp_path, tables):
    run(tmp_path, tables)
    row = claim_rows(tmp_path).loc[
        "no single head does well at syntax overall: the best is right for less than 50 % (our threshold)"
    ]
    assert row[["value", "threshold", "verdict"]].tolist() == [35, 50, "holds"]
    assert "best fixed offset: 26.3 %" in row["ours"]


@pytest.mark.parametrize(("det", "verdict"), [(0.6, "holds"), (0.51, "undecided"), (0.4, "does not hold")])
def test_heads_attend_to_sep_where_their_relation_does_not_apply(tmp_path, tables, det, verdict):
    tables["dependency_noop"] = noop(det=det)
    run(tmp_path, tables)
    (row,) = read_table(tmp_path / "claims.tsv").query("claim.str.contains('does not apply')", engine="python").itertuples()
    assert row.claim.startswith("Section 3.2: where their function does not apply, heads mostly attend to [SEP]")
    assert (row.verdict, row.value) == (verdict, pytest.approx(100 * det))
    assert f"from words with the relation: dobj 70.0 (10.0), det {100 * det:.1f} (10.0);" in row.ours
    tables["dependency_noop"] = noop().head(0)
    run(tmp_path, tables)
    assert "does not apply" not in (tmp_path / "claims.tsv").read_text(encoding="utf-8"), "a model without [SEP]"


def test_the_claim_on_relations_shows_the_one_that_decides(tmp_path, tables):
    # pobj is undecided, and nothing is refuted.
    tables["dependency_claims"] = relation_claims(pobj=0.76)
    row = run(tmp_path, tables).loc["txt_75pct"]
    assert row[["ours", "verdict"]].tolist() == ["76", "undecided"]
    assert "best head of pobj in %; must lie above 75; 98.75 % interval over 35 documents" in row["why"]


def test_claims_that_cannot_be_put_to_a_model_are_not_computed(tmp_path, tables):
    surface = tables["surface"]
    absent = ["cls", "sep", "rest_sep", "sep_sep", "entropy_cls"]
    tables["surface"] = surface[~surface["measure"].isin(absent)].assign(value=0.3)
    tables["surface_claims"] = surface_claims(middle_sep=None, sep_sep=None, broad_median=np.nan)
    tables["surface_claims"].loc[tables["surface_claims"]["claim"].str.startswith("broad"), "place"] = None
    tables["dependencies"] = tables["dependencies"].query("relation in ('all', 'cop')")
    tables["dependency_claims"] = relation_claims().iloc[:0]
    frame = run(tmp_path, tables)
    computed = ["txt_sep_6_10", "txt_sep_sep", "txt_high_entropy_max", "txt_75pct", "dig_fig2_cls"]
    assert frame.loc[computed, "verdict"].tolist() == ["not computed"] * 5
    assert "No head has an entropy over 3.8" in frame.loc["txt_high_entropy_max", "why"]
    assert pd.isna(frame.loc["txt_cls_entropy_l12", "ours"])
    assert frame.loc["dig_fig2_punct", "verdict"] == "differs"


def test_the_page_counts_the_verdicts_and_has_no_filler(tmp_path, tables):
    frame = run(tmp_path, tables, SAMPLE, SAMPLE)
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    counts = frame["verdict"].value_counts()
    assert "183 published values: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS if v in counts) in page
    assert page.count("Generated text: not the papers&#x27; data, numbers are not comparable.") == 1
    for filler in ("&lt;NA&gt;", ">None<", ">nan<", ">NaN<"):
        assert filler not in page


# --- one verdict at a time -------------------------------------------------------------------------------------------


def one_value(value, tolerance=None) -> Published:
    values = value if isinstance(value, list) else [value]
    others = {"tolerance": tolerance, "same": {}, "size": None, "details": {}}
    texts = {name: "" for name in Published.__dataclass_fields__ if name not in (*others, "numbers")}
    return Published(**texts, **others, numbers=tuple(Number(number, "", None, None) for number in values))


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


def test_an_interval_that_contains_the_value_has_its_own_verdict():
    entry = one_value(50.0)
    assert verdict(entry, measured(50.04, ci_low=49.0, ci_high=54.0)) == "match"
    assert verdict(entry, measured(52.0, ci_low=50.0, ci_high=54.0)) == "covered by our interval"
    assert verdict(one_value([50.0, 50.0]), measured([52.0, 52.0], ci_low=50.0, ci_high=54.0)) == "differs"
    assert verdict(entry, measured(52.0, ci_low=50.1, ci_high=54.0)) == "differs"
    assert verdict(entry, measured(48.0, ci_low=46.0, ci_high=49.9)) == "differs"
    assert verdict(entry, measured(52.0, ci_low=50.0)) == "differs"


def test_verdicts_that_are_no_comparison():
    entry = one_value(50.0)
    assert verdict(entry, measured(None)) == "not computed"
    assert verdict(entry, measured(None, QUALITATIVE, claimed="holds")) == "not computed"
    assert verdict(entry, measured(50.0, NO)) == "not comparable"
    assert verdict(entry, measured(1.0, QUALITATIVE, claimed="holds")) == "holds"
    assert verdict(entry, measured(0.0, CLOSE)) == "differs"
    slip = replace(entry, numbers=(Number(50.0, "", 60.0, None),))
    assert [verdict(slip, measured(value)) for value in (60.0, 50.0)] == ["match", "differs"]
    assert [verdict(entry, measured(value, SETTING)) for value in (50.0, 60.0)] == ["not comparable"] * 2


def test_obstacles():
    entry = one_value(50.0)
    assert [obstacle(entry, measured(50.0, kind)) for kind in (EXACT, CLOSE)] == ["", ""]
    assert obstacle(entry, measured(None, EXACT)) == "not measured"
    assert obstacle(entry, measured(50.0, NO, obstacle="another model")) == "another model"
    assert obstacle(entry, measured(50.0, QUALITATIVE, claimed="holds")) == ""
    assert obstacle(replace(entry, comparable=SETTING), measured(50.0, SETTING)) == "a choice of the run"
    assert obstacle(replace(entry, never="another checkpoint"), measured(50.0, NO)) == "another checkpoint"


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
