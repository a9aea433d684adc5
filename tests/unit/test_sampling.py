"""Samples of a corpus: the first records of one seeded order, whatever their number, the shards and the reader."""

import json
from pathlib import Path

import pytest
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import Example, build_shard, read_examples
from attention_atlas.corpora.records import in_record_order, record_order, sampled

SIZE = 23
NAMES = [f"r{k}" for k in range(SIZE)]


@pytest.mark.parametrize("order", ["shuffled", "file"])
@pytest.mark.parametrize("shard", [1, 4, 40])
def test_shards_of_any_size_hold_the_same_records_in_the_same_order(order, shard):
    places = record_order(SIZE, order, 5).tolist()
    assert (sorted(places) == list(range(SIZE)), places == list(range(SIZE))) == (True, order == "file")
    shards = [list(sampled(lambda: iter(NAMES), order, 5, start, start + shard)) for start in range(0, SIZE + 9, shard)]
    assert [item for records in shards for item in records] == [(k, NAMES[k]) for k in places]
    assert list(in_record_order(NAMES, order, 5)) == [NAMES[k] for k in places]


def tree(k: int) -> str:
    return f"# sent_id = n{k}\n1\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"


def document(k: int) -> str:
    rows = [f"n{k} 0 0 {word} - - - - - - - ({chain})\n" for chain, word in enumerate(("cat", "dog"))]
    sentence = "".join(rows) + "\n"
    return f"#begin document (n{k}); part 000\n{sentence * 3}#end document\n"


QUESTIONS = [{"context": "cat dog", "question": f"x {'cat ' * (k % 3)}", "answer": "dog"} for k in range(SIZE)]
SEGMENTS = {"lines": "sentences", "recipe": "authors", "segment_ids": "zeros", "per_document": None}
READERS = {
    "conllu": ("".join(map(tree, range(SIZE))), {"view": "none"}),
    "conll2012": ("".join(map(document, range(SIZE))), {"windows": "first", "files": "*"}),
    "squad": (json.dumps(QUESTIONS), {"windows": "first", "stride": 8}),
    "segments": ("".join(f"cat {'x ' * k}\ndog\n\n" for k in range(SIZE)), SEGMENTS),
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Path:
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


def build(folder: Path, tokenizer: Path, reader: str, shard: int, limit: int = SIZE, **changes) -> list[Example]:
    text, keys = READERS[reader]
    (folder / "raw").write_text(text, encoding="utf-8")
    entry = {"reader": reader, "max_tokens": 40, "shard": shard, **FILE_ORDER, **keys, **changes}
    examples = []
    for start in range(0, limit, shard):
        build_shard(entry, folder / "raw", tokenizer, 512, start, folder / "e.parquet", folder / "d.tsv")
        examples += read_examples([folder / "e.parquet"], limit)
    return examples


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_takes_the_first_of_one_seeded_order(reader, tokenizer, tmp_path):
    names = [example.id.split(",")[0] for example in build(tmp_path, tokenizer, reader, SIZE)]
    expected = [names[k] for k in record_order(SIZE, "shuffled", 7)]
    for shard, limit in ((5, SIZE), (4, 10)):
        examples = build(tmp_path, tokenizer, reader, shard, limit, order="shuffled", seed=7)
        assert [(e.record, e.id.split(",")[0]) for e in examples] == list(enumerate(expected[:limit]))
    if reader == "conllu":
        rest = build(tmp_path, tokenizer, reader, 14, 14, order="shuffled", seed=7, skip=9)
        assert [example.id for example in rest] == expected[9:]
