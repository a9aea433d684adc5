"""The best span of scores, against a loop over all spans; models without a head for answers are refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertConfig, BertForQuestionAnswering, BertModel

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.errors import AtlasError
from attention_atlas.models.loading import load_trained
from attention_atlas.models.task_heads import answer_texts, best_spans, passage_pieces, span_of_pieces
from attention_atlas.studies.guan2020.ablations import score

SIZE = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
CONTEXT = "a bb ccc dd e"
EXAMPLE = Example(
    record=0,
    id="q",
    input_ids=(2, 9, 3, 10, 11, 12, 13, 14, 15, 3),
    segment_ids=(0, 0, 0, 1, 1, 1, 1, 1, 1, 1),
    tokens=("[CLS]", "who", "[SEP]", "a", "b", "##b", "ccc", "dd", "e", "[SEP]"),
    word=(-1, 0, -1, 1, 2, 2, 3, 4, 5, -1),
    words=("who", "a", "bb", "ccc", "dd", "e"),
    question=QuestionAnnotation("q", CONTEXT, 1, (0, 2, 5, 9, 12), (1, 4, 8, 11, 13), ("bb ccc",), (2, 4)),
)


def slow(start, end, allowed, longest):
    best = (-float("inf"), 0, 0)
    for a in range(len(start)):
        for b in range(a, min(a + longest, len(start))):
            if allowed[a] and allowed[b] and start[a] + end[b] > best[0]:
                best = (start[a] + end[b], a, b)
    return best


@settings(max_examples=80, deadline=None)
@given(n=st.integers(1, 12), longest=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_the_best_span_is_that_of_a_loop(n, longest, seed):
    generator = torch.Generator().manual_seed(seed)
    start, end = torch.randn(3, n, generator=generator), torch.randn(3, n, generator=generator)
    allowed = torch.rand(3, n, generator=generator) > 0.3
    allowed[:, 0] = True
    firsts, lasts, scores = best_spans(start, end, allowed, longest)
    for row in range(3):
        value, a, b = slow(start[row].tolist(), end[row].tolist(), allowed[row].tolist(), longest)
        assert (int(firsts[row]), int(lasts[row])) == (a, b)
        assert float(scores[row]) == pytest.approx(value, abs=1e-5)


def test_answers_are_whole_words_of_the_passage():
    allowed = passage_pieces([EXAMPLE], 11)
    assert allowed[0].nonzero()[:, 0].tolist() == [3, 4, 5, 6, 7, 8]
    assert span_of_pieces(EXAMPLE) == (4, 6)
    start, end = torch.zeros(1, 11), torch.zeros(1, 11)
    start[0, 5], end[0, 6] = 5, 5  # from the middle of "bb"
    start[0, 1] = 99  # the question is no answer
    ((text, value),) = answer_texts([EXAMPLE], start, end, allowed)
    assert text == "bb ccc"
    assert value == 10


@pytest.mark.parametrize(
    ("answer", "references", "em", "f1"),
    [
        ("The cat!", ("cat",), 100, 100),  # articles, case and punctuation do not count
        ("a red cat", ("red cats", "red cat"), 100, 100),  # the best of all references
        ("red cat", ("cat",), 0, 200 / 3),
        ("dog", ("cat",), 0, 0),
    ],
)
def test_scores_are_the_official_ones(answer, references, em, f1):
    assert score(answer, references) == pytest.approx((em, f1), abs=1e-4)


def test_a_model_with_a_head_is_loaded_and_one_without_is_refused(tmp_path):
    entry = {"source": {"path": str(tmp_path / "qa")}, "init": "pretrained", "seed": 0, "dtype": "float32"}
    BertForQuestionAnswering(BertConfig(**SIZE)).save_pretrained(tmp_path / "qa")
    model = load_trained(entry, "questions")
    assert not model.training
    BertModel(BertConfig(**SIZE)).save_pretrained(tmp_path / "plain")
    with pytest.raises(AtlasError, match="no head for answers: fine-tune"):
        load_trained(entry | {"source": {"path": str(tmp_path / "plain")}}, "questions")
