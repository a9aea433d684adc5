"""Documents with keyphrases: three formats, and phrases located in their texts."""

import json
import shutil
import zipfile

import pytest

from attention_atlas.corpora import records
from attention_atlas.corpora.keyphrases import keyphrases_records, located, spans_of, without_words
from attention_atlas.errors import AtlasError

TEXT = "Half metallic ferromagnets are studied. A ferromagnet, half-metallic, conducts; half metallic ferromagnets last."


def phrases_of(document):
    return [" ".join(document.words[start:stop]) for start, stop in spans_of(document.tags)]


def written(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8", newline="")
    return root


def folder(tmp_path, texts, keys):
    files = {f"docsutf8/{name}.txt": content for name, content in texts.items()}
    return written(tmp_path / "set", files | {f"keys/{name}.key": content for name, content in keys.items()})


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
    # A phrase within longer ones is present; phrases that differ in case alone are one.
    document = located("d", "big red car".split(), ["red car", "big red car", "Red car", "", "  "], stemmed=False)
    assert (phrases_of(document), document.absent, len(document.phrases)) == (["big red car"], (), 2)
    spans = {"OBIO": [(1, 3)], "BB": [(0, 1), (1, 2)], "IOI": [(0, 1), (2, 3)], "": [], "BIOI": [(0, 2), (3, 4)]}
    assert {tags: spans_of(tags) for tags in spans} == spans


def test_an_archive_is_its_folder_without_attribute_files_of_macos(tmp_path):
    path = folder(tmp_path, {"b": TEXT, "a": "One two."}, {"b": "half-metallic\n", "a": "two\n\n"})
    documents = list(keyphrases_records(path))
    assert [document.id for document in documents] == ["a", "b"]
    # Hyphens are separate words in text and phrase.
    assert phrases_of(documents[1]) == ["half - metallic"]
    archive = packed(path)
    with zipfile.ZipFile(archive, "a") as out:
        for name in ("__MACOSX/name/docsutf8/._1.txt", "name/docsutf8/._2.txt"):
            out.writestr(name, b"\x00\x05\x16\x07")
    assert list(keyphrases_records(archive)) == documents


def test_lines_have_texts_and_phrases(tmp_path):
    path = tmp_path / "k.jsonl"
    row = {"text": "A red car.", "keyphrases": ["red car", "bus"]}
    path.write_text(json.dumps({"id": "x"} | row) + "\n" + json.dumps(row) + "\n", encoding="utf-8")
    first, second = keyphrases_records(path)
    assert (first.id, second.id) == ("x", "2")
    assert first.tags == ("O", "B", "I", "O")
    assert (first.phrases, first.absent) == (("red car", "bus"), ("bus",))
    for row, message in (
        ({"text": "a"}, r"k\.jsonl:2: .*'keyphrases' a list of phrases"),
        ({"text": 3, "keyphrases": []}, r"k\.jsonl:2: .*'text' must be a string"),
    ):
        path.write_text("\n" + json.dumps(row) + "\n", encoding="utf-8")
        with pytest.raises(AtlasError, match=message):
            list(keyphrases_records(path))


@pytest.mark.parametrize("format", ["zip", "gztar"])
def test_a_file_that_memory_may_not_hold_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, format):
    path = shutil.make_archive(tmp_path / "a", format, folder(tmp_path / "f", {"a": TEXT * 20}, {"a": "half"}))
    assert len(list(keyphrases_records(path))) == 1
    monkeypatch.setattr(records, "MOST_BYTES", 100)
    with pytest.raises(AtlasError, match=rf"docsutf8/a\.txt has {20 * len(TEXT):,} bytes; at most 100 are read"):
        list(keyphrases_records(path))


def test_missing_and_damaged_files_are_named(tmp_path):
    path = folder(tmp_path / "zip", {"a": TEXT * 20}, {"a": "half"})
    broken_zip = packed(path)
    raw = bytearray(broken_zip.read_bytes())
    raw[60] ^= 255
    broken_zip.write_bytes(raw)
    (path / "docsutf8/a.txt").write_bytes(b"ok \xff")
    for place, message in (
        (folder(tmp_path / "one", {"a": "x", "b": "y"}, {"b": "y"}), r"document a has no keys/a\.key"),
        (broken_zip, "the archive is damaged"),
        (path, r"docsutf8/a\.txt: byte 4 \(0xff\) is not UTF-8"),
    ):
        with pytest.raises(AtlasError, match=message):
            list(keyphrases_records(place))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {f"{part}/{name}": part for part in ("train", "test") for name in ("docsutf8/1.txt", "keys/1.key")},
            {"test/1": ["test"], "train/1": ["train"]},
        ),
        (
            {"a/docsutf8/1.txt": "red", "b/docsutf8/1.txt": "blue", "a/keys/1.key": "red", "0/keys/1.key": "blue"},
            "document b/1 has no b/keys/1.key",
        ),
        (
            {"a/1.abstr": "red", "a/1.uncontr": "red", "b/1.abstr": "x", "b/1.contr": "x", "b/1.uncontr": ""},
            {"a/1": ["red"], "b/1": []},
        ),
        ({"docsutf8/1.txt": "red car", "keys/1.key": "red\u2028car\r\n"}, {"1": ["red car"]}),
    ],
)
def test_a_document_has_the_keys_of_its_own_folder(tmp_path, files, expected):
    path = written(tmp_path / "set", files)
    for place in (path, packed(path)):
        if isinstance(expected, str):
            with pytest.raises(AtlasError, match=expected if place.is_dir() else "document name/"):
                list(keyphrases_records(place))
        else:
            documents = {document.id.removeprefix("name/"): phrases_of(document) for document in keyphrases_records(place)}
            assert documents == expected


def test_a_phrase_that_loses_words_starts_with_the_first_that_is_left():
    document = located("d", ["old", "red", "fast", "car", "bus"], ["red fast car", "bus"], str.lower)
    assert document.tags == ("O", "B", "I", "I", "B")
    for removed, tags in (({0}, "BIIB"), ({1}, "OBIB"), ({1, 2}, "OBB"), ({2}, "OBIB"), ({1, 2, 3}, "OB"), ({3}, "OBIB")):
        assert "".join(without_words(document, removed).tags) == tags


def test_the_phrases_of_inspec_are_the_uncontrolled_ones(tmp_path):
    """Hulth's layout: abstracts over several lines, phrases between semicolons that go over lines."""
    files = {"abstr": "Title {}\n\tof two lines\nRed cars\n\tare driven.\n", "uncontr": "red\n\tcars; two lines\n"}
    files |= {"contr": "road vehicles; Two Lines\n"}
    folders = {"193": "Test"} | dict.fromkeys(("100", "1461", "415", "999"), "Training")
    texts = {f"{place}/{n}.{kind}": text.format(n) for n, place in folders.items() for kind, text in files.items()}
    place = written(tmp_path / "Hulth2003", texts)
    for path in (place, packed(place), shutil.make_archive(place, "gztar", tmp_path, place.name)):
        documents = list(keyphrases_records(path))
        assert [document.id for document in documents] == ["100", "1461", "193", "415", "999"]
        assert documents[2].phrases == ("red cars", "two lines")
    assert documents[2].words == tuple("Title 193 of two lines Red cars are driven .".split())
    assert phrases_of(documents[0])[-1] == "Red cars"
