"""Parallel text: what the generator writes, and the reader of pairs."""

import gzip
import json
import re
from pathlib import Path

import pytest
from sample_corpus.parallel import parallel_lines
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.text import Translated, parallel_records
from attention_atlas.errors import AtlasError

PAIRS = [json.loads(line) for line in parallel_lines(1500, 1)]
VOWEL = "aeiouyhâàéèêîôûœAEIOUYHÂÀÉÈÊÎÔÛŒ"


def test_no_english_sentence_comes_twice_and_a_later_part_has_new_ones():
    assert len({pair["en"] for pair in PAIRS}) == len(PAIRS)
    later = {json.loads(line)["en"] for line in parallel_lines(200, 1, 1500)}
    assert len(later) == 200
    assert not later & {pair["en"] for pair in PAIRS}
    assert list(parallel_lines(5, 1)) == list(parallel_lines(5, 1)) != list(parallel_lines(5, 2))


def test_french_elides_and_contracts():
    text = "\n".join(pair["fr"] for pair in PAIRS)
    assert not re.findall(rf"\b(?:le|la|de|ne|que) [{VOWEL}]\w*", text, flags=re.IGNORECASE)
    assert not re.findall(r"\b(?:de|à) les?\b|\bde de\b|\bde des\b", text)
    assert not re.findall(rf"\bma [{VOWEL}]|\bce [{VOWEL}]|\b(?:vieux|beau|nouveau) [{VOWEL}]\w*(?<!s)(?<!x)\b", text)
    for form in ("l'", "d'", "qu'", "n'", "du ", "aux ", "au ", "cet ", "vieil ", "mon "):
        assert form in text, form


@pytest.mark.parametrize(
    ("english", "french"),
    [
        (r"^(?:Does|Did|Do) .*\?$", r"^Est-ce qu(?:e|') ?.* \?$"),
        (r"\b(?:does|did|do) not\b", r"\bn(?:e |').* pas\b"),
        (r"\bnever\b", r"\bn(?:e |').* jamais\b"),
        (r"\boften\b", r"\bsouvent\b"),
        (r"\bold queens\b", r"\bvieilles reines\b"),
        (r"\bthese red apples\b", r"\bces pommes rouges\b"),
        (r"\bwaits for\b", r"\battend\b"),
    ],
)
def test_both_sides_say_the_same(english, french):
    for pair in PAIRS:
        if re.search(english, pair["en"], flags=re.IGNORECASE):
            assert re.search(french, pair["fr"], flags=re.IGNORECASE), pair


def test_participles_agree_with_the_subject_of_be_and_with_an_object_before_have():
    for pair in PAIRS:
        text = pair["fr"]
        if re.match(r"Elle (?:est|n'est) ", text):
            assert re.search(r"(?:ée|ie|ue)\b", text), pair
        if participle := re.search(r"\bl'a (?:souvent |toujours |pas |jamais )?(\w+)", text):
            feminine = " her" in pair["en"]
            assert participle[1].endswith("e") == feminine, pair
        if participle := re.search(r"\bles (?:a|ont) (?:souvent |toujours |pas |jamais )?(\w+)", text):
            assert participle[1].endswith("s"), pair


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
