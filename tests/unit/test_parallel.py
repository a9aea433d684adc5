"""The reader of parallel text."""

import gzip

import pytest
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.text import Translated, parallel_records
from attention_atlas.errors import AtlasError


def written(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_pairs_are_read_from_objects_and_from_two_files(tmp_path):
    objects = written(tmp_path, "a.jsonl", '{"en": "A cat.", "fr": " Un chat. "}\n\n{"en": "Two", "fr": "Deux", "id": 3}\n')
    first, second = Translated("1", "A cat.", "Un chat."), Translated("3", "Two", "Deux")
    assert list(parallel_records(objects, ["en", "fr"])) == [first, second]
    english, french = tmp_path / "a.en.gz", written(tmp_path, "a.fr", "Un chat.\nDeux\n")
    english.write_bytes(gzip.compress(b"A cat.\nTwo\n"))
    assert list(parallel_records(english, ["en", "fr"], french)) == [first, Translated("2", "Two", "Deux")]
    for texts in ((objects, french), (french, objects)):
        with pytest.raises(AtlasError, match=r"a\.fr: the file ends after line 2, but .*a\.jsonl continues"):
            list(parallel_records(texts[0], ["en", "fr"], texts[1]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A cat.\n", r"a\.jsonl:1: not a JSON object .* translations"),
        ('{"en": "x", "fr": "y"}\n{"en": "x", "fr": 3}\n', r"a\.jsonl:2: there is no text under 'fr'"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    with pytest.raises(AtlasError, match=message):
        list(parallel_records(written(tmp_path, "a.jsonl", text), ["en", "fr"]))


def test_examples_hold_the_translation_and_what_is_unusable_is_counted(tmp_path):
    lines = '{"en": "the cat sat", "fr": "le chat"}\n{"en": "", "fr": "x"}\n{"en": "the ' + "cat " * 30 + '", "fr": "y"}\n'
    raw, tokenizer = written(tmp_path, "a.jsonl", lines), save_tokenizer(tmp_path / "tokenizer.json")
    entry = {"reader": "parallel", "languages": ["en", "fr"], "max_tokens": 20, "shard": 4, **FILE_ORDER}
    build_shard(entry, raw, tokenizer, 64, 0, tmp_path / "e.parquet", tmp_path / "d.tsv")
    (example,) = read_examples([tmp_path / "e.parquet"])
    assert (example.words, example.label) == (("the", "cat", "sat"), "le chat")
    reasons = [line.split("\t")[2] for line in (tmp_path / "d.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    assert reasons == ["empty sentence or translation", "too long"]
