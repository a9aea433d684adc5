"""The table of dropped records: every record up to the limit is counted once."""

from dataclasses import replace

import pytest

from attention_atlas.corpora.examples import Example, write_examples
from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.methods.dropped import dropped_records, read_records

HEADER = "record\tid\treason\tdetail\tunit\tn\n"


def write_shard(folder, number, records, dropped):
    examples = [Example(r, f"s{r}", (1,), (0,), ("x",), (0,), ("x",), {}) for r in records]
    write_examples(folder / f"{number}.parquet", examples)
    lines = "".join(f"{record}\ts{record}\t{reason}\t'q\"'\trecord\t1\n" for record, reason in dropped.items())
    (folder / f"{number}.dropped.tsv").write_text(HEADER + lines, encoding="utf-8")
    return folder / f"{number}.parquet", folder / f"{number}.dropped.tsv"


def table(corpora, scored=None):
    return dropped_records({name: read_records(files) for name, files in corpora.items()}, scored).frame


def outcomes(frame, corpus):
    of = frame[frame["corpus"] == corpus]
    return dict(zip(of["outcome"], of["n"], strict=True))


def test_records_are_counted_over_shards(tmp_path):
    files = [
        write_shard(tmp_path, 0, [0, 2], {1: "too long", 3: "word without tokens"}),
        write_shard(tmp_path, 1, [5, 6], {4: "too long", 7: "too long"}),
    ]
    frame = table({"trees": (*zip(*files, strict=True), 8)})
    assert frame.columns.tolist() == ["corpus", "outcome", "unit", "n", "share"]
    assert outcomes(frame, "trees") == {"kept": 4, "too long": 3, "word without tokens": 1}
    assert frame["share"].tolist() == [0.5, 0.375, 0.125]
    assert frame["outcome"].iloc[0] == "kept"


def test_a_corpus_that_ends_before_its_limit_says_so(tmp_path):
    examples, dropped = write_shard(tmp_path, 0, [0, 1, 3], {2: "too long"})
    frame = table({"trees": ([examples], [dropped], 10)})
    counts = outcomes(frame, "trees")
    assert sum(counts.values()) == 10
    assert counts["absent: the corpus has fewer records than its limit of 10"] == 6
    # Shares are of the records that are there.
    assert frame["share"].dropna().sum() == pytest.approx(1)
    assert frame["share"].isna().tolist() == [False, False, True]


def test_text_that_gave_no_record_counts_in_its_own_unit(tmp_path):
    examples, dropped = write_shard(tmp_path, 0, [0, 1], {2: "too long"})
    with dropped.open("a", encoding="utf-8") as stream:
        stream.write("1\tdocument 2, sentence 3\tchunk of one\t\tsentence\t7\n")
        stream.write("3\tdocument 4, sentence 9\tchunk of one\t\tsentence\t5\n")
        stream.write("9\tdocument 6, sentence 9\tchunk of one\t\tsentence\t50\n")
    frame = table({"segments": ([examples], [dropped], 5)})
    # Twelve sentences are no records: two of five are not there.
    assert outcomes(frame, "segments") == {
        **{"kept": 2, "too long": 1, "chunk of one": 12, "absent: the corpus has fewer records than its limit of 5": 2},
    }
    assert frame["unit"].tolist() == ["record", "record", "sentence", "record"]
    assert frame["share"].round(3).tolist()[:2] == [0.667, 0.333]
    assert frame["share"].isna().tolist() == [False, False, True, True]


def test_windows_and_questions_are_counted_apart(tmp_path):
    """Three windows of two questions, and one that was dropped; pairs of sentences have no question."""
    question = QuestionAnnotation("q1", "c", 2, (0,), (1,), ("x",), None)
    first = Example(0, "q1", (1,), (0,), ("x",), (0,), ("x",), {}, question=question)
    second, other = replace(first, record=1, id="q1 2"), replace(first, record=3, question=replace(question, question="q2"))
    behind = replace(first, record=9, question=replace(question, question="q3"))
    _, dropped = write_shard(tmp_path, 0, [], {2: "too long"})
    write_examples(tmp_path / "0.parquet", [first, second, other, behind])
    frame = table({"questions": ([tmp_path / "0.parquet"], [dropped], 5)})
    rows = frame[["outcome", "unit", "n"]].to_numpy().tolist()
    assert rows == [
        ["kept", "window", 3],
        ["too long", "window", 1],
        ["kept", "question", 2],
        ["absent: the corpus has fewer windows than its limit of 5", "window", 1],
    ]
    assert frame["share"].tolist()[:2] == [0.75, 0.25]


def test_records_that_are_kept_but_not_scored_are_counted(tmp_path):
    examples, dropped = write_shard(tmp_path, 0, [0, 1, 3, 4], {2: "too long"})
    corpora = {name: ([examples], [dropped], 5) for name in ("GAP", "trees")}
    frame = table(corpora, {"GAP": (3, "no name")})
    assert outcomes(frame, "GAP") == {"kept": 4, "too long": 1, "kept, but not scored: no name": 1}
    assert frame["share"].iloc[2] == 0.2
    assert outcomes(frame, "trees") == {"kept": 4, "too long": 1}
