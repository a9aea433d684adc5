"""The reader of parallel text."""

import gzip

import pytest

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
