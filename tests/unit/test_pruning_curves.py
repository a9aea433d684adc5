"""Correlations, heads selected on another corpus, the comparison, and BLEU of Michel et al., against slow ways."""

import numpy as np
import pandas as pd
import pytest
from sacrebleu.metrics import BLEU
from scipy.stats import pearsonr, spearmanr

from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_measures import ALL, CLASSIFICATION, HEAD, KEYS, ONE, OTHERS, STEP, TRANSLATION
from attention_atlas.studies.michel2019 import effects
from attention_atlas.studies.michel2019.tables import comparison, prunable

WORDS = "a cat sees the old red house near two dogs today while it rains".split()


def random_scores(seed, masked=ONE, examples=60):
    """Accuracy of twelve heads on examples, of which head h of layer l spoils the more the larger l and h."""
    generator = np.random.default_rng(seed)
    rows = [(masked, "enc_enc", layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4)]
    base = generator.random(examples) < 0.8
    right = np.stack([base & (generator.random(examples) > 0.03 * layer * head) for *_, layer, head in rows])
    parts, base_parts = (np.stack([values, np.ones_like(values)], axis=-1).astype(float) for values in (right, base))
    return effects.MaskedScores(effects.ACCURACY, pd.DataFrame(rows, columns=KEYS), base_parts, parts)


def test_correlations_are_those_of_scipy():
    heads, table = effects.on_two_corpora(CLASSIFICATION, random_scores(1), random_scores(2), False, 2, 100, 0)
    values, trimmed = table.set_index("statistic")["value"], heads[heads["extreme"] == 0]
    pairs = [(rows["delta"], rows["second_delta"]) for rows in (heads, trimmed)]
    slow = [pearsonr(*pairs[0]).statistic, spearmanr(*pairs[0]).statistic, pearsonr(*pairs[1]).statistic]
    assert values[["pearson", "spearman", "pearson_without_extremes"]].tolist() == pytest.approx(slow)


def test_tied_heads_are_extreme_together():
    generator = np.random.default_rng(0)
    # Multiples of 100 / 12 points, as twelve examples give them; many heads change no answer.
    first, second = generator.choice([0, 0, 0, 1, -1, 2], (2, 40)) * 100 / 12 + 1e-13 * generator.normal(size=(2, 40))
    standard = [np.abs(values - np.median(values)) / values.std() for values in (first, second)]
    distances = np.max(standard, axis=0).round(6)
    for count in (1, 5, 40, 60):
        slow = [bool(distance > 0 and (distances > distance).sum() < count) for distance in distances]
        assert effects.extreme_heads(first, second, count).tolist() == slow


def test_heads_of_tables_5_and_6_are_chosen_on_one_corpus_alone():
    selection, measured = random_scores(3, OTHERS), random_scores(4, OTHERS)
    rows = effects.heldout_effects(selection, measured, 100, 0)
    assert rows["layer"].tolist() == [1, 2, 3]
    for row in rows.itertuples():
        in_layer = selection.keys[selection.keys["layer"] == row.layer]
        best = max(in_layer.index, key=lambda place: (selection.deltas[place], -place))
        assert (row.head, row.selection_delta) == (selection.keys["head"][best], selection.deltas[best])
        same = (measured.keys[HEAD] == (row.kind, row.layer, row.head)).all(axis=1)
        assert row.delta == measured.deltas[same][0]


def test_curves_start_at_the_whole_model_and_have_the_floor_of_chance():
    answers = {0: "xyx", 50: "xxx", 100: "zzz"}
    rows = [(order, ALL, 0, percent, percent, k, text, "xyx"[k]) for order in (effects.IMPORTANCE, effects.HELDOUT)
            for percent, texts in answers.items() for k, text in enumerate(texts)]  # fmt: skip
    rows += [(effects.RANDOM, *row[1:]) for row in rows[:9]]
    pruned = pd.DataFrame(rows, columns=[*STEP, "record", "answer", "expected"])
    table = effects.pruning_curves(CLASSIFICATION, pruned, 20, 0)["pruning_curves"].query("order == @effects.IMPORTANCE")
    assert table["score"].tolist() == pytest.approx([100, 200 / 3, 0])
    assert table["delta"].tolist() == pytest.approx([0, -100 / 3, -100])
    assert table["floor"].tolist() == pytest.approx([200 / 3] * 3), "two of three labels are x"


@pytest.mark.parametrize(("deltas", "share"), [([0, 0.5, -0.9, -1.1, -5], 40), ([0, -2, 0, 0, 0], 0), ([0, 0, 0, -1, -1], 80)])
def test_heads_can_go_up_to_the_first_step_that_loses_more_than_a_point(deltas, share):
    assert prunable(pd.DataFrame({"percent": [0, 20, 40, 60, 80], "delta": deltas})) == share


def test_only_values_of_the_papers_own_models_and_data_are_compared():
    heads = pd.DataFrame({"kind": "enc_enc", "layer": [1, 2], "head": [4, 4], "delta": [-2.0, -1.0], "p": [0.5, 0.001]})
    heads = heads.assign(ci_low=-3.0, ci_high=1.0, n=90, score=30.0)
    curve = pd.DataFrame({"percent": [0, 80], "delta": [0.0, -9.0], "score": [30.0, 21.0], "baseline": 30.0, "n": 90})
    frames = dict.fromkeys(("table1", "table2", "table3", "table5"), heads) | {"figure4": curve.assign(kind="enc_dec")}
    # Selected on a separate set, one layer of two is worse.
    frames |= {"table6": heads, "head_importance": pd.DataFrame({"task": [TRANSLATION, CLASSIFICATION], "head": [16, 12]})}
    curves = [curve.assign(experiment=name, order=effects.IMPORTANCE) for name in (TRANSLATION, CLASSIFICATION)]
    frames |= {"figure3": pd.concat(curves), "correlations": pd.DataFrame(columns=["experiment", "statistic", "value"])}

    roles = ("translation", "classification", "translation_test", "classification_selection")
    sample = dict.fromkeys(roles, RunLabel("Small run", "tiny", "a corpus", sample=True))

    def compared(**labels):
        return comparison(frames, labels=sample | labels).frame.set_index("id")

    frame = compared()
    assert not frame["comparable"].isin(["exact", "close"]).any()
    layers = frame.loc[["m19.sec33.layers_ok_wmt", "m19.sec33.layers_ok_bert"], "ours"]
    assert layers.astype(float).tolist() == [50, 50]
    model = "wmt14.en-fr.joined-dict.transformer"
    own = {"translation": "newstest2013", "translation_test": "newstest2014"}
    own = {role: RunLabel("Run", "fairseq", data, model, data) for role, data in own.items()}
    of_test = "m19.tab5.L1.enc_enc"
    assert set(compared(**own).loc[["m19.tab1.L2H04", of_test], "comparable"]) == {"close"}
    assert compared(translation=own["translation"]).loc[of_test, "comparable"] == "no", "Table 5 is of newstest2014"


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
