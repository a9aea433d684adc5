"""Several models: series, findings counted over models, and the page that shows them side by side, in a real browser."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_checks import stops_of_the_tab_key, text_sizes
from compared_models import compared_model, shape_of
from matplotlib.collections import LineCollection, PolyCollection

from attention_atlas.atlas import series_figure as module_of_series_figure
from attention_atlas.atlas.correlations import Draws, write_correlations
from attention_atlas.atlas.embedded_data import data_of_page
from attention_atlas.atlas.matching import write_matching
from attention_atlas.atlas.measures import write_heads
from attention_atlas.atlas.models import CLAIMS, claim_rows, write_models
from attention_atlas.atlas.page import Evidence, ShownSentences, write_page
from attention_atlas.atlas.page_models import Comparison
from attention_atlas.atlas.series import SERIES, series_rows, write_series
from attention_atlas.atlas.series_figure import series_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

DRAWS = Draws(resamples=200, shuffles=300, seed=1)
LABEL = RunLabel("Test run", "step2", "text")
SERIOUS = ("serious", "critical")
NO_COMPARISON = Comparison(None, None, None, None, None)


def test_a_series_has_the_mean_and_the_range_of_heads_in_its_order():
    chance = np.random.default_rng(0)
    layer, head = np.indices((2, 3)).reshape(2, -1) + 1
    tables = {
        name: pd.DataFrame({"layer": layer, "head": head, "entropy": chance.random(6), "best_relation": "det"})
        for name in ("step10", "step2")
    }
    tables["step2"].loc[0, "entropy"] = np.nan
    rows = series_rows(tables, DRAWS)
    assert list(rows.columns) == SERIES
    assert rows[["position", "model", "measure"]].to_numpy().tolist() == [[1, "step10", "entropy"], [2, "step2", "entropy"]]
    second, values = rows.iloc[1], tables["step2"]["entropy"].dropna()
    assert (second["mean"], second["smallest"], second["largest"]) == pytest.approx((values.mean(), values.min(), values.max()))
    assert second["ci_low"] < second["mean"] < second["ci_high"]
    assert second["n"] == 5
    assert rows["chance"].isna().all()
    with_chance = series_rows(tables, DRAWS, {"step2": {"entropy": 0.3}})
    assert with_chance["chance"].tolist() == pytest.approx([np.nan, 0.3], nan_ok=True)


def test_findings_are_counted_over_models_without_controls():
    verdicts = {"a": "holds", "b": "holds", "c": "does not hold", "d": "undecided", "e": "not tested: no", "random": "holds"}
    findings = pd.DataFrame(
        {"finding": "one", "model": list(verdicts), "verdict": verdicts.values(), "random_weights": [False] * 5 + [True]}
    )
    rows = claim_rows(findings)
    assert list(rows.columns) == CLAIMS
    assert rows.to_numpy().tolist() == [["one", "all models", 5, 2, 1, 1, 1, "a, b"]]
    rows = claim_rows(findings, ["random", "c", "b"])
    assert rows.to_numpy().tolist() == [
        ["one", "all models", 5, 2, 1, 1, 1, "a, b"],
        ["one", "models of the series", 2, 1, 1, 0, 0, "b"],
    ]
    assert len(claim_rows(findings, list("abcde"))) == 1, "all are in the series"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder of a page of a series of two models and a control; in the second model the heads have changed places."""
    folder = tmp_path_factory.mktemp("models")
    models = [
        compared_model(folder, "step2"),
        compared_model(folder, "step1", mirrored=True),
        compared_model(folder, "step2-random", random_weights=True),
    ]
    shapes = [shape_of(model) for model in models]
    files = {name: folder / f"{name}.tsv" for name in ("heads", "measures", "correlations", "models", "findings", "claims")}
    write_heads(models[0]["tables"], "step2", (2, 2), {}, {}, files["heads"], files["measures"], folder / "m.html", "Test run")
    write_correlations(files["heads"], files["measures"], DRAWS, files["correlations"])
    write_models(shapes, DRAWS, "Test run", LABEL, files["models"], files["findings"], folder / "f.html", files["claims"])
    write_matching(shapes, DRAWS, folder / "matches.tsv", folder / "matching.tsv")
    write_series(shapes, ["step1", "step2"], DRAWS, folder / "series.tsv")
    comparison = Comparison(
        folder / "matches.tsv", folder / "matching.tsv", files["models"], files["findings"], folder / "series.tsv"
    )
    shown_sentences = ShownSentences(**models[0]["sentences"], count=2, max_tokens=24, shortest=6)
    page = {
        "heads_path": files["heads"],
        "measures_path": files["measures"],
        "correlations_path": files["correlations"],
        "relations_path": models[0]["tables"]["clark2019/dependency_head_relations"],
        "evidence": Evidence(**models[0]["evidence"]),
        "shown_sentences": shown_sentences,
        "run": "Test run",
        "label": LABEL,
    }
    write_page(**page, out=folder / "atlas.html", models=models, comparison=comparison, checkpoints=True)
    write_page(**page, out=folder / "apart.html", models=models, comparison=comparison)
    write_page(**page, out=folder / "single.html")
    without_series = replace(comparison, series=None)
    write_page(**page, out=folder / "pair.html", models=models[:2], comparison=without_series)
    return folder


def data_of(path):
    return data_of_page(path.read_text(encoding="utf-8"))


def test_the_page_holds_the_values_of_all_models_and_their_comparison(built):
    data = data_of(built / "atlas.html")
    assert [other["name"] for other in data["others"]] == ["step1", "step2-random"]
    step1 = data["others"][0]
    assert step1["values"]["entropy"] == [data["values"]["entropy"][k] for k in (1, 0, 3, 2)]
    assert len(step1["sentences"]) == 2
    comparison = data["comparison"]
    assert [model["random"] for model in comparison["models"]] == [False, False, True]
    # The heads of each layer have changed places.
    assert comparison["matches"]["step1"][0] == [1, 0]
    assert comparison["matches"]["step1"][2] == [3, 0]
    assert comparison["series"] == ["step1", "step2"]
    assert comparison["checkpoints"] is True
    assert data_of(built / "pair.html")["comparison"]["checkpoints"] is False
    means = read_table(built / "models.tsv").set_index(["model", "measure"])
    assert comparison["means"]["step1"]["entropy"][0] == pytest.approx(means.loc[("step1", "entropy"), "mean"], rel=1e-4)
    single = data_of(built / "single.html")
    assert (single["comparison"], single["others"]) == ({}, [])
    assert single["values"] == data["values"]


def test_compared_models_have_the_head_scores_of_the_run_s_model(built):
    data = data_of(built / "atlas.html")
    step1, comparison = data["others"][0], data["comparison"]
    assert step1["values"]["induction"] == [data["values"]["induction"][k] for k in (1, 0, 3, 2)]
    assert step1["null"]["induction"] == data["null"]["induction"], "each value stands beside its null"
    assert "heads with random weights" in [row["null"] for row in step1["measures"] if row["measure"] == "induction"]
    scores = {"sink", "norm_sink", "duplicate_token", "induction", "ov_copying"}
    for model in comparison["models"]:
        assert scores < set(model["values"])
        assert scores < set(comparison["means"][model["name"]])
        assert "sentence_entropy" not in model["values"], "entropy on these sentences is there once"
        assert "entropy" in model["values"]
    # Entropy on the sentences that random models read stays with its null in the cards of each model.
    assert all("sentence_entropy" in other["values"] for other in (data, *data["others"]))
    for table in ("models", "series"):
        measured = read_table(built / f"{table}.tsv")
        assert scores < set(measured["measure"])
        assert set(measured.groupby("model")["measure"].apply(tuple)) == {tuple(measured["measure"].unique())}
    assert {"induction", "ov_copying"} < set(read_table(built / "matching.tsv")["measure"])


def test_the_figure_of_a_series_is_drawn(built, tmp_path):
    pictures = {kind: tmp_path / f"series.{kind}" for kind in ("svg", "png", "pdf")}
    series_figure(built / "series.tsv", LABEL, pictures)
    text = pictures["svg"].read_text(encoding="utf-8")
    assert "step1" in text
    assert "Entropy" in text
    assert "head without the effect" in text
    series = read_table(built / "series.tsv").set_index(["model", "measure"])["chance"]
    assert series["step1", "induction"] == 0.05, "that of uniform attention"
    assert np.isnan(series["step1", "entropy"])


@pytest.mark.parametrize("checkpoints", [True, False])
def test_only_checkpoints_of_one_training_are_joined(built, tmp_path, checkpoints, monkeypatch):
    drawn = {}
    monkeypatch.setattr(module_of_series_figure, "save_figure", lambda figure, *_: drawn.update(figure=figure))
    series_figure(built / "series.tsv", LABEL, {}, checkpoints)
    panels = [axis for axis in drawn["figure"].axes if axis.lines]
    lines = [line for axis in panels for line in axis.lines]
    assert {len(line.get_xdata()) for line in lines} == {2}
    assert {line.get_linestyle() for line in lines} == ({"-"} if checkpoints else {"None"})
    filled = [part for axis in panels for part in axis.collections if isinstance(part, PolyCollection)]
    assert bool(filled) == checkpoints, "no band between two models"
    induction = next(axis for axis in panels if axis.get_title(loc="left").replace("\n", " ").startswith("Induction"))
    heights = {
        round(float(segment[0][1]), 4)
        for part in induction.collections
        if isinstance(part, LineCollection)
        for segment in part.get_segments()
        if segment[0][1] == segment[1][1]
    }
    assert heights == {0.05}, "the value of a head without the effect"


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


def test_models_stand_side_by_side_with_the_measure_of_the_grid(opened, built):
    opened.locator("#measure").select_option("to_next")
    rows = opened.locator("#beside tbody tr")
    assert rows.count() == 3
    means = read_table(built / "models.tsv").set_index(["model", "measure"])
    shown = rows.nth(1).locator("td").first.inner_text()
    assert float(shown.split(" ")[0]) == pytest.approx(means.loc[("step1", "to_next"), "mean"], rel=1e-3)
    assert rows.nth(1).locator("svg .head").count() == 4
    assert rows.nth(1).locator("svg .null").count() == 0, "a model without q of this measure"
    assert rows.nth(2).locator("th").inner_text() == "step2-random (random weights)"
    assert opened.locator("#curve svg .value").count() == 2
    assert "step1" in opened.locator("#curve svg").get_attribute("aria-label")
    outside = """svg => [...svg.querySelectorAll("text")].filter((text) => text.getBoundingClientRect().left
        < svg.getBoundingClientRect().left).length"""
    for measure in opened.locator("#measure option").evaluate_all("options => options.map((option) => option.value)"):
        opened.locator("#measure").select_option(measure)
        assert opened.locator("#curve svg").evaluate_all(f"svgs => svgs.map({outside})") in ([0], []), measure
    counts = opened.locator("#model-findings tbody tr td:nth-of-type(1)").all_inner_texts()
    claims = read_table(built / "claims.tsv")
    assert counts == [f"{row.holds} of 2" for row in claims.itertuples()]
    assert 2 in claims["holds"].tolist()


def test_each_model_stands_beside_its_null_distribution(opened, built):
    opened.locator("#measure").select_option("induction")
    data = data_of(built / "atlas.html")
    for k, (name, shown) in enumerate(
        zip(("step2", "step1"), opened.locator("#beside tbody tr td:nth-of-type(3)").all_inner_texts(), strict=False)
    ):
        model = data["comparison"]["models"][k]
        heads = data if name == "step2" else data["others"][0]
        low, high, q = heads["null"]["induction"]
        differ = sum(value < 0.05 for value in q)
        assert model["nulls"]["induction"] == [pytest.approx(min(low), rel=1e-3), pytest.approx(max(high), rel=1e-3), differ]
        assert shown.endswith(f"; {differ} of 4 heads differ")
        assert opened.locator("#beside tbody tr").nth(k).locator("svg .null").count() == 1


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


def test_models_of_several_trainings_are_not_joined(opened, built):
    assert opened.locator("#curve svg polyline").count() == 1
    opened.goto((built / "apart.html").as_uri())
    opened.wait_for_selector("#matrix svg")
    assert opened.locator("#curve svg .value").count() == 2
    assert opened.locator("#curve svg :is(polyline, polygon)").count() == 0
    assert opened.locator("#curve svg line.extent").count() == opened.locator("#curve svg line.interval").count() == 2


def test_two_models_have_no_curve_and_one_model_has_no_comparison(opened, built):
    opened.goto((built / "pair.html").as_uri())
    opened.wait_for_selector("#matrix svg")
    assert opened.locator("#beside tbody tr").count() == 2
    assert not opened.locator("#curve-part").is_visible()
    opened.goto((built / "single.html").as_uri())
    opened.wait_for_selector("#matrix svg")
    for part in ("#model-part", "#models-part", "#matched-part"):
        assert not opened.locator(part).is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1400])
def test_an_accessibility_checker_has_no_serious_findings(opened, width, theme):
    opened.emulate_media(color_scheme=theme)
    opened.set_viewport_size({"width": width, "height": 900})
    opened.reload()
    opened.wait_for_selector("#scatter svg")
    violations = Axe().run(opened).response["violations"]
    assert {one["id"]: one["nodes"][0]["html"] for one in violations if one["impact"] in SERIOUS} == {}
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    sizes = text_sizes(opened)
    assert len(sizes) > 100
    assert [row for row in sizes if row[0] < 12 - 1e-6] == []


def test_the_tab_key_reaches_the_switch_of_models_and_the_comparison(opened):
    stops = stops_of_the_tab_key(opened)
    places = [place for place, _, _ in stops]
    parts = ["model", "measure", "grid", "beside", "matched"]
    assert set(parts) - set(places) <= {"beside"}, "the box of the table is a stop"
    assert "Models side by side" in [label for _, label, _ in stops]
    assert [stop for stop in stops if not stop[2]] == []
