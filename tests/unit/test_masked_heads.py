"""Masked heads of translation and classification models: what is masked, and what it does to the score."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sacrebleu.metrics import BLEU
from statsmodels.stats.contingency_tables import mcnemar

from attention_atlas.attention.plans import DECODER_CROSS, DECODER_SELF, ENCODER_SELF
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import CLASSIFICATION, KEYS, NONE, ONE, OTHERS, TRANSLATION
from attention_atlas.methods.masked_heads import masks
from attention_atlas.stats.intervals import resampled_counts
from attention_atlas.stats.simultaneous import adjusted_p, count_p, random_exchanges
from attention_atlas.studies.michel2019.effects import MaskedScores, best_by_layer, bleu, effect_rows, masked_scores

LAYERS, HEADS, SENTENCES = 2, 3, 40
WORDS = "a cat sees the old red house near two dogs today".split()


def test_each_head_is_masked_alone_and_left_alone():
    shape = {ENCODER_SELF: (2, 3), DECODER_SELF: (1, 3), DECODER_CROSS: (1, 3)}
    by_key = {key: plan.compile(shape) for key, plan in masks(shape).items()}
    assert len(by_key) == 2 * (2 + 1 + 1) * 3
    for (masked, kind, layer, head), plans in by_key.items():
        ((site, plan),) = plans.items()
        assert site.layer == layer
        assert site.site_kind == {"enc_enc": ENCODER_SELF, "enc_dec": DECODER_CROSS, "dec_dec": DECODER_SELF}[kind]
        zeroed = [(k == head - 1) == (masked == ONE) for k in range(3)]
        assert plan.zero.tolist() == zeroed
    assert [masked for masked, *_ in masks({ENCODER_SELF: (1, 1)})] == [ONE], "of one head there are no others"


def sentences(generator, share):
    """References, and the same with a share of their words exchanged."""
    texts = []
    for k in range(SENTENCES):
        words = [WORDS[(k + j * (1 + k % 3)) % len(WORDS)] for j in range(6 + k % 4)]
        texts.append(" ".join(w if generator.random() > share else str(generator.choice(WORDS)) for w in words))
    return texts


@pytest.fixture(scope="module")
def answers():
    """Answers under all masks, by experiment; head 2 of layer 1 of each kind is what the score lives on."""
    generator = np.random.default_rng(0)
    references = sentences(generator, 0)

    def table_of(kinds, expected, answered):
        rows = []
        units = itertools.product((ONE, OTHERS), kinds, range(1, LAYERS + 1), range(1, HEADS + 1))
        for masked, kind, layer, head in [(NONE, "", 0, 0), *units]:
            lost = masked != NONE and layer == 1 and (head == 2) == (masked == ONE)
            key = dict(zip(KEYS, (masked, kind, layer, head), strict=True))
            texts = answered(0.5 if lost else 0.1)
            rows.append(pd.DataFrame({**key, "record": range(len(texts)), "answer": texts, "expected": expected}))
        return pd.concat(rows, ignore_index=True)

    translated = table_of(("enc_enc", "enc_dec", "dec_dec"), references, lambda share: sentences(generator, share))
    labels = generator.choice(["x", "y", "z"], 90)
    classified = table_of(("enc_enc",), labels, lambda share: np.where(generator.random(90) < share, "x", labels))
    return {TRANSLATION: translated, CLASSIFICATION: classified}


def test_bleu_differences_are_those_of_sacrebleu(answers):
    translated = answers[TRANSLATION]
    rows = effect_rows(masked_scores(translated, KEYS, TRANSLATION).masking(ONE), 1000, 0)

    def slow(masked):
        return BLEU().corpus_score(masked["answer"].tolist(), [masked["expected"].tolist()]).score

    assert rows["baseline"].to_numpy() == pytest.approx(slow(translated[translated["masked"] == NONE]), abs=1e-9)
    for row in rows.itertuples():
        of_head = translated[(translated[KEYS] == [ONE, row.kind, row.layer, row.head]).all(axis=1)]
        assert row.score == pytest.approx(slow(of_head), abs=1e-9)
        assert row.ci_low < row.delta < row.ci_high
    assert set(rows.loc[rows["p_adjusted"] < 0.05, ["layer", "head"]].itertuples(index=False, name=None)) == {(1, 2)}
    assert (rows["p_adjusted"] >= rows["p"]).all()


def test_the_p_of_bleu_is_that_of_centred_resamples_and_of_exchanged_sentences(answers):
    with pytest.raises(AtlasError, match="the answers of translation lack examples under some masks"):
        masked_scores(answers[TRANSLATION][:-1], KEYS, TRANSLATION)
    single = masked_scores(answers[TRANSLATION], KEYS, TRANSLATION).masking(ONE)
    rows = effect_rows(single, 130, 3)
    counts = np.concatenate(list(resampled_counts(SENTENCES, 130, 3))).astype(int)
    exchanges = np.concatenate(list(random_exchanges(SENTENCES, 130, 3)))
    differences, null = np.empty((2, 130, len(rows)))
    for draw in range(130):
        drawn = np.repeat(np.arange(SENTENCES), counts[draw])
        exchanged = exchanges[draw][:, None] == 1
        for k, parts in enumerate(single.parts):
            differences[draw, k] = bleu(parts[drawn].sum(axis=0)) - bleu(single.base[drawn].sum(axis=0))
            with_mask, without = np.where(exchanged, single.base, parts), np.where(exchanged, parts, single.base)
            null[draw, k] = bleu(with_mask.sum(axis=0)) - bleu(without.sum(axis=0))
    delta = rows["delta"].to_numpy()
    p = (1 + (abs(differences - delta) >= abs(delta)).sum(axis=0)) / 131
    assert rows["p"].to_numpy() == pytest.approx(p)
    assert rows["p_adjusted"].to_numpy() == pytest.approx(np.maximum(p, adjusted_p(delta, null.T)))
    for kind, kind_rows in rows.groupby("kind"):
        chosen = (rows["kind"] == kind).to_numpy()
        expected = count_p(int((p[chosen] < 0.01).sum()), delta[chosen], null.T[chosen], 0.01)
        assert (kind_rows["p_count"] == expected).all()
    same = MaskedScores(single.metric, single.keys[:2], single.base, np.stack([single.base, single.parts[1]]))
    assert effect_rows(same, 130, 0).loc[0, ["delta", "p", "p_adjusted"]].tolist() == [0, 1, 1]


def test_accuracies_are_tested_by_mcnemar(answers):
    classified = answers[CLASSIFICATION]
    masked = masked_scores(classified, KEYS, CLASSIFICATION)
    rows = effect_rows(masked.only((masked.keys["masked"] != NONE).to_numpy()), 200, 0)
    base = classified[classified["masked"] == NONE]
    before = (base["answer"] == base["expected"]).to_numpy()
    for row in rows.itertuples():
        masked_rows = classified[(classified[KEYS] == [row.masked, row.kind, row.layer, row.head]).all(axis=1)]
        after = (masked_rows["answer"] == masked_rows["expected"]).to_numpy()
        assert row.delta == pytest.approx(100 * (after.mean() - before.mean()))
        table = [[(before & after).sum(), (before & ~after).sum()], [(~before & after).sum(), (~before & ~after).sum()]]
        assert row.p == pytest.approx(min(1.0, mcnemar(table, exact=True).pvalue))
        assert row.n == 90
    assert (rows["p_adjusted"] >= rows["p"]).all()
    assert (rows["p_adjusted"] > rows["p"])[rows["p"] < 0.5].all()


def test_the_best_head_of_a_layer_is_found_and_measured_on_other_examples(answers):
    classified = answers[CLASSIFICATION]
    one_left = masked_scores(classified, KEYS, CLASSIFICATION).masking(OTHERS)
    best = best_by_layer(one_left, 100, 0)
    assert best["layer"].tolist() == [1, 2]
    assert best["head"][0] == 2
    kept = effect_rows(one_left, 100, 0).set_index(["layer", "head"])
    assert best["p_adjusted"].tolist() == kept.loc[list(zip(best["layer"], best["head"], strict=True)), "p_adjusted"].tolist()
    right = classified.assign(right=classified["answer"] == classified["expected"])
    wide = right.pivot(index=KEYS, columns="record", values="right").astype(float)
    base = wide.loc[(NONE, "", 0, 0)].to_numpy()
    for layer, heldout_delta in zip((1, 2), best["heldout_delta"], strict=True):
        right_by_head = wide.loc[(OTHERS, "enc_enc", layer)].to_numpy()
        gains = []
        for first in (0, 1):
            selection, test = slice(first, None, 2), slice(1 - first, None, 2)
            best_head = (right_by_head[:, selection].mean(axis=1) - base[selection].mean()).argmax()
            gains.append(100 * (right_by_head[best_head, test].mean() - base[test].mean()))
        assert heldout_delta == pytest.approx(np.mean(gains))
