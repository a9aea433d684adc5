"""Documents with keyphrases: three formats, and phrases located in their texts."""

import json
import zipfile

import pytest

from attention_atlas.corpora.keyphrases import located, read_keyphrases, spans_of
from attention_atlas.errors import AtlasError

TEXT = "Half metallic ferromagnets are studied. A ferromagnet, half-metallic, conducts; half metallic ferromagnets last."


def phrases_of(document):
    return [" ".join(document.words[start:stop]) for start, stop in document.spans]


def folder(tmp_path, texts, keys):
    for name, content in texts.items():
        (tmp_path / "set/docsutf8").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"set/docsutf8/{name}.txt").write_text(content, encoding="utf-8")
    for name, content in keys.items():
        (tmp_path / "set/keys").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"set/keys/{name}.key").write_text(content, encoding="utf-8")
    return tmp_path / "set"


def packed(path):
    archive = path.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as out:
        for file in sorted(path.rglob("*")):
            if file.is_file():
                out.write(file, f"name/{file.relative_to(path)}")
    return archive


def test_every_place_of_a_phrase_is_tagged_and_longer_ones_go_first():
    words = "the big red car and the red car and a car".split()
    document = located("d", words, ["red car", "Car", "big red car", "lorry"], stemmed=False)
    assert phrases_of(document) == ["big red car", "red car", "car"]
    assert document.tags == tuple("O B I I O O B I O O B".split())
    assert document.absent == ("lorry",)
    assert document.phrases == ("red car", "Car", "big red car", "lorry")


def test_a_phrase_within_longer_ones_is_present():
    document = located("d", "big red car".split(), ["red car", "big red car"], stemmed=False)
    assert phrases_of(document) == ["big red car"]
    assert document.absent == ()


def test_phrases_that_differ_in_case_alone_are_one():
    document = located("d", ["Graph", "x"], ["graph", "Graph", "", "  "], stemmed=False)
    assert document.phrases == ("graph",)
    assert document.tags == ("B", "O")


def test_stems_find_other_forms(tmp_path):
    path = folder(tmp_path, {"a": TEXT}, {"a": "half metallic ferromagnet\nconducting\n"})
    (plain,) = read_keyphrases(path)
    assert (phrases_of(plain), plain.absent) == ([], ("half metallic ferromagnet", "conducting"))
    (stemmed,) = read_keyphrases(path, stemmed=True)
    assert phrases_of(stemmed) == ["Half metallic ferromagnets", "conducts", "half metallic ferromagnets"]
    assert stemmed.absent == ()


def test_an_archive_is_its_folder(tmp_path):
    path = folder(tmp_path, {"b": TEXT, "a": "One two."}, {"b": "half-metallic\n", "a": "two\n\n"})
    documents = list(read_keyphrases(path))
    assert [document.id for document in documents] == ["a", "b"]
    # Hyphens are separate words in text and phrase.
    assert phrases_of(documents[1]) == ["half - metallic"]
    assert list(read_keyphrases(packed(path))) == documents


def test_lines_have_texts_or_tags(tmp_path):
    path = tmp_path / "k.jsonl"
    rows = [
        {"id": "x", "text": "A red car.", "keyphrases": ["red car", "bus"]},
        {"document": ["A", "red", "car", "."], "doc_bio_tags": ["O", "B", "I", "O"], "abstractive_keyphrases": ["bus"]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    first, second = read_keyphrases(path)
    assert (first.id, second.id) == ("x", "2")
    assert first.words == second.words
    assert first.tags == second.tags == ("O", "B", "I", "O")
    assert second.phrases == ("red car", "bus")
    assert first.absent == second.absent == ("bus",)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [("OBIO", [(1, 3)]), ("BB", [(0, 1), (1, 2)]), ("IOI", [(0, 1), (2, 3)]), ("", []), ("BIOI", [(0, 2), (3, 4)])],
)
def test_tags_are_spans(tags, spans):
    assert spans_of(tags) == spans


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "a"}, "'keyphrases' a list of phrases"),
        ({"text": 3, "keyphrases": []}, "'text' must be a text"),
        ({"document": ["a"], "doc_bio_tags": ["B", "I"]}, "as many 'doc_bio_tags'"),
        ({"document": ["a"], "doc_bio_tags": ["X"]}, "'X' is no tag: B, I or O"),
        ({"document": ["a"], "doc_bio_tags": ["B"], "abstractive_keyphrases": "b"}, "must be a list of phrases"),
    ],
)
def test_malformed_lines_are_named(tmp_path, row, message):
    path = tmp_path / "k.jsonl"
    path.write_text("\n" + json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(AtlasError) as error:
        list(read_keyphrases(path))
    assert message in str(error.value)
    assert "k.jsonl:2: " in str(error.value)


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(AtlasError, match=r"a has no keys/\*.key"):
        list(read_keyphrases(folder(tmp_path / "one", {"a": "x", "b": "y"}, {"b": "y"})))
    with pytest.raises(AtlasError, match=r"c has no docsutf8/\*.txt"):
        list(read_keyphrases(folder(tmp_path / "two", {"b": "y"}, {"b": "y", "c": "z"})))
    (tmp_path / "empty").mkdir()
    with pytest.raises(AtlasError, match="there is no document here"):
        list(read_keyphrases(tmp_path / "empty"))
    path = folder(tmp_path / "three", {"a": TEXT * 20}, {"a": "half"})
    archive = packed(path)
    raw = bytearray(archive.read_bytes())
    raw[60] ^= 255
    archive.write_bytes(raw)
    with pytest.raises(AtlasError, match="the archive is damaged"):
        list(read_keyphrases(archive))
    (path / "docsutf8/a.txt").write_bytes(b"ok \xff")
    with pytest.raises(AtlasError, match=r"docsutf8/a\.txt: byte 4 is not UTF-8"):
        list(read_keyphrases(path))
