"""Samples of a corpus: the first records of one seeded order, whatever their number, the shards and the reader."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import Example, build_shard, read_examples
from attention_atlas.corpora.records import in_record_order, record_order, sampled

SIZE = 23
NAMES = [f"r{k}" for k in range(SIZE)]


def test_an_order_is_a_permutation_that_the_seed_decides():
    orders = [record_order(SIZE, "shuffled", seed).tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert all(sorted(order) == list(range(SIZE)) != order for order in orders)
    assert record_order(SIZE, "file", 3).tolist() == list(range(SIZE))
    assert list(in_record_order(NAMES, "shuffled", 1)) == [NAMES[k] for k in orders[2]]


def test_every_record_is_as_likely_to_be_drawn():
    drawn = np.array([record_order(12, "shuffled", seed)[:3] for seed in range(2000)])
    counts = np.bincount(drawn.ravel(), minlength=12)
    # 500 expected; four standard deviations of a binomial.
    assert np.abs(counts - 500).max() < 4 * (2000 * 0.25 * 0.75) ** 0.5


@pytest.mark.parametrize("order", ["shuffled", "file"])
@pytest.mark.parametrize("shard", [1, 4, 23, 40])
def test_shards_of_any_size_hold_the_same_records_in_the_same_order(order, shard):
    expected = list(enumerate(NAMES)) if order == "file" else [(k, NAMES[k]) for k in record_order(SIZE, order, 5).tolist()]
    shards = [list(sampled(lambda: iter(NAMES), order, 5, start, start + shard)) for start in range(0, SIZE, shard)]
    assert [item for records in shards for item in records] == expected
    assert list(sampled(lambda: iter(NAMES), order, 5, SIZE, SIZE + shard)) == []


def pair(k: int) -> str:
    return json.dumps({"sentence1": f"cat {'x ' * (k % 4)}", "sentence2": "dog", "label": "entailment"}) + "\n"


def tree(k: int) -> str:
    return f"# sent_id = n{k}\n1\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"


def document(k: int) -> str:
    rows = [f"n{k} 0 0 {word} - - - - - - - ({chain})\n" for chain, word in enumerate(("cat", "dog"))]
    sentence = "".join(rows) + "\n"
    return f"#begin document (n{k}); part 000\n{sentence * 3}#end document\n"


READERS = {
    "conllu": ("".join(map(tree, range(SIZE))), {"view": "none"}),
    "conll2012": ("".join(map(document, range(SIZE))), {"windows": "first", "files": "*"}),
    "glue": ("".join(map(pair, range(SIZE))), {"task": "mrpc", "overlong": "drop"}),
    "squad": (
        json.dumps([{"context": "cat dog", "question": f"x {'cat ' * (k % 3)}", "answer": "dog"} for k in range(SIZE)]),
        {"windows": "first", "stride": 8},
    ),
    "segments": (
        "".join(f"cat {'x ' * k}\ndog\n\n" for k in range(SIZE)),
        {"lines": "sentences", "recipe": "authors", "segment_ids": "zeros", "per_document": None},
    ),
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
    in_file = build(tmp_path, tokenizer, reader, SIZE)
    assert len(in_file) == SIZE
    expected = [in_file[k].id for k in record_order(SIZE, "shuffled", 7)]
    for shard, limit in ((SIZE, SIZE), (5, SIZE), (5, 10), (4, 10)):
        examples = build(tmp_path, tokenizer, reader, shard, limit, order="shuffled", seed=7)
        assert [example.id.split(",")[0] for example in examples] == [name.split(",")[0] for name in expected[:limit]]
        assert [example.record for example in examples] == list(range(limit))


@pytest.mark.parametrize("reader", sorted(set(READERS) - {"segments", "conll2012", "squad"}))
def test_what_is_skipped_and_what_is_used_share_no_record(reader, tokenizer, tmp_path):
    first = build(tmp_path, tokenizer, reader, 9, 9, order="shuffled")
    second = build(tmp_path, tokenizer, reader, 14, 14, order="shuffled", skip=9)
    whole = build(tmp_path, tokenizer, reader, SIZE, order="shuffled")
    assert [example.id for example in [*first, *second]] == [example.id for example in whole]


def test_windows_of_a_document_stay_together_in_their_order(tokenizer, tmp_path):
    in_file = build(tmp_path, tokenizer, "conll2012", SIZE * 9, SIZE * 9, windows="all", max_tokens=8)
    drawn = build(tmp_path, tokenizer, "conll2012", 4, 3 * SIZE, order="shuffled", windows="all", max_tokens=8)
    by_document = {}
    for example in in_file:
        by_document.setdefault(example.id.split("#")[0], []).append(example.id)
    documents = list(by_document)
    expected = [name for k in record_order(SIZE, "shuffled", 0) for name in by_document[documents[k]]]
    assert max(map(len, by_document.values())) > 1
    assert [example.id for example in drawn] == expected[: 3 * SIZE]
