"""SQuAD files, and their questions as examples: windows of the passage and places of the answers."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_entries import written

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import ExampleBuilder
from attention_atlas.corpora.questions import Answer, Question, question_windows, squad_records
from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError

CONTEXT = "The red cat sat. The dog, which was old, slept near the warm stove; nobody saw 12.5 mice."


def question(text="Who slept?", answer="dog", context=CONTEXT):
    return Question("q1", text, context, (Answer(answer, context.index(answer)),))


@pytest.fixture(scope="module")
def cut(tokenizer):
    """The examples of a question: bound, windows and stride."""
    pieces = WordPieces(tokenizer)

    def of(asked, bound, windows, stride):
        return list(question_windows(ExampleBuilder({"windows": windows, "stride": stride}, "raw", pieces, bound), asked))

    return of


def test_windows_cover_the_passage_and_the_answer_lies_where_it_should(cut):
    windows = cut(question(answer="mice"), 24, "all", 6)
    assert [window.id for window in windows] == ["q1", *(f"q1#{number}" for number in range(2, len(windows) + 1))]
    assert max(len(window.input_ids) for window in windows) <= 24
    (whole,) = cut(question(), 512, "first", 6)
    assert {start for window in windows for start in window.question.starts} == set(whole.question.starts)
    assert whole.words[:8] == ("Who", "slept", "?", "The", "red", "cat", "sat", ".")
    answers = [window.question.span and window.question.text(*window.question.span) for window in windows]
    assert (answers[0], answers[-1], len(set(answers))) == (None, "mice", 2)
    assert len(cut(question(answer="mice"), 24, "first", 6)) == 1


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=60).filter(str.strip),
    data=st.data(),
    bound=st.integers(10, 60),
)
def test_windows_never_misplace_a_word(cut, text, data, bound):
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, len(text)))
    for window in cut(Question("q", "who?", text, (Answer(text[start:stop], start),)), bound, "all", 5):
        if isinstance(window, Dropped):
            continue
        annotation = window.question
        places = zip(annotation.starts, annotation.stops, strict=True)
        assert tuple(text[a:b] for a, b in places) == window.words[annotation.size :]
        if annotation.span is not None:
            assert text[start:stop].strip() in annotation.text(*annotation.span) in text


PASSAGE = "Café Bräuer opened in 1912. It closed in 1990."
ASKED = [
    {
        "id": "q1",
        "question": "When?",
        "answers": [{"text": "1912", "answer_start": 22}, {"text": "in 1912", "answer_start": 19}],
    },
    {"id": "q2", "question": "What closed?", "answers": [{"text": "Café Bräuer", "answer_start": 0}]},
]
GOOD = {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": PASSAGE, "qas": ASKED}]}]}
FLAT = [{"context": PASSAGE, "question": "When did it open?", "answer": "1912"}]


def write(folder, content):
    return written(folder / "q.json", json.dumps(content))


def test_the_official_form_and_a_flat_list(tmp_path):
    first, second = squad_records(write(tmp_path, GOOD))
    # Offsets count characters, not bytes.
    assert first == Question("q1", "When?", PASSAGE, (Answer("1912", 22), Answer("in 1912", 19)))
    assert (second.id, second.answers) == ("q2", (Answer("Café Bräuer", 0),))
    assert list(squad_records(write(tmp_path, FLAT))) == [Question("1", "When did it open?", PASSAGE, (Answer("1912", 22),))]


def changed(*steps, value):
    content = copy.deepcopy(GOOD)
    place = content
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value
    return content


QUESTION = ("data", 0, "paragraphs", 0, "qas", 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed("data", 0, "paragraphs", 0, "context", value=""), "article 1, paragraph 1: 'context' is missing or empty"),
        (changed(*QUESTION, "question", value=None), "article 1, paragraph 1, question 1: 'question' is missing or empty"),
        (changed(*QUESTION, "id", value="q2"), "question 2: the id 'q2' is used twice"),
    ],
)
def test_faults_are_named_with_their_place(tmp_path, content, message):
    with pytest.raises(AtlasError) as caught:
        list(squad_records(write(tmp_path, content)))
    assert message in str(caught.value)


MISPLACED = "answer not at its offset"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (changed(*QUESTION, "answers", value=[]), [Dropped("q1", "no answer"), "q2"]),
        (
            changed(*QUESTION, "answers", 0, "answer_start", value=-4),
            [Dropped("q1", MISPLACED, "'1912' at character -4"), "q2"],
        ),
        ([{"context": "a", "question": "b", "answer": "c"}, *FLAT], [Dropped("1", MISPLACED, "'c' at character -1"), "2"]),
    ],
)
def test_questions_are_read_or_dropped_with_a_reason(tmp_path, content, expected):
    items = list(squad_records(write(tmp_path, content)))
    assert [item if isinstance(item, Dropped) else item.id for item in items] == expected
