"""Questions as examples: words and windows of the passage, places of the answers, and generated questions."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_corpus.generate import generate_documents
from sample_corpus.questions import squad_json
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import ExampleBuilder, build_shard, read_examples, write_examples
from attention_atlas.corpora.questions import Answer, Question, question_windows, squad_records
from attention_atlas.corpora.records import Dropped, in_record_order
from attention_atlas.models.task_heads import span_of_pieces

CONTEXT = "The red cat sat. The dog, which was old, slept near the warm stove; nobody saw 12.5 mice."


def question(text="Who slept?", answer="dog", context=CONTEXT):
    return Question("q1", text, context, (Answer(answer, context.index(answer)),))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


@pytest.fixture(scope="module")
def cut(tokenizer):
    """The examples of a question: bound, windows and stride."""
    pieces = WordPieces(tokenizer)

    def of(asked, bound, windows, stride):
        return list(question_windows(ExampleBuilder({"windows": windows, "stride": stride}, "raw", pieces, bound), asked))

    return of


def test_words_and_places_are_those_of_the_text(cut):
    (window,) = cut(question(), 128, "first", 8)
    assert window.words[:8] == ("Who", "slept", "?", "The", "red", "cat", "sat", ".")
    words = list(window.words[3:])
    annotation = window.question
    assert [CONTEXT[a:b] for a, b in zip(annotation.starts, annotation.stops, strict=True)] == words
    assert annotation.text(*annotation.span) == "dog"
    assert annotation.text(annotation.size + 1, annotation.size + 3) == "red cat"


def test_an_answer_within_a_word_takes_the_whole_word(cut):
    (window,) = cut(question(answer="lept"), 128, "first", 8)
    assert window.question.text(*window.question.span) == "slept"


def test_windows_cover_the_passage_and_the_answer_lies_where_it_should(cut):
    windows = cut(question(answer="mice"), 24, "all", 6)
    assert len(windows) > 2
    covered = set()
    for number, window in enumerate(windows, start=1):
        assert window.id == ("q1" if number == 1 else f"q1#{number}")
        assert window.question.question == "q1"
        assert len(window.input_ids) <= 24
        covered.update(window.question.starts)
    (whole,) = cut(question(), 512, "first", 6)
    assert covered == set(whole.question.starts)
    with_answer = [w for w in windows if w.question.span is not None]
    assert with_answer
    assert all(w.question.text(*w.question.span) == "mice" for w in with_answer)
    assert windows[0].question.span is None
    assert len(cut(question(answer="mice"), 24, "first", 6)) == 1


def test_a_question_that_leaves_no_room_has_no_window(cut):
    assert cut(question("who " * 30), 24, "all", 6) == [Dropped("q1", "question too long", "no room beside it in 24 tokens")]


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=60).filter(str.strip),
    data=st.data(),
    bound=st.integers(10, 60),
)
def test_windows_never_misplace_a_word(cut, text, data, bound):
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, len(text)))
    drawn_question = Question("q", "who?", text, (Answer(text[start:stop], start),))
    for window in cut(drawn_question, bound, "all", 5):
        if isinstance(window, Dropped):
            continue
        annotation = window.question
        places = zip(annotation.starts, annotation.stops, strict=True)
        assert tuple(text[a:b] for a, b in places) == window.words[annotation.size :]
        if annotation.span is not None:
            answer = annotation.text(*annotation.span)
            assert answer in text
            assert text[start:stop].strip() in answer or not text[start:stop].strip()


def test_examples_keep_what_is_asked(tmp_path, tokenizer):
    entries = [{"context": CONTEXT, "question": text, "answer": "dog"} for text in ("Who slept?", "who " * 200)]
    raw, out, dropped = tmp_path / "raw.json", tmp_path / "out.parquet", tmp_path / "dropped.tsv"
    raw.write_text(json.dumps(entries))
    entry = {"reader": "squad", **FILE_ORDER, "windows": "all", "stride": 8, "max_tokens": 128, "shard": 4}
    build_shard(entry, raw, tokenizer, 512, 0, out, dropped)
    examples = list(read_examples([out]))
    assert [e.id for e in examples] == ["1"]
    assert "question too long" in dropped.read_text()
    example = examples[0]
    first, last = span_of_pieces(example)
    assert "".join(t.removeprefix("##") for t in example.tokens[first : last + 1]) == "dog"
    assert example.segment_ids[0] == 0
    assert example.segment_ids[-1] == 1
    path = tmp_path / "again.parquet"
    write_examples(path, examples)
    assert list(read_examples([path])) == examples


def test_a_shuffled_order_is_seeded(tmp_path):
    path = tmp_path / "flat.json"
    path.write_text(json.dumps([{"context": CONTEXT, "question": f"q {k}?", "answer": "dog"} for k in range(30)]))
    orders = [[q.id for q in in_record_order(list(squad_records(path)), "shuffled", seed)] for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0], key=int) == [q.id for q in squad_records(path)]


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    path = tmp_path_factory.mktemp("generated") / "questions.json"
    path.write_text(squad_json(generate_documents(60, 5), 5))
    return list(squad_records(path))


def test_generated_questions_are_many_and_varied(generated):
    assert len(generated) > 400
    openings = {q.question.split()[0] for q in generated}
    assert {"Who", "What", "When", "Where", "How"} <= openings
    assert len({q.question for q in generated}) > 0.9 * len(generated)


def test_generated_questions_are_english(generated):
    for q in generated:
        assert q.question.endswith("?")
        assert q.question[0].isupper()
        words = q.question.removesuffix("?").split()
        assert 3 <= len(words) <= 25, q.question
        assert not {"they", "he", "she", "him", "them"} & {w.lower() for w in words[:3]}, q.question
        if words[0] in ("Who", "What"):
            assert words[1] not in ("are", "were", "have", "do") or words[2:], q.question
        assert "  " not in q.question
        assert q.answers[0].text not in q.question or len(q.answers[0].text) < 12, (q.question, q.answers[0].text)


def test_no_place_gives_the_answer_away(generated):
    """Always the first (or the last) words of the passage, or the words next to those of the question, are mostly wrong."""
    first = sum(q.answers[0].start == 0 for q in generated)
    assert first < 0.35 * len(generated)
    longest = max(len(q.answers[0].text.split()) for q in generated)
    assert longest > 6
    assert sum(len(q.answers[0].text.split()) == 1 for q in generated) < 0.4 * len(generated)
