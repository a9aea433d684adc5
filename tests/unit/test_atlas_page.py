"""The page of the atlas in a real browser, where there is one: of one model, and of several side by side."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from atlas_tables import as_read, build, in_full, score_table, sentences_of, small_atlas
from axe_playwright_python.sync_playwright import Axe
from small_shards import write_treebank

from attention_atlas.atlas.head_measures import HEAD_SCORES
from attention_atlas.atlas.sentences import attended


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
    shown = sentences_of(folder)
    evidence = attended(iter(shown["attention"]["tiny"]), shown["examples"]["tiny"], 5, 0)
    shown |= {name: {"tiny": as_read(frame)} for name, frame in evidence.items()}
    with pytest.MonkeyPatch.context() as patch:
        # Three of seven rows of each sentence of both models.
        patch.setattr("attention_atlas.atlas.page._MOST_WEIGHTS", 2 * 4 * 2 * 3 * 7)
        build(tables, folder / "atlas.html", **shown, relations={"tiny": relations}, **compared)
    return folder / "atlas.html"


@pytest.fixture
def open_page(browser):
    """Opens a page; what it writes to the console, and requests beside itself, are errors."""
    context, errors = browser.new_context(permissions=["clipboard-read", "clipboard-write"]), []

    def opened(path, address="", **viewport):
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: errors.append(request.url) if request.url != path.as_uri() else None)
        if viewport:
            page.set_viewport_size(viewport)
        page.goto(path.as_uri() + address)
        page.wait_for_selector("#grid button")
        return page

    yield opened
    context.close()
    assert errors == []


@pytest.fixture
def page(open_page, path):
    return open_page(path)


TABLE = small_atlas(2, 2)["heads"]


def test_a_click_shows_the_numbers_of_the_head_and_of_another_beside_it(page):
    page.locator("#grid button").nth(1).click()
    page.locator("#beside").select_option("3")
    page.reload()
    page.wait_for_selector("#matrix svg")
    labels = page.locator("#label span").all_inner_texts()
    assert labels == ["1-2: determiner of noun; 20.0 % · induction head; 75.0 %", "2-2: induction head; 125.0 %"]
    tables = page.locator("#values tbody tr").all()
    rows = {row.get_attribute("data-measure"): row.locator("td").all_inner_texts() for row in tables}
    for index, cell in (1, 0), (3, 1):
        head = TABLE.iloc[index]
        assert rows["distance_type"][cell] == head["distance_type"]
        numbers = [float(number) for name in ("entropy", "masked") for number in re.findall(r"-?[\d.]+", rows[name][cell])]
        assert numbers == pytest.approx([head["entropy"], *(head["masked"] + np.array([0, -0.1, 0.2]))], rel=1e-3)
    cells = page.locator("#relations tbody tr td").all_inner_texts()
    assert cells == ["1-2", "dependent to head", "20.0 %", "25.0 %", "10.0 [10.0, 50.0]", "40"]
    assert page.locator("#matrix svg").count() == page.locator("#pairs ol").count() == 2


@pytest.mark.parametrize("width", [390, 1400])
def test_enter_a_click_and_a_link_bring_the_card_into_view(open_page, path, width):
    page = open_page(path, "#head=2-1&measure=masked", width=width, height=800)

    def in_view(name):
        title, grid = page.locator("#card-title"), page.locator("#grid").bounding_box()
        assert title.inner_text() == name
        assert 0 <= title.bounding_box()["y"] < 400
        assert (title.bounding_box()["x"] > grid["x"] + grid["width"]) == (width == 1400), "beside the grid, if there is room"

    in_view("Layer 2, head 1")
    page.locator("#grid button").nth(2).press("ArrowUp")
    page.keyboard.press("Enter")
    in_view("Layer 1, head 1")
    page.locator("#grid button").nth(3).click()
    in_view("Layer 2, head 2")
    assert page.url.endswith("#head=2-2&measure=masked")


def test_the_search_finds_relations_measures_and_heads_and_ranks_by_what_it_found(page):
    def search(words):
        page.locator("#search").fill(words)
        return page.locator("#found a").all_inner_texts()

    largest = TABLE.sort_values("to_sep", ascending=False)[:3]
    assert [text.partition(" ")[0] for text in search("[SEP]")] == [f"{row.layer}-{row.head}" for row in largest.itertuples()]
    assert search("induction")[0].startswith("2-2 · Induction 1.25 [")
    assert search("terminer") == search("3-1") == []
    assert search("L2 H2") == ["2-2 · induction head; 125.0 %"]
    follows = [f"{head} · det 20.0 % (fixed offset 25.0 %, n = 40)" for head in ("1-1", "1-2", "2-1")]
    assert search("DET") == search("determiner") == follows
    page.locator("#found a").nth(1).click()
    assert page.locator("#card-title").inner_text() == "Layer 1, head 2"
    heads = page.locator("#ranking tbody a")
    assert heads.all_inner_texts() == ["2-1", "1-1", "1-2"], "by the margin over the offset"
    assert page.locator("#grid button").all_inner_texts() == [".20", ".10", ".30", ""]
    page.locator("#measure").select_option("masked")
    order = TABLE["masked"].sort_values(ascending=False).index
    assert heads.all_inner_texts() == [f"{TABLE.layer[k]}-{TABLE['head'][k]}" for k in order]


def test_sampled_rows_and_deciles_are_shown(page):
    assert "of the 2 longest 3 evenly spaced query tokens" in page.locator("#shown-note").inner_text()
    tokens = page.locator("#lines text").all_text_contents()
    assert tokens == ["[CLS]", "w2", "[SEP]", "[CLS]", *(f"w{k}" for k in range(5)), "[SEP]"]
    # Of head 2-1, w2 is the root and attends to [SEP].
    page.locator("#grid button").nth(2).click()
    assert "w2 → [SEP] 0.70" in page.locator("#strongest").inner_text()
    assert page.locator("#pairs li").count() == 5
    page.locator("#selection").select_option("deciles")
    weights = [float(text.rpartition("(")[2].rstrip(")")) for text in page.locator("#pairs li").all_inner_texts()]
    assert weights == sorted(weights, reverse=True)
    assert (len(weights), weights[0], weights[-1]) == (10, 0.7, 0.05)


def test_maps_tables_and_addresses_are_taken_away(page):
    def saved(button):
        with page.expect_download() as download:
            page.locator(button).click()
        return Path(download.value.path())

    table = pd.read_csv(saved("#save-heads"), sep="\t")
    assert table["label"].tolist()[0] == "determiner of noun; 20.0 %"
    pd.testing.assert_frame_equal(table[[*TABLE]], TABLE, rtol=1e-3)
    for button, cells in ("#save-grid", 4), ("#save-map", 1 + 3 * 7):
        assert len(ET.parse(saved(button)).findall("{*}rect")) == cells
    page.locator("#copy-link").click()
    page.locator("#copied", has_text="Link copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


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
    assert page.locator("h1").inner_text() == page.title() == "Attention atlas: other"
    assert page.locator('#values tr[data-measure="sink"] td').first.inner_text().startswith("0.1 ")
    page.locator("#model").select_option(label="tiny")
    page.locator("#grid button").nth(2).click()
    page.locator("#matched tbody tr a").first.click()
    assert (checked.inner_text(), title.inner_text()) == ("other", "Layer 2, head 2")
