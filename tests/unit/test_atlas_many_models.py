"""Several models on one page: their values, and their matched heads, in a real browser."""

import pytest
from atlas_tables import as_read, build
from axe_playwright_python.sync_playwright import Axe
from browser_checks import stops_of_the_tab_key, text_sizes
from compared_models import compared_model

from attention_atlas.atlas.correlations import heads_of_run
from attention_atlas.atlas.page import data_of_page
from attention_atlas.io.tables import RunLabel

DRAWS = {"resamples": 200, "shuffles": 300, "seed": 1}
LABELS = {"sentences": RunLabel("Test run", "step2", "text")}
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder of pages of two models and a control; in the second model the heads have changed places."""
    folder = tmp_path_factory.mktemp("models")
    models = {
        "step2": compared_model(folder, "step2"),
        "step1": compared_model(folder, "step1", mirrored=True),
        "step2-random": compared_model(folder, "step2-random"),
    }
    shapes = dict.fromkeys(models, (2, 2))
    controls = {model: model.endswith("random") for model in models}
    compared = {model: of["tables"] for model, of in models.items()}
    facts = {"model": "step2", "shapes": shapes, "random_weights": controls, "table_models": {}, "skip_reasons": {}}
    found = heads_of_run(compared["step2"], compared, **facts, **DRAWS)
    tables = {name: as_read(found[name]) for name in ("heads", "measures", "matches")}
    relations = {model: of["tables"]["clark2019/dependency_head_relations"] for model, of in models.items()}

    def write(name, count, **arguments):
        names = ("attention", "examples", "dropped", "pairs", "kinds")
        gathered = {name: {model: models[model][name] for model in list(models)[:count]} for name in names}
        of_models = {"shapes": shapes, "labels": LABELS}
        if count > 1:
            of_models |= {"page_tables": dict(list(compared.items())[:count])}
        else:
            of_models |= {"matches": tables["matches"].iloc[:0]}
        build(tables | of_models, folder / f"{name}.html", **gathered, relations=relations, **arguments)

    write("atlas", 3)
    write("single", 1)
    return folder


def data_of(path):
    return data_of_page(path.read_text(encoding="utf-8"))


def test_the_page_holds_the_values_of_all_models_and_their_matched_heads(built):
    data = data_of(built / "atlas.html")
    assert [other["name"] for other in data["others"]] == ["step1", "step2-random"]
    step1 = data["others"][0]
    assert step1["values"]["entropy"] == [data["values"]["entropy"][k] for k in (1, 0, 3, 2)]
    assert len(step1["sentences"]) == 2
    # The heads of each layer have changed places.
    assert data["matches"]["step1"][0] == [1, 0]
    assert data["matches"]["step1"][2] == [3, 0]
    single = data_of(built / "single.html")
    assert (single["matches"], single["others"]) == ({}, [])
    assert single["values"] == data["values"]


def test_compared_models_have_the_head_scores_of_the_run_s_model(built):
    data = data_of(built / "atlas.html")
    step1 = data["others"][0]
    assert step1["values"]["induction"] == [data["values"]["induction"][k] for k in (1, 0, 3, 2)]
    assert step1["null"]["induction"] == data["null"]["induction"], "each value stands beside its null"
    assert "heads with random weights" in [row["null"] for row in step1["measures"] if row["measure"] == "induction"]
    scores = {"sink", "norm_sink", "duplicate_token", "induction", "ov_copying"}
    for model in (data, *data["others"]):
        assert scores | {"entropy"} < set(model["values"])


@pytest.fixture
def opened(browser, built):
    page = browser.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((built / "atlas.html").as_uri())
    page.wait_for_selector("#matrix svg")
    yield page
    page.close()
    assert errors == []


def entropy_of(page):
    return page.locator('#values tr[data-measure="entropy"] td').first.inner_text()


def test_the_switch_shows_another_model(opened, built):
    data = data_of(built / "atlas.html")
    opened.locator("#grid button").nth(0).click()
    first = opened.locator("#grid button").nth(1).inner_text()
    opened.locator("#model").select_option(label="step1")
    assert opened.locator("#grid button").count() == 4
    assert opened.locator("#grid button").nth(0).inner_text() == first
    assert float(entropy_of(opened).split(" ")[0]) == pytest.approx(data["others"][0]["values"]["entropy"][0], rel=1e-3)
    assert "model=step1" in opened.evaluate("location.hash")
    # Keys still move in the new grid, and an address brings the model back.
    opened.locator("#grid button").nth(0).focus()
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("Enter")
    assert opened.locator("#card-title").inner_text() == "Layer 2, head 1"
    opened.reload()
    opened.wait_for_selector("#matrix svg")
    assert opened.locator("#card-title").inner_text() == "Layer 2, head 1"
    assert opened.locator("#model option:checked").inner_text() == "step1"


def test_matched_heads_lead_to_the_other_model_and_back(opened):
    opened.locator("#grid button").nth(2).click()
    rows = opened.locator("#matched tbody tr")
    assert rows.locator("th").all_inner_texts() == ["step1", "step2-random"]
    assert rows.locator("a").all_inner_texts() == ["layer 2, head 2", "layer 2, head 1"]
    rows.locator("a").first.click()
    assert opened.locator("#model option:checked").inner_text() == "step1"
    assert opened.locator("#card-title").inner_text() == "Layer 2, head 2"
    assert rows.locator("th").all_inner_texts() == ["step2", "step2-random"]
    rows.locator("a").first.click()
    assert opened.locator("#card-title").inner_text() == "Layer 2, head 1"
    assert opened.locator("#model option:checked").inner_text() == "step2"


def test_an_address_with_an_unknown_model_says_so(opened):
    assert opened.locator("#address-note").is_hidden()
    opened.evaluate("location.hash = 'model=step7&head=2-1'")
    opened.wait_for_selector("#address-note", state="visible")
    assert opened.locator("#address-note").inner_text() == (
        "This page has no model step7, which its address names: it shows step2."
    )
    opened.evaluate("location.hash = 'model=step1&head=2-1'")
    opened.wait_for_selector("#address-note", state="hidden")
    assert opened.locator("#model option:checked").inner_text() == "step1"


def test_one_model_has_no_switch_and_no_matches(opened, built):
    opened.goto((built / "single.html").as_uri())
    opened.wait_for_selector("#matrix svg")
    for part in ("#model-part", "#matched-part"):
        assert not opened.locator(part).is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1400])
def test_an_accessibility_checker_has_no_serious_findings(opened, width, theme):
    opened.emulate_media(color_scheme=theme)
    opened.set_viewport_size({"width": width, "height": 900})
    opened.reload()
    opened.wait_for_selector("#matrix svg")
    violations = Axe().run(opened).response["violations"]
    assert {one["id"]: one["nodes"][0]["html"] for one in violations if one["impact"] in SERIOUS} == {}
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    sizes = text_sizes(opened)
    assert len(sizes) > 100
    assert [row for row in sizes if row[0] < 12 - 1e-6] == []


def test_the_tab_key_reaches_the_switch_of_models_and_the_matched_heads(opened):
    stops = stops_of_the_tab_key(opened)
    assert {"model", "measure", "grid", "matched"} <= {place for place, _, _ in stops}
    assert [stop for stop in stops if not stop[2]] == []
