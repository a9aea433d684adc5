"""F1 of taggers and of keyphrase extractors: against counts by hand, seqeval, scipy, and loops over documents and draws."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keybert.backend import BaseEmbedder
from keyphrase_documents import CARD, HEADS, LAYERS, answers, cached, evaluated_methods, tagged
from scipy.stats import ttest_1samp
from seqeval.metrics import f1_score

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.keyphrases import located
from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.errors import AtlasError
from attention_atlas.stats.simultaneous import adjusted_p, random_exchanges
from attention_atlas.studies.stefanik2021 import removal as taggers
from attention_atlas.studies.stefanik2021 import scores as extractors
from attention_atlas.studies.stefanik2021.detection import detection
from attention_atlas.studies.stefanik2021.head_measures import ATTENTION_METHODS, METHOD_TITLES

TEXT = "The new concert hall of Kingsport , a bold plan , replaces the old concert hall".split()
COUNTS = {"token_f1": taggers.token_counts, "phrase_f1": taggers.phrase_counts}


def names(phrases):
    return [" ".join(phrase) for phrase in phrases]


def test_candidates_hold_no_punctuation_and_no_stop_words_at_their_ends():
    candidates = extractors.candidates_of(TEXT, 3)
    assert {"new concert hall", "hall of kingsport"} <= set(names(candidates)), "a stop word may stand within"
    assert not {"the new", "hall of", "kingsport , a", "of"} & set(names(candidates))
    assert candidates["concert", "hall"] == [(2, 4), (14, 16)]
    assert max(map(len, candidates)) == 3
    assert all(len(phrase) == 1 for phrase in extractors.candidates_of(TEXT, 1))


def test_f1_of_first_phrases_by_hand():
    phrases = (Keyphrase("concert halls", True), Keyphrase("plan", True), Keyphrase("kingsport", True), Keyphrase("x", False))
    gold = extractors.gold_of(Example(0, "d", (), (), (), (), tuple(TEXT), keyphrases=phrases))
    assert gold == {("concert", "hall"), ("plan",), ("kingsport",)}
    # Two forms of one stem are one phrase: hall, old, plan.
    # After two, precision is 1/2 and recall 1/3; after three (and more numbers than phrases) both are 2/3.
    ranking = [("concert", "halls"), ("concert", "hall"), ("old",), ("plan",)]
    expected = [2 / 4, 2 * (1 / 2) * (1 / 3) / (5 / 6), 2 / 3, 2 / 3, 2 / 3]
    assert extractors.f1_by_number(ranking, gold, 5).tolist() == pytest.approx(expected)
    assert extractors.f1_by_number(ranking, gold, 2).tolist() == pytest.approx(expected[:2])
    assert not extractors.f1_by_number([], gold, 5).any()


TAGS = st.text("BIO", min_size=1, max_size=12)


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=5))
def test_counts_give_the_f1_of_seqeval_and_of_single_words(pairs):
    pairs = [(answer[: min(map(len, (answer, gold)))], gold[: min(map(len, (answer, gold)))]) for answer, gold in pairs]
    spelled = [[[{"B": "B-KEY", "I": "I-KEY"}.get(tag, "O") for tag in part] for part in pair] for pair in pairs]
    counts = np.sum([taggers.phrase_counts(*pair) for pair in pairs], axis=0)
    if counts[1] + counts[2]:
        expected = f1_score([gold for _, gold in spelled], [answer for answer, _ in spelled], zero_division=0)
        assert taggers.f1_of(counts) == pytest.approx(expected)
    words = np.sum([taggers.token_counts(*pair) for pair in pairs], axis=0)
    right = sum(a != "O" and b != "O" for answer, gold in pairs for a, b in zip(answer, gold, strict=True))
    marks = sum(tag != "O" for pair in pairs for tags in pair for tag in tags)
    assert taggers.f1_of(words) == pytest.approx(2 * right / marks if marks else 0)


def test_extractors_rank_by_hand():
    candidates = extractors.candidates_of(TEXT, 3)
    assert names(extractors.by_position([candidates])[0])[:3] == ["new concert hall", "new concert", "new"]
    word_scores = np.zeros(len(TEXT))
    word_scores[[14, 15]], word_scores[5] = 3, 2
    (ranking,) = extractors.by_words([candidates], [word_scores])
    assert set(names(ranking)[:3]) == {"concert hall", "concert", "hall"}, "a phrase has the best of its places"
    slow = [max(np.mean(word_scores[a:b]) for a, b in candidates[phrase]) for phrase in ranking]
    assert slow == sorted(slow, reverse=True)
    assert extractors.ranked([("b",), ("a",)], [1.0, 1.0]) == [("b",), ("a",)], "of equal ones the earlier"
    repeated = "The concert hall opens . Visitors love the concert hall because the concert hall is bright .".split()
    assert extractors.by_yake([repeated], 2)[0][0] == ("concert", "hall")
    tags = "OOBI" + "O" * 10 + "BI"
    assert extractors.tagged_phrases(TEXT, tags) == [("concert", "hall")]
    assert extractors.marked(TEXT, [("concert", "hall")]) == tags


class Letters(BaseEmbedder):
    """Counts of letters as embeddings."""

    def embed(self, documents, verbose=False):
        return np.array([[text.count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in documents])


def test_the_embedding_ranker_ranks_by_cosine():
    candidates = extractors.candidates_of(TEXT, 2)
    ranking, empty = extractors.by_embedding([TEXT, ["of"]], [candidates, {}], Letters())
    assert empty == []
    assert sorted(ranking) == sorted(candidates)
    whole, *phrases = Letters().embed([" ".join(TEXT), *names(ranking)])
    cosines = phrases @ whole / np.linalg.norm(phrases, axis=1) / np.linalg.norm(whole)
    assert cosines.tolist() == pytest.approx(sorted(cosines, reverse=True), abs=1e-4)


@pytest.fixture(scope="module")
def raw():
    return {"1": answers(1), "2": answers(2)}


@pytest.fixture(scope="module")
def by_seed(raw):
    return {name: taggers.removals_of(table) for name, table in raw.items()}


def slow_f1(table, metric):
    pairs = zip(table["answer"], table["expected"], strict=True)
    right, answered, gold = np.sum([COUNTS[metric](*pair) for pair in pairs], axis=0)
    return 100 * 2 * right / (answered + gold)


def test_scores_whole_pruned_chosen_on_test_and_without_heads(raw, by_seed):
    table = taggers.fine_tuning_rows(by_seed, 100, 0).set_index(["seed", "model", "metric"])
    rows = {"whole": ("one", 0), "pruned": ("worst_to_best", 1)}
    rows |= {"pruned_on_test": ("worst_to_best_on_test", 1), "without_heads": ("worst_to_best", LAYERS * HEADS)}
    for metric, (name, of_seed) in product(COUNTS, raw.items()):
        of_test = of_seed[of_seed["split"] == "test"].set_index(["order", "count"])
        values = {model: slow_f1(of_test.loc[[key]], metric) for model, key in rows.items()}
        for model, value in values.items():
            row = table.loc[name, model, metric]
            assert row[["value", "delta"]].tolist() == pytest.approx([value, value - values["whole"]])
            assert row["heads_removed"] == rows[model][1]
            assert row["ci_low"] <= row["value"] <= row["ci_high"]
    means = table.drop("mean", level="seed").groupby(["model", "metric"])["value"].mean()
    assert table["value"]["mean"].to_dict() == pytest.approx(means.to_dict())
    assert set(table["documents"]) == {8}


def test_removals_are_tested_by_exchanged_documents_in_all_seeds_alike(raw, by_seed):
    table = taggers.ablation_rows(by_seed, 120, 5)
    exchanges = np.concatenate(list(random_exchanges(8, 120, 5)))
    null = []
    for seed in by_seed.values():
        parts = seed.parts("token_f1", seed.places(order="one", split="test"))
        for draw in exchanges:
            exchanged = draw[:, None] == 1
            for head in parts[1:]:
                without, whole = np.where(exchanged, parts[0], head), np.where(exchanged, head, parts[0])
                f1 = [200 * right / (answered + expected) for right, answered, expected in (without.sum(0), whole.sum(0))]
                null.append(f1[0] - f1[1])
    by_draw = np.reshape(null, (len(by_seed), 120, LAYERS * HEADS))
    for name, draws in [*zip(by_seed, by_draw, strict=True), ("mean", by_draw.mean(axis=0))]:
        rows = table[(table["seed"] == name) & (table["metric"] == "token_f1")]
        assert rows["p_adjusted"].to_numpy() == pytest.approx(adjusted_p(rows["delta"].to_numpy(), draws.T))


def test_the_reference_is_chosen_on_development_documents_and_differences_are_paired():
    """Test scores choose no reference: a method that is best there alone does not become it."""
    evaluated = evaluated_methods()
    others = METHOD_TITLES.keys() - {*ATTENTION_METHODS, "fine_tuned"}
    in_order = sorted(others, key=lambda name: evaluated[name][1].f1["f1_at_m"].mean())
    chosen = in_order[-1]
    evaluated = evaluated_methods({in_order[0]: 500.0, "regression": 900.0})
    table = extractors.method_rows(evaluated, "tiny", 100, 0).query("metric == 'f1_at_m'").set_index("method")
    assert (table["reference"] == chosen).all()
    _, development, test = evaluated["regression"]
    by_document = test.f1["f1_at_m"] - evaluated[chosen][2].f1["f1_at_m"]
    ends = ttest_1samp(by_document, 0).confidence_interval(0.95)
    row = table.loc["regression"]
    assert row[["difference", "difference_low", "difference_high"]].tolist() == pytest.approx([by_document.mean(), *ends])
    means = [of.f1["f1_at_m"].mean() for of in (test, development)]
    assert row[["value", "development"]].tolist() == pytest.approx(means)


def test_all_methods_are_scored_on_the_same_documents(raw):
    """Keyphrases receive more attention, and the tagger of seed 1 is right: their methods find them, position does not."""
    generator = np.random.default_rng(0)
    vocabulary = [a + b for a in "bdfgk" for b in ("arn", "olt", "ump", "ick")]
    documents, maps = [], []
    for record in range(12):
        text = generator.choice(vocabulary, 20).tolist()
        found = located("d", text, [" ".join(text[8:10]), text[15], "absent"], False)
        phrases = tuple(Keyphrase(phrase, phrase != "absent") for phrase in found.phrases)
        documents.append(replace(tagged(record, 20), words=tuple(text), layers={"tags": found.tags}, keyphrases=phrases))
        key = np.array([False, *(tag != "O" for tag in found.tags), False])
        maps.append(replace(cached(record, 20), maps=(cached(record, 20).maps + key).astype(np.float16)))
    words = detection(maps, documents, CARD, folds=3, l2_penalty=1.0, fits=2, permutations=1, resamples=100, seed=0)["words"]
    gold = {example.record: "".join(example.layers["tags"]) for example in documents}
    removals = {name: table[table["record"].isin(gold)].copy() for name, table in raw.items()}
    for name, table in removals.items():
        table["expected"] = table["record"].map(gold)
        table["answer"] = table["expected"] if name == "1" else "O" * 20

    def scored(words=words):
        return extractors.scores(removals, words, documents[:4], documents[4:], Letters(), CARD, 3, 100, 0)["baselines"]

    values = scored().pivot(index="method", columns="metric", values="value")
    assert set(values.index) == set(METHOD_TITLES)
    assert values.loc["fine_tuned"].tolist() == pytest.approx([50] * 4), "mean of seeds"
    assert values.loc["regression", "f1_at_m"] > values.loc["position", "f1_at_m"] + 20
    with pytest.raises(AtlasError, match="document d0 has no attention in this run"):
        scored(words[words["record"] > 0])
