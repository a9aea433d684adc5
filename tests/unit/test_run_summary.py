"""The last lines of a run: what is built, verdicts, and pages to open."""

from pathlib import Path

from shipped_runs import shipped

from attention_atlas.workflow.artifacts import listed_artifacts, summary


def test_the_summary_counts_the_files_that_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {**shipped(), "targets": ["sample"]}
    entry = next(one for one in listed_artifacts(config, "sample") if one.artifact.kind == "table" and not one.skipped)
    for path in entry.paths("sample"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    Path("results/sample/scoreboard.tsv").write_text(
        "study\tclaims_hold\tclaims_do_not_hold\tclaims_undecided\tclaims_not_tested\nall\t3\t1\t2\t4\n", encoding="utf-8"
    )
    Path("results/sample/index.html").touch()
    text = summary(config)
    assert "  1 of " in text
    assert " tables and 0 of " in text
    assert "claims: 3 " in text
    assert text.splitlines()[-1] == "  open results/sample/index.html (all tables and figures)"
    assert summary(config, failed=True).splitlines()[-1] == "Start the same command again to continue."
