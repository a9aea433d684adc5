"""The page of the atlas: its data against the tables, and the page itself in a real browser, where there is one."""

import base64
import re

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_checks import stops_of_the_tab_key, text_sizes
from scipy.stats import percentileofscore
from small_treebank import write_treebank

from attention_atlas.atlas.attended import write_attended
from attention_atlas.atlas.correlations import CORRELATIONS, Draws, write_correlations
from attention_atlas.atlas.embedded_data import data_of_page
from attention_atlas.atlas.measures import MEASURES
from attention_atlas.atlas.page import (
    Drawn,
    Evidence,
    page,
    page_data,
    percentiles,
    relation_cards,
    sentence_data,
    shown_note,
    write_page,
)
from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import Example, read_examples, write_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.shards import write_shard
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_relations import HEAD_RELATIONS
from attention_atlas.workflow.render import render

MOST_BYTES = 8_000_000
SERIOUS = ("serious", "critical")
GROUPS = {"masked": "Effect on the model"}
NULLS = {"masked": ("", 0.0, 3), "induction": ("heads with random weights", None, 1)}
ABOUT = {"masked": "distance_type"}
CALIBRATIONS = {"entropy": "No null: random models do not read these texts."}
"""Measure -> null, chance and inside_null of its row."""


def write_tables(folder, layers, heads):
    """heads.tsv, measures.tsv and correlations.tsv of a model with three measures by number, one by name, one left out."""
    chance = np.random.default_rng(0)
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    count = layers * heads
    table = pd.DataFrame({"model": "tiny", "layer": layer, "head": head})
    table["entropy"] = 4 * chance.random(count)
    table["to_sep"] = np.where(chance.random(count) < 0.1, np.nan, chance.random(count))
    table["masked"] = chance.normal(size=count)
    table["masked_low"], table["masked_high"] = table["masked"] - 1, table["masked"] + 2
    # Of the first head the induction is like that of random weights.
    table["induction"] = 0.5 + table.index / count
    table["induction_low"], table["induction_high"] = table["induction"] - 0.1, table["induction"] + 0.1
    table["induction_null_low"], table["induction_null_high"] = 0.01, 0.55
    table["induction_q"] = np.where(table.index == 0, 0.7, 0.001)
    table["distance_type"] = chance.choice(["dense", "vertical"], count)
    write_table(table, folder / "heads.tsv")
    facts = {
        "entropy": ("Entropy </script><b>", "nats", "number", ""),
        "to_sep": ("Attention to [SEP]", "share", "number", ""),
        "masked": ("Accuracy when masked", "percentage points", "number", ""),
        "masked_low": ("Accuracy when masked: lower end", "percentage points", "number", ""),
        "masked_high": ("Accuracy when masked: upper end", "percentage points", "number", ""),
        "induction": ("Induction", "share", "number", ""),
        **{f"induction_{part}": ("part", "share", "number", "") for part in ("low", "high", "null_low", "null_high", "q")},
        "distance_type": ("Type by distances", "", "name", ""),
        "importance": ("Importance", "", "", "this run does not build michel2019"),
    }
    rows = [
        [
            *(name, title, GROUPS.get(name, "Others"), "a2020", "Table 1", unit, "", "tiny", kind, count),
            *(
                24 if name == "masked" else None,
                "examples",
                *NULLS.get(name, ("", None, None)),
                ABOUT.get(name, ""),
                note,
                "",
                CALIBRATIONS.get(name, ""),
            ),
        ]
        for name, (title, unit, kind, note) in facts.items()
    ]
    write_table(pd.DataFrame(rows, columns=MEASURES), folder / "measures.tsv")
    write_correlations(folder / "heads.tsv", Draws(100, 100, 0), folder / "correlations.tsv")
    return table


NO_SENTENCES = Drawn(None, None, None, 2, 24, 6)


NO_EVIDENCE = Evidence(None, None)


def drawn_of(folder, count=2, max_tokens=24, shortest=6):
    """Sentences of the small treebank."""
    dropped = folder / "0.dropped.tsv"
    write_table(
        pd.DataFrame([(12, "s12", "too long", "900 pieces, 512 allowed")], columns=["record", "id", "reason", "detail"]),
        dropped,
    )
    return Drawn(folder / "0.safetensors", folder / "0.parquet", dropped, count, max_tokens, shortest)


def build(folder, drawn=NO_SENTENCES, relations=None, evidence=NO_EVIDENCE):
    paths = [folder / f"{name}.tsv" for name in ("heads", "measures", "correlations")]
    write_page(*paths, relations, evidence, drawn, "Test run", RunLabel("Test run", "tiny", "text"), folder / "atlas.html")
    return (folder / "atlas.html").read_text(encoding="utf-8")


def test_percentiles_are_scipys():
    values = [3.0, 1.0, None, 2.0, 1.0, 0.5, -4.0]
    known = [value for value in values if value is not None]
    slow = [None if value is None else percentileofscore(known, value, "mean") for value in values]
    assert percentiles(values) == pytest.approx(slow, nan_ok=True, abs=0.05), "one decimal"
    assert percentiles([None, None]) == [None, None]
    assert percentiles([]) == []


def test_measures_of_few_values_have_no_percentiles(tmp_path):
    four, five = [0.0, 1.0, 2.0, 3.0] * 3, [0.0, 1.0, 2.0, 3.0] * 3 + [4.0]
    assert percentiles([*four, None]) == [None] * 13
    assert None not in percentiles(five)
    table = write_tables(tmp_path, 3, 4)
    write_table(table.assign(masked=np.arange(12) % 4 / 12), tmp_path / "heads.tsv")
    data = data_of_page(build(tmp_path))
    assert data["percentiles"]["masked"] == [None] * 12
    assert None not in data["percentiles"]["entropy"]
    assert data["values"]["masked"][1] == pytest.approx(1 / 12, rel=1e-5), "the value stays"


def relations_table():
    """Head 1-1 finds r1 and r3 alone; the margin of r0 has no q, that of r2 is negative, and r4's interval contains 0."""
    rows = [
        (1, 1, 1, "r0", "a", 50, 0.9, 1, 0.5, 0.4, 0.1, 0.6, 0.04, 0.06),
        (1, 1, 3, "r1", "b", 40, 0.8, 1, 0.5, 0.3, 0.2, 0.4, 0.001, 0.01),
        (1, 1, 4, "r2", "a", 40, 0.2, 1, 0.5, -0.3, -0.4, -0.2, 0.001, 0.01),
        (1, 1, 2, "r3", "a", 30, 0.7, -1, 0.6, 0.1, 0.05, 0.2, 0.001, 0.01),
        (1, 1, 5, "r4", "a", 30, 0.7, -1, 0.6, 0.1, -0.01, 0.2, 0.001, 0.01),
        (1, 2, 1, "none", "", 0, *[np.nan] * 8),
    ]
    return in_full(rows)


def in_full(rows):
    """A table of relations from rows up to q."""
    table = pd.DataFrame(rows, columns=HEAD_RELATIONS[: HEAD_RELATIONS.index("q") + 1])
    return table.assign(choice_low=0.1, unit="sentences", units=20, accuracy_low=0.1, accuracy_high=0.9)


def test_cards_hold_the_relations_above_their_offset_by_rank():
    one, two = relation_cards(relations_table(), pd.DataFrame({"layer": [1, 1], "head": [1, 2]}))
    assert [(row["relation"], row["direction"]) for row in one] == [("r3", "a"), ("r1", "b")]
    assert one[1] == {
        **{"relation": "r1", "direction": "b", "accuracy": 0.8, "baseline": 0.5, "margin": 0.3, "low": 0.2, "high": 0.4},
        "n": 40,
    }
    assert two == []


def test_the_page_reads_the_table_of_relations(tmp_path):
    write_tables(tmp_path, 3, 4)
    write_table(relations_table(), tmp_path / "relations.tsv")
    cards = data_of_page(build(tmp_path, relations=tmp_path / "relations.tsv"))["relations"]
    assert [len(card) for card in cards] == [2, *[0] * 11]


def test_weights_come_back_within_a_step(tmp_path):
    write_treebank(tmp_path, sentences=5)
    drawn = drawn_of(tmp_path, max_tokens=10)
    examples = {example.record: example for example in read_examples([drawn.examples])}
    sentences = sentence_data(read_attention([drawn.shard]), examples, drawn)
    assert len(sentences) == 2
    assert sentences[0]["text"] == "w0 w1 w2 w3 w4"
    for sentence, cached in zip(sentences, read_attention([drawn.shard]), strict=False):
        n = len(cached.tokens)
        steps = np.frombuffer(base64.b64decode(sentence["data"]), np.uint8).reshape(2, 2, n, n)
        assert np.abs(steps / 255 - cached.maps.astype(float)).max() <= 0.5 / 255 + 1e-6
    assert sentence_data(read_attention([drawn.shard]), examples, drawn_of(tmp_path, max_tokens=6)) == []


def test_short_sentences_are_shown_where_they_are_asked_for_and_all_stay_small(tmp_path, monkeypatch):
    write_treebank(tmp_path, sentences=5)
    # Each has 7 tokens, and there are 4 heads.
    examples = {example.record: example for example in read_examples([tmp_path / "0.parquet"])}

    def shown(**changes):
        drawn = drawn_of(tmp_path, count=20, **changes)
        return len(sentence_data(read_attention([drawn.shard]), examples, drawn))

    assert (shown(shortest=8), shown(shortest=7)) == (0, 5)
    monkeypatch.setattr("attention_atlas.atlas.page._MOST_WEIGHTS", 3 * 4 * 49)
    assert shown() == 3
    monkeypatch.setattr("attention_atlas.atlas.page._MOST_WEIGHTS", 1)
    assert shown() == 1, "one in any case"


def test_the_page_says_which_sentences_it_does_not_show(tmp_path):
    write_tables(tmp_path, 2, 2)
    write_treebank(tmp_path)
    data = data_of_page(build(tmp_path, drawn_of(tmp_path)))
    parts = ["2 of 13 sentences shown", "10 more not shown to keep the page small"]
    assert data["shown_note"] == f"{', '.join(parts)}, 1 dropped as too long (s12: 900 pieces, 512 allowed)."
    none = pd.DataFrame(columns=["id", "reason", "detail"])
    assert shown_note(none, [5, 25, 30], NO_SENTENCES, 1) == (
        "1 of 3 sentences shown, 2 longer than the 24 word pieces that the page draws."
    )
    assert shown_note(none, [5], NO_SENTENCES, 1) == "1 of 1 sentence shown."
    many = pd.DataFrame([(f"line {k}", "too long", "9 pieces") for k in range(5)], columns=list(none))
    assert shown_note(many, [], NO_SENTENCES, 0).endswith(
        "5 dropped as too long (line 0: 9 pieces; line 1: 9 pieces; line 2: 9 pieces; ...)."
    )


def test_the_page_holds_the_tables_and_no_address(tmp_path):
    table = write_tables(tmp_path, 3, 4)
    page = build(tmp_path)
    data = data_of_page(page)
    assert (data["layers"], data["heads"]) == (3, 4)
    for name in ("entropy", "to_sep", "masked"):
        values = [np.nan if value is None else value for value in data["values"][name]]
        assert values == pytest.approx(table[name].tolist(), rel=1e-5, nan_ok=True)
    assert data["values"]["distance_type"] == table["distance_type"].tolist()
    assert data["intervals"].keys() == {"masked", "induction"}
    assert data["null"].keys() == {"induction"}
    assert data["null"]["induction"][0] == [0.01] * 12
    assert data["inside"]["induction"] == [1] + [0] * 11, "by q"
    assert data["inside"]["masked"] == [int(low <= 0 <= high) for low, high in zip(*data["intervals"]["masked"], strict=True)]
    assert data["inside"].keys() == {"masked", "induction"}
    shown = [measure["measure"] for measure in data["measures"]]
    assert [name for name in shown if name.startswith("induction")] == ["induction"], "its parts are no measures"
    for values, end in zip(data["intervals"]["masked"], ("masked_low", "masked_high"), strict=True):
        assert values == pytest.approx(table[end].tolist(), rel=1e-3)
    shown = ["entropy", "to_sep", "masked", "induction", "distance_type", "importance"]
    assert [measure["measure"] for measure in data["measures"]] == shown, "ends are shown with their measure"
    assert data["measures"][-1]["note"] == "this run does not build michel2019"
    # What could be loaded: sources, links and imports of styles. There are none.
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert "default-src 'none'" in page
    # A second time the same.
    assert build(tmp_path) == page


def test_the_job_of_a_run_without_sentences_and_relations_renders_the_page(tmp_path):
    write_tables(tmp_path, 3, 4)
    page = build(tmp_path)
    files = {f"{name}_path": tmp_path / f"{name}.tsv" for name in ("heads", "measures", "correlations")}
    absent = {f"comparison__{name}": [] for name in ("matches", "agreement", "means", "findings", "series")} | {
        name: []
        for name in (
            "relations_path",
            "evidence__pairs",
            "evidence__kinds",
            "drawn__shard",
            "drawn__examples",
            "drawn__dropped",
        )
    }
    params = {
        "drawn": {"count": 2, "max_tokens": 24, "shortest": 6},
        "run": "Test run",
        "label": None,
        "models": [],
        "sources": {},
    }
    render("atlas.page:write_page", files | absent, {"out": tmp_path / "rendered.html"}, params)
    rendered = (tmp_path / "rendered.html").read_text(encoding="utf-8")
    assert data_of_page(rendered) == data_of_page(page)
    assert (data_of_page(rendered)["relations"], data_of_page(rendered)["sentences"]) == ([], [])


def test_a_large_model_fits(tmp_path):
    write_tables(tmp_path, 12, 12)
    sentence = 12 * 12 * 24 * 24 * 4 / 3
    assert len(build(tmp_path).encode()) + 20 * sentence < MOST_BYTES, "with the most sentences that a run may name"


def test_tables_of_other_heads_are_errors(tmp_path):
    table = write_tables(tmp_path, 3, 4)
    write_treebank(tmp_path)
    with pytest.raises(AtlasError, match="does not have the 12 heads"):
        build(tmp_path, drawn_of(tmp_path))
    write_table(table.iloc[1:], tmp_path / "heads.tsv")
    with pytest.raises(AtlasError, match="11 rows are not one for each head"):
        build(tmp_path)


@pytest.fixture
def opened(browser, tmp_path):
    """A page of a model of 2 x 2 heads, opened from the file system; with its errors, its requests and heads.tsv."""
    write_treebank(tmp_path)
    table = write_tables(tmp_path, 2, 2)
    rows = [
        (layer, head, 1, "det", "dependent_to_head", 40, 0.2 * layer + 0.1 * head, 1, 0.25, 0.2 * layer, 0.1, 0.5, 0.01, 0.02)
        for layer in (1, 2)
        for head in (1, 2)
    ]
    relations = in_full(rows)
    # The last head finds nothing that is above the baseline.
    relations.loc[3, "q"] = 0.2
    write_table(relations, tmp_path / "relations.tsv")
    evidence = Evidence(tmp_path / "pairs.tsv", tmp_path / "kinds.tsv")
    write_attended([tmp_path / "0.safetensors"], [tmp_path / "0.parquet"], 100, 20, evidence.pairs, evidence.kinds)
    build(tmp_path, drawn_of(tmp_path), tmp_path / "relations.tsv", evidence)
    page = browser.new_page()
    errors, requests = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "atlas.html").as_uri())
    page.wait_for_selector("#matrix svg")
    page.wait_for_selector("#scatter svg")
    yield page, errors, requests, table
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
    parts = ["theme", "measure", "grid", "second", "rank-by", "ranking", "kinds-of", "pairs", "sentence", "lines"]
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


def test_measures_that_go_together_by_definition_are_marked(tmp_path, browser):
    write_tables(tmp_path, 3, 4)
    pairs = pd.read_csv(tmp_path / "correlations.tsv", sep="\t")
    pairs["definitional"] = (pairs["measure_b"] == "masked").astype(int)
    write_table(pairs, tmp_path / "correlations.tsv")
    build(tmp_path)
    page = browser.new_page()
    page.goto((tmp_path / "atlas.html").as_uri())
    page.wait_for_selector("#scatter svg")
    for second, marked in (("masked", True), ("induction", False)):
        page.locator("#second").select_option(second)
        page.wait_for_timeout(300)
        assert ("go together by their definitions" in page.locator("#scatter-note").inner_text()) == marked
    page.close()


def test_any_measure_colours_the_grid_and_a_click_in_the_scatter_chooses(opened):
    page, errors, _, table = opened
    before = page.locator("#grid button").nth(0).evaluate("button => button.style.background")
    page.locator("#measure").select_option("masked")
    assert page.locator("#grid button").nth(0).evaluate("button => button.style.background") != before
    assert "Accuracy when masked (percentage points)" in page.locator("#measure-note").inner_text()
    page.locator("#measure").select_option("distance_type")
    assert "vertical" in page.locator("#legend").inner_text() or "dense" in page.locator("#legend").inner_text()
    page.locator("#measure").select_option("entropy")
    page.locator("#second").select_option("masked")
    page.wait_for_timeout(500)
    marks = page.locator("#scatter svg path[aria-roledescription=circle]")
    assert marks.count() == 4
    marks.nth(2).click(force=True)
    check_card(page, table.iloc[2])
    address = page.evaluate("location.hash")
    assert "head=2-1" in address
    assert "against=masked" in address
    assert errors == []


def test_light_and_dark(opened):
    page, errors, _, _ = opened
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(300)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark, light) == ("rgb(22, 24, 28)", "rgb(255, 255, 255)")
    ink = page.locator("#scatter svg text").first.evaluate("text => getComputedStyle(text).fill")
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
    pairs, kinds = (pd.read_csv(tmp_path / f"{name}.tsv", sep="\t") for name in ("pairs", "kinds"))
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
        # Bars are the shares, and marks those of even attention, on one scale.
        scale = shown.first.locator(".bars").bounding_box()["width"] / largest[["share", "even_share"]].to_numpy().max()
        for row, bars in zip(largest.itertuples(), shown.locator(".bars").all(), strict=True):
            bar, mark, cell = (part.bounding_box() for part in (bars.locator(".share"), bars.locator(".even"), bars))
            assert bar["width"] == pytest.approx(row.share * scale, abs=1)
            assert mark["x"] - cell["x"] == pytest.approx(row.even_share * scale, abs=1)
    assert errors == []


def test_pairs_and_their_kinds_are_linked_by_pointer_click_and_key(opened, tmp_path):
    page, errors, _, _ = opened
    pairs = pd.read_csv(tmp_path / "pairs.tsv", sep="\t", keep_default_na=False)
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


def test_a_page_without_sentences_has_no_evidence(tmp_path):
    write_tables(tmp_path, 3, 4)
    assert data_of_page(build(tmp_path))["evidence"] == {"texts": [], "pairs": [], "kinds": []}


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
    page.wait_for_selector("#scatter svg")
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


def test_a_value_leads_to_its_table_and_figure(browser, tmp_path):
    write_tables(tmp_path, 2, 2)
    write_treebank(tmp_path)
    folder = tmp_path / "atlas"
    folder.mkdir()
    (tmp_path / "a2020").mkdir()
    (tmp_path / "a2020" / "figure 1.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    sources = {"entropy": [f"{tmp_path}/a2020/surface.tsv", f"{tmp_path}/a2020/figure 1.svg"], "masked": ["a2020/x.tsv"]}
    paths = [tmp_path / f"{name}.tsv" for name in ("heads", "measures", "correlations")]
    out = folder / "atlas.html"
    write_page(*paths, None, NO_EVIDENCE, drawn_of(tmp_path), "Test run", None, out, sources=sources)
    assert data_of_page(out.read_text(encoding="utf-8"))["sources"]["entropy"] == [
        "../a2020/surface.tsv",
        "../a2020/figure 1.svg",
    ]
    page = browser.new_page()
    page.goto(out.as_uri())
    page.wait_for_selector("#matrix svg")
    links = page.locator('#values tr[data-measure="entropy"] a')
    assert links.all_inner_texts() == ["table", "Table 1"]
    assert page.locator('#values tr[data-measure="masked"] a').count() == 1
    assert page.locator('#values tr[data-measure="to_sep"] a').count() == 0
    links.nth(1).click()
    page.wait_for_url("**/a2020/figure%201.svg")
    page.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A page of 24 x 16 heads with six sentences of 24 tokens, and evidence as large as that of a corpus."""
    folder = tmp_path_factory.mktemp("large")
    layers, heads, n = 24, 16, 24
    write_tables(folder, layers, heads)
    chance = np.random.default_rng(0)
    tokens = ("[CLS]", *(f"word{k}" for k in range(n - 2)), "[SEP]")
    word = (-1, *range(n - 2), -1)
    examples, arrays, facts = [], {}, []
    for record in range(8):
        layer_names = {"heads": (0, *[1] * (n - 3)), "relations": ("root", *["det"] * (n - 3))}
        examples.append(Example(record, f"s{record}", (0,) * n, (0,) * n, tokens, word, tokens[1:-1], layer_names))
        arrays[record] = chance.dirichlet(np.full(n, 0.2), (layers, heads, n)).astype(np.float16)
        facts.append({"record": record, "id": f"s{record}", "tokens": tokens, "word": word, "words": tokens[1:-1]})
    write_examples(folder / "0.parquet", examples)
    write_shard(folder / "0.safetensors", folder / "0.json", arrays, {"level": "tokens", "examples": facts})
    evidence = Evidence(folder / "pairs.tsv", folder / "kinds.tsv")
    write_attended([folder / "0.safetensors"], [folder / "0.parquet"], 100, 20, evidence.pairs, evidence.kinds)
    build(folder, drawn_of(folder, count=6), evidence=evidence)
    return folder / "atlas.html"


def test_a_large_model_with_all_measures_and_its_control_is_small(large):
    """Sixty measures, as in the sample run, each with intervals, null distribution and q, of a model and its random control."""
    chance = np.random.default_rng(1)
    heads = pd.read_csv(large.parent / "heads.tsv", sep="\t")[["model", "layer", "head"]]
    names = [f"measure{k}" for k in range(60)]
    columns = [f"{name}{part}" for name in names for part in ("", "_low", "_high", "_q")]
    heads = heads.join(pd.DataFrame(chance.random((len(heads), len(columns))), columns=columns))
    # One null distribution for all heads.
    ends = {f"{name}_null_{end}": chance.random() for name in names for end in ("low", "high")}
    heads = heads.join(pd.DataFrame(ends, index=heads.index))
    facts = pd.read_csv(large.parent / "measures.tsv", sep="\t", keep_default_na=False).iloc[[0]]
    measures = pd.concat([facts.assign(measure=name, kind="number", chance=np.nan, note="") for name in names])
    first = data_of_page(large.read_text(encoding="utf-8"))
    # Two models share the weights that a page may hold: two sentences each.
    model = page_data(heads, measures, pd.DataFrame(columns=CORRELATIONS), [], first["sentences"][:2]) | {
        name: first[name] for name in ("evidence", "name", "sources", "shown_note")
    }
    text = page({**first, **model, "others": [{**model, "ramps": {}}]}, "Large", "Test run")
    assert 1_500_000 < len(text.encode()) < 3_000_000


def test_a_browser_without_decompression_is_told(browser, large):
    opened = browser.new_page()
    opened.add_init_script("delete window.DecompressionStream")
    opened.goto(large.as_uri())
    assert "heads.tsv" in opened.locator("#too-old").inner_text()
    opened.close()


@pytest.mark.parametrize("width", [390, 768, 1400])
def test_a_large_model_is_painted_within_a_second_and_scrolls_in_boxes(browser, large, width):
    assert large.stat().st_size < 3_000_000
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(large.as_uri())
    page.wait_for_selector("#matrix svg")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000
    assert page.locator("#grid button").count() == 384
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wider = """() => ["grid", "all"].map((id) => document.getElementById(id).closest(".scroll"))
        .map((box) => box.scrollWidth > box.clientWidth)"""
    if width == 390:
        assert page.evaluate(wider) == [True, True]
    # The head that is chosen can be reached in both.
    page.locator("#grid button").nth(383).click()
    assert page.locator("#card-title").inner_text() == "Layer 24, head 16"
    page.close()


def test_all_heads_of_a_ranking_can_be_listed_with_the_keyboard(browser, large):
    page = browser.new_page()
    page.goto(large.as_uri())
    page.wait_for_selector("#matrix svg")
    page.locator("#rank-by").select_option("masked")
    rows = page.locator("#ranking tbody tr")
    assert rows.count() == 10
    assert "384 of 384 heads have a value; the first 10 are listed" in page.locator("#ranking-note").inner_text()
    button = page.locator("#ranking-all")
    assert button.inner_text() == "List all 384 heads"
    button.press("Enter")
    assert rows.count() == 384
    assert button.inner_text() == "List the first 10 heads"
    types = data_of_page(large.read_text(encoding="utf-8"))["values"]["distance_type"]
    first = int(rows.first.locator("a").get_attribute("data-index"))
    assert f"{types[first]}: " in rows.first.inner_text(), "each row names what the measure is about"
    button.press("Enter")
    assert rows.count() == 10
    page.close()
