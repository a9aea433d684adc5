"""Pages of tables: no text becomes markup, and numbers are sorted as numbers in a real browser, where there is one."""

import re
from html import unescape

import pandas as pd
import pytest
from page_cells import cells

from attention_atlas.io.html_tables import BAD, GOOD, LONG, OPEN, Layout, Table

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
