"""The index page of a run: artefacts with thumbnails and links, skipped ones with the reason."""

import re
import struct
from html.parser import HTMLParser
from pathlib import Path

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.published.run_index import write_index
from attention_atlas.workflow.artifact_list import listed_artifacts
from attention_atlas.workflow.inputs.scoreboard import ScoreboardInputs
from attention_atlas.workflow.needs import without_missing

COUNTS = ("claims", "claims_hold", "claims_do_not_hold", "claims_undecided", "claims_not_tested")
SUMMARY = "\t".join(("study", *COUNTS)) + "\na2020\t5\t1\t2\t2\t0\nall\t10\t4\t3\t2\t1\n"


class Page(HTMLParser):
    """Links and images of a page, its text, and its headings."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.images: list[str] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

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


def png(width, height):
    """The first bytes of a picture of this size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


@pytest.fixture
def page(tmp_path):
    (tmp_path / "scoreboard.tsv").write_text(SUMMARY)
    (tmp_path / "a2020").mkdir()
    (tmp_path / "b2021").mkdir()
    (tmp_path / "a2020/figure1.png").write_bytes(png(300, 200))
    (tmp_path / "b2021/views.png").write_bytes(png(300, 900))
    rows = "".join(f"{n}\t{n / 7}\t{'long ' * 9}\n" for n in range(50))
    (tmp_path / "a2020/table1.tsv").write_text(f"layer\tshare_of_heads\tnote\n{rows}")
    entries = [
        entry("a2020/table1", "table", ["a2020/table1.tsv", "a2020/table1.html"]),
        entry("a2020/figure1", "figure", [f"a2020/figure1.{suffix}" for suffix in ("svg", "png", "pdf", "tsv")]),
        entry("b2021/views", "figure", ["b2021/views.png", "b2021/one.html", "b2021/two.html"]),
        entry("b2021/figure9", "figure", ["b2021/figure9.png"], skipped="corpus frames: no such file."),
    ]
    write_index(
        entries, [["scoreboard.html", "Scoreboard"]], "A run", True, tmp_path / "scoreboard.tsv", tmp_path / "index.html"
    )
    return tmp_path / "index.html"


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


def test_the_thumbnail_of_a_tall_figure_is_its_upper_part(page):
    wide, tall = re.findall("<img .*?>", page.read_text())
    assert 'class="tall"' in tall
    assert "class" not in wide


def test_it_counts_artefacts_and_claims_and_names_several_pages(page):
    shown = Page(page)
    assert "1 table and 2 figures; 1 skipped." in shown.text
    assert "Of 10 claims of the papers, 4 hold, 3 do not hold, 2 undecided, 1 not tested." in shown.text
    assert "one (page)" in shown.text
    assert "not comparable" in shown.text
    assert "a < b" in shown.text, "escaped"


def test_the_thumbnail_of_a_table_is_its_first_rows(page):
    shown = Page(page)
    assert "share of heads" in shown.text
    assert "0.714" in shown.text, "the sixth row"
    assert "0.857" not in shown.text
    assert "long long long lon…" not in shown.text
    assert "long long long lo…" in shown.text


def test_a_shipped_run_lists_all_its_artefacts_once():
    entries = ScoreboardInputs(shipped()).index_entries(wildcards())
    listed = listed_artifacts(shipped(), "sample")
    assert len(entries) == len(listed) > 80
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
    paths = ScoreboardInputs(reduced).index_files(wildcards())
    assert not any(path.startswith(f"results/sample/{name}.") for path in paths for name in skipped)


def test_what_a_run_does_not_name_is_listed_with_the_key():
    config = shipped_copy()
    del config["runs"]["sample"]["clark2019"]["gap"]
    reasons = [one.skipped for one in listed_artifacts(config, "sample") if one.skipped]
    assert any("The run names no gap (runs.sample.clark2019)." in reason for reason in reasons)
