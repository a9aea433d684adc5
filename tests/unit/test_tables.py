"""Tidy tables and their pages: the same bytes for the same numbers, nothing lost or cut, nothing that is not escaped."""

import numpy as np
import pandas as pd
import pytest
from page_cells import cells, headings

from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import read_table, write_table


def test_bytes_of_a_table(tmp_path):
    frame = pd.DataFrame(
        {
            "relation": ["det", None, "a b"],
            "n": pd.array([3, None, 12], dtype="Int64"),
            "share": [1 / 3, np.nan, 123456789.0],
            "text": ["§ é", "", "x"],
        }
    )
    path = tmp_path / "new" / "t.tsv"
    write_table(frame, path)
    expected = "relation\tn\tshare\ttext\ndet\t3\t0.333333\t§ é\n\t\t\t\na b\t12\t1.23457e+08\tx\n"
    assert path.read_bytes() == expected.encode()
    first = path.read_bytes()
    write_table(frame, path)
    assert path.read_bytes() == first
    assert [p.name for p in path.parent.iterdir()] == ["t.tsv"]


def test_a_table_comes_back_as_it_was(tmp_path):
    frame = pd.DataFrame({"relation": ["null", "nan", "NA", "None", "n/a", "all"], "value": [0.5, np.nan, 2.0, 3.0, 4.0, 5.0]})
    write_table(frame, tmp_path / "t.tsv")
    back = read_table(tmp_path / "t.tsv", ["value", "relation"])
    pd.testing.assert_frame_equal(back, frame)
    write_table(back, tmp_path / "again.tsv")
    assert (tmp_path / "again.tsv").read_bytes() == (tmp_path / "t.tsv").read_bytes()


def test_quotes_and_tabs_in_cells_come_back(tmp_path):
    frame = pd.DataFrame({"token": ['"', "'", "a\tb", '"x', "#"], "n": range(5)})
    write_table(frame, tmp_path / "t.tsv")
    assert read_table(tmp_path / "t.tsv")["token"].tolist() == frame["token"].tolist()


def test_a_missing_column_is_named_with_the_file(tmp_path):
    (tmp_path / "t.tsv").write_text("layer\thead\n1\t2\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"t\.tsv: the column 'value' is missing\. Found: layer, head"):
        read_table(tmp_path / "t.tsv", ["layer", "value"])


@pytest.mark.parametrize("content", [None, b"", b"a\tb\n1\t2\n1\t2\t3\n", b"a\tb\n\xff\xfe\t1\n"])
def test_a_table_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "broken.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AtlasError, match=r"broken\.tsv: this table cannot be read"):
        read_table(path)


def test_page_escapes_every_text(tmp_path):
    frame = pd.DataFrame({"a<b": ["<i>x</i> & y"], "plain": ["[CLS]"]})
    Table(frame, names={"plain": "<em>"}).write_page(tmp_path / "t.html", "Tom & <Jerry>", ["a < b", "<script>no</script>"])
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    for text in ("<title>Tom &amp; &lt;Jerry&gt;</title>", "<h1>Tom &amp; &lt;Jerry&gt;</h1>", "<p>a &lt; b</p>"):
        assert text in page
    assert page.count("<script") == page.count("</script>") == 1, "the page's own"
    for tag in ("<script>", "<i>", "<em>", "<Jerry>"):
        assert tag not in page
    assert cells(page) == [["&lt;i&gt;x&lt;/i&gt; &amp; y", "[CLS]"]]
    assert "<th>a&lt;b</th>" in page
    assert "<th>&lt;em&gt;</th>" in page


def test_page_formats_numbers(tmp_path):
    frame = pd.DataFrame(
        {
            "a_share": [0.12345, np.nan],
            "offset": [1, -2],
            "plain": [0.5, 2.0],
            "count": pd.array([12345, None], dtype="Int64"),
            "word": ["w", None],
        }
    )
    shown = Table(frame, names={"offset": "Offset"}, formats={"a_share": ".1%", "offset": "+d"})
    shown.write_page(tmp_path / "t.html", "t", [])
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert cells(page) == [["12.3%", "+1", "0.500", "12345", "w"], ["", "-2", "2.000", "", ""]]
    assert headings(page) == ["a share", "Offset", "plain", "count", "word"]


def test_page_shows_every_row_and_every_word(tmp_path):
    # pandas shortens long frames and long texts where it is left to itself.
    frame = pd.DataFrame({"n": range(300), "text": [f"row {i} " + "long " * 60 + "end" for i in range(300)]})
    Table(frame).write_page(tmp_path / "t.html", "t", [])
    rows = cells((tmp_path / "t.html").read_text(encoding="utf-8"))
    assert [row[0] for row in rows] == [str(i) for i in range(300)]
    assert [row[1] for row in rows] == frame["text"].tolist()


def test_page_stands_alone_and_is_stable(tmp_path):
    frame = pd.DataFrame({"a": [1.0]})
    for name in ("one.html", "two.html"):
        Table(frame).write_page(tmp_path / name, "t", ["note"])
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert (tmp_path / "two.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!doctype html>")
    assert "charset='utf-8'" in page
    assert "http" not in page
    assert "src=" not in page
