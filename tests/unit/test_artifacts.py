"""The declared artefacts: made by a rule, with caption and links, on the index page and in the last lines of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from lxml import html
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.scoreboard.tables import index
from attention_atlas.workflow.artifacts import listed_artifacts, page_links, summary
from attention_atlas.workflow.requirements import without_missing
from attention_atlas.workflow.study import artifacts, is_part_of, studies, study
from attention_atlas.workflow.study_inputs import StudyInputs

WORKFLOW = Path(__file__).parents[2] / "workflow"
RUN = "sample"


def test_artefacts_have_files_and_numbers_of_their_own():
    paths = [path for declared, artifact in artifacts() for path in declared.paths(artifact, "{run}")]
    assert len(set(paths)) == len(paths)
    for declared, artifact in artifacts():
        name = f"{declared.id}/{artifact.id}"
        # The report and the links in the README take the first file.
        suffixes = ("svg", "png", "pdf", "tsv") if artifact.kind == "figure" else ("tsv", "html")
        assert {f"{artifact.id}.{suffix}" for suffix in suffixes} <= set(artifact.files), name
        assert set(artifact.text_files) <= set(artifact.files), name
        assert [one.number for one in declared.artifacts].count(artifact.number) == 1, name


def addresses(name: str, page: str) -> list[str]:
    return [address for _, address in page_links(shipped(), RUN, study(name), page)]


def test_a_page_links_to_its_tables_the_comparison_its_figure_and_the_paper():
    for declared in studies().values():
        parts = [one for one in declared.artifacts if is_part_of(shipped(), RUN, declared, one)]
        built = {file for one in parts for file in one.files}
        for artifact in parts:
            for page in (file for file in artifact.files if file.endswith(".html") and file != "atlas.html"):
                local = [address for address in addresses(declared.id, page) if not address.startswith("https://")]
                assert {file for file in artifact.files if file.endswith(".tsv")} <= set(local) <= built, page
                assert ("comparison.html" in local) == (declared.id != "atlas" and page != "comparison.html")
                papers = [address for address in addresses(declared.id, page) if address.startswith("https://")]
                named = studies().values() if declared.overview else [declared]
                assert papers == [one.paper.url for one in named if one.paper and one.paper.url]
    pictures = [name for name in addresses("atlas", "findings.html") if name.endswith((".svg", ".pdf"))]
    assert pictures == ["correlations.svg", "correlations.pdf"]
    assert addresses("atlas", "atlas.html") == addresses("clark2019", "nosuch.html") == []


COUNTS = ("claims", "claims_hold", "claims_do_not_hold", "claims_undecided", "claims_not_tested")
SUMMARY = pd.DataFrame([["a2020", 5, 1, 2, 2, 0], ["all", 10, 4, 3, 2, 1]], columns=["study", *COUNTS])


def entry(name, kind, files, skipped=""):
    owner, _, artifact = name.partition("/")
    titles = {"study_title": f"The study {owner}", "number": artifact.title(), "title": "a < b"}
    return {"study": owner, **titles, "kind": kind, "files": files, "skipped": skipped}


def test_the_index_page_links_every_file_that_is_built_and_says_why_others_are_not():
    entries = [
        entry("a2020/table1", "table", ["a2020/table1.tsv", "a2020/table1.html"]),
        entry("a2020/figure1", "figure", [f"a2020/figure1.{suffix}" for suffix in ("svg", "png", "pdf", "tsv")]),
        entry("b2021/figure9", "figure", ["b2021/figure9.png"], skipped="corpus frames: no such file."),
    ]
    page = html.fromstring(index(SUMMARY, {}, entries, {"scoreboard.html": "Scoreboard"}, True, "A run"))
    files = {link for link in page.xpath("//a/@href") if not link.startswith("#")}
    assert files == {"scoreboard.html", "claims.html", *(file for one in entries[:2] for file in one["files"])}
    assert page.xpath("//img/@src") == ["a2020/figure1.png"]
    for text in (
        *("corpus frames: no such file.", "1 table and 1 figure; 1 skipped.", "a < b"),
        "Of 10 claims of the papers, 4 hold, 3 do not hold, 2 undecided, 1 not tested.",
    ):
        assert text in page.text_content()


def test_artefacts_of_a_run_are_listed_with_the_reason_why_some_are_not_built():
    entries = StudyInputs(shipped(), "scoreboard").of_run("entries")(wildcards())
    assert len(entries) == len(listed_artifacts(shipped(), RUN)) > 70
    config = shipped_copy("skip")
    config["corpora"]["sample-frames"]["source"] = {"path": "absent/frames.json"}
    del config["runs"][RUN]["clark2019"]["gap"]
    reduced = without_missing(config)
    skipped = {f"{one.study.id}/{one.artifact.id}": one.skipped for one in listed_artifacts(reduced, RUN) if one.skipped}
    assert "absent/frames.json" in skipped["kovaleva2019/figure3"]
    assert skipped["clark2019/gap"] == "The run names no gap (runs.sample.clark2019)."
    files = StudyInputs(reduced, "scoreboard").of_run("built")(wildcards())
    assert files["scoreboard.tsv"] == "results/sample/scoreboard.tsv"
    assert not any(file.startswith(f"{name}.") for file in files for name in skipped)


def test_the_last_lines_of_a_run_count_the_files_that_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {**shipped(), "targets": [RUN]}
    table = next(one for one in listed_artifacts(config, RUN) if one.artifact.kind == "table" and not one.skipped)
    for path in table.paths(RUN):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    first, *rest = summary(config).splitlines()
    assert re.fullmatch(r"sample: 1 of \d\d tables and figures; see results/sample/index.html", first)
    assert rest == []
    assert summary(config, failed=True).splitlines()[1:] == ["Start the same command again to continue."]
