"""The index page of a run: artefacts with thumbnails and links, skipped ones with the reason."""

from html.parser import HTMLParser

import pandas as pd
import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.scoreboard.tables import index
from attention_atlas.workflow.artifacts import listed_artifacts
from attention_atlas.workflow.requirements import without_missing
from attention_atlas.workflow.study_inputs import StudyInputs

COUNTS = ("claims", "claims_hold", "claims_do_not_hold", "claims_undecided", "claims_not_tested")
SUMMARY = pd.DataFrame([["a2020", 5, 1, 2, 2, 0], ["all", 10, 4, 3, 2, 1]], columns=["study", *COUNTS])


class Page(HTMLParser):
    """Links and images of a page, its text, and its headings."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.images: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag == "a":
            self.links.append(named["href"])
        if tag == "img":
            self.images.append(named["src"])

    def handle_data(self, data):
        self.text += data


def entry(name, kind, files, **changes):
    study, _, artifact = name.partition("/")
    titles = {"study_title": f"The study {study}", "number": artifact.title(), "title": "a < b"}
    return {"study": study, **titles, "kind": kind, "files": files, "skipped": "", **changes}


@pytest.fixture
def page():
    entries = [
        entry("a2020/table1", "table", ["a2020/table1.tsv", "a2020/table1.html"]),
        entry("a2020/figure1", "figure", [f"a2020/figure1.{suffix}" for suffix in ("svg", "png", "pdf", "tsv")]),
        entry("b2021/views", "figure", ["b2021/views.png", "b2021/one.html", "b2021/two.html"]),
        entry("b2021/figure9", "figure", ["b2021/figure9.png"], skipped="corpus frames: no such file."),
    ]
    return index(SUMMARY, {}, entries, {"scoreboard.html": "Scoreboard"}, True, "A run")


def test_every_file_of_what_is_built_is_linked_and_of_what_is_skipped_none(page):
    shown = Page(page)
    files = {link for link in shown.links if not link.startswith("#")}
    assert files == {
        *("scoreboard.html", "claims.html", "a2020/table1.tsv", "a2020/table1.html"),
        *(f"a2020/figure1.{suffix}" for suffix in ("svg", "png", "pdf", "tsv")),
        *("b2021/views.png", "b2021/one.html", "b2021/two.html"),
    }
    assert shown.images == ["a2020/figure1.png", "b2021/views.png"]
    assert not any("//" in link for link in (*shown.links, *shown.images)), "relative links alone"
    assert "corpus frames: no such file." in shown.text


def test_it_counts_artefacts_and_claims_and_names_several_pages(page):
    shown = Page(page)
    assert "1 table and 2 figures; 1 skipped." in shown.text
    assert "Of 10 claims of the papers, 4 hold, 3 do not hold, 2 undecided, 1 not tested." in shown.text
    assert "one.html" in shown.text
    assert "shows that the workflow works" in shown.text
    assert "a < b" in shown.text, "escaped"


def test_a_shipped_run_lists_all_its_artefacts_once():
    entries = StudyInputs(shipped(), "scoreboard").of_run("entries")(wildcards())
    listed = listed_artifacts(shipped(), "sample")
    assert len(entries) == len(listed) > 70
    files = [file for one in entries for file in one["files"]]
    assert len(files) == len(set(files))
    assert {"clark2019/figure2.png", "scoreboard.tsv", "atlas/atlas.html"} <= set(files)


def test_what_is_missing_is_listed_with_the_reason():
    config = shipped_copy()
    config["missing"] = "skip"
    config["corpora"]["sample-frames"]["source"] = {"path": "absent/frames.json"}
    reduced = without_missing(config)
    skipped = {one.name: one.skipped for one in listed_artifacts(reduced, "sample") if one.skipped}
    assert "kovaleva2019/figure3" in skipped or any(name.startswith("kovaleva2019/") for name in skipped)
    assert all("absent/frames.json" in reason for reason in skipped.values())
    files = StudyInputs(reduced, "scoreboard").of_run("built")(wildcards())
    assert files["scoreboard.tsv"] == "results/sample/scoreboard.tsv"
    assert not any(file.startswith(f"{name}.") for file in files for name in skipped)


def test_what_a_run_does_not_name_is_listed_with_the_key():
    config = shipped_copy()
    del config["runs"]["sample"]["clark2019"]["gap"]
    reasons = [one.skipped for one in listed_artifacts(config, "sample") if one.skipped]
    assert any("The run names no gap (runs.sample.clark2019)." in reason for reason in reasons)
