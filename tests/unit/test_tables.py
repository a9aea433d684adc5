"""Tidy tables and their pages: the same bytes for the same numbers, nothing lost or cut, nothing that is not escaped."""

import re

import numpy as np
import pandas as pd
import pytest
from page_cells import cells

from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import read_table, write_table


def test_bytes_of_a_table_and_the_way_back(tmp_path):
    counts = pd.array([3, None, 12], dtype="Int64")
    frame = pd.DataFrame(
        {"relation": ["det", None, "a b"], "n": counts, "share": [1 / 3, np.nan, 123456789.0], "text": ["§ é", "", "x"]}
    )
    write_table(frame, tmp_path / "new" / "t.tsv")
    expected = "relation\tn\tshare\ttext\ndet\t3\t0.333333\t§ é\n\t\t\t\na b\t12\t1.23457e+08\tx\n"
    assert (tmp_path / "new" / "t.tsv").read_bytes() == expected.encode()
    relations = ["null", "nan", "NA", "None", "n/a", '"', "a\tb", '"x', "#"]
    frame = pd.DataFrame({"relation": relations, "value": [0.5, np.nan, *map(float, range(7))]})
    write_table(frame, tmp_path / "t.tsv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.tsv", ["value", "relation"]), frame)


@pytest.mark.parametrize("content", [None, b"", b"a\tb\n1\t2\n1\t2\t3\n", b"a\tb\n\xff\xfe\t1\n", b"layer\thead\n1\t2\n"])
def test_a_table_that_cannot_be_read_or_lacks_a_column_is_named(tmp_path, content):
    path = tmp_path / "broken.tsv"
    if content is not None:
        path.write_bytes(content)
    message = (
        "the column 'value' is missing. Found: layer, head." if content and b"head" in content else "this table cannot be read"
    )
    with pytest.raises(AtlasError, match=rf"broken\.tsv: {re.escape(message)}"):
        read_table(path, ["value"])


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
