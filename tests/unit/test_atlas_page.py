"""The page of the atlas in a real browser, where there is one: of one model, and of several side by side."""

import re

import numpy as np
import pytest
from atlas_tables import as_read, build, compared_model, in_full, sentences_of, small_atlas
from axe_playwright_python.sync_playwright import Axe
from small_treebank import write_treebank

from attention_atlas.atlas.correlations import heads_of_run
from attention_atlas.atlas.page import data_of_page


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """Page of a model of 2 x 2 heads."""
    folder = tmp_path_factory.mktemp("single")
    write_treebank(folder)
    rows = [
        (layer, head, 1, "det", "dependent_to_head", 40, 0.2 * layer + 0.1 * head, 1, 0.25, 0.2 * layer, 0.1, 0.5, 0.01, 0.02)
        for layer in (1, 2)
        for head in (1, 2)
    ]
    relations = in_full(rows)
    # The last head finds nothing that is above the baseline.
    relations.loc[3, "q"] = 0.2
    build(small_atlas(2, 2), folder / "atlas.html", **sentences_of(folder), relations={"tiny": relations})
    return folder / "atlas.html"


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Page of two models and a control; in the second model the heads of each layer have changed places."""
    folder = tmp_path_factory.mktemp("models")
    names = ("step2", "step1", "step2-random")
    models = {name: compared_model(folder, name, mirrored=name == "step1") for name in names}
    shapes = dict.fromkeys(models, (2, 2))
    compared = {model: of["tables"] for model, of in models.items()}
    facts = {"model": "step2", "random_weights": dict.fromkeys(models, False), "table_models": {}, "skip_reasons": {}}
    found = heads_of_run(compared["step2"], compared, shapes=shapes, **facts, resamples=200, shuffles=300, seed=1)
    tables = {name: as_read(found[name]) for name in ("heads", "measures", "matches")}
    kinds = ("attention", "examples", "dropped", "pairs", "kinds")
    gathered = {kind: {model: of[kind] for model, of in models.items()} for kind in kinds}
    gathered["relations"] = {model: tables["clark2019/dependency_head_relations"] for model, tables in compared.items()}
    build(tables, folder / "atlas.html", shapes=shapes, page_tables=compared, **gathered)
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
def page(open_page, single):
    return open_page(single)


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
    assert cells == ["dependent to head", "40.0 %", "25.0 %", "20.0 [10.0, 50.0]", "40"]
    # Head 1-1 puts 0.7 of its attention on the next word.
    choose(page, 0)
    assert "w0 → w1 0.70" in page.locator("#strongest").inner_text()


def test_heads_like_the_null_distribution_are_grey_and_their_null_is_drawn(page):
    page.locator("#measure").select_option("induction")
    buttons = page.locator("#grid button")
    inside = "button => button.classList.contains('inside')"
    assert [buttons.nth(k).evaluate(inside) for k in range(4)] == [True] + [False] * 3
    for index in (0, 3):
        choose(page, index)
        strip = page.locator('#values tr[data-measure="induction"] svg')
        null, value = (strip.locator(name).bounding_box() for name in (".null", ".value"))
        middle = value["x"] + value["width"] / 2
        assert (null["x"] <= middle <= null["x"] + null["width"]) == (index == 0)


def test_heads_are_ranked_by_a_measure_and_by_a_relation(page):
    page.locator("#measure").select_option("masked")
    heads = page.locator("#ranking tbody a")
    order = TABLE["masked"].sort_values(ascending=False).index
    assert heads.all_inner_texts() == [f"layer {TABLE.layer[k]}, head {TABLE['head'][k]}" for k in order]
    page.locator("#rank-by").select_option("relation:det")
    # Margins are 0.2 in layer 1 and 0.4 in layer 2; the last head has none that holds.
    assert heads.all_inner_texts() == ["layer 2, head 1", "layer 1, head 1", "layer 1, head 2"]


def test_all_heads_are_drawn_on_the_sentence_and_a_click_on_one_opens_its_card(page):
    # Head 1-1 gives 0.7 of its attention to the next word: the cell above the diagonal is bright, that below it dark.
    cell = 44 / 7
    pixels = page.evaluate("() => [...document.getElementById('all').getContext('2d').getImageData(0, 0, 120, 120).data]")
    picture = np.array(pixels).reshape(120, 120, 4)[..., :3].sum(axis=-1)
    bright, dark = (picture[24 + int(row * cell), 24 + int(column * cell)] for row, column in ((1.5, 2.5), (2.5, 1.5)))
    assert bright > dark + 150
    page.locator("#all").click(position={"x": 84, "y": 84})
    check_card(page, 3)


@pytest.mark.parametrize(
    ("which", "width", "theme", "measure"), [("single", 390, "dark", "induction"), ("several", 1400, "light", "entropy")]
)
def test_a_page_is_accessible_and_as_wide_as_the_screen(open_page, request, which, width, theme, measure):
    page = open_page(request.getfixturevalue(which), width=width, height=900)
    page.emulate_media(color_scheme=theme)
    page.locator("#measure").select_option(measure)
    violations = Axe().run(page).response["violations"]
    assert {one["id"] for one in violations if one["impact"] in ("serious", "critical")} == set()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "wide tables scroll in boxes of their own"


def test_the_switch_and_matched_heads_lead_to_another_model_and_back(open_page, several):
    models, data = open_page(several), data_of_page(several.read_text(encoding="utf-8"))
    (step1, random), matches = data["others"], data["matches"]["step1"]
    assert (data["name"], step1["name"], random["name"]) == ("step2", "step1", "step2-random")
    for measure in ("entropy", "induction"):
        assert step1["values"][measure] == [data["values"][measure][k] for k in (1, 0, 3, 2)]
    assert [matches[k] for k in (0, 2)] == [[1, 0], [3, 0]], "the heads of each layer have changed places"
    checked, title = models.locator("#model option:checked"), models.locator("#card-title")
    models.locator("#model").select_option(label="step1")
    entropy = models.locator('#values tr[data-measure="entropy"] td').first.inner_text()
    assert float(entropy.split(" ")[0]) == pytest.approx(step1["values"]["entropy"][0], rel=1e-3)
    models.locator("#model").select_option(label="step2")
    choose(models, 2)
    rows = models.locator("#matched tbody tr")
    for model, head in (("step1", "Layer 2, head 2"), ("step2", "Layer 2, head 1")):
        rows.locator("a").first.click()
        assert (checked.inner_text(), title.inner_text()) == (model, head)
