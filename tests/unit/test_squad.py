"""SQuAD files: both forms are read, and what is wrong is named with its place."""

import copy
import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_atlas.corpora.questions import Answer, squad_records
from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError

CONTEXT = "Café Bräuer opened in 1912. It closed in 1990."
GOOD = {
    "version": "1.1",
    "data": [
        {
            "title": "t",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "q1",
                            "question": "When did it open?",
                            "answers": [
                                {"text": "1912", "answer_start": CONTEXT.index("1912")},
                                {"text": "in 1912", "answer_start": CONTEXT.index("in 1912")},
                            ],
                        },
                        {"id": "q2", "question": "What closed?", "answers": [{"text": "Café Bräuer", "answer_start": 0}]},
                    ],
                }
            ],
        }
    ],
}
FLAT = [{"context": CONTEXT, "question": "When did it open?", "answer": "1912"}]


def write(folder, content):
    path = folder / "q.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_official_form(tmp_path):
    first, second = squad_records(write(tmp_path, GOOD))
    assert (first.id, first.question, first.context) == ("q1", "When did it open?", CONTEXT)
    assert first.answers == (Answer("1912", 22), Answer("in 1912", 19))
    # Offsets count characters, not bytes: two letters of this answer take two bytes.
    assert CONTEXT[second.answers[0].start :].startswith("Café Bräuer")


def test_a_flat_list_and_packed_files(tmp_path):
    (question,) = squad_records(write(tmp_path, FLAT))
    assert (question.id, question.answers) == ("1", (Answer("1912", 22),))
    packed = tmp_path / "q.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    assert len(list(squad_records(packed))) == 2


def changed(*steps, value):
    content = copy.deepcopy(GOOD)
    place = content
    for step in steps[:-1]:
        place = place[step]
    if value is None:
        del place[steps[-1]]
    else:
        place[steps[-1]] = value
    return content


QUESTION = ("data", 0, "paragraphs", 0, "qas", 0)
BAD = [
    (changed("data", value=None), "q.json: there is no list 'data' here"),
    (changed("data", 0, "paragraphs", value=3), "article 1: there is no list 'paragraphs' here"),
    (changed("data", 0, "paragraphs", 0, "context", value=""), "article 1, paragraph 1: 'context' is missing or empty"),
    (changed(*QUESTION, "question", value=None), "article 1, paragraph 1, question 1: 'question' is missing or empty"),
    (changed(*QUESTION, "answers", value=None), "question 1: there is no list 'answers' here"),
    (changed(*QUESTION, "answers", 0, "text", value=3), "question 1: an answer has no text"),
    (changed(*QUESTION, "id", value="q2"), "question 2: the id 'q2' is used twice"),
    ([3], "question 1: 'context' is missing or empty"),
    (3, "q.json: there is no list 'data' here"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_faults_are_named_with_their_place(tmp_path, content, message):
    with pytest.raises(AtlasError) as caught:
        list(squad_records(write(tmp_path, content)))
    assert message in str(caught.value)


MISPLACED = "answer not at its offset"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (changed(*QUESTION, "answers", value=[]), [Dropped("q1", "no answer"), "q2"]),
        (changed(*QUESTION, "answers", 0, "text", value=" "), ["q1", "q2"]),
        *(
            (
                changed(*QUESTION, "answers", 0, "answer_start", value=start),
                [Dropped("q1", MISPLACED, f"'1912' at character {shown}"), "q2"],
            )
            for start, shown in ((5, 5), (-4, -4), ("22", -1), (True, -1), (None, -1))
        ),
        (changed(*QUESTION, "id", value=0), ["0", "q2"]),
        ([{"context": "a", "question": "b", "answer": "c"}, *FLAT], [Dropped("1", MISPLACED, "'c' at character -1"), "2"]),
    ],
)
def test_questions_are_read_or_dropped_with_a_reason(tmp_path, content, expected):
    items = list(squad_records(write(tmp_path, content)))
    assert [item if isinstance(item, Dropped) else item.id for item in items] == expected


def test_broken_json_names_the_line_and_other_encodings_the_byte(tmp_path):
    path = tmp_path / "q.json"
    path.write_text('{\n "data": [\n', encoding="utf-8")
    with pytest.raises(AtlasError, match=r"q\.json:3: invalid JSON"):
        list(squad_records(path))
    path.write_bytes('["é"]'.encode("latin-1"))
    with pytest.raises(AtlasError, match=r"byte 3 \(0xe9\) is not UTF-8"):
        list(squad_records(path))
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(AtlasError):
        list(squad_records(path))
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode())[:-9])
    with pytest.raises(AtlasError, match="damaged or incomplete"):
        list(squad_records(path))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 50) | st.sampled_from(["", "1912", CONTEXT, "q"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["data", "paragraphs", "qas", "context", "answers", "text", "answer_start", "id", "question", "answer"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def holds(path):
    try:
        questions = list(squad_records(path))
    except AtlasError:
        return
    for question in questions:
        if isinstance(question, Dropped):
            continue
        assert question.answers
        for answer in question.answers:
            assert question.context[answer.start : answer.start + len(answer.text)] == answer.text


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=JSON)
def test_any_json_is_read_or_refused(tmp_path, content):
    holds(write(tmp_path, content))


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_read_or_refused(tmp_path, data):
    raw = json.dumps(GOOD, ensure_ascii=False).encode()
    start = data.draw(st.integers(0, len(raw)))
    middle = data.draw(st.sampled_from([b"", b"0", b"\xff", b'"', b"{", b"]", b",", b"9" * 5000, b"null"]))
    path = tmp_path / "q.json"
    path.write_bytes(raw[:start] + middle + raw[start + data.draw(st.integers(0, 6)) :])
    holds(path)
