"""The page "What we found": sentences with numbers of the run's tables, and claims as bars, variants side by side."""

import pandas as pd
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.published.compare import CLAIM_COLUMNS, LATER
from tools.findings import claim_rows, findings_page, numbers, sentences

NAMES = ["study", *CLAIM_COLUMNS]


def claim(statement, verdict="holds", side="above", value=2.0, low=1.0, high=3.0, threshold=0.0):
    interval = [value, side, threshold, low, high, 0.95, 9, "documents", "paper", LATER]
    return ["michel2019", statement, "ours", verdict, "gain", *interval]


def test_a_sentence_has_numbers_of_the_tables_or_is_left_out(tmp_path):
    table = {"task": ["pos", "roles", "roles", "other"], "f1": [91.26, 70.0, 80.0, None]}
    write_table(pd.DataFrame(table), tmp_path / "tenney2019" / "figure1.tsv")
    claims = pd.DataFrame([claim("Section 4: a"), claim("Section 5: b", "undecided")], columns=NAMES)
    known = numbers(tmp_path, claims)
    templates = [
        'POS {{ n(cell("tenney2019/figure1", "f1", task="pos"), 1) }}, {{ n(-max("tenney2019/figure1", "f1", task="roles")) }}',
        'no value {{ cell("tenney2019/figure1", "f1", task="other") }}',
        'no row {{ cell("tenney2019/figure1", "f1", task="absent") }}',
        'no table {{ cell("tenney2019/figure2", "f1", task="pos") }}',
        'no claim {{ verdict("Section 6") }}',
        'Roles {{ n(mean("tenney2019/figure1", "f1", task="roles"), 0, "+") }}; {{ verdict("Section 5") }}.',
    ]
    assert sentences(templates, known) == ["POS 91.3, -80", "Roles +75; undecided."]
    for template, message in (
        ('{{ cell("tenney2019/figure1", "f2", task="pos") }}', "column 'f2' is missing"),
        ('{{ cell("tenney2019/figure1", "f1", task="roles") }}', "has 2 rows with {'task': 'roles'}"),
    ):
        with pytest.raises(AtlasError, match=message):
            sentences([template], known)


def test_a_bar_has_the_threshold_in_the_middle_and_the_claim_to_the_right():
    rows = [
        claim("Translation: one head is enough", low=-1.0, high=4.0, threshold=1.0),
        claim("another", side="below", value=2.0, low=1.0, high=3.0),
        claim("Classification: one head is enough", low=None, high=None),
    ]
    shown = claim_rows(pd.DataFrame(rows, columns=NAMES), "Translation|Classification")
    assert shown["claim"].str[:5].tolist() == ["Trans", "Class", "anoth"]
    assert shown[["variant", "variants"]].to_numpy().tolist() == [[0, 1], [1, 1], [0, 0]]
    assert shown["at"].tolist() == [65, 95, 20]
    assert shown[["low", "high"]].fillna(-1).to_numpy().tolist() == [[20, 95], [-1, -1], [5, 35]]


def test_the_page_names_every_claim_with_its_mark(tmp_path):
    claims = pd.DataFrame([claim("Translation: a <b>"), claim("Classification: a <b>", "undecided")], columns=NAMES)
    (tmp_path / "out").mkdir()
    page = findings_page(
        tmp_path, tmp_path / "out", claims, title="T", titles={"michel2019": "Michel et al. (2019): M"}, totals=["x"]
    )
    assert "1 distinct claims" in page
    assert page.count(f"a &lt;b&gt;<small>{LATER}") == 2
    assert '<tr class="open variant" data-study="michel2019" data-verdict="undecided" data-group="Added later">' in page
    assert page.count("### ") == 1, "only papers of the run"
    assert "[errata](../../errata.md#michel-et-al-2019)" in page
