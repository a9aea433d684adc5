"""The laptop run of Štefánik's study: keyphrases of scientific paragraphs, against what must hold on real text."""


def test_attention_detects_and_all_heads_do_better_than_one(table):
    ranking, detectors = table("head_ranking"), table("detection/detectors").set_index("detector")["auc"]
    assert len(ranking) == 72
    # A calibrated probability cannot lose much to the share of keyphrase words alone.
    assert (ranking["cross_entropy"] < ranking["cross_entropy_none"] + 1e-3).all()
    assert detectors["regression"] > detectors["best_head"] > 0.5


def test_taggers_beat_what_was_not_trained(table):
    baselines = table("baselines").pivot(index="method", columns="metric", values="value")
    assert baselines["phrase_f1_all_occurrences"].idxmax() == "fine_tuned"
    fine = table("fine_tuning").query("metric == 'token_f1'")
    assert (fine.loc[fine["model"] == "whole", "value"] > 40).all()
    # What is chosen on the test documents is never worse there than the whole.
    assert (fine.loc[fine["model"] == "pruned_on_test", "delta"] >= 0).all()
