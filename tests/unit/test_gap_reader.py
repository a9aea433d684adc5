"""GAP's columns: offsets are characters, and rows whose offsets lie are named with their line."""

import pytest

from attention_atlas.corpora.marked_text import COLUMNS, gap_records
from attention_atlas.errors import AtlasError

TEXT = 'Ann "Café" Lee met Mr. Bo Ray-Day. She liked him.'


def row(**changes):
    cells = dict(
        zip(
            COLUMNS, ("test-1", TEXT, "She", "35", 'Ann "Café" Lee', "0", "TRUE", "Bo Ray-Day", "23", "False", "u"), strict=True
        )
    )
    return "\t".join((cells | changes).values())


def read(folder, *rows, header=COLUMNS):
    (folder / "g.tsv").write_text("\n".join(["\t".join(header), *rows]) + "\n", encoding="utf-8")
    return list(gap_records(folder / "g.tsv"))


def test_a_passage(tmp_path):
    (passage,) = read(tmp_path, row())
    assert passage.words[:5] == ("Ann", '"', "Café", '"', "Lee")
    marked = [(m.role, " ".join(passage.words[m.start : m.stop]), m.cluster, m.heads["last"]) for m in passage.mentions]
    assert marked == [
        ("pronoun", "She", "pronoun", 13),
        ("A", 'Ann " Café " Lee', "pronoun", 4),
        ("B", "Bo Ray - Day", "B", 11),
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"A-offset": "1"}, "g.tsv:2: 'Ann \"Café\" Lee' is not at character 1 of the text"),
        ({"Pronoun": "", "Pronoun-offset": "0"}, "g.tsv:2: '' is not at character 0"),
        ({"A-coref": "yes"}, "g.tsv:2: A-coref is 'yes'; it must be TRUE or FALSE"),
    ],
)
def test_faulty_rows_are_named(tmp_path, changes, expected):
    with pytest.raises(AtlasError) as caught:
        read(tmp_path, row(**changes))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(expected)
