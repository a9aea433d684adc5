"""Published values of Clark et al. beside those of a run that finds exactly what was published: verdicts and claims."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.surface import MEASURES
from attention_atlas.models.language_models import HeadFacts
from attention_atlas.published.compare import CLOSE, EXACT, QUALITATIVE, SETTING
from attention_atlas.published.values import load_published
from attention_atlas.studies.clark2019.tables import claims, comparison

PUBLISHED = load_published("clark2019")
PAPER = {
    "segments": RunLabel("Paper run", "bert", "Wikipedia", "bert-base-uncased", "wikipedia-segments"),
    "dependencies": RunLabel("Paper run", "bert", "WSJ", "bert-base-uncased", "wsj-sd-dev"),
    "coreference": RunLabel("Paper run", "bert", "CoNLL-2012", "bert-base-uncased", "conll2012"),
    "probe_training": RunLabel("Paper run", "bert", "WSJ train", "bert-base-uncased", "wsj-sd-train"),
}
SAMPLE = dict.fromkeys(PAPER, RunLabel("Sample run", "minilm", "generated sample", sample=True))
DIGITISED = {
    **{"dig_fig2_cls": "cls", "dig_fig2_sep": "sep", "dig_fig2_punct": "punct", "dig_rest_sep": "rest_sep"},
    **{"dig_sep_sep": "sep_sep", "dig_ent": "entropy", "dig_ent_cls": "entropy_cls"},
}
NAMED = {
    value.numbers[0].cell.where["relation"]: {
        **{name: int(value.numbers[0].cell.where[name]) for name in ("layer", "head")},
        "direction": value.numbers[0].cell.where["direction"],
    }
    for value in PUBLISHED.values()
    if value.numbers[0].cell and value.numbers[0].cell.artefact == "dependency_heads" and "head" in value.numbers[0].cell.where
}
POSITIONS = {"prev": "previous", "next": "next", "self": "current"}
KINDS = ("all", "pronoun", "proper", "nominal")
SYSTEMS = {"nearest": "nearest", "head_match": "headmatch", "rule_based": "rulebased", "best_head": "head5_4"}
DOCUMENTS = {"n": 900, "unit": "documents", "units": 40}
NUMBERS = ["match", "covered by our interval", "differs"]


def around(frame: pd.DataFrame, column: str = "value", width: float = 0.02, **constants) -> pd.DataFrame:
    """With an interval of a half-width around a column."""
    return frame.assign(ci_low=frame[column] - width, ci_high=frame[column] + width, **DOCUMENTS | constants)


def surface_claims(width=0.02, **values) -> pd.DataFrame:
    shares = {"previous": 0.6, "next": 0.7, "middle_sep": 0.54, "sep_sep": 0.93, "broad_median": 0.07} | values
    rows = [(name, "3-2", value) for name, value in shares.items() if value is not None]
    return around(pd.DataFrame(rows, columns=["claim", "place", "value"]), width=width)


def relation_claims(width=0.02, **values) -> pd.DataFrame:
    accuracies = {"dobj": 0.86, "det": 0.94, "pobj": 0.78, "poss": 0.8, "all": 0.35} | values
    frame = pd.DataFrame(accuracies.items(), columns=["relation", "value"])
    return around(frame, width=width, place="8-10", level=0.9875)


def noop(**values) -> pd.DataFrame:
    shares = {"dobj": 0.7, "det": 0.6} | values
    return around(pd.DataFrame(shares.items(), columns=["relation", "value"]), level=0.975, applying=0.1)


def gradient_claims(ratios, width=0.01, layers=12) -> pd.DataFrame:
    late = range(layers - len(ratios) + 1, layers + 1)
    return around(pd.DataFrame({"layer": late, "ratio": ratios}), "ratio", width, level=0.99)


def gradients(facts: HeadFacts = HeadFacts("checkpoint")) -> pd.DataFrame:  # noqa: B008
    return pd.DataFrame({"masking": "masked", "layer": [1, 2], "value": 0.1, "mlm_head": facts.words})


def coreference_claims(head=0.65) -> pd.DataFrame:
    frame = pd.DataFrame({"baseline": ["nearest", "head_match", "rule_based"], "baseline_accuracy": [0.27, 0.52, 0.69]})
    return around(frame.assign(place="5-4", head_accuracy=head, value=head - frame["baseline_accuracy"]))


def leads(legacy=0.19, fixed=0.10) -> pd.DataFrame:
    over = ("distances_words", "random_attention_words", "attention_only")
    rows = [(name, alignment, value) for name in over for alignment, value in (("legacy", legacy), ("fixed", fixed))]
    frame = pd.DataFrame(rows, columns=["over", "root_alignment", "value"])
    return around(frame, width=0.01, probe="attention_words", seeds=3)


def gains(value=0.03) -> pd.DataFrame:
    return around(pd.DataFrame([{"probe": "attention_words", "value": value}]), width=0.01, seeds=3)


def clustering_test(difference=0.05, p=0.0001) -> pd.DataFrame:
    values = {"within_layer": 0.24, "between_layers": 0.24 + difference, "difference": difference, "permutation_p": p}
    values["smallest_p"] = 1e-4
    frame = around(pd.DataFrame({"quantity": list(values), "value": list(values.values())}), width=0.01, meaning="what it is")
    frame["units"] = frame["units"].astype("Int64")
    frame.loc[frame["quantity"] != "difference", ["ci_low", "ci_high", "units"]] = pd.NA
    return frame


def surface_tables() -> dict[str, pd.DataFrame]:
    values = {measure: np.zeros((12, 12)) for measure in MEASURES}
    for identifier, measure in DIGITISED.items():
        values[measure][:] = np.array(PUBLISHED[identifier].value)[:, None]
    for identifier, entry in PUBLISHED.items():
        if match := re.fullmatch(r"dig_(prev|next|self)_L(\d+)", identifier):
            values[POSITIONS[match[1]]][int(match[2]) - 1, 4] = entry.value
    values["row_maximum"][:] = 0.08
    rows = [
        (name, layer + 1, head + 1, heads[layer, head]) for name, heads in values.items() for layer, head in np.ndindex(12, 12)
    ]
    surface = around(pd.DataFrame(rows, columns=["measure", "layer", "head", "value"]), width=1e-4, n=992)
    summary = {"segments": 992, "mean_tokens": 128.0, "shortest": 30, "longest": 128, "uniform_entropy": 4.79}
    return {"surface": surface, "surface_summary": pd.DataFrame(summary.items(), columns=["quantity", "value"])}


def dependency_tables() -> dict[str, pd.DataFrame]:
    names = [m[1] for i in PUBLISHED if (m := re.fullmatch(r"nb_t1_(\w+)_acc", i))]
    best = {r: PUBLISHED[f"t1_{r}_acc" if f"t1_{r}_acc" in PUBLISHED and r != "auxpass" else f"nb_t1_{r}_acc"] for r in names}
    accuracy = np.array([best[r].value for r in names]) / 100
    relations = pd.DataFrame({"relation": names, "n": 500, "accuracy": accuracy, "unit": "documents"})
    relations = relations.assign(accuracy_ci_low=accuracy - 1e-4, accuracy_ci_high=accuracy + 1e-4)
    relations["baseline_accuracy"] = [PUBLISHED[f"{best[r].id.removesuffix('acc')}baseline"].value / 100 for r in names]
    relations = relations.assign(tested_margin=relations["accuracy"] - relations["baseline_accuracy"])
    relations["p_holm"] = np.where(relations["tested_margin"] > 0.05, 0.001, 1.0)
    counts = {i.removeprefix("nb_count_"): e.value for i, e in PUBLISHED.items() if i.startswith("nb_count_")}
    places = {r: (*NAMED[r].values(), accuracy[k], counts.get(r) or int(best[r].size or 500)) for k, r in enumerate(names)}
    places |= {r: (1, 1, "dependent_to_head", 0.1, n) for r, n in counts.items() if r not in places}
    rows = [(r, *place) for r, place in places.items()]
    # Another head of the same relation, so that a number is found by its head alone.
    rows += [(r, layer, 12 if head != 12 else 1, direction, 0.05, n) for r, layer, head, direction, _, n in rows]
    heads = pd.DataFrame(rows, columns=["relation", "layer", "head", "direction", "accuracy", "n"])
    relations = relations.merge(heads.iloc[: len(heads) // 2].drop(columns=["accuracy", "n"]), on="relation")
    treebank = pd.DataFrame({"quantity": ["sentences", "words", "split_words"], "value": [1696, 40000, 0.08]})
    return {"dependencies": relations, "dependency_heads": heads, "dependency_summary": treebank}


def coreference_tables() -> dict[str, pd.DataFrame]:
    rows = [(system, kind, PUBLISHED[f"t2_{key}_{kind}"].value / 100) for system, key in SYSTEMS.items() for kind in KINDS]
    table2 = pd.DataFrame(rows, columns=["system", "mention_type", "accuracy"])
    table2.loc[table2["system"] == "best_head", ["layer", "head"]] = [5, 4]
    rows = [
        (kind, layer, 4, direction, 0.01 if start == "antecedent" else table2["accuracy"].iloc[12 + k] if layer == 5 else 0.99)
        for k, kind in enumerate(KINDS)
        for layer in (5, 6)
        for start, direction in (("mention", "mention_to_antecedent"), ("antecedent", "antecedent_to_mention"))
    ]
    heads = pd.DataFrame(rows, columns=["mention_type", "layer", "head", "direction", "accuracy"])
    table2 = around(table2, "accuracy", 0.001, direction="mention_to_antecedent")
    return {"table2": table2, "coreference_heads": around(heads, "accuracy", 0.002, chance=0.1)}


def table3() -> pd.DataFrame:
    uas = {
        **{("right_branching", "-"): 0.26, ("distances_words", "legacy"): 0.58, ("distances_words", "fixed"): 0.65},
        **{("random_attention_words", "legacy"): 0.30, ("attention_only", "-"): 0.61},
        **{("attention_words", "legacy"): 0.77, ("attention_words", "fixed"): 0.80},
    }
    rows = [(*key, "without", value) for key, value in uas.items()] + [(*key, "with", 0.01) for key in uas]
    frame = pd.DataFrame(rows, columns=["probe", "root_alignment", "punctuation", "uas"])
    return around(frame, "uas", 0.001, seeds=3, n=35000, training="1 epochs, batches of 1, file order")


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    """The tables of a run that finds exactly what was published."""
    return {
        **surface_tables() | dependency_tables() | coreference_tables(),
        **{"surface_claims": surface_claims(), "dependency_claims": relation_claims(), "dependency_noop": noop()},
        **{"gradient_claims": gradient_claims([0.05] * 8), "gradients": gradients(), "table3": table3()},
        **{"table3_gains": gains(), "table3_leads": leads(), "clustering_test": clustering_test()},
        "coreference_claims": coreference_claims(),
        "training": pd.DataFrame({"quantity": ["sentences", "vectors"], "value": ["36160", "GloVe"]}),
    }


def compared(tables, labels=None) -> pd.DataFrame:
    thresholds = {"broad_entropy": 3.8, "position": 0.5, "special": 0.6}
    return comparison(tables, thresholds, PAPER | (labels or {})).frame.set_index("id", drop=False)


def claim_on(tables, words: str) -> pd.Series:
    """The one claim whose statement has some words."""
    (row,) = [row for _, row in claims(tables, PAPER).frame.iterrows() if re.search(words, row["claim"])]
    return row


def test_released_maps_of_segments_alone_have_the_papers_own_numbers(tables):
    alone = {name: tables[name] for name in ("surface", "surface_summary", "surface_claims", "clustering_test")}
    labels = {"segments": replace(PAPER["segments"], released=True)}
    frame = comparison(alone, dict.fromkeys(("broad_entropy", "position", "special"), 0.5), labels).frame
    exact = frame[frame["comparable"] == EXACT]
    assert (len(exact), exact["why"].str.contains("the maps that the authors released").all()) == (25, True)
    assert frame.set_index("id").loc["rep_ja_sep_share", "comparable"] == CLOSE
    assert len(claims(alone, labels).frame) > 3


def test_what_the_paper_found_matches(tables):
    frame = compared(tables)
    assert frame["id"].tolist() == list(PUBLISHED)
    assert not frame["why"].eq("nothing in this run measures it").any()
    number = frame[frame["verdict"].isin(NUMBERS)]
    assert set(number["comparable"]) == {EXACT, CLOSE}
    # What is published parts here: the paper's row All and best probe (77) are not the notebook's (78), the last layer's
    # entropy from [CLS] is 3.89 in the text and 3.91 in the picture, and the replication's layers 6 to 10 have no 0.48.
    others = number[~number["id"].str.startswith("rep_ja_") | number["id"].eq("rep_ja_sep_share")]
    unlike = others[others["verdict"] != "match"]
    assert dict(zip(unlike["id"], unlike["verdict"], strict=True)) == {
        **dict.fromkeys(("nb_t1_all_acc", "nb_t1_all_baseline", "txt_cls_entropy_l12", "rep_ja_sep_share"), "differs"),
        **{"nb_attn_glove_uas": "differs", "fig5_coref_5_4": "covered by our interval"},
    }
    # Two systems are not rebuilt.
    absent = {name for name in frame.loc[frame["verdict"] == "not computed", "id"] if not name.startswith("rep_ja_")}
    assert absent == {"t2_neural_all", "t3_structural"}
    assert frame.loc["t1_dobj_acc", ["ours", "n", "comparable"]].tolist() == ["86.8", 1591, EXACT]
    assert frame.loc["t1_dobj_acc", ["ci_low", "ci_high"]].tolist() == pytest.approx([86.79, 86.81])
    assert frame.loc["nb_thresholds", ["ours", "comparable"]].tolist() == ["3.8; 0.5; 0.6", SETTING]


def test_other_numbers_differ(tables):
    for name, column, step in (
        *[("dependencies", "accuracy", 0.01), ("dependency_heads", "accuracy", 0.01), ("surface", "value", 0.1)],
        *[("dependencies", "baseline_accuracy", -0.01), ("dependency_heads", "n", 1), ("surface_summary", "value", 9)],
        *[("table2", "accuracy", 0.05), ("coreference_heads", "accuracy", 0.05), ("table3", "uas", 0.05)],
        ("dependency_summary", "value", 99),
    ):
        tables[name][column] += step
    # The intervals stay narrow, and are those of the new values.
    for name, column in (("table2", "accuracy"), ("coreference_heads", "accuracy"), ("table3", "uas"), ("surface", "value")):
        tables[name] = around(tables[name], column, 1e-4)
    tables["dependencies"][["accuracy_ci_low", "accuracy_ci_high"]] += 0.01
    verdicts = compared(tables)["verdict"]
    assert set(verdicts[verdicts.isin(NUMBERS)].drop("nb_train_sentences")) == {"differs"}
    assert verdicts.isin(NUMBERS).sum() > 120


def test_numbers_of_the_sample_are_never_compared(tables):
    frame = compared(tables, SAMPLE)
    assert set(frame.loc[frame["comparable"] != QUALITATIVE, "verdict"]) == {"not comparable", "not computed"}
    assert set(frame.loc[frame["comparable"] == QUALITATIVE, "verdict"]) == {"holds"}
    assert frame.loc["t1_dobj_acc", "obstacle"] == "another model and another corpus"


def test_baselines_and_counts_need_the_corpus_alone(tables):
    electra, bert = RunLabel("r", "electra", "WSJ", "", "wsj-sd-dev"), RunLabel("r", "bert", "EWT", "bert-base-uncased", "")
    verdicts = compared(tables, {"dependencies": electra, "segments": SAMPLE["segments"]})["verdict"]
    assert verdicts[["nb_t1_det_acc", "nb_t1_det_baseline", "nb_count_det"]].tolist() == ["not comparable", "match", "match"]
    verdicts = compared(tables, {"dependencies": bert})["verdict"]
    assert verdicts[["nb_t1_det_acc", "nb_t1_det_baseline", "dig_ent"]].tolist() == ["not comparable"] * 2 + ["match"]


def test_the_slip_in_the_paper_is_compared_with_the_notebook_and_said(tables):
    frame = compared(tables)
    for identifier, printed, target in (("t1_auxpass_acc", "82.5", "94.1"), ("t1_auxpass_baseline", "40.5", "82.5")):
        row = frame.loc[identifier]
        assert (row["published"], row["ours"], row["verdict"]) == (printed, target, "match")
        assert f"slip, compared with {target} of the authors' notebook" in row["why"]
    # An interval that covers the published value is no match.
    columns = ["accuracy", "accuracy_ci_low", "accuracy_ci_high"]
    rows, heads = tables["dependencies"], tables["dependency_heads"]
    for relation, numbers in {"det": [0.95, 0.94, 0.96], "prep": [0.68, 0.67, 0.69], "auxpass": [0.825, 0.82, 0.83]}.items():
        rows.loc[rows["relation"] == relation, columns] = numbers
        heads.loc[(heads["relation"] == relation) & (heads["head"] == NAMED[relation]["head"]), "accuracy"] = numbers[0]
    verdicts = compared(tables)["verdict"]
    expected = ["covered by our interval", "differs", "differs"]
    assert verdicts[["t1_det_acc", "t1_prep_acc", "t1_auxpass_acc"]].tolist() == expected


def test_a_number_is_compared_with_that_of_the_head_that_the_paper_names(tables):
    heads = tables["dependency_heads"]
    named = (heads["relation"] == "prep") & (heads["head"] == 4)
    # Our best head of prep is another one, and as good as the paper's 7-4.
    heads.loc[named, "accuracy"] = 0.5
    tables["dependencies"].loc[tables["dependencies"]["relation"] == "prep", "head"] = 12
    tables["table2"].loc[tables["table2"]["system"] == "best_head", ["layer", "accuracy"]] = [6, 0.99]
    frame = compared(tables)
    row = frame.loc["t1_prep_acc"]
    assert (row["ours"], row["verdict"]) == ("50", "differs")
    assert pd.isna(row["ci_low"]), "intervals are measured for best heads alone"
    row = frame.loc["t2_head5_4_nominal"]
    assert row[["ours", "verdict"]].tolist() == ["58", "match"]
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([57.8, 58.2]), "of head 5-4"
    tables["dependency_heads"] = heads[~named]
    assert compared(tables).loc["t1_prep_acc", "verdict"] == "not computed"


# --- claims -----------------------------------------------------------------------------------------------------------

CLAIMS = ["txt_prev_heads", "txt_next_heads", "txt_sep_6_10", "txt_sep_sep", "txt_high_entropy_max", "txt_75pct"]
REFUTED = {"previous": 0.4, "next": 0.1, "middle_sep": 0.02, "sep_sep": 0.8, "broad_median": 0.2}


@pytest.mark.parametrize(
    ("width", "moved", "expected"), [(0.02, {}, "holds"), (0.5, {}, "undecided"), (0.02, REFUTED, "does not hold")]
)
def test_claims_come_out_each_way(tables, width, moved, expected):
    tables["surface_claims"] = surface_claims(width, **moved)
    tables["dependency_claims"] = relation_claims(width, **({"pobj": 0.6, "all": 0.6} if moved else {}))
    frame = compared(tables, SAMPLE).loc[CLAIMS]
    assert frame["verdict"].tolist() == [expected] * 6
    value = moved.get("middle_sep", 0.54)
    assert frame.loc["txt_sep_6_10", ["ci_low", "ci_high"]].tolist() == pytest.approx([value - width, value + width])
    overall = claim_on(tables, "no single head does well at syntax overall")
    assert (overall["verdict"], overall["threshold"]) == (expected, 50)
    # The strongest heads of the paper's notebook: the one of layer 2 has 0.49 on the next token.
    assert frame.loc[["txt_prev_heads", "txt_next_heads"], "ours"].tolist() == ["2; 4; 7; 8", "1; 3; 6"]
    assert frame.loc["txt_prev_heads", ["ci_low", "ci_high", "n"]].isna().all(), "of another unit than the layers"


@pytest.mark.parametrize(
    ("signs", "p", "verdict", "interval"),
    [
        ([1, 1, 1, 1], [0.01, 0.01, 0.01, 0.2], "holds", [0.75, 1.0]),
        ([1, 1, 1, -1], [0.01, 0.01, 0.2, 0.01], "undecided", [0.5, 0.75]),
        ([-1, -1, -1, 1], [0.01, 0.01, 0.01, 0.01], "does not hold", [0.25, 0.25]),
    ],
)
def test_most_relations_have_a_better_head(tables, signs, p, verdict, interval):
    rows = tables["dependencies"].query("relation != 'all'").iloc[:4]
    rows = rows.assign(tested_margin=0.1 * np.array(signs), p_holm=p)
    tables["dependencies"] = pd.concat([tables["dependencies"].query("relation == 'all'"), rows])
    row = claim_on(tables, "in most relations the best head beats the best fixed offset")
    assert row[["verdict", "value", "n", "unit"]].tolist() == [verdict, np.mean(np.array(signs) > 0), 4, "relations"]
    assert row[["ci_low", "ci_high"]].tolist() == interval


@pytest.mark.parametrize(
    ("table", "words", "made", "values"),
    [
        ("dependency_noop", "does not apply", lambda v: noop(det=v / 100), (60, 51, 40)),
        ("table3_gains", "aligning ROOT raises", lambda v: gains(v / 100), (3, 0.5, -2)),
        ("table3_leads", "with ROOT aligned, .* beats distances", lambda v: leads(0.19, v / 100), (10, 0.5, -10)),
        ("coreference_claims", "on matching head words", lambda v: coreference_claims((52 + v) / 100), (13, 10, 5)),
        ("coreference_claims", "close to the four sieves", lambda v: coreference_claims((69 + v) / 100), (-4, -10, -14)),
        ("gradient_claims", "gradient of attention to", lambda v: gradient_claims([v, 0.05, 0, 0], 0.02), (0.07, 0.09, 0.4)),
        # An interval without 0 does not suffice: layers are compared with permutations.
        ("clustering_test", "heads of one layer", lambda v: clustering_test(v, 0.2 * (v == 0.06)), (0.1, 0.06, -0.05)),
    ],
)
def test_a_claim_by_its_statistic(tables, table, words, made, values):
    for value, verdict in zip(values, ("holds", "undecided", "does not hold"), strict=True):
        row = claim_on(tables | {table: made(value)}, words)
        assert (row["verdict"], row["value"]) == (verdict, pytest.approx(value))


def test_the_layer_from_which_gradients_are_small_and_the_head_that_the_workflow_trained(tables):
    trained = HeadFacts("trained", texts=900, heldout_loss=6.5, heldout_accuracy=0.1, unigram_loss=7.25)
    for ratios, layer in (
        ([0.09, 0.05, 0.02, 0.05], "3 or earlier"),
        ([0.09, 0.05, 0.02, 0.4], "no layer"),
        ([0.9, 0.05, 0.3, 0.05], "6"),
    ):
        tables |= {"gradient_claims": gradient_claims(ratios, 0.005, 6), "gradients": gradients(trained)}
        assert compared(tables).loc["txt_grad_layer", "ours"] == layer
        # A head that saves a tenth of the loss of token frequencies says little about what the model uses.
        assert compared(tables).loc["txt_grad_layer", "verdict"] == "not tested"
    assert re.search("trained here on 900 texts", claim_on(tables, "gradient of attention to")["statistic"])
    assert re.search("so that it saves 10 %, less than 25 %", claim_on(tables, "gradient of attention to")["ours"])
    tables["gradients"] = gradients(replace(trained, heldout_loss=2.0))
    assert claim_on(tables, "gradient of attention to")["verdict"] == "does not hold"


def test_p_of_permutations_is_a_bound_where_none_is_as_extreme(tables):
    for p, words in ((1e-4, "p ≤ 0.0001"), (3e-4, "p = 0.0003")):
        tables["clustering_test"] = clustering_test(p=p)
        assert claim_on(tables, "heads of one layer")["ours"].partition("labels: ")[2].startswith(words)
