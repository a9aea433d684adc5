"""Examples: from raw text and trees to what a model is fed, and what is left out; samples are the first of one seeded order."""

import contextlib
import json
import random
from pathlib import Path

import pandas as pd
import pytest
from small_entries import FILE_ORDER

from attention_atlas.corpora.examples import Example, build_shard, read_examples, write_examples
from attention_atlas.corpora.records import in_record_order, record_order, sampled
from attention_atlas.errors import DamagedFile
from attention_atlas.io.tables import read_parquet, write_parquet

ENTRY = {"reader": "conllu", "shard": 3, "max_tokens": 12, "view": "none", **FILE_ORDER}
SEGMENTS = {"reader": "segments", "lines": "sentences", "recipe": "authors", "segment_ids": "zeros"}
NOTHING = "\u200b"
"""A word that the tokenizer maps to nothing: a space without width."""


def trees(*sentences: str) -> str:
    """CoNLL-U where every word hangs on the first."""
    text = ""
    for number, sentence in enumerate(sentences, start=1):
        text += f"# sent_id = n{number}\n"
        for i, word in enumerate(sentence.split(" "), start=1):
            arc = "1\tdep" if i > 1 else "0\troot"
            text += f"{i}\t{word}\t{word.lower()}\tNOUN\tNN\t_\t{arc}\t_\t_\n"
        text += "\n"
    return text


@pytest.fixture
def build(tmp_path, tokenizer):
    """(examples, lines of the table of what was dropped) of one shard."""

    def of(text: str, start: int = 0, max_tokens: int = 512, **entry) -> tuple[list[Example], list[str]]:
        raw = tmp_path / "raw"
        raw.write_text(text, encoding="utf-8")
        out, dropped = tmp_path / "out.parquet", tmp_path / "dropped.tsv"
        build_shard(ENTRY | entry, raw, tokenizer, max_tokens, start, out, dropped)
        lines = dropped.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "record\tid\treason\tdetail\tunit\tn"
        return list(read_examples([out])), [line.removesuffix("\trecord\t1") for line in lines[1:]]

    return of


def test_a_tree_becomes_an_example_with_its_layers(build):
    examples, dropped = build(trees("The cats . x"))
    assert dropped == []
    (example,) = examples
    assert example == Example(
        record=0,
        id="n1",
        input_ids=(2, 5, 6, 7, 4, example.input_ids[5], 3),
        segment_ids=(0,) * 7,
        tokens=("[CLS]", "the", "cat", "##s", ".", "x", "[SEP]"),
        word=(-1, 0, 1, 1, 2, 3, -1),
        words=("The", "cats", ".", "x"),
        layers={
            "heads": (0, 1, 1, 1),
            "relations": ("root", "dep", "dep", "dep"),
            "lemmas": ("the", "cats", ".", "x"),
            "upos": ("NOUN",) * 4,
            "xpos": ("NN",) * 4,
        },
    )


def test_a_tree_with_two_roots_is_dropped_with_its_words(build, caplog):
    sound = trees("a b", "x", "y z")
    two_roots = sound.replace("2\tb\tb\tNOUN\tNN\t_\t1\tdep", "2\tb\tb\tNOUN\tNN\t_\t0\troot")
    examples, dropped = build(two_roots)
    assert [(example.record, example.id) for example in examples] == [(1, "n2"), (2, "n3")]
    assert dropped == ["0\tn1\tseveral roots\tseveral words have head 0: 1 'a' and 2 'b'"]
    assert "dropped 1 record: several roots" in caplog.text


def test_too_long_sentences_and_those_with_a_word_without_pieces_are_dropped(build):
    fits, longer = "a " * 9 + "a", "a " * 10 + "a"
    examples, dropped = build(trees("cat", fits, longer, f"cat {NOTHING} cat"), shard=4)
    assert [(e.record, e.id, len(e.input_ids)) for e in examples] == [(0, "n1", 3), (1, "n2", 12)]
    assert dropped == ["2\tn3\ttoo long\t13 tokens, 12 allowed", "3\tn4\tword without tokens\t'\\u200b'"]
    assert build(trees("cat", fits), max_tokens=11)[1] == ["1\tn2\ttoo long\t12 tokens, 11 allowed"]


def test_what_a_recipe_loses_is_in_the_table_of_the_shard_that_lost_it(build):
    # Document 1 gives a segment; the first sentence of document 2 fills a chunk alone, and documents 3 to 6 give one each.
    texts = ["The cat\nx\n", "The cats . x y z . The cats . x y z\nx\ny\n", *["The cat\nx\n"] * 4, "The cats . x y z . x\nx\n"]
    text = "\n".join(texts) + "\n"
    lost = "1\tdocument 2, sentence 1\tchunk of one sentence ends its document\t\tsentence\t3"
    examples, dropped = build(text, **SEGMENTS)
    assert ([e.record for e in examples], dropped) == ([0, 1, 2], [lost])
    assert [e.segment_ids for e in examples] == [(0,) * 6] * 3
    assert build(text, **SEGMENTS | {"segment_ids": "pair"})[0][0].segment_ids == (0, 0, 0, 0, 1, 1)
    # What is lost behind the last segment has the number of the one that does not come.
    examples, dropped = build(text, 3, **SEGMENTS)
    assert [e.record for e in examples] == [3, 4]
    assert dropped == ["5\tdocument 7, sentence 1\tchunk of one sentence ends its document\t\tsentence\t2"]


ROWS = [Example(r, f"n{r}", (2, r), (0, 0), ("a", "b"), (-1, 0), (f"w{r}",)) for r in range(50)]
FRAME = pd.DataFrame(
    {"record": range(200), "score": [0.37 * k for k in range(200)], "label": [f"x{k % 7}" for k in range(200)]}
)


@pytest.mark.parametrize(
    ("write", "is_sound"),
    [
        (lambda path: write_examples(path, ROWS), lambda path: list(read_examples([path])) == ROWS),
        (lambda path: write_parquet(FRAME, path), lambda path: read_parquet(path).equals(FRAME)),
    ],
    ids=["examples", "frame"],
)
def test_no_damaged_file_is_read_as_another(tmp_path, write, is_sound):
    """Without checksums of pages, two of three flipped bits made other examples."""
    path, chance = tmp_path / "0.parquet", random.Random(0)
    write(path)
    content, outcomes = path.read_bytes(), []
    for number in range(300):
        damaged = bytearray(content)
        start, stop = sorted(chance.sample(range(len(content)), 2))
        match number % 6:
            case 0:
                damaged[start:stop] = bytes(stop - start)
            case 1:
                del damaged[start:stop]
            case 2:
                damaged[start:start] = content[start:stop]
            case _:
                damaged[start] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with contextlib.suppress(DamagedFile):
            outcomes.append(is_sound(path))
    assert all(outcomes)
    assert len(outcomes) < 150, "most are errors"


def test_reading_stops_at_the_limit_over_several_files(tmp_path):
    paths = [tmp_path / f"{shard}.parquet" for shard in range(3)]
    # Record 1 was dropped.
    for path, records in zip(paths, ([0], [2, 3], [4, 5]), strict=True):
        write_examples(path, [Example(r, f"n{r}", (2, 3), (0, 0), ("a", "b"), (-1, 0), ("b",)) for r in records])
    for limit, records in ((None, [0, 2, 3, 4, 5]), (0, []), (2, [0]), (3, [0, 2]), (5, [0, 2, 3, 4])):
        assert [e.record for e in read_examples(paths, limit)] == records


# --- samples ----------------------------------------------------------------------------------------------------------


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


def document(k: int) -> str:
    rows = [f"n{k} 0 0 {word} - - - - - - - ({chain})\n" for chain, word in enumerate(("cat", "dog"))]
    sentence = "".join(rows) + "\n"
    return f"#begin document (n{k}); part 000\n{sentence * 3}#end document\n"


QUESTIONS = [{"context": "cat dog", "question": f"x {'cat ' * (k % 3)}", "answer": "dog"} for k in range(SIZE)]
READERS = {
    "conllu": (trees(*["cat"] * SIZE), {"view": "none"}),
    "conll2012": ("".join(map(document, range(SIZE))), {"windows": "first", "files": "*"}),
    "squad": (json.dumps(QUESTIONS), {"windows": "first", "stride": 8}),
    "segments": ("".join(f"cat {'x ' * k}\ndog\n\n" for k in range(SIZE)), SEGMENTS | {"per_document": None}),
}


def sample(folder: Path, tokenizer: Path, reader: str, shard: int, limit: int = SIZE, **changes) -> list[Example]:
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
    names = [example.id.split(",")[0] for example in sample(tmp_path, tokenizer, reader, SIZE)]
    expected = [names[k] for k in record_order(SIZE, "shuffled", 7)]
    for shard, limit in ((5, SIZE), (4, 10)):
        examples = sample(tmp_path, tokenizer, reader, shard, limit, order="shuffled", seed=7)
        assert [(e.record, e.id.split(",")[0]) for e in examples] == list(enumerate(expected[:limit]))
    if reader == "conllu":
        rest = sample(tmp_path, tokenizer, reader, 14, 14, order="shuffled", seed=7, skip=9)
        assert [example.id for example in rest] == expected[9:]
