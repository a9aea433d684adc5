"""The data of the page of the atlas, against its tables."""

import base64
import re

import numpy as np
import pytest
from atlas_tables import LIMITS, build, in_full, sentences_of, small_atlas
from scipy.stats import percentileofscore
from small_shards import write_treebank

from attention_atlas.atlas.page import NO_LABEL, data_of_page, embedded, head_labels, percentiles, sentence_data
from attention_atlas.errors import AtlasError


def test_percentiles_are_scipys_and_measures_of_few_values_have_none():
    values = [3.0, 1.0, None, 2.0, 1.0, 0.5, -4.0]
    known = [value for value in values if value is not None]
    slow = [None if value is None else percentileofscore(known, value, "mean") for value in values]
    assert percentiles(values) == pytest.approx(slow, nan_ok=True, abs=0.05), "one decimal"
    tables = small_atlas(3, 4)
    reasons = ["too few values" if name == "masked" else None for name in tables["measures"]["measure"]]
    data = data_of_page(build(tables | {"measures": tables["measures"].assign(not_ranked=reasons)}))
    assert data["percentiles"]["masked"] == [None] * 12
    assert None not in data["percentiles"]["entropy"]


def test_cards_hold_the_relations_above_their_offset_by_rank():
    """Head 1-1 finds r1 and r3 alone; the margin of r0 has no q, that of r2 is negative, and r4's interval contains 0."""
    rows = [
        (1, 1, 1, "r0", "a", 50, 0.9, 1, 0.5, 0.4, 0.1, 0.6, 0.04, 0.06),
        (1, 1, 3, "r1", "b", 40, 0.8, 1, 0.5, 0.3, 0.2, 0.4, 0.001, 0.01),
        (1, 1, 4, "r2", "a", 40, 0.2, 1, 0.5, -0.3, -0.4, -0.2, 0.001, 0.01),
        (1, 1, 2, "r3", "a", 30, 0.7, -1, 0.6, 0.1, 0.05, 0.2, 0.001, 0.01),
        (1, 1, 5, "r4", "a", 30, 0.7, -1, 0.6, 0.1, -0.01, 0.2, 0.001, 0.01),
        (1, 2, 1, "none", "", 0, *[np.nan] * 8),
    ]
    one, two, *others = data_of_page(build(small_atlas(3, 4), relations={"tiny": in_full(rows)}))["relations"]
    assert [row["relation"] for row in one] == ["r3", "r1"]
    facts = {"relation": "r1", "direction": "b", "accuracy": 0.8, "baseline": 0.5, "margin": 0.3, "low": 0.2, "high": 0.4}
    assert one[1] == facts | {"n": 40}
    assert [two, *others] == [[]] * 11


def test_weights_come_back_within_a_step_and_long_sentences_in_evenly_spaced_rows(tmp_path):
    write_treebank(tmp_path, sentences=5)
    shown = {name: of["tiny"] for name, of in sentences_of(tmp_path).items()}
    attention, examples = shown["attention"], shown["examples"]
    for most, rows in (4_000_000, list(range(7))), (4 * 2 * 7 * 4, [0, 2, 4, 6]), (1, [0]):
        sentences = sentence_data(attention, examples, LIMITS, 4, most)
        assert [sentence["text"] for sentence in sentences] == ["w0 w1 w2 w3 w4"] * 2
        for sentence, cached in zip(sentences, attention, strict=False):
            assert sentence["rows"] == rows
            steps = np.frombuffer(base64.b64decode(sentence["data"]), np.uint8).reshape(2, 2, len(rows), 7)
            assert np.abs(steps / 255 - cached.maps[:, :, rows].astype(float)).max() <= 0.5 / 255 + 1e-6
    for limits, count in ({"max_tokens": 6}, 0), ({"shortest": 8}, 0), ({"count": 20}, 5):
        assert len(sentence_data(attention, examples, LIMITS | limits, 4, 999)) == count


def test_labels_follow_their_rule():
    """First confirmed relation; largest share of a half or more that is above its null. Else none is confirmed."""
    facts = {"sink": {}, "back": {}, "no_null": {}, "nats": {"unit": "nats"}, "other": {"study": "b"}}
    measures = [{"measure": m, "study": "atlas", "unit": "share", "higher_means": f"is {m}"} | facts[m] for m in facts]
    # The larger share of the second head is below its null; q says that those of the third are not above.
    values = dict.fromkeys(facts, [1.0] * 4) | {"sink": [0.9, 0.9, 0.9, 0.4], "back": [0.7, 0.95, 0.99, None]}
    null = {m: [[0.0] * 4, [0.1, 0.96 if m == "back" else 0.1, 0.1, 0.1]] for m in facts if m != "no_null"}
    inside = {m: [0, 0, int(m in ("sink", "back")), 0] for m in facts}
    relations = [[{"relation": "x:y", "accuracy": 0.766}, {"relation": "dobj", "accuracy": 0.9}], [], [], []]
    shown = {"relations": relations, "measures": measures, "values": values, "null": null, "inside": inside}
    labels = ["clause; 76.6 % · is sink; 90.0 %", "is sink; 90.0 %", NO_LABEL, NO_LABEL]
    assert head_labels({"layers": 1, "heads": 4, **shown}, {"dobj": "object of verb", "x": "clause"}) == labels


def test_the_page_holds_the_tables_and_no_address():
    tables = small_atlas(3, 4)
    table, page = tables["heads"], build(tables)
    data = data_of_page(page)
    for name in ("entropy", "to_sep", "masked"):
        values = [np.nan if value is None else value for value in data["values"][name]]
        assert values == pytest.approx(table[name].tolist(), rel=1e-5, nan_ok=True)
    assert data["values"]["distance_type"] == table["distance_type"].tolist()
    low, high = data["intervals"]["masked"]
    assert [low, high] == [pytest.approx((table["masked"] + reach).tolist(), abs=1e-3) for reach in (-0.1, 0.2)]
    assert data["counts"]["entropy"] == [24] * 12
    assert data["intervals"].keys() == data["inside"].keys() == {"masked", "induction"}
    assert data["null"]["induction"][:2] == [[0.01] * 12, [0.55] * 12]
    assert data["inside"]["induction"] == [1] + [0] * 11, "by q"
    assert data["inside"]["masked"] == [int(first <= 0 <= last) for first, last in zip(low, high, strict=True)]
    # What could be loaded: sources, links and imports of styles. There are none.
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert "default-src 'none'" in page


def test_the_page_names_sentences_that_are_dropped_and_attention_of_other_heads_is_an_error(tmp_path):
    write_treebank(tmp_path)
    data = data_of_page(build(small_atlas(2, 2), **sentences_of(tmp_path)))
    assert data["shown_note"] == "2 of 13 sentences shown, 1 dropped as too long (s12: 900 pieces, 512 allowed)."
    with pytest.raises(AtlasError, match="does not have the 12 heads"):
        build(small_atlas(3, 4), **sentences_of(tmp_path))


def test_any_data_come_back_and_no_text_ends_the_element():
    data = {"text": "</script><script>alert(1)", "ß": [None, True, -0.5, {"→": 10**9}]}
    page = f'<p>a</p><script type="application/gzip" id="data">{embedded(data)}</script><p>b</p>'
    assert data_of_page(page) == data
    assert page.count("<script") == 1
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded({"a": np.nan})
