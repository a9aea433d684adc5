"""Tidy tables and their pages: the same bytes for the same numbers; no text becomes markup; numbers are sorted as numbers."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import BAD, GOOD, LONG, OPEN, Layout, Table
from attention_atlas.io.tables import read_table, write_table


def cells(page: str) -> list[list[str]]:
    """The body of the page's table, as it stands in the source: rows of cells."""
    body = page.split("<tbody>")[1].split("</tbody>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.S) for row in re.findall(r"<tr>(.*?)</tr>", body, flags=re.S)]


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


# --- pages ------------------------------------------------------------------------------------------------------------


VERDICT_COLOURS = {"match": GOOD, "differs": BAD, "undecided": OPEN}
LAYOUT = Layout("place", {"verdict": VERDICT_COLOURS}, ("why",))
HOSTILE = "<img src=x onerror='document.title=1'>"
REASON = "another model than bert-base-uncased (here minilm) and another corpus than the paper's: numbers cannot be compared."


def frame(count: int) -> pd.DataFrame:
    """Rows of three places, the last places first, so that the alphabet is not their order; values neither sorted nor short."""
    numbers = [(37 * k) % 101 - 50 for k in range(count)]
    return pd.DataFrame(
        {
            "place": [("Table 9", "Figure 10", f"Figure 2 {HOSTILE}")[3 * k // count] for k in range(count)],
            "verdict": [tuple(VERDICT_COLOURS)[k % 3] for k in range(count)],
            "value": [None if k == 4 else number / 7 for k, number in enumerate(numbers)],
            "head": [f"{k % 12 + 1}-{k * 7 // 5 % 12 + 1}" for k in range(count)],
            "why": [f"{k}: {REASON} {HOSTILE}" for k in range(count)],
        }
    )


def page_of(folder, count):
    shown = Table(frame(count), layout=LAYOUT)
    shown.write_page(folder / "t.html", f"Values {HOSTILE}", ["Run.", HOSTILE])
    return (folder / "t.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("count", [5, LONG + 1])
def test_no_text_becomes_markup_and_every_row_is_there_whole(tmp_path, count):
    page = page_of(tmp_path, count)
    assert "<img" not in page.split("<script")[0]
    assert page.count("</script") == 1
    rows = cells(page)
    assert len(rows) == count
    for k, row in enumerate(rows):
        first, whole = re.fullmatch(r"<details><summary>(.*?) …</summary><p>(.*?)</p></details>", row[4]).groups()
        assert unescape(whole) == f"{k}: {REASON} {HOSTILE}"
        assert unescape(whole).startswith(unescape(first))
        assert len(first) < 70


@pytest.fixture
def page(browser, tmp_path):
    """A page of thirty rows from the file system; its errors and what it requests must stay empty."""
    page_of(tmp_path, 30)
    page, problems = browser.new_page(), []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if not request.url.startswith("file:") else None)
    page.goto((tmp_path / "t.html").as_uri())
    yield page
    page.close()
    assert problems == []


def shown(page, heading):
    """Texts of the visible cells of a column."""
    column = page.locator("thead th").all_inner_texts().index(heading)
    rows = page.locator("tbody tr:not(.group):visible")
    return [rows.nth(k).locator("td").nth(column).inner_text() for k in range(rows.count())]


def numbers(texts):
    return [float(text) for text in texts if text]


def test_a_short_table_sorts_numbers_as_numbers_by_mouse_and_keyboard(page):
    assert numbers(shown(page, "value"))[:2] == [-7.143, -1.857], "as written"
    heading = page.locator("thead th", has_text="value")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    values = shown(page, "value")
    assert values[-1] == "", "what is missing comes last"
    assert numbers(values) == sorted(numbers(values))
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    values = shown(page, "value")
    assert values[-1] == ""
    assert numbers(values) == sorted(numbers(values), reverse=True)
    page.locator("thead th", has_text="head").get_by_role("button").click()
    assert heading.get_attribute("aria-sort") is None
    places = [tuple(map(int, text.split("-"))) for text in shown(page, "head")]
    assert places == sorted(places), "layer 10 after layer 9"
