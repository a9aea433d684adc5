"""The table of dropped records: every record up to the limit is counted once."""

from dataclasses import replace

from attention_atlas.corpora.examples import Example, write_examples
from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.methods.dropped import dropped_records, read_records

EXAMPLE = Example(0, "s", (1,), (0,), ("x",), (0,), ("x",))


def write_shard(folder, number, examples, dropped):
    write_examples(folder / f"{number}.parquet", examples)
    lines = "".join(f"{record}\ts{record}\t{reason}\t'q\"'\t{unit}\t{n}\n" for record, reason, unit, n in dropped)
    (folder / f"{number}.dropped.tsv").write_text("record\tid\treason\tdetail\tunit\tn\n" + lines, encoding="utf-8")
    return [folder / f"{number}.parquet"], [folder / f"{number}.dropped.tsv"]


def kept(*records):
    return [replace(EXAMPLE, record=record) for record in records]


def table(files, limit, scored=None):
    frame = dropped_records({"x": read_records((*files, limit))}, scored).frame
    return [tuple(row) for row in frame[["outcome", "unit", "n", "share"]].round(3).fillna(-1).to_numpy().tolist()]


def test_records_are_counted_over_shards_and_those_that_are_not_scored(tmp_path):
    dropped = [(1, "too long"), (3, "word without tokens"), (4, "too long"), (7, "too long")]
    parts = ((kept(0, 2), dropped[:2]), (kept(5, 6), dropped[2:]))
    shards = [write_shard(tmp_path, k, examples, [(*d, "record", 1) for d in lost]) for k, (examples, lost) in enumerate(parts)]
    files = [first + second for first, second in zip(*shards, strict=True)]
    rows = [("kept", "record", 4, 0.5), ("too long", "record", 3, 0.375), ("word without tokens", "record", 1, 0.125)]
    assert table(files, 8) == rows
    assert table(files, 8, {"x": (3, "no name")}) == [*rows, ("kept, but not scored: no name", "record", 1, 0.125)]


def test_text_that_gave_no_record_counts_in_its_own_unit_and_absent_records_have_no_share(tmp_path):
    lost = [(2, "too long", "record", 1), *((place, "chunk", "sentence", n) for place, n in ((1, 7), (3, 5), (9, 50)))]
    absent = "absent: the corpus has fewer records than its limit of 5"
    assert table(write_shard(tmp_path, 0, kept(0, 1), lost), 5) == [
        ("kept", "record", 2, 0.667),
        ("too long", "record", 1, 0.333),
        ("chunk", "sentence", 12, -1),
        (absent, "record", 2, -1),
    ]


def test_windows_and_questions_are_counted_apart(tmp_path):
    """Three windows of two questions, and one that was dropped; a window behind the limit counts for nothing."""
    asked = (QuestionAnnotation(name, "c", 2, (0,), (1,), ("x",), None) for name in ("q1", "q1", "q2", "q3"))
    windows = [replace(EXAMPLE, record=record, question=q) for record, q in zip((0, 1, 3, 9), asked, strict=True)]
    assert table(write_shard(tmp_path, 0, windows, [(2, "too long", "record", 1)]), 5) == [
        ("kept", "window", 3, 0.75),
        ("too long", "window", 1, 0.25),
        ("kept", "question", 2, -1),
        ("absent: the corpus has fewer windows than its limit of 5", "window", 1, -1),
    ]
