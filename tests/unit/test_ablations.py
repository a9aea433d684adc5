"""Ablations by type: the right heads, sentences and answers, equal to one plain evaluation per row."""

from __future__ import annotations

import random
from collections import Counter
from math import comb

import numpy as np
import pandas as pd
import pytest
import sentencex
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from transformers import BertConfig, BertForQuestionAnswering

from attention_atlas.attention.engine import install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.corpora.text import WORD
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, TYPES, UNNAMED, VERTICAL
from attention_atlas.models.task_heads import answer_texts, passage_pieces
from attention_atlas.published.values import load_published
from attention_atlas.studies.guan2020.ablations import (
    COLUMNS,
    answer_all,
    answered,
    answers_of,
    baselines,
    conditions,
    other_sets,
    permuted_sets,
    scored_rows,
    sentence_of_pieces,
)
from attention_atlas.studies.guan2020.rows import BASELINE, PRUNED, ROWS
from attention_atlas.studies.guan2020.tables import table2, table3

LAYERS, HEADS = 3, 4


def example(record, sizes, seed=0):
    """A question of sizes[0] words and a passage of sentences of the other sizes, one piece per word."""
    generator = random.Random(seed + record)
    question = [f"q{k}" for k in range(sizes[0])]
    passage = [word for size in sizes[1:] for word in (*(f"w{generator.randrange(20)}" for _ in range(size - 1)), ".")]
    text, starts = "", []
    for word in passage:
        starts.append(len(text))
        text += word + " "
    words = (*question, *passage)
    pieces = [generator.randrange(5, 40) for _ in words]
    half = len(question)
    word = (-1, *range(half), -1, *range(half, len(words)), -1)
    ids = (2, *pieces[:half], 3, *pieces[half:], 3)
    stops = tuple(a + len(w) for a, w in zip(starts, passage, strict=True))
    squad_item = QuestionAnnotation(f"id{record}", text, half, tuple(starts), stops, (passage[0],), None)
    segments = (0,) * (half + 2) + (1,) * (len(passage) + 1)
    return Example(record, f"id{record}", ids, segments, tuple(map(str, ids)), word, words, question=squad_item)


EXAMPLES = [example(k, sizes) for k, sizes in enumerate([(3, 4, 5), (2, 6), (4, 3, 3, 3), (3, 9, 2), (2, 5, 5)])]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=32,
        initializer_range=0.6,
        max_position_embeddings=64,
    )
    model = BertForQuestionAnswering(config).eval()
    install(model)
    return model


@pytest.fixture(scope="module")
def types():
    generator = np.random.default_rng(5)
    return {(layer, head): str(generator.choice(TYPES)) for layer in range(LAYERS) for head in range(HEADS)}


def test_rows_are_those_of_the_paper():
    published = load_published("guan2020")
    words = {DENSE: "Dense", DIAGONAL: "Diagonal", DENSE_VERTICAL: "Dense&Vertical", VERTICAL: "Vertical"}
    for row in ROWS:
        prefix = {"Table 2": "t2", "Table 3": "t3"}[row.item]
        quantity = published[f"g_{prefix}_{row.number}_em"].quantity
        start = {"zero": "prune ", "uniform": "1/L for ", "intra": "no intra in ", "inter": "no inter in "}[row.action]
        assert start in quantity
        named = quantity.split(start)[1].split(":")[0].split(" (")[0].replace("D&V", "Dense&Vertical")
        assert {words[t] for t in row.types} == set(named.replace(", ", "+").split("+")), quantity


def test_conditions_change_the_heads_of_their_types(types):
    row_conditions = conditions(types, HEADS, 3, 5, "stops", False, 0)
    rows = {row.number: row for row in ROWS}
    for number, row in rows.items():
        type_heads = sorted(place for place, name in types.items() if name in row.types)
        own = [c for c in row_conditions if c.row == number]
        assert {c.sentences for c in own} == set(("segments", "stops") if row.item == "Table 3" else ("",))
        assert [list(c.heads) for c in own if c.drawn_from == "type"] == [type_heads] * len({c.sentences for c in own})
        assert sum(c.drawn_from == "permuted" for c in own) == (5 if number in PRUNED.values() else 0)
        for condition in own:
            assert [layer for layer, _ in condition.heads] == [layer for layer, _ in type_heads]
            assert len(set(condition.heads)) == len(type_heads)
            assert (condition.drawn_from != "others") or not set(condition.heads) & set(type_heads)
    assert sum(c.drawn_from == "others" for c in row_conditions) > 0
    assert conditions(types, HEADS, 3, 5, "stops", False, 0)[7].heads == row_conditions[7].heads


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=24), st.integers(0, 99))
def test_random_sets_are_other_heads_of_the_same_layers(heads, seed):
    type_heads = tuple(sorted(heads))
    sets = other_sets(type_heads, 6, 4, seed)
    for drawn in sets:
        assert [layer for layer, _ in drawn] == [layer for layer, _ in type_heads]
        assert not set(drawn) & heads
        assert len(set(drawn)) == len(type_heads)
        assert all(0 <= head < 6 for _, head in drawn)
    assert len(set(sets)) == len(sets), "no set counts twice"
    sizes = [sum(layer == k for layer, _ in heads) for k in range(4)]
    possible = np.prod([comb(6 - size, size) for size in sizes]) if heads else 0
    assert len(sets) == min(4, possible), "none where a layer has too few other heads"


def test_other_heads_are_drawn_evenly_and_all_of_them_where_they_are_few():
    assert other_sets(((0, 0), (0, 1)), 4, 10, 0) == [((0, 2), (0, 3))]
    assert sorted(other_sets(((0, 0), (1, 3)), 4, 20, 0)) == [((0, a), (1, b)) for a in (1, 2, 3) for b in (0, 1, 2)]
    counts = Counter(head for seed in range(300) for heads in other_sets(((0, 5),), 6, 1, seed) for _, head in heads)
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_permuted_types_may_be_those_of_any_head_of_a_layer():
    drawn = permuted_sets(((0, 0), (0, 1), (1, 2)), 4, 3000, 0)
    counts = Counter(drawn)
    assert len(counts) == comb(4, 2) * 4
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_sentences_of_pieces():
    one = EXAMPLES[0]  # [CLS] q q q [SEP] w w w . w w w w . [SEP]
    assert sentence_of_pieces(one, "segments", "none") == [-1, 0, 0, 0, -1, *[1] * 9, -1]
    assert sentence_of_pieces(one, "stops", "none") == [-1, 0, 0, 0, -1, *[1] * 4, *[2] * 5, -1]
    assert sentence_of_pieces(one, "segments", "segment") == [0, 0, 0, 0, 0, *[1] * 9, 1]
    with pytest.raises(AtlasError, match="reader squad"):
        sentence_of_pieces(Example(0, "x", (2,), (0,), ("[CLS]",), (-1,), ()), "stops", "none")


def question_on(context, first_word=0):
    """An example with one word of a question, and the words of a passage from `first_word` on, each one piece."""
    matches = list(WORD.finditer(context))[first_word:]
    words = ("Who", *(match[0] for match in matches))
    starts, stops = zip(*(match.span() for match in matches), strict=True)
    annotation = QuestionAnnotation("q", context, 1, starts, stops, ("x",), None)
    word = (-1, 0, -1, *range(1, len(words)), -1)
    return Example(0, "q", (5,) * len(word), (0,) * len(word), ("x",) * len(word), word, words, question=annotation)


@pytest.mark.parametrize("context", [
    "The U.S. team, led by Mr. Smith, won 5.5 points. It was in São Paulo. \n Dr. A. B. Jones left at 3 p.m. on Monday.",
    'Is it? Yes! "No," he said. He left.',
    "One.",
])  # fmt: skip
def test_sentences_are_those_of_a_splitter_not_of_full_stops(context):
    """Each word has the number of the sentence that holds it, and windows of a passage have the same numbers."""
    example = question_on(context)
    expected, place = [], 0
    sentences = list(sentencex.segment("en", context))
    assert "".join(sentences) == context
    for number, sentence in enumerate(sentences, start=1):
        expected += [number for match in WORD.finditer(context) if place <= match.start() < place + len(sentence)]
        place += len(sentence)
    assert sentence_of_pieces(example, "sentencex", "none") == [-1, 0, -1, *expected, -1]
    if len(expected) > 8:
        assert sentence_of_pieces(question_on(context, 8), "sentencex", "none") == [-1, 0, -1, *expected[8:], -1]


def test_abbreviations_and_numbers_end_no_sentence():
    example = question_on("The U.S. team, led by Mr. Smith, won 5.5 points. It was in Brazil.")
    assert max(sentence_of_pieces(example, "sentencex", "none")) == 2
    assert max(sentence_of_pieces(example, "stops", "none")) == 6
    of_words = dict(zip(example.words[1:], sentence_of_pieces(example, "sentencex", "segment")[3:-1], strict=True))
    assert (of_words["points"], of_words["It"], of_words["Brazil"]) == (1, 2, 2)


@pytest.mark.parametrize("special_tokens", ["none", "segment"])
@pytest.mark.parametrize("renormalise", [False, True])
def test_answers_are_those_of_one_evaluation_a_row(model, types, special_tokens, renormalise):
    row_conditions = conditions(types, HEADS, 1, 1, "sentencex", renormalise, 0)
    answers = answer_all(model, EXAMPLES, row_conditions, 0, special_tokens, batch_tokens=40)
    differ = 0
    for condition in row_conditions:
        for one in EXAMPLES:
            ids = torch.tensor([one.input_ids])
            with torch.inference_mode(), watch(model, plan=condition.plan) as session:
                sentences = condition.sentences and torch.tensor([sentence_of_pieces(one, condition.sentences, special_tokens)])
                session.batch(torch.ones_like(ids), sentences if condition.sentences else None)
                output = model(input_ids=ids, token_type_ids=torch.tensor([one.segment_ids]))
            ((text, value),) = answer_texts([one], output.start_logits, output.end_logits, passage_pieces([one], ids.shape[1]))
            answer, answer_score = answers[condition.row, condition.sentences, condition.drawn_from, condition.draw][one.record]
            assert answer_score == pytest.approx(value, abs=1e-4)
            assert answer == text
            differ += answer != answers[BASELINE, "", "type", 0][one.record][0]
    assert differ > 0, "no ablation changed any answer"


def test_shards_together_answer_as_all_questions_at_once(model, types):
    row_conditions = conditions(types, HEADS, 1, 0, "stops", False, 0)
    whole, shards = answer_all(model, EXAMPLES, row_conditions, 0, "none"), []
    for part in (EXAMPLES[:1], EXAMPLES[1:], []):
        shards.append(answered(answer_all(model, part, row_conditions, 0, "none")))
    joined = answers_of(shards)
    assert list(joined) == list(whole)
    for key, by_window in joined.items():
        assert by_window.keys() == whole[key].keys()
        for record, (text, value) in by_window.items():
            assert text == whole[key][record][0]
            assert value == pytest.approx(whole[key][record][1], abs=1e-4)
    assert len(list(scored_rows(joined, EXAMPLES))) == len(list(scored_rows(whole, EXAMPLES)))


def test_the_answer_is_the_best_of_all_windows():
    annotation = QuestionAnnotation("q", "x. y.", 0, (), (), ("y", "x"), None)
    first, second = (
        Example(k, name, (2,), (0,), ("[CLS]",), (-1,), (), question=annotation) for k, name in enumerate(("q", "q#2"))
    )
    answers = {(BASELINE, "", "type", 0): {0: ("x", 1.0), 1: ("y", 2.0)}}
    ((*_, question, passage, answer, em, f1),) = scored_rows(answers, [first, second])
    assert (question, passage, answer, em, f1) == ("q", 1, "y", 100, 100)
    table = baselines(answers[BASELINE, "", "type", 0], [first, second], 100, 0).set_index(["windows", "references"])["em"]
    assert table.to_dict() == {("first", "first"): 0, ("first", "all"): 100, ("all", "first"): 100, ("all", "all"): 100}


def test_tables_have_drops_intervals_and_the_control():
    generator = np.random.default_rng(1)
    rows = []
    levels = [
        (1, "", "type", 0, 0.9),
        (2, "", "type", 0, 0.2),
        (2, "", "others", 1, 0.8),
        (2, "", "others", 2, 0.7),
        (2, "", "permuted", 1, 0.1),
        (4, "", "type", 0, 0.3),
        (12, "stops", "type", 0, 0.5),
    ]
    for *condition, level in levels:
        hits = 100.0 * (generator.random(60) < level)
        rows += [(*condition, f"q{k}", k // 3, "x", hit, hit) for k, hit in enumerate(hits)]
    answers = pd.DataFrame(rows, columns=COLUMNS)
    # Layer 1 has two dense heads and two others, layer 2 three of one type and one other.
    of_heads = [DENSE, DENSE, VERTICAL, VERTICAL, DENSE_VERTICAL, DENSE_VERTICAL, DENSE_VERTICAL, DIAGONAL]
    places = [(layer, head) for layer in (1, 2) for head in (1, 2, 3, 4)]
    rows = [(*place, UNNAMED if kind == DENSE else kind, kind) for place, kind in zip(places, of_heads, strict=True)]
    head_types = pd.DataFrame(rows, columns=["layer", "head", "type", "cluster"])
    table = table2(answers, head_types, pd.DataFrame(), 200, 0).frame.set_index("row")
    means = answers[answers["drawn_from"] != "permuted"].groupby(["row", "draw"])["em"].mean()
    assert list(table.index) == [1, 2, 4]
    row = table.loc[2]
    assert row["em"] == pytest.approx(means[2, 0], abs=1e-3)
    assert row["em_drop"] == pytest.approx(means[1, 0] - means[2, 0], abs=1e-3)
    assert row["em_drop_ci_low"] < row["em_drop"] < row["em_drop_ci_high"]
    drops = [means[1, 0] - means[2, draw] for draw in (1, 2)]
    assert row["em_random_drop"] == pytest.approx(np.mean(drops), abs=1e-3)
    assert (row["em_random_min"], row["em_random_max"]) == pytest.approx((min(drops), max(drops)), abs=1e-3)
    assert (row["heads"], row["n"], row["passages"], row["random_sets"]) == (2, 60, 20, 2)
    assert table.loc[4, "random_sets"] == 0
    assert np.isnan(table.loc[4, "em_random_drop"])
    assert table["unnamed"].fillna("").tolist() == ["", DENSE, ""]
    shown = table3(answers, head_types, 200, 0)
    assert shown.frame["sentences"].tolist()[1:] == ["stops"]
    assert np.isnan(shown.frame["em_random_drop"].iloc[1])
    assert shown.frame[["paper_em", "paper_f1"]].iloc[1].tolist() == [16.96, 25.29]
    assert shown.page["sentences"].iloc[1] == "sentences of the passage, split at full stops"
    assert shown.page["removed"].tolist() == ["nothing", "within sentences"]


def test_table2_stands_beside_the_baselines_by_the_way_of_scoring():
    ways = pd.DataFrame({"windows": ["all", "first"], "references": "all", "em": [90.0, 70.0], "f1": [90.0, 71.0]})
    rows = [
        (number, "", "type", 0, f"q{k}", k // 2, "x", level, level)
        for number, level in ((1, 90.0), (2, 40.0))
        for k in range(8)
    ]
    heads = [(1, 1, UNNAMED, DENSE), (2, 1, VERTICAL, VERTICAL)]
    head_types = pd.DataFrame(heads, columns=["layer", "head", "type", "cluster"])
    shown = table2(pd.DataFrame(rows, columns=COLUMNS), head_types, ways, 200, 0)
    assert shown.frame["em"].tolist() == [90, 40]
    # The exact match of the baseline cannot be read in the paper.
    assert shown.frame["paper_f1"].tolist() == [89.68, 87.62]
    assert shown.frame["paper_em"].fillna(-1).tolist() == [-1, 79.92]
    notes = " ".join(shown.notes)
    assert "all or first: 90.0 / 90.0 (all and all), 70.0 / 71.0 (first and all)" in notes
    assert "n = 8 questions on 4 passages" in notes
    assert "Unnamed (for Dense)" in shown.page
    row = shown.page.iloc[1]
    assert row["EM random drop"] == "none"
    assert row["remark"] == "not Dense: the cluster assigned to this type does not fit it"
