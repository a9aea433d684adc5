"""The data that a page of the atlas carries."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_atlas.atlas.embedded_data import data_of_page, embedded, read_page, with_data
from attention_atlas.errors import DamagedFile

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=10,
)


def html(data):
    return f'<p>a</p><script type="application/gzip" id="data">{embedded(data)}</script><p>b</p>'


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_any_data_come_back_and_no_text_ends_the_element(data):
    page = html({**data, "text": "</script><script>alert(1)"})
    assert data_of_page(page) == {**data, "text": "</script><script>alert(1)"}
    assert page.count("<script") == 1
    assert html(data) == html(data)
    assert with_data(page, data) == html(data)


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded({"a": math.nan})


@pytest.mark.parametrize(
    "text",
    [
        "<html></html>",
        html({"sentences": []}),
        html({"sentences": []}).replace("H4s", "H5s"),
        html({"a": 1}).replace("=</script>", "</script>").replace("==</script>", "</script>")[:-40],
        '<script type="application/gzip" id="data">no base64!</script>',
    ],
)
def test_pages_without_the_data_of_an_atlas_are_damaged(tmp_path, text):
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with pytest.raises(DamagedFile, match="does not have the data of an atlas"):
        read_page(tmp_path / "page.html")
    with pytest.raises(DamagedFile):
        read_page(tmp_path / "absent.html")


def test_data_cut_off_are_damaged():
    text = embedded({"a": list(range(1000))})
    page = html({}).replace(embedded({}), text[: len(text) // 8 * 4])
    with pytest.raises(ValueError, match="ended before"):
        data_of_page(page)
