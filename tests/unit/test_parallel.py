"""The reader of parallel text."""

import gzip
from pathlib import Path

import pytest
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.text import Translated, parallel_records
from attention_atlas.errors import AtlasError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_pairs_are_read_from_objects_and_from_two_files(tmp_path):
    objects = write(tmp_path / "a.jsonl", '{"en": "A cat.", "fr": " Un chat. "}\n\n{"en": "Two", "fr": "Deux", "id": 3}\n')
    wanted = [("A cat.", "Un chat."), ("Two", "Deux")]
    assert [(pair.source, pair.target) for pair in parallel_records(objects, ["en", "fr"])] == wanted
    assert [pair.id for pair in parallel_records(objects, ["en", "fr"])] == ["1", "3"]
    english = tmp_path / "a.en.gz"
    with gzip.open(english, "wt", encoding="utf-8") as stream:
        stream.write("A cat.\nTwo\n")
    french = write(tmp_path / "a.fr", "Un chat.\nDeux\n")
    assert list(parallel_records(english, ["en", "fr"], french)) == [
        Translated("1", "A cat.", "Un chat."),
        Translated("2", "Two", "Deux"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A cat.\n", r"a\.jsonl:1: not a JSON object .* translations"),
        ('{"en": "A cat."}\n', r"a\.jsonl:1: there is no text under 'fr'. Keys: en"),
        ('{"en": "x", "fr": "y"}\n{"en": "x", "fr": 3}\n', r"a\.jsonl:2: there is no text under 'fr'"),
        ("[1]\n", r"a\.jsonl:1: expected one JSON object per line"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    with pytest.raises(AtlasError, match=message):
        list(parallel_records(write(tmp_path / "a.jsonl", text), ["en", "fr"]))


def test_files_of_different_lengths_are_refused(tmp_path):
    english, french = write(tmp_path / "a.en", "x\ny\n"), write(tmp_path / "a.fr", "x\n")
    with pytest.raises(AtlasError, match=r"a\.fr: the file ends after line 1, but .*a\.en continues"):
        list(parallel_records(english, ["en", "fr"], french))
    with pytest.raises(AtlasError, match=r"a\.fr: the file ends after line 1"):
        list(parallel_records(french, ["en", "fr"], english))


def test_examples_hold_the_translation_and_what_is_unusable_is_counted(tmp_path):
    tokenizer = save_tokenizer(tmp_path / "tokenizer.json")
    raw = write(
        tmp_path / "a.jsonl",
        '{"en": "the cat sat", "fr": "le chat"}\n{"en": "", "fr": "x"}\n{"en": "the ' + "cat " * 30 + '", "fr": "y"}\n',
    )
    entry = {"reader": "parallel", "languages": ["en", "fr"], "max_tokens": 20, "shard": 4, **FILE_ORDER}
    build_shard(entry, raw, tokenizer, 64, 0, tmp_path / "e.parquet", tmp_path / "d.tsv")
    (example,) = read_examples([tmp_path / "e.parquet"])
    assert (example.words, example.label) == (("the", "cat", "sat"), "le chat")
    dropped = (tmp_path / "d.tsv").read_text(encoding="utf-8")
    assert "empty sentence or translation" in dropped
    assert "too long" in dropped
