"""The laptop run of Clark et al.: MiniLM on UD English EWT dev, WikiText-2, LitBank and GAP."""

import pytest

from attention_atlas.corpora.conll2012 import conll2012_records
from attention_atlas.corpora.marked_text import gap_records
from attention_atlas.corpora.word_vectors import read_vector_file


def test_the_whole_treebank_is_scored(table):
    summary = table("dependency_summary").set_index("quantity")["value"]
    dropped = table("dropped").query("corpus == 'UD English EWT dev, converted to Stanford Dependencies'")
    assert dropped["n"].sum() == 2001
    assert summary["sentences"] == dropped.set_index("outcome").loc["kept", "n"]
    assert table("surface_summary").set_index("quantity").loc["segments", "value"] == 1000


@pytest.mark.parametrize(("relation", "accuracy", "margin"), [("dobj", 0.65, 0.25), ("cop", 0.55, 0.2), ("det", 0.7, 0.1)])
def test_heads_follow_relations_far_beyond_the_offset_baseline(table, relation, accuracy, margin):
    # Another UD English treebank with this model: obj about 76 % against 37 %, cop 59 against 34.
    row = table("dependencies").set_index("relation").loc[relation]
    assert row["accuracy"] > accuracy
    assert row["margin_ci_low"] > margin
    assert row["heldout_accuracy"] > row["baseline_accuracy"] + margin


def test_the_novels_of_litbank_are_read(mirror):
    documents = list(conll2012_records(mirror / "litbank" / "coref_conll.tar.xz", "*_brat.conll"))
    assert len(documents) == 100
    assert sum(len(d.words) for d in documents) == 210_532
    assert 29_000 < sum(len(d.spans) for d in documents) < 29_200


def test_passages_of_gap_and_glove_vectors_are_read(mirror):
    for name, rows in {"development": 2000, "validation": 454, "test": 2000}.items():
        assert len(list(gap_records(mirror / "gap" / f"gap-{name}.tsv"))) == rows
    assert read_vector_file(mirror / "glove" / "glove.6B.100d.171words.txt", {"king", "queen"}).dimensions == 100


def test_coreference_on_litbank_and_gap(table):
    table2, gap = table("table2").set_index(["system", "mention_type"]), table("gap").set_index(["system", "gender"])
    accuracy = table2["accuracy"]
    # The order of the paper's baselines; pronouns are many in novels, so that the nearest mention does better than there.
    assert accuracy["chance", "all"] < accuracy["nearest", "all"] < accuracy["rule_based", "all"]
    assert accuracy["nearest", "proper"] < accuracy["head_match", "proper"] < accuracy["rule_based", "proper"]
    assert table2.loc[("best_head", "all"), "heldout_accuracy"] > accuracy["nearest", "all"] + 0.1
    assert abs(gap.loc[("best_head", "masculine"), "n"] - gap.loc[("best_head", "feminine"), "n"]) < 20
    for baseline in ("first_name", "nearest_name"):
        assert 0.4 < gap.loc[(baseline, "all"), "accuracy"] < 0.6
    assert gap.loc[("best_head", "all"), "heldout_accuracy"] > 0.65


def test_probes_on_ewt(table):
    shown = table("table3").query("punctuation == 'without'").set_index(["probe", "root_alignment"])
    uas = shown["uas"]
    # The order of the paper's table, and a third party's 61.4 for attention alone on this treebank with another model.
    assert uas["random_attention_words", "legacy"] < uas["attention_only", "-"] < uas["attention_words", "legacy"]
    assert 0.45 < uas["attention_only", "-"] < 0.7
    for probe in ("attention_words", "distances_words"):
        assert uas[probe, "fixed"] > uas[probe, "legacy"] + 0.01
    assert (shown["sd"].dropna() < 0.02).all()


def test_heads_of_one_layer_are_alike(table):
    test = table("clustering_test").set_index("quantity")
    assert test.loc["difference", "ci_low"] > 0
    assert test.loc["permutation_p", "value"] < 0.01
