"""Plain text as documents: what parts them, what is a paragraph, whether a document was closed; and parallel text."""

import gzip

import pytest
from small_entries import written

from attention_atlas.corpora.text import TextDocument, Translated, parallel_records, segments_records, sentences_records
from attention_atlas.errors import AtlasError


@pytest.fixture
def read(tmp_path):
    def of(text: str, lines: str) -> list[TextDocument]:
        (tmp_path / "text.txt").write_text(text, encoding="utf-8")
        return list(segments_records(tmp_path / "text.txt", lines))

    return of


@pytest.mark.parametrize(("end", "closed"), [("", False), ("\n", False), ("\n \t\n", True)])
def test_sentences_are_taken_as_they_are_and_only_a_blank_line_closes_the_last_document(read, end, closed):
    text = "One. Still one.\n  Two. \n\n \nThree." + end
    assert read(text, "sentences") == [
        TextDocument((("One. Still one.", "Two."),), closed=True),
        TextDocument((("Three.",),), closed),
    ]


def test_paragraphs_are_split_into_sentences(read):
    text = "A cat sat. A dog ran away!\nDid it rain?\n\n\nIt was over.\n"
    assert read(text, "paragraphs") == [
        TextDocument((("A cat sat.", "A dog ran away!"), ("Did it rain?",)), closed=True),
        TextDocument((("It was over.",),), closed=True),
    ]


WIKITEXT = """
 = Robert Boulter =

 Robert is an actor . He was born .

 = = Career = =

 He had a part in 2000 @.@ 5 shows .
 = = = Films = = =

 The well @-@ known film cost 1 @,@ 000 @,@ 000 pounds .

 = Up =
 A word .
 = X =
 An equation a = b = c stays .
 = 4 + 4
"""


def test_wikitext_titles_open_documents_and_headings_are_left_out(read):
    works = ("He had a part in 2000.5 shows .",), ("The well-known film cost 1,000,000 pounds .",)
    assert read(WIKITEXT, "wikitext") == [
        TextDocument((("Robert is an actor .", "He was born ."), *works), closed=True),
        TextDocument((("A word .",),), closed=True),
        TextDocument((("An equation a = b = c stays .",), ("= 4 + 4",)), closed=True),
    ]


def test_sentences_have_the_numbers_of_their_lines(tmp_path):
    assert list(sentences_records(written(tmp_path / "my.txt", "\ufeffThe cat.\n\n# x\n"))) == [(1, "The cat."), (3, "# x")]
    with pytest.raises(AtlasError, match=r"my\.txt:2: a tab or NUL byte: this is not plain text"):
        list(sentences_records(written(tmp_path / "my.txt", "x\n1\tDogs\n")))


def test_pairs_are_read_from_objects_and_from_two_files(tmp_path):
    objects = written(tmp_path / "a.jsonl", '{"en": "A cat.", "fr": " Un chat. "}\n\n{"en": "Two", "fr": "Deux", "id": 3}\n')
    first, second = Translated("1", "A cat.", "Un chat."), Translated("3", "Two", "Deux")
    assert list(parallel_records(objects, ["en", "fr"])) == [first, second]
    english, french = tmp_path / "a.en.gz", written(tmp_path / "a.fr", "Un chat.\nDeux\n")
    english.write_bytes(gzip.compress(b"A cat.\nTwo\n"))
    assert list(parallel_records(english, ["en", "fr"], french)) == [first, Translated("2", "Two", "Deux")]
    for texts in ((objects, french), (french, objects)):
        with pytest.raises(AtlasError, match=r"a\.fr: the file ends after line 2, but .*a\.jsonl continues"):
            list(parallel_records(texts[0], ["en", "fr"], texts[1]))
