"""The page of the atlas in a real browser, where there is one: of one model, and of several side by side."""

import re

import numpy as np
import pytest
from atlas_tables import build, in_full, score_table, sentences_of, small_atlas
from axe_playwright_python.sync_playwright import Axe
from small_treebank import write_treebank

from attention_atlas.atlas.head_measures import HEAD_SCORES


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Page of a model of 2 x 2 heads, and of one that it is compared with."""
    folder = tmp_path_factory.mktemp("page")
    write_treebank(folder)
    ends = (1, 0.25, 0.2, 0.1, 0.5, 0.01, 0.02)
    relations = in_full([(k // 2 + 1, k % 2 + 1, 1, "det", "dependent_to_head", 40, 0.2, *ends) for k in range(4)])
    relations["margin"] = [0.2, 0.1, 0.3, 0.4]
    # The last head finds nothing that is above the baseline.
    relations.loc[3, "q"] = 0.2
    # The heads of the second layer have changed places.
    matched = {"matched_layer": [1, 1, 2, 2], "matched_head": [1, 2, 2, 1], "distance": 0.5}
    matches = relations[["layer", "head"]].assign(model="other", **matched)
    compared = {"page_tables": {"tiny": {}, "other": {HEAD_SCORES: score_table()}}, "shapes": {"tiny": (2, 2), "other": (2, 2)}}
    tables = small_atlas(2, 2) | {"matches": matches}
    build(tables, folder / "atlas.html", **sentences_of(folder), relations={"tiny": relations}, **compared)
    return folder / "atlas.html"


@pytest.fixture
def open_page(browser):
    """Opens a page; what it writes to the console, and requests beside itself, are errors."""
    context, errors = browser.new_context(), []

    def opened(path, **viewport):
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: errors.append(request.url) if request.url != path.as_uri() else None)
        if viewport:
            page.set_viewport_size(viewport)
        page.goto(path.as_uri())
        page.wait_for_selector("#grid button")
        return page

    yield opened
    context.close()
    assert errors == []


@pytest.fixture
def page(open_page, path):
    return open_page(path)


TABLE = small_atlas(2, 2)["heads"]


def choose(page, index):
    page.locator("#grid button").nth(index).click()


def check_card(page, index):
    row = TABLE.iloc[index]
    assert page.locator("#card-title").inner_text() == f"Layer {row['layer']}, head {row['head']}"
    rows = page.locator("#values tbody tr").all()
    shown = {of.get_attribute("data-measure"): of.locator("td").first.inner_text() for of in rows}
    assert shown["distance_type"] == row["distance_type"]
    assert shown["to_sep"] == "–" or not np.isnan(row["to_sep"])
    numbers = [float(number) for name in ("entropy", "masked") for number in re.findall(r"[-+.e\d]+", shown[name])]
    assert numbers == pytest.approx([row[name] for name in ("entropy", "masked", "masked_low", "masked_high")], rel=1e-3)


def test_a_click_shows_the_numbers_of_the_head(page):
    choose(page, 3)
    check_card(page, 3)
    choose(page, 1)
    page.reload()
    page.wait_for_selector("#matrix svg")
    check_card(page, 1)
    cells = page.locator("#relations tbody tr td").all_inner_texts()
    assert cells == ["dependent to head", "20.0 %", "25.0 %", "10.0 [10.0, 50.0]", "40"]
    # Head 1-1 puts 0.7 of its attention on the next word.
    choose(page, 0)
    assert "w0 → w1 0.70" in page.locator("#strongest").inner_text()


def test_heads_are_ranked_by_a_measure_and_by_a_relation(page):
    page.locator("#measure").select_option("masked")
    heads = page.locator("#ranking tbody a")
    order = TABLE["masked"].sort_values(ascending=False).index
    assert heads.all_inner_texts() == [f"layer {TABLE.layer[k]}, head {TABLE['head'][k]}" for k in order]
    page.locator("#rank-by").select_option("relation:det")
    assert heads.all_inner_texts() == ["layer 2, head 1", "layer 1, head 1", "layer 1, head 2"]


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (1400, "light")])
def test_a_page_is_accessible_and_as_wide_as_the_screen(open_page, path, width, theme):
    page = open_page(path, width=width, height=900)
    page.emulate_media(color_scheme=theme)
    page.locator("#measure").select_option("induction")
    violations = Axe().run(page).response["violations"]
    assert {one["id"] for one in violations if one["impact"] in ("serious", "critical")} == set()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "wide tables scroll in boxes of their own"


def test_the_switch_and_matched_heads_lead_to_another_model(page):
    checked, title = page.locator("#model option:checked"), page.locator("#card-title")
    page.locator("#model").select_option(label="other")
    assert page.locator('#values tr[data-measure="sink"] td').first.inner_text().startswith("0.1 ")
    page.locator("#model").select_option(label="tiny")
    choose(page, 2)
    page.locator("#matched tbody tr a").first.click()
    assert (checked.inner_text(), title.inner_text()) == ("other", "Layer 2, head 2")
