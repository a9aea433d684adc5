"""The page of the atlas in a real browser, where there is one."""

import re

import numpy as np
import pytest
from atlas_tables import CALIBRATIONS, SERIOUS, as_read, build, in_full, sentences_of, small_atlas
from axe_playwright_python.sync_playwright import Axe
from browser_checks import stops_of_the_tab_key, text_sizes
from small_treebank import write_treebank

from attention_atlas.atlas.page import data_of_page
from attention_atlas.atlas.sentences import attended


def evidence_of(shown):
    """What heads attend to on the sentences that are shown."""
    tables = attended(iter(shown["attention"]["tiny"]), shown["examples"]["tiny"], strongest_pairs=20)
    return {name: as_read(table) for name, table in tables.items()}


@pytest.fixture
def opened(browser, tmp_path):
    """A page of a model of 2 x 2 heads, opened from the file system; with its errors, its requests and heads.tsv."""
    write_treebank(tmp_path)
    tables = small_atlas(2, 2)
    rows = [
        (layer, head, 1, "det", "dependent_to_head", 40, 0.2 * layer + 0.1 * head, 1, 0.25, 0.2 * layer, 0.1, 0.5, 0.01, 0.02)
        for layer in (1, 2)
        for head in (1, 2)
    ]
    relations = in_full(rows)
    # The last head finds nothing that is above the baseline.
    relations.loc[3, "q"] = 0.2
    shown = sentences_of(tmp_path)
    shown |= {name: {"tiny": table} for name, table in evidence_of(shown).items()}
    build(tables, tmp_path / "atlas.html", **shown, relations={"tiny": relations})
    page = browser.new_page()
    errors, requests = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "atlas.html").as_uri())
    page.wait_for_selector("#matrix svg")
    yield page, errors, requests, tables["heads"]
    page.close()


def card(page):
    """Measure -> the value that the card shows."""
    rows = page.locator("#values tbody tr")
    return {
        rows.nth(k).get_attribute("data-measure"): rows.nth(k).locator("td").first.inner_text() for k in range(rows.count())
    }


def check_card(page, row):
    assert page.locator("#card-title").inner_text() == f"Layer {row['layer']}, head {row['head']}"
    shown = card(page)
    assert shown["distance_type"] == row["distance_type"]
    for name in ("entropy", "to_sep", "masked"):
        if np.isnan(row[name]):
            assert shown[name] == "–"
        else:
            numbers = [float(number) for number in re.findall(r"[-+.e\d]+", shown[name])]
            ends = [row["masked_low"], row["masked_high"]] if name == "masked" else []
            assert numbers == pytest.approx([row[name], *ends], rel=1e-3, abs=1e-3)


def test_a_click_shows_the_numbers_of_the_head(opened):
    page, errors, requests, table = opened
    for index in (3, 1):
        page.locator("#grid button").nth(index).click()
        check_card(page, table.iloc[index])
        sizes = [page.locator(f'#values tr[data-measure="{name}"] td').last.inner_text() for name in ("masked", "entropy")]
        assert sizes == ["24 examples", "–"]
    cells = page.locator("#relations tbody tr td").all_inner_texts()
    layer, head = table.loc[1, ["layer", "head"]]
    margin = f"{20 * layer:.1f} [10.0, 50.0]"
    assert cells == ["dependent to head", f"{100 * (0.2 * layer + 0.1 * head):.1f} %", "25.0 %", margin, "40"]
    assert page.locator("#no-relations").is_hidden()
    page.locator("#grid button").nth(3).click()
    assert page.locator("#relations").is_hidden()
    assert page.locator("#no-relations").inner_text() == "None."
    # Head 1-1 puts 0.7 of its attention on the next word.
    page.locator("#grid button").nth(0).click()
    assert "w0 → w1 0.70" in page.locator("#strongest").inner_text()
    assert errors == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len(requests) == 1, "the page itself and nothing else"


def test_keys_move_between_heads_and_choose_one(opened):
    page, errors, _, table = opened
    page.locator("#grid button").nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("layer 2, head 2: Entropy")
    page.keyboard.press("Enter")
    check_card(page, table.iloc[3])
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    check_card(page, table.iloc[2])
    assert page.locator("#grid button[tabindex='0']").count() == 1, "one stop for the tab key"
    assert errors == []


def test_the_tab_key_alone_reaches_every_part_and_a_card(opened):
    page, errors, _, table = opened
    stops = stops_of_the_tab_key(page)
    places = [place for place, _, _ in stops]
    parts = ["theme", "measure", "grid", "rank-by", "ranking", "kinds-of", "pairs", "sentence", "lines"]
    assert [place for k, place in enumerate(places) if place in parts and place not in places[:k]] == parts
    assert places.count("grid") == 1, "the heads are one stop"
    assert [stop for stop in stops if not stop[2]] == [], "each is outlined"
    assert stops[0][1] == "Skip to the chosen head"
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    for _ in range(places.index("grid") + 1):
        page.keyboard.press("Tab")
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    check_card(page, table.iloc[2])
    assert errors == []


def test_any_measure_colours_the_grid(opened):
    page, errors, _, _ = opened
    before = page.locator("#grid button").nth(0).evaluate("button => button.style.background")
    page.locator("#measure").select_option("masked")
    assert page.locator("#grid button").nth(0).evaluate("button => button.style.background") != before
    assert "Accuracy when masked (percentage points)" in page.locator("#measure-note").inner_text()
    page.locator("#measure").select_option("distance_type")
    assert "vertical" in page.locator("#legend").inner_text() or "dense" in page.locator("#legend").inner_text()
    page.locator("#measure").select_option("entropy")
    page.locator("#grid button").nth(2).click()
    address = page.evaluate("location.hash")
    assert "head=2-1" in address
    assert "measure=entropy" in address
    assert errors == []


def test_light_and_dark(opened):
    page, errors, _, _ = opened
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(300)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark, light) == ("rgb(22, 24, 28)", "rgb(255, 255, 255)")
    ink = page.locator("#matrix svg text").first.evaluate("text => getComputedStyle(text).fill")
    assert ink == "rgb(27, 27, 27)", "figures follow without being drawn anew"
    page.emulate_media(media="print")
    assert not page.locator("#theme").is_visible()
    assert page.locator("#grid").is_visible()
    assert errors == []


def test_heads_like_the_null_distribution_are_grey_until_the_box_is_cleared(opened):
    page, errors, _, table = opened
    page.locator("#measure").select_option("induction")
    buttons = page.locator("#grid button")
    assert [buttons.nth(k).evaluate("button => button.classList.contains('inside')") for k in range(4)] == [True] + [False] * 3
    assert buttons.nth(0).get_attribute("aria-label").endswith("not distinguished from the null distribution")
    note = page.locator("#measure-note").inner_text()
    assert "heads with random weights, 95 % of them from 0.01 to 0.55. 1 of 4 heads" in note
    assert "not distinguished from the null distribution" in page.locator("#legend").inner_text()
    page.locator("#grey").uncheck()
    assert not buttons.nth(0).evaluate("button => button.classList.contains('inside')")
    page.locator("#measure").select_option("entropy")
    assert not page.locator("#grey-part").is_visible(), "no null distribution, no box"
    assert CALIBRATIONS["entropy"] in page.locator("#measure-note").inner_text()
    strip = page.locator("#values tr[data-measure=entropy] svg")
    assert strip.get_attribute("aria-label").endswith(CALIBRATIONS["entropy"]), "where no range can be drawn"
    page.locator("#measure").select_option("masked")
    labels = [button.get_attribute("aria-label") for button in buttons.all()]
    kinds = table["distance_type"]
    assert all(f"Accuracy when masked: {kind} " in label for kind, label in zip(kinds, labels, strict=True))
    assert errors == []


def test_the_card_draws_the_value_among_all_heads_with_the_null_distribution_behind_it(opened):
    page, errors, _, table = opened
    for index, inside in ((0, True), (3, False)):
        page.locator("#grid button").nth(index).click()
        strip = page.locator('#values tr[data-measure="induction"] svg')
        null, value = (strip.locator(name).bounding_box() for name in (".null", ".value"))
        middle = value["x"] + value["width"] / 2
        assert (null["x"] <= middle <= null["x"] + null["width"]) == inside
        assert strip.locator(".value.inside").count() == int(inside)
        assert "heads with random weights: 0.01 to 0.55; q = " in strip.get_attribute("aria-label")
    assert page.locator('#values tr[data-measure="entropy"] .null').count() == 0
    page.locator("#group").select_option("Effect on the model")
    assert card(page).keys() == {"masked"}
    title = page.locator('#values tr[data-measure="masked"] th').inner_text()
    assert title == f"Accuracy when masked: {table.distance_type[3]} (percentage points)"
    assert errors == []


def test_heads_are_ranked_by_a_measure_and_by_a_relation(opened):
    page, errors, _, table = opened
    page.locator("#measure").select_option("masked")
    heads = page.locator("#ranking tbody a")
    order = table["masked"].sort_values(ascending=False).index
    expected = [f"layer {table.layer[k]}, head {table['head'][k]}" for k in order]
    assert heads.all_inner_texts() == expected
    heads.nth(2).click()
    check_card(page, table.iloc[order[2]])
    page.locator("#rank-by").select_option("relation:det")
    # Margins are 0.2 in layer 1 and 0.4 in layer 2; the last head has none that holds.
    assert heads.all_inner_texts() == ["layer 2, head 1", "layer 1, head 1", "layer 1, head 2"]
    assert "3 of 4 heads" in page.locator("#ranking-note").inner_text()
    assert errors == []


def test_the_address_of_a_head_in_the_ranking_opens_its_card(opened):
    page, errors, _, table = opened
    address = page.locator("#ranking tbody a[data-index='2']").get_attribute("href")
    page.goto("about:blank")
    page.go_back()
    page.evaluate("address => { location.hash = address; }", address)
    page.reload()
    page.wait_for_selector("#matrix svg")
    check_card(page, table.iloc[2])
    assert errors == []


def test_the_card_shows_the_strongest_pairs_in_their_sentences_and_their_kinds(opened, tmp_path):
    page, errors, _, _ = opened
    pairs, kinds = evidence_of(sentences_of(tmp_path)).values()
    for index, (layer, head) in ((2, (2, 1)), (0, (1, 1))):
        page.locator("#grid button").nth(index).click()
        rows = pairs[(pairs["layer"] == layer) & (pairs["head"] == head)]
        items = page.locator("#pairs li")
        assert items.count() == len(rows) == 20
        for k, row in enumerate(rows.head(3).itertuples()):
            words = row.sentence.split(" ")
            assert items.nth(k).locator("b").inner_text() == words[row.query - 1]
            assert items.nth(k).locator("u").inner_text() == words[row.key - 1]
            assert items.nth(k).inner_text() == f"{row.sentence} ({row.weight:.2f})"
        largest = kinds[(kinds["layer"] == layer) & (kinds["head"] == head)].sort_values("share", ascending=False)
        shown = page.locator("#kinds tbody tr")
        assert shown.locator("th").all_inner_texts() == largest["kind"].tolist()
        assert shown.first.locator("td").nth(1).inner_text() == f"{100 * largest['share'].iloc[0]:.1f} %"
        # Bars are the shares, and marks those of uniform attention, on one scale.
        scale = shown.first.locator(".bars").bounding_box()["width"] / largest[["share", "even_share"]].to_numpy().max()
        for row, bars in zip(largest.itertuples(), shown.locator(".bars").all(), strict=True):
            bar, mark, cell = (part.bounding_box() for part in (bars.locator(".share"), bars.locator(".even"), bars))
            assert bar["width"] == pytest.approx(row.share * scale, abs=1)
            assert mark["x"] - cell["x"] == pytest.approx(row.even_share * scale, abs=1)
    assert errors == []


def test_pairs_and_their_kinds_are_linked_by_pointer_click_and_key(opened, tmp_path):
    page, errors, _, _ = opened
    pairs = evidence_of(sentences_of(tmp_path))["pairs"]
    pairs = pairs[(pairs["layer"] == 1) & (pairs["head"] == 1)]
    page.locator("#grid button").nth(0).click()
    relation = pairs["relation"].iloc[0]
    with_relation = [str(k) for k in np.flatnonzero(pairs["relation"] == relation)]
    marked = """items => [...items.keys()].filter((k) => items[k].classList.contains("linked")).map(String)"""
    items, rows = page.locator("#pairs li"), page.locator("#kinds tbody tr")
    page.locator("#kinds-of").select_option("relation")
    assert items.evaluate_all(marked) == []
    row = rows.filter(has=page.get_by_role("button", name=relation, exact=True))
    row.hover()
    assert items.evaluate_all(marked) == with_relation
    assert page.locator("#pairs-note").inner_text() == f"{relation}: {len(with_relation)} of the 20 strongest pairs."
    page.mouse.move(0, 0)
    assert items.evaluate_all(marked) == []
    row.locator("button").press("Enter")
    page.mouse.move(0, 0)
    assert items.evaluate_all(marked) == with_relation, "kept"
    assert row.locator("button").get_attribute("aria-pressed") == "true"
    row.locator("button").click()
    page.mouse.move(0, 0)
    assert items.evaluate_all(marked) == []
    # From a pair to its kind.
    items.nth(0).hover()
    assert rows.evaluate_all(
        "rows => rows.filter((row) => row.classList.contains('linked')).map((row) => row.dataset.kind)"
    ) == [relation]
    assert errors == []


def test_a_page_without_sentences_has_no_evidence():
    assert data_of_page(build(small_atlas(3, 4)))["evidence"] == {"texts": [], "pairs": [], "kinds": []}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1400])
def test_an_accessibility_checker_has_no_serious_findings(opened, width, theme):
    """axe-core, on every measure's colours."""
    page, errors, _, _ = opened
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    page.wait_for_selector("#matrix svg")
    for measure in ("entropy", "masked", "induction", "distance_type"):
        page.locator("#measure").select_option(measure)
        violations = Axe().run(page).response["violations"]
        serious = {violation["id"]: violation["nodes"][0]["html"] for violation in violations if violation["impact"] in SERIOUS}
        assert serious == {}
    assert errors == []


@pytest.mark.parametrize("width", [390, 768, 1400])
def test_no_text_is_small_and_the_page_is_as_wide_as_the_screen(opened, width):
    page, _, _, _ = opened
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    page.wait_for_selector("#matrix svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "wide tables scroll in boxes of their own"
    sizes = text_sizes(page)
    assert len(sizes) > 50
    assert [row for row in sizes if row[0] < 12 - 1e-6] == []


def test_all_heads_are_drawn_on_the_sentence_and_a_click_on_one_opens_its_card(opened):
    page, errors, _, table = opened
    size = page.evaluate("[document.getElementById('all').width, document.getElementById('all').height]")
    assert size == [24 + 2 * 48, 24 + 2 * 48]
    # Head 1-1 gives 0.7 of its attention to the next word: the cell above the diagonal is bright, that below it dark.
    cell = 44 / 7
    pixels = page.evaluate("() => [...document.getElementById('all').getContext('2d').getImageData(0, 0, 120, 120).data]")
    picture = np.array(pixels).reshape(120, 120, 4)[..., :3].sum(axis=-1)
    bright, dark = (picture[24 + int(row * cell), 24 + int(column * cell)] for row, column in ((1.5, 2.5), (2.5, 1.5)))
    assert bright > dark + 150
    page.locator("#all").click(position={"x": 24 + 60, "y": 24 + 60})
    check_card(page, table.iloc[3])
    page.locator("#all").click(position={"x": 5, "y": 5})
    check_card(page, table.iloc[3])
    assert errors == []


def test_a_tap_on_a_phone_shows_the_card(opened):
    page, errors, _, _ = opened
    page.set_viewport_size({"width": 390, "height": 800})
    page.evaluate("scrollTo(0, 0)")
    assert page.locator("#card-title").bounding_box()["y"] > 800
    page.locator("#grid button").nth(2).click()
    page.wait_for_timeout(200)
    assert page.locator("#card-title").bounding_box()["y"] < 400
    assert errors == []


def lines_of(page):
    """(query token, key token) of the lines that are not faint."""
    titles = page.locator("#lines .arc:not(.faint) title").evaluate_all("titles => titles.map((title) => title.textContent)")
    return [re.match(r"(\S+) → (\S+)", title).groups() for title in titles]


def test_a_token_that_is_pointed_at_or_tapped_shows_its_lines_alone(opened):
    page, errors, _, _ = opened
    page.locator("#grid button").nth(0).click()
    everything = lines_of(page)
    assert len(everything) == 49, "all weights of 7 tokens are 0.05 or more"
    tokens = page.locator("#lines .token")
    assert tokens.all_text_contents() == ["[CLS]", "w0", "w1", "w2", "w3", "w4", "[SEP]"] * 2
    tokens.nth(2).hover()
    assert set(lines_of(page)) == {("w1", name) for name in tokens.all_text_contents()}
    assert page.locator("#lines .token.linked").all_text_contents() == ["w1", "w2"], "it, and the word that gets 0.7"
    assert page.locator("#linked").inner_text().startswith("w1 attends to: w2 0.70; ")
    page.mouse.move(0, 0)
    assert lines_of(page) == everything
    # Chosen by a click it stays, for other heads as well, until it is clicked again.
    tokens.nth(7 + 3).click()
    page.mouse.move(0, 0)
    assert {query for query, _ in lines_of(page)} == set(tokens.all_text_contents())
    assert {key for _, key in lines_of(page)} == {"w2"}
    assert page.locator("#linked").inner_text().startswith("w2 is attended to by: w1 0.70; ")
    page.locator("#grid button").nth(1).click()
    assert {key for _, key in lines_of(page)} == {"w2"}
    assert page.locator("#lines .token[aria-pressed=true]").count() == 1
    page.locator("#lines .token").nth(7 + 3).click()
    page.mouse.move(0, 0)
    assert len(lines_of(page)) == 49
    assert errors == []


def test_keys_move_between_tokens(opened):
    page, errors, _, _ = opened
    page.locator("#lines .token").nth(0).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert {key for _, key in lines_of(page)} == {"w1"}
    assert page.locator("#lines .token[tabindex='0']").count() == 1, "one stop for the tab key"
    page.keyboard.press("Escape")
    assert len(lines_of(page)) == 49
    assert errors == []


def test_a_tap_on_a_token_shows_its_lines(opened, browser):
    page, _, _, _ = opened
    phone = browser.new_page(viewport={"width": 390, "height": 800}, has_touch=True)
    phone.goto(page.url)
    phone.wait_for_selector("#matrix svg")
    phone.locator("#lines .token").nth(2).tap()
    assert {query for query, _ in lines_of(phone)} == {"w1"}
    phone.close()
