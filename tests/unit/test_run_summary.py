"""What a start of the workflow says as it ends."""

import re

import pytest
from shipped_runs import shipped, shipped_copy

from attention_atlas.published.page_declarations import INDEX
from attention_atlas.published.scoreboard import SUMMARY
from attention_atlas.workflow.artifact_list import listed_artifacts
from attention_atlas.workflow.needs import without_missing
from attention_atlas.workflow.run_summary import Outcome, summary

FIGURE = [f"results/sample/clark2019/figure2.{suffix}" for suffix in ("svg", "png", "pdf", "tsv")]


def files(config, run="sample"):
    listed = [entry for entry in listed_artifacts(config, run) if not entry.skipped]
    return {path for entry in listed for path in entry.paths(run)} | {f"results/{run}/{INDEX}"}


def outcome(requested, made=(), not_made=(), failed=None, failed_runs=()):
    return Outcome(frozenset(requested), frozenset(made), frozenset(not_made), failed or {}, failed_runs)


@pytest.fixture
def scoreboard(tmp_path, monkeypatch):
    """A scoreboard of the sample run in the current folder, with some counts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/sample").mkdir(parents=True)

    def write(**counts):
        row = dict.fromkeys(SUMMARY, "0") | {"study": "all"} | {name: str(count) for name, count in counts.items()}
        lines = ("\t".join(SUMMARY), "\t".join(row[name] for name in SUMMARY))
        (tmp_path / "results/sample/scoreboard.tsv").write_text("\n".join(lines) + "\n")

    return write


def test_a_whole_run_has_counts_verdicts_and_places(scoreboard):
    scoreboard(values=1142, claims=10, claims_hold=4, claims_do_not_hold=3, claims_undecided=2, claims_not_tested=1)
    every = files(shipped())
    lines = summary(shipped(), outcome(every, every - set(FIGURE))).splitlines()
    listed = [entry for entry in listed_artifacts(shipped(), "sample") if not entry.skipped]
    tables = sum(entry.artifact.kind == "table" for entry in listed)
    assert lines[0].startswith("sample: ")
    assert lines[1].split(maxsplit=1) == [
        "artefacts",
        f"{tables} tables and {len(listed) - tables} figures, 1 of them already up to date",
    ]
    assert lines[2].split(maxsplit=1) == ["claims", "4 hold, 3 do not hold, 2 undecided, 1 not tested"]
    assert lines[3].split(maxsplit=1)[1].startswith("none of 1142 values is comparable")
    assert [line.split()[:2] for line in lines[4:]] == [
        ["open", f"results/sample/{page}"] for page in (INDEX, "atlas/atlas.html", "scoreboard.html")
    ]


def test_published_values_are_counted_where_some_are_comparable(scoreboard):
    scoreboard(values=1142, match=3, interval_covers_it=2, differs=1)
    shown = summary(shipped(), outcome(files(shipped())))
    assert "6 of 1142 values are comparable: 3 match, 2 are covered by our interval, 1 differ" in shown


def test_one_artefact_is_named_and_nothing_else():
    shown = summary(shipped(), outcome(FIGURE, FIGURE)).splitlines()
    assert [line.split(maxsplit=1)[0] for line in shown[1:]] == ["artefacts", "open"]
    assert shown[1].endswith("1 figure")
    assert shown[2].endswith(FIGURE[0])


def test_a_start_that_asked_for_no_artefact_says_nothing_of_runs():
    assert summary(shipped(), outcome(["results/sample/models/minilm/card.json"])) == ""


def test_after_a_failure_what_is_built_what_is_not_and_the_log_are_named():
    every, log = files(shipped()), "results/sample/logs/clark2019/figure2.log"
    waiting = {*FIGURE, *(path for path in every if re.match(r"results/sample/(scoreboard|claims|comparison|index)\.", path))}
    shown = summary(shipped(), outcome(every, every - waiting, waiting, {"clark2019_figure2": log}, ("laptop",)))
    assert re.search(r"not built +clark2019: figure2 \(1 of \d+\)\n +not built +scoreboard: all 3\n", shown)
    assert shown.endswith(
        f"Failed jobs: 1; see their logs (if a log shows no error, the job was killed):\n  clark2019_figure2: {log}\n"
        "Start the same command again to continue, or summarise the studies that are built:\n"
        "  make results RUN=laptop PARTIAL=yes"
    )
    assert "claims  " not in shown, "the scoreboard is not of this start"
    assert INDEX not in shown


def test_what_is_skipped_is_listed_with_the_reason(scoreboard):
    scoreboard()
    config = shipped_copy("skip")
    config["corpora"]["sample-frames"]["source"] = {"path": "absent/frames.json"}
    reduced = without_missing(config)
    shown = summary(reduced, outcome(files(reduced)))
    row = next(line for line in shown.splitlines() if line.split()[0] == "skipped")
    assert "kovaleva2019/" in row
    assert "absent/frames.json" in row


def test_paths_have_the_prefix_of_a_module():
    config = shipped_copy() | {"results": "elsewhere/results/"}
    moved = [f"elsewhere/{path}" for path in FIGURE]
    assert summary(config, outcome(moved)).splitlines()[-1].endswith(moved[0])
