"""The page of a large model, with all measures and its random control: size, elements, boxes that scroll."""

import numpy as np
import pandas as pd
import pytest
from atlas_tables import LIMITS, build, sentences_of, small_atlas
from small_shards import write_shard

from attention_atlas.atlas.page import data_of_page, html_of, page_data
from attention_atlas.atlas.sentences import attended
from attention_atlas.corpora.examples import Example, write_examples


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A page of 24 x 16 heads with six sentences of 24 tokens, and evidence as large as that of a corpus."""
    folder = tmp_path_factory.mktemp("large")
    layers, heads, n = 24, 16, 24
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
    shown = sentences_of(folder)
    evidence = attended(iter(shown["attention"]["tiny"]), examples, strongest_pairs=20)
    shown |= {name: {"tiny": table} for name, table in evidence.items()}
    build(small_atlas(layers, heads), folder / "atlas.html", **shown, shown_sentences=LIMITS | {"count": 6})
    return folder / "atlas.html"


def test_a_large_model_with_all_measures_and_its_control_is_small(large):
    """Sixty measures, as in the sample run, each with intervals, null distribution and q, of a model and its random control."""
    chance = np.random.default_rng(1)
    tables = small_atlas(24, 16)
    heads = tables["heads"][["model", "layer", "head"]]
    names = [f"measure{k}" for k in range(60)]
    columns = [f"{name}{part}" for name in names for part in ("", "_low", "_high", "_q")]
    heads = heads.join(pd.DataFrame(chance.random((len(heads), len(columns))), columns=columns))
    # One null distribution for all heads.
    ends = {f"{name}_null_{end}": chance.random() for name in names for end in ("low", "high")}
    heads = heads.join(pd.DataFrame(ends, index=heads.index))
    facts = tables["measures"].iloc[[0]]
    measures = pd.concat([facts.assign(measure=name, kind="number", chance=np.nan, note="") for name in names])
    first = data_of_page(large.read_text(encoding="utf-8"))
    # Two models share the weights that a page may hold: two sentences each.
    model = page_data(heads, measures, [], first["sentences"][:2]) | {
        name: first[name] for name in ("evidence", "name", "shown_note")
    }
    text = html_of({**first, **model, "others": [{**model, "ramps": {}}]}, "Large", "Test run")
    assert 1_500_000 < len(text.encode()) < 3_000_000


def test_a_browser_without_decompression_is_told(browser, large):
    opened = browser.new_page()
    opened.add_init_script("delete window.DecompressionStream")
    opened.goto(large.as_uri())
    assert "heads.tsv" in opened.locator("#too-old").inner_text()
    opened.close()


@pytest.mark.parametrize("width", [390, 768, 1400])
def test_a_large_model_has_few_elements_and_scrolls_in_boxes(browser, large, width):
    assert large.stat().st_size < 3_000_000
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(large.as_uri())
    page.wait_for_selector("#matrix svg")
    # Few elements: the browser has little to lay out before the first paint.
    assert page.evaluate("document.querySelectorAll('*').length") < 4000
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
