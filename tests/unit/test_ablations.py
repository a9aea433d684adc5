"""Ablations by type: the right heads, sentences and answers, equal to one plain evaluation per row; spans, their scores."""

import random
from collections import Counter
from math import comb

import numpy as np
import pandas as pd
import pytest
import sentencex
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from transformers import BertConfig, BertForQuestionAnswering

from attention_atlas.attention.engine import install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.corpora.text import WORD
from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, TYPES, VERTICAL
from attention_atlas.models.task_heads import answer_texts, best_spans, passage_pieces
from attention_atlas.published.values import load_published
from attention_atlas.studies.guan2020 import ablations
from attention_atlas.studies.guan2020.ablations import ANSWERED, conditions, sentence_of_pieces
from attention_atlas.studies.guan2020.rows import BASELINE, PRUNED, ROWS

LAYERS, HEADS = 3, 4
SIZE = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
SETTINGS = {"random_sets": 1, "permutations": 1, "sentences": "stops", "renormalise": False, "special_tokens": "none"}


def question_on(context, size=1, record=0, first_word=0):
    """An example with `size` words of a question, and the words of a passage from `first_word` on, each one piece."""
    generator = random.Random(record)
    matches = list(WORD.finditer(context))[first_word:]
    words = (*(f"q{k}" for k in range(size)), *(match[0] for match in matches))
    starts, stops = zip(*(match.span() for match in matches), strict=True)
    annotation = QuestionAnnotation(f"id{record}", context, size, starts, stops, (matches[0][0],), None)
    word = (-1, *range(size), -1, *range(size, len(words)), -1)
    ids = [generator.randrange(5, 40) for _ in word]
    ids[0], ids[size + 1], ids[-1] = 2, 3, 3
    segments = (0,) * (size + 2) + (1,) * (len(matches) + 1)
    return Example(record, f"id{record}", tuple(ids), segments, ("x",) * len(word), word, words, question=annotation)


def passage(*sizes):
    """Sentences of so many words, the last of each a full stop."""
    return " ".join(" ".join(["Aa", *"bcdefgh"[: size - 2], "."]) for size in sizes)


SHAPES = [(3, 4, 5), (2, 6), (4, 3, 3, 3), (3, 9, 2), (2, 5, 5)]
EXAMPLES = [question_on(passage(*sizes), size, record) for record, (size, *sizes) in enumerate(SHAPES)]


@pytest.fixture(scope="module")
def types():
    generator = np.random.default_rng(5)
    return {(layer, head): str(generator.choice(TYPES)) for layer in range(LAYERS) for head in range(HEADS)}


def test_conditions_change_the_heads_of_their_types(types):
    settings = SETTINGS | {"random_sets": 3, "permutations": 5}
    row_conditions = conditions(types, HEADS, settings, 0)
    for row in ROWS:
        type_heads = sorted(place for place, name in types.items() if name in row.types)
        of_row = [c for c in row_conditions if c.row == row.number]
        assert {c.sentences for c in of_row} == set(("segments", "stops") if row.item == "Table 3" else ("",))
        assert all(list(c.heads) == type_heads for c in of_row if c.drawn_from == "type")
        assert sum(c.drawn_from == "permuted" for c in of_row) == (5 if row.number in PRUNED.values() else 0)
        for condition in of_row:
            assert [layer for layer, _ in condition.heads] == [layer for layer, _ in type_heads]
            assert len(set(condition.heads)) == len(type_heads)
            assert (condition.drawn_from != "others") or not set(condition.heads) & set(type_heads)
    for draw in range(1, 6):
        together = [head for c in row_conditions if (c.drawn_from, c.draw) == ("permuted", draw) for head in c.heads]
        assert sorted(together) == sorted(types), "a permutation gives each head one type"
    assert any(c.drawn_from == "others" for c in row_conditions)
    # Rows change the types that the paper names.
    published, words = load_published("guan2020"), {DENSE: "Dense", DIAGONAL: "Diagonal", VERTICAL: "Vertical"}
    words[DENSE_VERTICAL] = "Dense&Vertical"
    starts = {"zero": "prune ", "uniform": "1/L for ", "intra": "no intra in ", "inter": "no inter in "}
    for row in ROWS:
        quantity = published[f"g_t{row.item[-1]}_{row.number}_em"].quantity
        named = quantity.split(starts[row.action])[1].split(":")[0].split(" (")[0].replace("D&V", "Dense&Vertical")
        assert {words[t] for t in row.types} == set(named.replace(", ", "+").split("+")), quantity


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=24), st.integers(0, 99))
def test_random_sets_are_other_heads_of_the_same_layers(heads, seed):
    type_heads = tuple(sorted(heads))
    sets = ablations.other_sets(type_heads, 6, 4, seed)
    for drawn in sets:
        assert [layer for layer, _ in drawn] == [layer for layer, _ in type_heads]
        assert not set(drawn) & heads
        assert len(set(drawn)) == len(type_heads)
    sizes = [sum(layer == k for layer, _ in heads) for k in range(4)]
    possible = np.prod([comb(6 - size, size) for size in sizes]) if heads else 0
    assert len(sets) == min(4, possible), "none where a layer has too few other heads"


def test_other_heads_and_permuted_types_are_drawn_evenly():
    assert sorted(ablations.other_sets(((0, 0), (1, 3)), 4, 20, 0)) == [((0, a), (1, b)) for a in (1, 2, 3) for b in (0, 1, 2)]
    counts = Counter(head for seed in range(300) for heads in ablations.other_sets(((0, 5),), 6, 1, seed) for _, head in heads)
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert chisquare(list(counts.values())).pvalue > 0.001
    types = dict.fromkeys([(0, 0), (0, 1), (1, 2)], DENSE) | dict.fromkeys([(0, 2), (0, 3), (1, 0), (1, 1), (1, 3)], DIAGONAL)
    permutations = ablations.permuted_types(types, 3000, 0)
    permuted = Counter(ablations.heads_of(permutation, (DENSE,)) for permutation in permutations)
    assert len(permuted) == comb(4, 2) * 4, "the heads of the type themselves as well"
    assert chisquare(list(permuted.values())).pvalue > 0.001


@pytest.mark.parametrize("context", [
    "The U.S. team, led by Mr. Smith, won 5.5 points. It was in São Paulo. \n Dr. A. B. Jones left at 3 p.m. on Monday.",
    'Is it? Yes! "No," he said. He left.',
])  # fmt: skip
def test_sentences_are_those_of_a_splitter_not_of_full_stops(context):
    """Each word has the number of the sentence that holds it, and windows of a passage have the same numbers."""
    expected, place = [], 0
    for number, sentence in enumerate(sentencex.segment("en", context), start=1):
        expected += [number for match in WORD.finditer(context) if place <= match.start() < place + len(sentence)]
        place += len(sentence)
    for first in (0, 8):
        one = question_on(context, first_word=first)
        assert sentence_of_pieces(one, "sentencex", "none") == [-1, 0, -1, *expected[first:], -1]
    one = EXAMPLES[0]  # [CLS] q q q [SEP] w w w . w w w w . [SEP]
    assert sentence_of_pieces(one, "segments", "none") == [-1, 0, 0, 0, -1, *[1] * 9, -1]
    assert sentence_of_pieces(one, "stops", "none") == [-1, 0, 0, 0, -1, *[1] * 4, *[2] * 5, -1]
    assert sentence_of_pieces(one, "segments", "segment") == [0, 0, 0, 0, 0, *[1] * 9, 1]


@pytest.mark.parametrize(("special_tokens", "renormalise"), [("none", False), ("segment", True)])
def test_answers_are_those_of_one_evaluation_a_row(types, special_tokens, renormalise):
    torch.manual_seed(3)
    model = BertForQuestionAnswering(BertConfig(**SIZE, intermediate_size=32, initializer_range=0.6)).eval()
    install(model)
    row_conditions = conditions(types, HEADS, SETTINGS | {"sentences": "sentencex", "renormalise": renormalise}, 0)
    by_condition = ablations.answer_all(model, EXAMPLES[:3], row_conditions, 0, special_tokens, batch_tokens=40)
    differ = 0
    for condition in row_conditions:
        for one in EXAMPLES[:3]:
            ids = torch.tensor([one.input_ids])
            with torch.inference_mode(), watch(model, plan=condition.plan) as session:
                sentences = condition.sentences and torch.tensor([sentence_of_pieces(one, condition.sentences, special_tokens)])
                session.batch(torch.ones_like(ids), sentences if condition.sentences else None)
                output = model(input_ids=ids, token_type_ids=torch.tensor([one.segment_ids]))
            ((text, value),) = answer_texts([one], output.start_logits, output.end_logits, passage_pieces([one], ids.shape[1]))
            assert by_condition[condition[:4]][one.record] == (text, pytest.approx(value, abs=1e-4))
            differ += text != by_condition[BASELINE, "", "type", 0][one.record][0]
    assert differ > 0, "no ablation changed any answer"


def test_the_answer_is_the_best_of_all_windows():
    annotation = QuestionAnnotation("q", "x. y.", 0, (), (), ("y", "x"), None)
    windows = [Example(k, name, (2,), (0,), ("[CLS]",), (-1,), (), question=annotation) for k, name in enumerate(("q", "q#2"))]
    rows = [(BASELINE, "", "type", 0, 0, "x", 1.0), (BASELINE, "", "type", 0, 1, "y", 2.0)]
    tables = ablations.answers(windows, [pd.DataFrame(rows, columns=ANSWERED)], 100, 0)
    ((*_, question, of_passage, answer, em, f1),) = tables["answers"].itertuples(index=False)
    assert (question, of_passage, answer, em, f1) == ("q", 1, "y", 100, 100)
    table = tables["baselines"].set_index(["windows", "references"])["em"]
    assert table.to_dict() == {("first", "first"): 0, ("first", "all"): 100, ("all", "first"): 100, ("all", "all"): 100}
    # The official score: articles, case and punctuation do not count; the best of all references does.
    assert ablations.score("The cat!", ("cat",)) == ablations.score("a red cat", ("red cats", "red cat")) == (100, 100)
    assert ablations.score("red cat", ("cat",)) == pytest.approx((0, 200 / 3))
    assert ablations.score("dog", ("cat",)) == (0, 0)


@settings(max_examples=80, deadline=None)
@given(n=st.integers(1, 12), longest=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_the_best_span_is_that_of_a_loop(n, longest, seed):
    generator = torch.Generator().manual_seed(seed)
    start, end = torch.randn(2, 3, n, generator=generator)
    allowed = torch.rand(3, n, generator=generator) > 0.3
    allowed[:, 0] = True
    for row, found in enumerate(zip(*best_spans(start, end, allowed, longest), strict=True)):
        places = [k for k in range(n) if allowed[row, k]]
        spans = [(float(start[row, a] + end[row, b]), a, b) for a in places for b in places if a <= b < a + longest]
        first, last, value = (float(part) for part in found)
        assert (value, first, last) == pytest.approx(max(spans), abs=1e-5)
